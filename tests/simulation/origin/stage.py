"""The stage on which the origin's defects are played again: a world whose process can die at any statement.

`Stage` is the small world over a database with points. `die_everywhere` plays one act once for every point of it: the
process dies there, a new one starts, the same message is delivered again, and in the end everything must be as if
nothing had happened. Nothing here decides anything about batches.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.simulation.origin.crashing import COMMITTED, CrashError, CrashingDatabase
from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.engine.tick import tick
from tminus.store.promises import check
from tminus.store.store import Asking, Store
from tminus.testing.world import WORKER, World, fails, ok

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.progression import events as ev
    from tminus.store.promises import Violation
    from tminus.testing.world import Behaviour, Call, Says

Facts = dict[str, Sequence[tuple[object, ...]]]


@cache
def _empty() -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(Database(connection))
    return connection.serialize()


@dataclass
class Stage(World):
    """A world whose database has points, in memory or in a file that other processes open too."""

    path: str = ":memory:"

    def __post_init__(self) -> None:
        """Open the database; one in memory is a copy, because a scenario needs hundreds."""
        connection = open_sqlite(self.path)
        if self.path == ":memory:":
            connection.deserialize(_empty())
        self.database = CrashingDatabase(connection, path=self.path)
        self.store = Store.open(self.database, clock=self.clock, window=self.window)
        self.store.chunk = self.chunk
        self.database.rewind()

    def restart(self) -> None:
        """Begin anew with a process that remembers nothing but the database."""
        self.database.rewind()
        self.store = Store(self.database, clock=self.clock, window=self.window, chunk=self.chunk)

    def another(self) -> Store:
        """Return the store of a second process on the same file; it does not wait when the first is writing."""
        connection = open_sqlite(self.path)
        connection.execute("PRAGMA busy_timeout = 0")
        return Store(Database(connection, path=self.path), clock=self.clock, window=self.window, chunk=self.chunk)

    # -- moving one thing at a time --------------------------------------------------------------------------------

    def take(self, most: int = 500) -> list[Call]:
        """Dispatch what is ready and let the worker take it, without an answer."""
        taken: list[Call] = []
        for worker_id in self.worker_ids():
            claimed = self.round((), [Asking(worker_id, WORKER, most)])
            taken += [self._call(claim) for claim in claimed]
        return taken

    def take_next(self, function: str) -> Call:
        """Run until the worker has taken a job of this function, answering all others as they say; keep it open."""
        for _ in range(50):
            taken = self.take()
            kept = next((call for call in taken if call.function == function), None)
            self.answer([call for call in taken if call is not kept])
            if kept is not None:
                self.calls.append(kept)
                return kept
            self.tick()
        message = f"no job of {function} came"
        raise AssertionError(message)

    def tick(self) -> int:
        """Find and decide what is due; nobody takes a job."""
        return tick(self.store)

    def move_versions(self) -> int:
        """Let live batches follow what was published."""
        return self.store.move_versions()

    def says(self, call: Call, says: Says) -> None:
        """Deliver an answer."""
        self.round([self.result(call, says)])

    def give(self, *happened: ev.Event) -> None:
        """Hand events to the store, all in one round."""
        self.round(happened)

    # -- looking ---------------------------------------------------------------------------------------------------

    def names(self, sql: str, *params: str | int) -> list[str]:
        """Read one column of text."""
        return [str(row[0]) for row in self.rows(sql, *params)]

    def facts(self) -> Facts:
        """Return all that must be the same whether or not a process died on the way."""
        return {
            "batches": self.rows("SELECT id, status, runbook_version FROM batches ORDER BY id"),
            "members": self.rows(
                "SELECT batch_id, member_key, generation, status, worker_data_json FROM batch_members ORDER BY 1, 2, 3"
            ),
            "phases": self.rows(
                """SELECT batch_id, phase_name, runbook_version, status, lanes_total, lanes_succeeded
                FROM phase_executions ORDER BY 1, 2, 3"""
            ),
            "lanes": self.rows(
                """SELECT kind, sequence, member_id, runbook_version, status FROM lanes
                ORDER BY batch_id, member_id, kind, sequence, runbook_version, round"""
            ),
            "steps": self.rows(
                """SELECT e.step_name, l.kind, l.member_id, e.status, e.attempt, e.retry_count, e.result_json
                FROM executions e JOIN lanes l ON l.id = e.lane_id
                ORDER BY e.batch_id, l.member_id, l.kind, l.sequence, e.runbook_version, e.step_index, l.round"""
            ),
            "holds": self.rows("SELECT kind, state, count(*) FROM holds GROUP BY kind, state ORDER BY 1, 2"),
            "calls": sorted((call.function, call.job_id) for call in self.calls),
        }

    def broken(self, *, at_rest: bool = False) -> list[Violation]:
        """Return the promises that are broken."""
        with self.database.read() as tx:
            return check(tx, at_rest=at_rest)


def staged(text: str, members: Sequence[str] = ("ann", "bob"), *, t0_in_s: float = 0.0, **says: Behaviour) -> Stage:
    """Set a stage: a runbook, one batch of it, and what its functions answer."""
    stage = Stage(behaviours=dict(says))
    stage.publish(text)
    stage.batch("move", members, t0_in_s=t0_in_s)
    return stage


def first_fails(then: Behaviour | None = None) -> Behaviour:
    """Fail the first attempt of every step and do the later ones."""
    again = then or ok()
    return lambda call: again(call) if "-retry-" in call.job_id else fails()(call)


def die_everywhere(
    make: Callable[[], Stage],
    act: Callable[[Stage], Callable[[], object]],
    settle: Callable[[Stage], object],
) -> Facts:
    """Play the act undisturbed, then die before each of its writes and around each commit, and compare the ends.

    `make` sets the stage, `act` prepares and returns the one call that may be interrupted, `settle` plays to the end.
    After a death the call is repeated, as a message is that nobody acknowledged; after the last commit once more
    without, because then everything must already be there.
    """
    calm, points = _play(make, act, settle, None, again=False)
    assert len(points) > 1, "an act without a transaction proves nothing"
    assert points[-1] == COMMITTED
    for point, name in enumerate(points):
        if name.startswith("SELECT"):
            continue
        for again in (True, False) if point == len(points) - 1 else (True,):
            facts, _ = _play(make, act, settle, point, again=again)
            assert facts == calm, f"dying at point {point} ({name[:60]}) made a difference"
    return calm


def _play(
    make: Callable[[], Stage],
    act: Callable[[Stage], Callable[[], object]],
    settle: Callable[[Stage], object],
    deadly: int | None,
    *,
    again: bool,
) -> tuple[Facts, list[str]]:
    stage = make()
    call = act(stage)
    stage.database.rewind()
    if deadly is None:
        call()
    else:
        stage.database.deadly = deadly
        with pytest.raises(CrashError):
            call()
        stage.restart()
        assert stage.broken() == []
        if again:
            call()
    trail = list(stage.database.trail)
    stage.database.rewind()
    settle(stage)
    assert stage.broken(at_rest=True) == []
    facts = stage.facts()
    stage.database.close()
    return facts, trail
