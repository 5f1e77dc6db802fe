"""Connections: SQLite opened the one way that is safe and fast, and transactions that cannot be left open.

A `Database` has one writing connection and one lock: all writers of a process go through it, because SQLite's own busy
handler makes them wait in steps of milliseconds. Every statement goes through `Tx`, so that a test can stand between
any two of them. A driver's error is put into our words where its transaction ends, in one place and at no cost to a
statement. What PostgreSQL says differently gets a name in this room, never a condition in a query.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

Value = str | int | float | None

_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA cache_size = -64000",
    "PRAGMA wal_autocheckpoint = 8000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA temp_store = MEMORY",
)
BUSY_MS: Final = 10_000
# Rows of one INSERT: more gain nothing, and all other numbers of rows share the statement of a single one.
_AT_ONCE: Final = 50

# The driver looks for an adapter for each NULL that it binds; finding one at once halves what a NULL costs.
sqlite3.register_adapter(type(None), dict[None, None]().get)


class Tx:
    """Statements inside one transaction (or, for readers, outside of any)."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Speak over this connection."""
        self._connection = connection

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        """Run a query and return all of its rows."""
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        """Run a query and return its first row."""
        row: tuple[Value, ...] | None = self._connection.execute(sql, params).fetchone()
        return row

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self._connection.execute(sql, params).rowcount

    def add(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run an INSERT and return the new row's id."""
        row_id = self._connection.execute(sql, params).lastrowid
        return row_id or 0

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> int:
        """Run a statement for each row of parameters and return how many rows it changed in all."""
        return self._connection.executemany(sql, rows).rowcount

    def insert(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run an INSERT that has one row of VALUES for many rows; `_AT_ONCE` of them go into one statement."""
        whole = len(rows) - len(rows) % _AT_ONCE
        for at in range(0, whole, _AT_ONCE):
            self.run(_widened(sql), list(chain.from_iterable(rows[at : at + _AT_ONCE])))
        if whole < len(rows):
            self.many(sql, rows[whole:])

    def script(self, sql: str) -> None:
        """Run the statements of a migration one by one, inside the transaction that is open."""
        for statement in statements(sql):
            self._connection.execute(statement)


@cache
def _widened(sql: str) -> str:
    """Return an INSERT of one row as one of `_AT_ONCE` rows: it costs about half for each."""
    head, word, marks = sql.rpartition("VALUES ")
    return head + word + ", ".join([marks] * _AT_ONCE)


def statements(script: str) -> Iterator[str]:
    """Split a script into statements; triggers keep the semicolons of their bodies."""
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if held.strip() and sqlite3.complete_statement(held):
            yield held
            held = ""
    if held.strip():
        yield held


class Database:
    """One SQLite database: a writing connection behind a lock, and short reads beside it."""

    def __init__(self, connection: sqlite3.Connection, *, path: str = "") -> None:
        """Take over an open connection; use `open_sqlite` to get one."""
        self._connection = connection
        self._lock = threading.RLock()
        self._undoing = 0
        self.path = path

    @contextmanager
    def write(self) -> Generator[Tx]:
        """Hold the write lock for one transaction: committed at the end, rolled back on any exception."""
        if self._undoing == threading.get_ident():
            with self._part() as tx:
                yield tx
            return
        with self._lock, in_our_words(self.path):
            self._begin()
            try:
                yield self._tx()
                self._commit()
            except BaseException:
                self._rollback()
                raise

    @contextmanager
    def read(self) -> Generator[Tx]:
        """Read a consistent snapshot, for a short time."""
        if self._undoing == threading.get_ident():
            yield self._tx()
            return
        with self._lock, in_our_words(self.path):
            self._connection.execute("BEGIN")
            try:
                yield self._tx()
            finally:
                self._rollback()

    @contextmanager
    def undone(self) -> Generator[None]:
        """Let everything inside happen as always, and take all of it back at the end.

        The transactions inside become parts of one that is never committed, so that each part sees what the ones before
        it wrote, and one that fails takes only itself back. The write lock is held all the while: keep it short.
        """
        with self._lock, in_our_words(self.path):
            self._begin()
            self._undoing = threading.get_ident()
            try:
                yield
            finally:
                self._undoing = 0
                self._rollback()

    @contextmanager
    def _part(self) -> Generator[Tx]:
        """Be one transaction inside of one that is taken back."""
        self._connection.execute("SAVEPOINT part")
        try:
            yield self._tx()
        except BaseException:
            self._connection.execute("ROLLBACK TO part")
            raise
        finally:
            self._connection.execute("RELEASE part")

    def now(self) -> Instant:
        """Return the database's clock."""
        with self._lock, in_our_words(self.path):
            row = self._connection.execute("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").fetchone()
        return Instant(row[0])

    def changes(self) -> int:
        """Return a number that differs when another connection has committed to this database."""
        with self._lock:
            row = self._connection.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    def fold(self) -> None:
        """Fold the write-ahead log into the file, as far as readers allow.

        SQLite does that by itself in the commit that fills the log, which takes as long as twenty others; done whenever
        nobody waits, it takes a moment, and the log is never full.
        """
        with self._lock, in_our_words(self.path):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Close the connection; the write-ahead log is folded in by SQLite."""
        with self._lock, in_our_words(self.path):
            self._connection.close()

    def _tx(self) -> Tx:
        return Tx(self._connection)

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


class DatabaseError(TminusError):
    """The database as a whole failed: no single event is to blame, nothing was written, and trying again may help."""


@contextmanager
def in_our_words(path: str) -> Generator[None]:
    """Let no error of the driver out: what leaves here is a `TminusError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) from error


_HINTS: Final = {
    sqlite3.SQLITE_CANTOPEN: "check that its folder is there and that this account may write into it",
    sqlite3.SQLITE_NOTADB: "it holds something else: name another file",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: bring back a backup",
}
_OF_ONE_ROW: Final = frozenset({sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH})


def translated(error: sqlite3.Error, path: str) -> TminusError:
    """Say a driver's error in words that an operator can act on."""
    text = str(error)
    # Errors that Python itself finds (a value that cannot be bound) carry no code of SQLite's.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in _OF_ONE_ROW or "malformed JSON" in text or "binding parameter" in text:
        return TminusError("E508", f"the database refused a row: {text}", hint="nothing was written; report it")
    if kind in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        hint = "give this account write access to the file and its folder"
        return DatabaseError("E503", f"the database {path} is read-only", hint=hint)
    if kind in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
        return DatabaseError("E504", f"no room to write {path}: {text}", hint="free some space; nothing was lost")
    if kind in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return DatabaseError("E505", f"the database {path} is busy: {text}", hint="another program holds it; try again")
    if kind in _HINTS:
        return DatabaseError("E506", f"{path} cannot be opened as a database: {text}", hint=_HINTS[kind])
    return DatabaseError("E507", f"the database {path} said: {text}")


def open_sqlite(path: str = ":memory:") -> sqlite3.Connection:
    """Open a connection with our settings; `:memory:` gives a database that lives as long as it."""
    with in_our_words(path):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000)
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except sqlite3.Error:
            connection.close()
            raise
        return connection
