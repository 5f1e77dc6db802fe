"""Slices: the rows of one batch in memory, all of them at once or a page of members at a time.

A small database is read table by table in a handful of statements and sorted out here; that is what a simulator calls
after every event. A large one is walked batch by batch, and a large batch in pages of members, each page together with
the rows that belong to the batch itself.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from tminus.domain.rows import Batch, Hold, PhaseRow, columns
from tminus.store.promises.rows import AttemptSeen, EventSeen, ExecutionSeen, JobSeen, LaneSeen, MemberSeen
from tminus.store.reading import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tminus.db.connection import Tx, Value

SMALL_EVENTS: Final = 50_000
PAGE_MEMBERS: Final = 500

S = TypeVar("S", MemberSeen, LaneSeen, ExecutionSeen, EventSeen, AttemptSeen, JobSeen)
D = TypeVar("D", Batch, PhaseRow, Hold)


class Source(NamedTuple):
    """Where a class of rows is read from."""

    select: str
    order: str


def _source(row: type[NamedTuple], table: str, order: str = " ORDER BY id") -> Source:
    return Source(f"SELECT {', '.join(row._fields)} FROM {table}", order)


_MEMBERS: Final = _source(MemberSeen, "batch_members")
_LANES: Final = _source(LaneSeen, "lanes")
_EXECUTIONS: Final = _source(ExecutionSeen, "executions", " ORDER BY lane_id, step_index")
_EVENTS: Final = _source(EventSeen, "events")
_ATTEMPTS: Final = _source(AttemptSeen, "attempt_rows")
_JOBS: Final = _source(JobSeen, "messages")
_BATCHES: Final = f"SELECT {', '.join(columns(Batch))} FROM batches"
_PHASES: Final = f"SELECT {', '.join(columns(PhaseRow))} FROM phase_executions"
_HOLDS: Final = f"SELECT {', '.join(columns(Hold))} FROM holds"
_RESCHEDULED: Final = "SELECT DISTINCT scope FROM audit WHERE action = 'Reschedule' AND outcome = 'done'"
_NEWEST_EVENT: Final = "SELECT max(id) FROM events"
_OWN_LANES: Final = " WHERE lane_id IN (SELECT id FROM lanes WHERE batch_id = ? AND member_id IS NULL)"
_THEIR_LANES: Final = " WHERE lane_id IN (SELECT id FROM lanes WHERE member_id IN (SELECT value FROM json_each(?)))"
_THESE: Final = " IN (SELECT value FROM json_each(?))"


@dataclass(slots=True)
class Slice:
    """One batch's rows, or its own and those of a page of its members. Steps are in order, events too."""

    batch: Batch
    phases: dict[int, PhaseRow]
    holds: list[Hold]
    draining: dict[int, list[JobSeen]]
    is_rescheduled: bool
    members: dict[int, MemberSeen] = field(default_factory=dict[int, MemberSeen])
    lanes: dict[int, LaneSeen] = field(default_factory=dict[int, LaneSeen])
    steps: dict[int, list[ExecutionSeen]] = field(default_factory=dict[int, "list[ExecutionSeen]"])
    executions: dict[int, ExecutionSeen] = field(default_factory=dict[int, ExecutionSeen])
    attempts: dict[int, list[AttemptSeen]] = field(default_factory=dict[int, "list[AttemptSeen]"])
    jobs: dict[int, JobSeen] = field(default_factory=dict[int, JobSeen])
    events: list[EventSeen] = field(default_factory=list[EventSeen])
    of_member: dict[int, list[LaneSeen]] = field(default_factory=dict[int, "list[LaneSeen]"])

    def drains(self, lane: LaneSeen) -> list[JobSeen]:
        """Return the jobs of the lane's subject, or of the one it inherits from, that still drain."""
        if lane.member_id is None:
            return [job for job in self.draining.get(0, ()) if job.batch_id == lane.batch_id]
        member = self.members.get(lane.member_id)
        origin = None if member is None else member.inherits_from
        return [*self.draining.get(lane.member_id, ()), *(self.draining.get(origin, ()) if origin is not None else ())]


def fetch(tx: Tx, row: type[S], source: Source, where: str = "", params: Sequence[Value] = ()) -> list[S]:
    """Read rows of one class."""
    make = cast("Callable[[Iterable[Value]], S]", row._make)
    return [make(values) for values in tx.all(source.select + where + source.order, params)]


def whole_rows(tx: Tx, row: type[D], sql: str, params: Sequence[Value] = ()) -> list[D]:
    """Read rows that the state machine has classes for."""
    make = cast("Callable[..., D]", row)
    return [make(*values) for values in tx.all(sql, params)]


