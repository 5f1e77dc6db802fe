"""What stands in the rows at one moment, as far as moves between two moments are judged by it.

A simulation knows what nobody knows later: what the rows were just before an act, by the same clock. So it can judge
what rows alone no longer show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

import orjson

from tminus.domain.rows import Batch, Hold, PhaseRow, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.db.connection import Value

    Ask = Callable[[str], list[tuple[Value, ...]]]

T = TypeVar("T", "Job", "Work", "Move")
D = TypeVar("D", Batch, Hold, PhaseRow)


class Job(NamedTuple):
    """A job that is out."""

    id: int
    message_id: str
    claimed_by: str | None
    lease_until: str | None
    timeout_at: str | None
    delivery: int
    is_draining: int
    is_poll: int
    priority: int
    member_id: int | None
    batch_id: int


class Work(NamedTuple):
    """An execution with what matters of its lane."""

    id: int
    status: str
    step_name: str
    retry_count: int
    max_retries: int
    retry_after: str | None
    poll_due_at: str | None
    error_type: str | None
    is_one_way: int
    lane_id: int
    kind: str
    sequence: str
    member_id: int | None
    phase_id: int | None
    batch_id: int
    is_forced: int
    ring: int
    deadline_at: str | None
    ready_at: str | None


class Move(NamedTuple):
    """One move in the history."""

    id: int
    entity: str
    entity_id: int
    from_status: str | None
    to_status: str
    cause: str
    actor: str | None
    batch_id: int | None
    member_id: int | None
    detail: str | None


_JOBS: Final = f"SELECT {', '.join(Job._fields)} FROM messages WHERE topic = 'worker-jobs'"
_MOVES: Final = f"SELECT {', '.join(Move._fields)} FROM events WHERE id > {{}} ORDER BY id"
_WORK: Final = """SELECT e.id, e.status, e.step_name, e.retry_count, e.max_retries, e.retry_after, e.poll_due_at,
  e.error_type, e.is_one_way, l.id, l.kind, l.sequence, l.member_id, l.phase_id, l.batch_id, l.is_forced, l.ring,
  l.deadline_at, e.ready_at FROM executions e JOIN lanes l ON l.id = e.lane_id"""


def named(make: type[T], rows: Iterable[tuple[Value, ...]]) -> list[T]:
    """Make named tuples of rows."""
    build = cast("Callable[[Iterable[Value]], T]", make._make)
    return [build(row) for row in rows]


def whole(make: type[D], rows: Iterable[tuple[Value, ...]]) -> dict[int, D]:
    """Make the state machine's own rows, by id."""
    build = cast("Callable[..., D]", make)
    return {row.id: row for row in (build(*values) for values in rows)}


@dataclass(slots=True)
class Sight:
    """Everything that is open at one moment."""

    last: int = 0
    jobs: dict[int, Job] = field(default_factory=dict[int, Job])
    work: dict[int, Work] = field(default_factory=dict[int, Work])
    holds: dict[int, Hold] = field(default_factory=dict[int, Hold])
    phases: dict[int, PhaseRow] = field(default_factory=dict[int, PhaseRow])
    batches: dict[int, Batch] = field(default_factory=dict[int, Batch])

    def drains(self, member_id: int | None, batch_id: int) -> set[str]:
        """Return the jobs of a subject that drain."""
        mine = (job for job in self.jobs.values() if job.is_draining and job.member_id == member_id)
        return {job.message_id for job in mine if member_id is not None or job.batch_id == batch_id}


def jobs(ask: Ask) -> dict[int, Job]:
    """Read the jobs that are out."""
    return {job.id: job for job in named(Job, ask(_JOBS))}


def moves(ask: Ask, after: int) -> list[Move]:
    """Read what has moved since."""
    return named(Move, ask(_MOVES.format(after)))


def work(ask: Ask, ids: Iterable[int]) -> dict[int, Work]:
    """Read some executions."""
    return {row.id: row for row in named(Work, ask(f"{_WORK} WHERE e.id IN ({', '.join(map(str, ids))})"))}


def look(ask: Ask) -> Sight:
    """Read it all."""
    last = ask("SELECT max(id) FROM events")[0][0]
    return Sight(
        int(last or 0),
        jobs(ask),
        {row.id: row for row in named(Work, ask(f"{_WORK} WHERE e.status IN ('pending', 'dispatched', 'polling')"))},
        whole(Hold, ask(f"SELECT {', '.join(columns(Hold))} FROM holds WHERE is_open")),
        whole(PhaseRow, ask(f"SELECT {', '.join(columns(PhaseRow))} FROM phase_executions")),
        whole(Batch, ask(f"SELECT {', '.join(columns(Batch))} FROM batches")),
    )


def flag(data_json: str, pinned_json: str) -> object:
    """Return a member's flag as its steps see it."""
    return {**orjson.loads(data_json), **orjson.loads(pinned_json)}.get("flag")
