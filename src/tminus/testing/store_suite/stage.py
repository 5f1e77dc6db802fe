"""What the store suite plays on: an adapter's stage, a world over it, and a hand between any two statements.

A stage gives stores over databases of their own. The world is the small world of scenario tests, so that the suite
speaks of batches, members and jobs and not of tables. Nothing here may know which database stands behind a store.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import orjson
import pytest

from tminus.db.connection import Database, DatabaseError, Tx
from tminus.progression import events as ev
from tminus.store.store import Store
from tminus.testing.world import World, ok

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from tminus.db.connection import Value
    from tminus.domain.instant import Instant
    from tminus.store.claims import Claim

TABLES: Final = (
    *("runbooks", "runbook_automation_settings", "batches", "batch_members", "phase_executions", "lanes"),
    *("executions", "attempt_rows", "messages", "handled_messages", "late_results", "quarantine", "holds", "events"),
    *("audit", "source_rows", "workers", "limits", "payloads", "idempotency_keys"),
)


class Feature(StrEnum):
    """What an adapter can do beyond the least."""

    BESIDE = "beside"
    """Several stores may work on one database at once, as the processes of a cluster do."""


class StoreStage(Protocol):
    """A maker of stores. Each store that `fresh` gives stands on an empty, migrated database of its own."""

    def fresh(self, clock: Callable[[], Instant], window: int) -> Store:
        """Open a store over a new database."""
        ...

    def beside(self, store: Store) -> Store:
        """Open another store over the same database, by a connection of its own."""
        ...


@dataclass
class Played(World):
    """The small world over an adapter's store."""

    stage: StoreStage = field(kw_only=True)

    def __post_init__(self) -> None:
        """Open an empty database."""
        self.store = self.stage.fresh(self.clock, self.window)
        self.store.chunk = self.chunk

    def restart(self) -> None:
        """Go on with a store that remembers nothing, as a new process does."""
        self.store = Store(self.store.database, clock=self.clock, window=self.window, chunk=self.chunk)

    def meddle(self) -> Meddler:
        """Put a hand between the store and its database."""
        meddler = Meddler(self.store.database)
        self.store.database = meddler
        return meddler

    def change(self, sql: str, *params: Value) -> int:
        """Change rows by a foreign hand."""
        with self.store.database.write() as tx:
            return tx.run(sql, params)

    def take(self, most: int = 500, worker: str = "worker-1", worker_id: str = "w") -> list[Claim]:
        """Claim jobs of the usual worker id."""
        return self.store.claim(worker_id, worker, most)

    def send(self) -> int:
        """Let waiting work go out, and claim nothing; return how many jobs went."""
        return self.store.round().sent

    def settle(self, steps: int = 50) -> None:
        """Tick and dispatch until all that can be out is out; nobody works."""
        for _ in range(steps):
            before = self.dump()
            for look in self.store.looks():
                self.store.decide(look(("", 0)).events)
            while self.store.wake() or self.store.end_members() or self.store.move_versions():
                pass
            self.send()
            if self.dump() == before:
                return
        message = "the store does not come to rest"
        raise AssertionError(message)

    def say(self, claim: Claim, result: object = None, *, digest: str = "") -> ev.ResultArrived:
        """Answer a claim with a success."""
        event = self.result(self._call(claim), ok(result)(self._call(claim)))
        event.digest = digest or event.digest
        return event

    @staticmethod
    def fail(claim: Claim, kind: str = "Boom", *, retry_after_s: float | None = None) -> ev.ResultArrived:
        """Answer a claim with a failure; one of kind `Throttled` asks to come later."""
        error = ev.WorkError("it broke", kind, is_throttled=kind == "Throttled", retry_after_s=retry_after_s)
        return ev.ResultArrived(claim.execution_id, claim.job_id, error=error, digest=kind)

    def dump(self, *but: str) -> dict[str, list[tuple[Value, ...]]]:
        """Return every row of every table."""
        with self.store.database.read() as tx:
            return {name: sorted(tx.all(f"SELECT * FROM {name}"), key=repr) for name in TABLES if name not in but}

    def out(self) -> list[str]:
        """Return the ids of the jobs that are out, in the order of their executions."""
        sql = "SELECT message_id FROM messages WHERE topic = 'worker-jobs' ORDER BY id"
        return [str(row[0]) for row in self.rows(sql)]

    def numbers(self, sql: str, *params: Value) -> list[int]:
        """Read a column of numbers."""
        return [int(row[0] or 0) for row in self.rows(sql, *params)]


