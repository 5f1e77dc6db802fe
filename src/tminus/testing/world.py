"""A small world: the real core over the real store in memory, a manual clock, and a worker that does as it is told.

Scenario tests speak in its words: publish a runbook, make a batch, run until nothing moves, let time pass, look at
statuses by name. Nothing in it decides anything; every move goes through `Store`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import orjson

from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import plus
from tminus.engine.tick import tick
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.store.cohort import NewBatch
from tminus.store.store import Asking, Store
from tminus.testing.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from tminus.db.connection import Value
    from tminus.domain.instant import Instant
    from tminus.progression.decision import Reply
    from tminus.store.claims import Claim
    from tminus.store.cohort import Made

DAY = 86_400.0
WORKER = "worker-1"


@dataclass(slots=True)
class Call:
    """One job as the worker saw it."""

    function: str
    params: dict[str, object]
    job_id: str
    execution_id: int
    claim: Claim


@dataclass(slots=True)
class Says:
    """What a function answers: a result, an error, or nothing at all (`lost`)."""

    result: object = None
    error: ev.WorkError | None = None
    lost: bool = False


Behaviour = Callable[[Call], Says]


def ok(result: object = None) -> Behaviour:
    """Answer with a result."""
    return lambda _call: Says(result={} if result is None else result)


def fails(
    kind: str = "Boom",
    message: str = "it broke",
    *,
    is_throttled: bool = False,
    retryable: bool | None = None,
    retry_after_s: float | None = None,
) -> Behaviour:
    """Answer with a failure."""
    error = ev.WorkError(message, kind, is_throttled, retryable, retry_after_s)
    return lambda _call: Says(error=error)


def silent() -> Behaviour:
    """Take the job and never answer."""
    return lambda _call: Says(lost=True)


@dataclass
class World:
    """A store, a clock and a worker. `behaviours` say what each function does; every other answers `{}`."""

    clock: ManualClock = field(default_factory=ManualClock)
    behaviours: dict[str, Behaviour] = field(default_factory=dict[str, Behaviour])
    calls: list[Call] = field(default_factory=list[Call])
    held: list[Call] = field(default_factory=list[Call])
    refused: list[tuple[ev.Event, Exception]] = field(default_factory=list["tuple[ev.Event, Exception]"])
    window: int = 500
    chunk: int = 2000

    def __post_init__(self) -> None:
        """Open an empty database in memory."""
        self.store = Store.open(Database(open_sqlite(":memory:")), clock=self.clock, window=self.window)
        self.store.chunk = self.chunk

    # -- making ----------------------------------------------------------------------------------------------------

    def publish(
        self, text: str, *, overdue: Literal["rerun", "ignore"] = "rerun", rerun_init: bool = False, actor: str = ""
    ) -> int:
        """Publish a runbook and return its version."""
        return self.store.publish(load(text), text, overdue=overdue, rerun_init=rerun_init, actor=actor)

    def batch(
        self,
        runbook: str,
        members: Sequence[str] | Mapping[str, Mapping[str, object]],
        *,
        t0_in_s: float | None = 0.0,
        kind: Literal["source", "manual", "event"] = "manual",
        created_by: str = "",
    ) -> Made:
        """Make a batch whose T-0 is so many seconds from now; its members' data default to their key as `upn`."""
        rows = {key: {"upn": key} for key in members} if not isinstance(members, dict) else members
        t0 = None if t0_in_s is None else plus(self.clock.now, t0_in_s)
        source_time = t0 if kind == "source" else None
        pairs = [(key, orjson.dumps(data).decode()) for key, data in rows.items()]
        return self.store.create_batch(
            NewBatch(runbook, pairs, t0=t0, kind=kind, source_time=source_time, created_by=created_by)
        )

    # -- running ---------------------------------------------------------------------------------------------------

    def step(self, most: int = 500) -> int:
        """Tick, dispatch, claim and answer once; return how many rows that has changed."""
        before = self._changes()
        tick(self.store)
        for worker_id in self.worker_ids():
            claimed = self.round((), [Asking(worker_id, WORKER, most)] if most else [])
            self.answer([self._call(claim) for claim in claimed])
        return self._changes() - before

    def _changes(self) -> int:
        """Count rows, not events: what is due and held is looked at again at every tick, and stays as it is."""
        return int(self.value("SELECT total_changes()") or 0)

    def run(self, steps: int = 200) -> None:
        """Step until nothing moves at this instant."""
        for _ in range(steps):
            if not self.step():
                return
        message = "the world does not come to rest"
        raise AssertionError(message)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, stopping at every instant at which something is due, and run there."""
        end = plus(self.clock.now, seconds)
        self.run()
        while True:
            due = self._next()
            if due is None or due > end:
                break
            self.clock.set(max(due, self.clock.now))
            self.run()
        self.clock.set(end)
        self.run()

    def _next(self) -> Instant | None:
        found = [at for at in (self.store.next_due(), self._next_ready()) if at is not None and at > self.clock.now]
        return min(found, default=None)

    def _next_ready(self) -> Instant | None:
        rows = self.rows(
            "SELECT min(ready_at) FROM executions WHERE status = 'pending' AND ready_at > ?", self.clock.now
        )
        return None if rows[0][0] is None else type(self.clock.now)(str(rows[0][0]))

    def worker_ids(self) -> list[str]:
        """Return the worker ids that have work."""
        sql = """SELECT DISTINCT worker_id FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL
          UNION SELECT DISTINCT route FROM messages WHERE topic = 'worker-jobs' AND claimed_at IS NULL ORDER BY 1"""
        return [str(row[0]) for row in self.rows(sql)]

    def round(self, events: Sequence[ev.Event] = (), asking: Sequence[Asking] = ()) -> list[Claim]:
        """Run one round; what was refused is kept."""
        done = self.store.round(events, asking)
        self.refused += done.refused
        return done.claimed

    def _call(self, claim: Claim) -> Call:
        body = orjson.loads(claim.body)
        return Call(claim.function, body["parameters"], claim.job_id, claim.execution_id, claim)

    def answer(self, calls: Sequence[Call]) -> None:
        """Have the worker do these calls as its behaviours say."""
        events: list[ev.Event] = []
        for call in calls:
            self.calls.append(call)
            says = self.behaviours.get(call.function, ok())(call)
            if says.lost:
                self.held.append(call)
            else:
                events.append(self.result(call, says))
        if events:
            self.round(events)

    @staticmethod
    def result(call: Call, says: Says) -> ev.ResultArrived:
        """Make the event of an answer."""
        answered = says.result
        complete = cast("dict[str, object]", answered).get("complete") if isinstance(answered, dict) else None
        return ev.ResultArrived(
            call.execution_id,
            call.job_id,
            error=says.error,
            result_json=None if says.error else orjson.dumps(says.result).decode(),
            complete=complete if isinstance(complete, bool) else None,
            digest=str(len(orjson.dumps(str(says)))),
        )

    def command(self, event: ev.Event) -> list[Reply]:
        """Give an operator's command and return its replies."""
        return self.store.round([event]).replies

    # -- looking ---------------------------------------------------------------------------------------------------

    def rows(self, sql: str, *params: Value) -> list[tuple[Value, ...]]:
        """Read rows."""
        with self.store.database.read() as tx:
            return tx.all(sql, params)

    def value(self, sql: str, *params: Value) -> Value:
        """Read one value."""
        return self.rows(sql, *params)[0][0]

    def batch_status(self, batch_id: int = 1) -> str:
        """Return a batch's status."""
        return str(self.value("SELECT status FROM batches WHERE id = ?", batch_id))

    def member_id(self, key: str) -> int:
        """Return the newest row of a member."""
        return int(self.value("SELECT max(id) FROM batch_members WHERE member_key = ?", key) or 0)

    def member_status(self, key: str) -> str:
        """Return the status of a member's newest row."""
        return str(self.value("SELECT status FROM batch_members WHERE id = ?", self.member_id(key)))

    def phase_status(self, name: str, version: int = 1, batch_id: int = 1) -> str:
        """Return a phase's status."""
        sql = "SELECT status FROM phase_executions WHERE phase_name = ? AND runbook_version = ? AND batch_id = ?"
        return str(self.value(sql, name, version, batch_id))

    def steps(self, key: str, kind: str = "phase") -> dict[str, str]:
        """Return step name to status of a member's lanes of a kind, in order."""
        sql = """SELECT step_name, status FROM step_executions WHERE batch_member_id = ? AND kind = ?
          ORDER BY lane_id, step_index"""
        return {str(name): str(status) for name, status in self.rows(sql, self.member_id(key), kind)}

    def called(self, function: str | None = None) -> list[str]:
        """Return the functions called so far, in order (or the job ids of one of them)."""
        if function is None:
            return [call.function for call in self.calls]
        return [call.job_id for call in self.calls if call.function == function]