def draining(jobs: Iterable[JobSeen]) -> dict[int, list[JobSeen]]:
    """Return the jobs that drain by member (0: a batch's own)."""
    found: dict[int, list[JobSeen]] = {}
    for job in jobs:
        if job.is_draining:
            found.setdefault(job.member_id or 0, []).append(job)
    return found


def out(tx: Tx) -> list[JobSeen]:
    """Read the jobs that are out: the windows keep them few, however large the database is."""
    return fetch(tx, JobSeen, _JOBS, " WHERE topic = 'worker-jobs'")


def rescheduled(tx: Tx) -> frozenset[str]:
    """Return the batches whose T-0 a human has changed: what was true of it once need not be so now."""
    return frozenset(str(scope) for (scope,) in tx.all(_RESCHEDULED))


def is_small(tx: Tx, most: int = SMALL_EVENTS) -> bool:
    """Tell whether the database fits into memory in one piece."""
    row = tx.one(_NEWEST_EVENT)
    return row is None or number(row[0]) <= most


@dataclass(slots=True)
class Tables:
    """A whole small database."""

    slices: dict[int, Slice]
    strays: list[str]
    wide: list[EventSeen]
    holds: list[Hold]


def read_small(tx: Tx, jobs: list[JobSeen]) -> Tables:
    """Read everything and sort it by batch; what hangs on nothing is a stray."""
    standing = whole_rows(tx, Hold, _HOLDS)
    drains = draining(jobs)
    tables = Tables({}, [], [], standing)
    moved = rescheduled(tx)
    for batch in whole_rows(tx, Batch, _BATCHES):
        holds = [hold for hold in standing if hold.batch_id is None or hold.batch_id == batch.id]
        tables.slices[batch.id] = Slice(batch, {}, holds, drains, f"batch {batch.id}" in moved)
    slices = tables.slices
    for phase in whole_rows(tx, PhaseRow, _PHASES):
        if phase.batch_id in slices:
            slices[phase.batch_id].phases[phase.id] = phase
        else:
            tables.strays.append(f"phase {phase.id} has no batch")
    for member in fetch(tx, MemberSeen, _MEMBERS):
        if member.batch_id in slices:
            slices[member.batch_id].members[member.id] = member
        else:
            tables.strays.append(f"member {member.id} has no batch")
    _sort_lanes(tables, fetch(tx, LaneSeen, _LANES))
    _sort_work(tables, fetch(tx, ExecutionSeen, _EXECUTIONS), fetch(tx, AttemptSeen, _ATTEMPTS), jobs)
    for event in fetch(tx, EventSeen, _EVENTS):
        if event.batch_id in slices:
            slices[event.batch_id].events.append(event)
            continue
        tables.wide.append(event)
        if event.entity == "hold" and event.batch_id is None:
            for home in slices.values():
                home.events.append(event)
    return tables


def _sort_lanes(tables: Tables, lanes: Iterable[LaneSeen]) -> None:
    for lane in lanes:
        home = tables.slices.get(lane.batch_id)
        is_lost = home is None or (lane.member_id is not None and lane.member_id not in home.members)
        if home is None or is_lost or (lane.phase_id is not None and lane.phase_id not in home.phases):
            tables.strays.append(f"lane {lane.id} has no batch, member or phase")
            continue
        _add_lane(home, lane)


def _add_lane(home: Slice, lane: LaneSeen) -> None:
    home.lanes[lane.id] = lane
    home.steps[lane.id] = []
    if lane.member_id is not None:
        home.of_member.setdefault(lane.member_id, []).append(lane)


def _sort_work(
    tables: Tables, executions: Iterable[ExecutionSeen], attempts: Iterable[AttemptSeen], jobs: Iterable[JobSeen]
) -> None:
    owner: dict[int, Slice] = {}
    for row in executions:
        home = tables.slices.get(row.batch_id)
        if home is None or row.lane_id not in home.steps:
            tables.strays.append(f"execution {row.id} has no lane")
            continue
        home.executions[row.id] = row
        home.steps[row.lane_id].append(row)
        owner[row.id] = home
    for attempt in attempts:
        known = owner.get(attempt.execution_id)
        if known is not None:
            known.attempts.setdefault(attempt.execution_id, []).append(attempt)
    for job in jobs:
        known = owner.get(job.id)
        if known is None:
            tables.strays.append(f"job {job.message_id} has no execution")
        else:
            known.jobs[job.id] = job