class StoppedError(Exception):
    """The process ended here."""


class Meddler(Database):
    """A database before a database: it acts before each statement of a writing transaction."""

    def __init__(self, behind: Database) -> None:
        """Stand before a database."""
        self.behind = behind
        self.path = behind.path
        self.before: Callable[[Tx, str], None] = lambda _tx, _sql: None

    def stop_at(self, statement: int, error: Exception | None = None) -> None:
        """Raise at the statement of this number, counted from now; 0 is the next."""
        left = statement

        def count(_tx: Tx, _sql: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise error or StoppedError

        self.before = count

    def rest(self) -> None:
        """Meddle no more."""
        self.before = lambda _tx, _sql: None

    @contextmanager
    def write(self) -> Generator[Tx]:
        """Open a transaction whose statements are seen."""
        with self.behind.write() as tx:
            yield _SeenTx(tx, self)
            self.before(tx, "COMMIT")

    @contextmanager
    def read(self) -> Generator[Tx]:
        """Read as ever."""
        with self.behind.read() as tx:
            yield tx

    def now(self) -> Instant:
        """Return the clock of the database behind."""
        return self.behind.now()

    def close(self) -> None:
        """Close the database behind."""
        self.behind.close()


class _SeenTx(Tx):
    __slots__ = ("_inner", "_meddler")

    def __init__(self, inner: Tx, meddler: Meddler) -> None:
        self._inner = inner
        self._meddler = meddler

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        self._meddler.before(self._inner, sql)
        return self._inner.all(sql, params)

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        self._meddler.before(self._inner, sql)
        return self._inner.one(sql, params)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._meddler.before(self._inner, sql)
        return self._inner.run(sql, params)

    def add(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._meddler.before(self._inner, sql)
        return self._inner.add(sql, params)

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> int:
        self._meddler.before(self._inner, sql)
        return self._inner.many(sql, rows)

    def script(self, sql: str) -> None:
        self._meddler.before(self._inner, sql)
        self._inner.script(sql)


FULL: Final = DatabaseError("E504", "no room to write")


class Play(Protocol):
    """The way a test asks for its world."""

    def __call__(self, *runbooks: str, window: int = 500, chunk: int = 2000) -> Played:
        """Make a world, and publish these runbooks in it."""
        ...


class OnStage:
    """What every part of the suite stands on: subclass it with a fixture `stage`."""

    @pytest.fixture
    def play(self, stage: StoreStage) -> Play:
        """Give worlds over the adapter's stores."""

        def make(*runbooks: str, window: int = 500, chunk: int = 2000) -> Played:
            world = Played(stage=stage, window=window, chunk=chunk)
            for text in runbooks:
                world.publish(text)
            return world

        return make


def keys(count: int, prefix: str = "m") -> list[str]:
    """Return member keys in the order of their names."""
    return [f"{prefix}{number:05}" for number in range(count)]


def book(
    *steps: str,
    name: str = "wave",
    phases: Sequence[str] = (),
    more: Mapping[str, object] | None = None,
    **keys: object,
) -> str:
    """Write a runbook of one phase at T-0 with these steps (as flow mappings), or of the given phases."""
    lines = [f"name: {name}", "data_source: {type: manual, primary_key: upn, batch_time_column: t}"]
    lines += [f"{key}: {orjson.dumps(value).decode()}" for key, value in {**(more or {}), **keys}.items()]
    lines += ["phases:", *(phases or [phase("one", *steps)])]
    return "\n".join(lines) + "\n"


def phase(name: str, *steps: str, offset: str = "T-0", **more: object) -> str:
    """Write a phase."""
    lines = [f"  - name: {name}", f"    offset: {offset}"]
    lines += [f"    {key}: {orjson.dumps(value).decode()}" for key, value in more.items()]
    return "\n".join([*lines, "    steps:", *(f"      - {{{text}}}" for text in steps)])


def step(name: str, *more: str, worker_id: str = "w") -> str:
    """Write a step whose function is named after it."""
    return ", ".join([f"name: {name}, worker_id: {worker_id}, function: F-{name}", *more])
