"""Faults at the database: a crash before or after any statement, and commits whose outcome nobody knows.

All nodes share one in-memory database, each through a door of its own. An armed door counts its operations down and
then raises `CrashError`, as if its process had died there: before BEGIN, between statements, before the commit or just
after it.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from tminus.db.connection import Database, Tx
from tminus.db.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Value


class CrashError(Exception):
    """The process died here."""


class _ProbedTx(Tx):
    """A transaction that may end before or after each of its statements."""

    __slots__ = ("_door",)

    def __init__(self, connection: sqlite3.Connection, door: Door) -> None:
        super().__init__(connection)
        self._door = door

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        self._door.count()
        return super().all(sql, params)

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        self._door.count()
        return super().one(sql, params)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._door.count()
        found = super().run(sql, params)
        self._door.count()
        return found

    def add(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._door.count()
        found = super().add(sql, params)
        self._door.count()
        return found

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> int:
        self._door.count()
        found = super().many(sql, rows)
        self._door.count()
        return found


class Door(Database):
    """One node's way to the shared database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Share a connection."""
        super().__init__(connection, path=":memory:")
        self.left: int | None = None
        self.passed = 0
        self.counting = False
        self.has_committed = False

    def arm(self, operations: int) -> None:
        """Die at the operation with this number, counted from now (1 is the next)."""
        self.left = operations

    def disarm(self) -> None:
        """Forget the crash that has not happened."""
        self.left = None

    def count(self) -> None:
        """Pass one point at which the process may die."""
        self.passed += 1
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                self.left = None
                raise CrashError

    def _tx(self) -> Tx:
        if self.left is None and not self.counting:
            return Tx(self._connection)
        return _ProbedTx(self._connection, self)

    def _begin(self) -> None:
        self.has_committed = False
        self.count()
        super()._begin()

    def _commit(self) -> None:
        try:
            self.count()
        except CrashError:
            self._rollback()
            raise
        super()._commit()
        self.has_committed = True
        self.count()
        self.has_committed = False


@cache
def _template() -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(Database(connection))
    connection.execute("VACUUM")
    return connection.serialize()


def fresh_connection() -> sqlite3.Connection:
    """Return a migrated in-memory database; copying a template is a hundred times faster than migrating."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.deserialize(_template())
    return connection