_STRAYS: Final = (
    ("phase {} has no batch", """SELECT p.id FROM phase_executions p
      WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = p.batch_id)"""),
    ("member {} has no batch", """SELECT m.id FROM batch_members m
      WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = m.batch_id)"""),
    ("lane {} has no batch, member or phase", """SELECT l.id FROM lanes l
      WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = l.batch_id)
        OR (l.member_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM batch_members m WHERE m.id = l.member_id
          AND m.batch_id = l.batch_id))
        OR (l.phase_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM phase_executions p WHERE p.id = l.phase_id
          AND p.batch_id = l.batch_id))"""),
    ("execution {} has no lane", """SELECT e.id FROM executions e
      WHERE NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = e.lane_id AND l.batch_id = e.batch_id)"""),
    ("job {} has no execution", """SELECT j.message_id FROM messages j WHERE j.topic = 'worker-jobs'
      AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = j.id)"""),
)  # fmt: skip


def read_wide(tx: Tx) -> Tables:
    """Read what belongs to no batch, and find what hangs on nothing, where batches are read one by one."""
    strays = [words.format(row_id) for words, sql in _STRAYS for (row_id,) in tx.all(sql)]
    wide = fetch(tx, EventSeen, _EVENTS, " WHERE batch_id IS NULL")
    return Tables({}, strays, wide, whole_rows(tx, Hold, _HOLDS))


def batch_ids(tx: Tx) -> list[int]:
    """Return the ids of all batches, oldest first."""
    return [number(i) for (i,) in tx.all("SELECT id FROM batches ORDER BY id")]


def read_paged(tx: Tx, batch_id: int, jobs: list[JobSeen], page: int = PAGE_MEMBERS) -> Iterator[Slice]:
    """Read one batch a page of members at a time; each page holds the batch's own rows as well."""
    batch = whole_rows(tx, Batch, _BATCHES + " WHERE id = ?", (batch_id,))[0]
    phases = {p.id: p for p in whole_rows(tx, PhaseRow, _PHASES + " WHERE batch_id = ?", (batch_id,))}
    holds = whole_rows(tx, Hold, _HOLDS + " WHERE batch_id = ? OR batch_id IS NULL", (batch_id,))
    own = (
        fetch(tx, LaneSeen, _LANES, " WHERE batch_id = ? AND member_id IS NULL", (batch_id,)),
        fetch(tx, ExecutionSeen, _EXECUTIONS, _OWN_LANES, (batch_id,)),
        fetch(
            tx,
            EventSeen,
            _EVENTS,
            " WHERE (batch_id = ? AND member_id IS NULL) OR (batch_id IS NULL AND entity = 'hold')",
            (batch_id,),
        ),
    )
    drains = draining(jobs)
    is_rescheduled = f"batch {batch_id}" in rescheduled(tx)
    mine = [job for job in jobs if job.batch_id == batch_id]
    after = 0
    while True:
        found = Slice(batch, phases, holds, drains, is_rescheduled)
        members = fetch(
            tx,
            MemberSeen,
            Source(_MEMBERS.select, " ORDER BY id LIMIT ?"),
            " WHERE batch_id = ? AND id > ?",
            (batch_id, after, page),
        )
        _fill(tx, found, members, own, mine)
        yield found
        if len(members) < page:
            return
        after = members[-1].id


def _fill(
    tx: Tx,
    found: Slice,
    members: list[MemberSeen],
    own: tuple[list[LaneSeen], list[ExecutionSeen], list[EventSeen]],
    jobs: Iterable[JobSeen],
) -> None:
    found.members = {member.id: member for member in members}
    ids = "[" + ",".join(str(member.id) for member in members) + "]"
    batch_id = found.batch.id
    for lane in (*own[0], *fetch(tx, LaneSeen, _LANES, f" WHERE member_id{_THESE}", (ids,))):
        if lane.batch_id == batch_id and (lane.phase_id is None or lane.phase_id in found.phases):
            _add_lane(found, lane)
    for row in (*own[1], *fetch(tx, ExecutionSeen, _EXECUTIONS, _THEIR_LANES, (ids,))):
        if row.batch_id == batch_id and row.lane_id in found.steps:
            found.executions[row.id] = row
            found.steps[row.lane_id].append(row)
    by_execution: dict[int, list[AttemptSeen]] = defaultdict(list)
    wanted = "[" + ",".join(map(str, found.executions)) + "]"
    for attempt in fetch(tx, AttemptSeen, _ATTEMPTS, f" WHERE execution_id{_THESE}", (wanted,)):
        by_execution[attempt.execution_id].append(attempt)
    found.attempts = dict(by_execution)
    found.jobs = {job.id: job for job in jobs if job.id in found.executions}
    theirs = fetch(tx, EventSeen, _EVENTS, f" WHERE batch_id = ? AND member_id{_THESE}", (batch_id, ids))
    found.events = sorted((*own[2], *theirs))
