"""A database whose process may die, fail or be looked at between any two statements of a transaction.

Every statement, the commit and what comes right after the commit are points, counted in order. At a chosen one the
process dies; a chosen statement may be answered with the driver's error; and a watcher may look at (or try to write to)
the same file from outside while a transaction is half done. It knows nothing of batches and steps.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from tminus.db.connection import Database, Tx

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.db.connection import Value

COMMIT: Final = "COMMIT"
COMMITTED: Final = "after COMMIT"


class CrashError(BaseException):
    """The process died here. It is not an `Exception`, because nobody in a dead process handles anything."""


class CrashingTx(Tx):
    """Statements of a writing transaction, each of which is a point."""

    __slots__ = ("_owner",)

    def __init__(self, connection: sqlite3.Connection, owner: CrashingDatabase) -> None:
        """Report each statement to the database it belongs to."""
        super().__init__(connection)
        self._owner = owner

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        self._owner.reach(sql)
        return super().all(sql, params)

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        self._owner.reach(sql)
        return super().one(sql, params)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._owner.reach(sql)
        return super().run(sql, params)

    def add(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._owner.reach(sql)
        return super().add(sql, params)

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> int:
        self._owner.reach(sql)
        return super().many(sql, rows)


class CrashingDatabase(Database):
    """A database with points. `trail` names those that were passed since `rewind`."""

    def __init__(self, connection: sqlite3.Connection, *, path: str = "") -> None:
        """Take over an open connection, and mean no harm."""
        super().__init__(connection, path=path)
        self.trail: list[str] = []
        self.deadly: int | None = None
        self.faulty: str | None = None
        self.watcher: Callable[[str], None] | None = None
        self._is_writing = False

    def rewind(self) -> None:
        """Count points anew, and mean no harm."""
        self.trail.clear()
        self.deadly = self.faulty = self.watcher = None

    def reach(self, point: str) -> None:
        """Pass a point, unless this is where the process dies or the driver fails."""
        if self.deadly is not None and len(self.trail) == self.deadly:
            raise CrashError(point)
        self.trail.append(point)
        if self.faulty is not None and self.faulty in point:
            self.faulty = None
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        if self.watcher is not None:
            self.watcher(point)

    def _tx(self) -> Tx:
        return CrashingTx(self._connection, self) if self._is_writing else super()._tx()

    def _begin(self) -> None:
        super()._begin()
        self._is_writing = True

    def _rollback(self) -> None:
        self._is_writing = False
        super()._rollback()

    def _commit(self) -> None:
        try:
            self.reach(COMMIT)
        except BaseException:
            self._rollback()
            raise
        super()._commit()
        self._is_writing = False
        self.reach(COMMITTED)
