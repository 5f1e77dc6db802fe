"""Loading: from events to a view of every row that deciding them touches, in a few set-based reads.

A result in the middle of a lane needs its execution, the next one, its lane, its member and the batch's few rows. What
closes a lane, fails or waits for something needs the whole member. The guess is made here from definitions; a wrong one
costs a second load (`NeedsWholeError`), never a wrong decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.rows import Batch, Execution, Hold, JobOut, Lane, Member, PhaseRow
from tminus.domain.status import LANE_OPEN
from tminus.progression import events as ev
from tminus.progression.view import Subject, View
from tminus.store import facts, reading, rooms
from tminus.store.reading import fetch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.store.applying import Context

_BY_EXECUTION: Final = (ev.ResultArrived, ev.ExecutionReady, ev.PollDue, ev.JobLost, ev.JobTimedOut)
_BY_MEMBER: Final = (
    ev.Joining,
    ev.Leaving,
    ev.MemberEnding,
    ev.Retry,
    ev.PassStep,
    ev.RollBack,
    ev.EditData,
    ev.SetTime,
    ev.Remove,
)
_BY_LANE: Final = (ev.DeadlinePassed, ev.RetryCleanup)
_BY_PHASE: Final = (ev.PhaseDue, ev.PhaseOpening, ev.PhaseSettled, ev.ApproveEarly)
_DEEP: Final = (ev.Retry, ev.PassStep, ev.RollBack)
_PHASE_BATCHES: Final = "SELECT DISTINCT batch_id FROM phase_executions WHERE id IN (SELECT value FROM json_each(?))"


class Wanted:
    """The ids that a list of events names, and whose subjects must be whole."""

    __slots__ = (
        "batches", "deep", "ending", "executions", "holds", "jobs", "kinds", "lanes", "members", "phases", "whole",
    )  # fmt: skip

    def __init__(self, happened: Sequence[ev.Event]) -> None:
        """Sort the events' ids by what they name."""
        self.executions: set[int] = set()
        self.lanes: set[int] = set()
        self.members: set[int] = set()
        self.whole: set[int] = set()
        self.deep: set[int] = set()
        self.ending: set[int] = set()
        self.phases: set[int] = set()
        self.batches: set[int] = set()
        self.holds: set[int] = set()
        self.jobs: set[int] = set()
        self.kinds = set(map(type, happened))
        for event in happened:
            # The hot path is results; everything else may take its time to be told apart.
            if type(event) is ev.ResultArrived:
                self.executions.add(event.execution_id)
            else:
                self._add(event)

    def _add(self, event: ev.Event) -> None:
        if isinstance(event, _BY_EXECUTION):
            self.executions.add(event.execution_id)
            if isinstance(event, (ev.JobLost, ev.JobTimedOut)):
                self.jobs.add(event.execution_id)
        elif isinstance(event, _BY_LANE):
            self.lanes.add(event.lane_id)
        elif isinstance(event, _BY_PHASE):
            self.phases.add(event.phase_id)
        elif isinstance(event, _BY_MEMBER):
            self._whole(event.member_id, deep=isinstance(event, _DEEP))
        elif isinstance(event, ev.Moving):
            self._whole(event.origin_id, deep=True)
            self._whole(event.member_id)
        elif isinstance(event, ev.Absent):
            # Nobody leaves where a human must decide about all: their lanes are not looked at.
            self.members.update(event.member_ids)
            if not event.vanished and event.doubtful is None:
                self.whole.update(event.member_ids)
            self.batches.add(event.batch_id)
        else:
            self._add_wide(event)

    def _add_wide(self, event: ev.Event) -> None:
        member_id = getattr(event, "member_id", None)
        batch_id = getattr(event, "batch_id", None)
        if isinstance(event, (ev.AnswerHold, ev.HoldExpired)):
            self.holds.add(event.hold_id)
        if member_id is not None:
            self._whole(member_id)
        if batch_id is not None:
            self.batches.add(batch_id)

    def _whole(self, member_id: int, *, deep: bool = False) -> None:
        self.members.add(member_id)
        self.whole.add(member_id)
        if deep:
            self.deep.add(member_id)


def load(
    tx: Tx,
    happened: Sequence[ev.Event],
    context: Context,
    whole: set[tuple[int, int]],
) -> View:
    """Load the view for these events; `whole` names subjects that an earlier try found wanting."""
    wanted = Wanted(happened)
    wanted.whole |= {member for _, member in whole if member}
    wanted.members |= wanted.whole
    view = View(context.now, context.book, rooms.empty())
    _holds_by_id(tx, view, wanted)
    rows = fetch(tx, Execution, reading.EXECUTIONS, wanted.executions)
    rows += fetch(tx, Execution, reading.FOLLOWING, wanted.executions)
    _add_executions(view, rows)
    lane_ids = wanted.lanes | {row.lane_id for row in rows}
    for lane in fetch(tx, Lane, reading.LANES, lane_ids):
        view.lanes[lane.id] = lane
    wanted.batches |= {lane.batch_id for lane in view.lanes.values()}
    _load_members(tx, view, wanted, happened)
    if wanted.phases:
        wanted.batches |= {reading.number(b) for (b,) in tx.all(_PHASE_BATCHES, (reading.ids(wanted.phases),))}
    _load_batches(tx, view, wanted.batches)
    _load_subjects(tx, view, wanted, happened)
    _load_jobs(tx, view, wanted, happened)
    view.rooms = rooms.load(tx, view, context.now, context.room)
    facts.load(tx, view, happened)
    return view


def _add_executions(view: View, rows: list[Execution]) -> None:
    for row in rows:
        if row.id not in view.executions:
            view.executions[row.id] = row
            view.steps.setdefault(row.lane_id, {})[row.step_index] = row


def _holds_by_id(tx: Tx, view: View, wanted: Wanted) -> None:
    for hold in fetch(tx, Hold, reading.HOLDS_BY_ID, wanted.holds):
        view.holds[hold.id] = hold
        if hold.batch_id is not None:
            wanted.batches.add(hold.batch_id)
        if hold.member_id is not None:
            wanted.members.add(hold.member_id)
            wanted.whole.add(hold.member_id)
        if hold.kind in {"leavers", "vanished"}:
            listed = set(orjson.loads(hold.evidence_json).get("member_ids", []))
            wanted.members |= listed
            wanted.whole |= listed


def _load_members(tx: Tx, view: View, wanted: Wanted, happened: Sequence[ev.Event]) -> None:
    """Load members, and with a whole member those whom it follows or who follow it."""
    wanted.members |= {lane.member_id for lane in view.lanes.values() if lane.member_id is not None}
    wanted.whole |= _guess_whole(view, happened)
    if wanted.kinds == {ev.ResultArrived}:
        wanted.ending = _ending(view, happened)
    for member in fetch(tx, Member, reading.MEMBERS, wanted.members):
        view.members[member.id] = member
    related: set[int] = set()
    for member_id in wanted.whole:
        known = view.members.get(member_id)
        if known is not None:
            related |= {other for other in (known.moved_to, known.inherits_from) if other is not None}
    wanted.whole |= related
    for member in fetch(tx, Member, reading.MEMBERS, related - set(view.members)):
        view.members[member.id] = member
    wanted.batches |= {member.batch_id for member in view.members.values()}


def _guess_whole(view: View, happened: Sequence[ev.Event]) -> set[int]:
    """Return the members that an execution's event will probably need in full."""
    found: set[int] = set()
    for event in happened:
        if type(event) is ev.ResultArrived or isinstance(event, _BY_EXECUTION):
            row = view.executions.get(event.execution_id)
            lane = None if row is None else view.lanes.get(row.lane_id)
            if row is not None and lane is not None and lane.member_id is not None and _is_heavy(event, row, lane):
                found.add(lane.member_id)
        elif isinstance(event, _BY_LANE):
            lane = view.lanes.get(event.lane_id)
            if lane is not None and lane.member_id is not None:
                found.add(lane.member_id)
    return found


def _ending(view: View, happened: Sequence[ev.Event]) -> set[int]:
    """Return the phase lanes that end well with these results: what lies behind their last step has ended before."""
    found: set[int] = set()
    for event in happened:
        row = view.executions.get(event.execution_id) if type(event) is ev.ResultArrived else None
        lane = None if row is None else view.lanes.get(row.lane_id)
        if row is not None and lane is not None and lane.kind == "phase" and _ends_well(event, row, lane):
            found.add(lane.id)
    return found


def _ends_well(event: ev.Event, row: Execution, lane: Lane) -> bool:
    is_good = type(event) is ev.ResultArrived and event.error is None and event.job_id == row.job_id
    return is_good and row.step_index + 1 >= lane.steps_total


def _is_heavy(event: ev.Event, row: Execution, lane: Lane) -> bool:
    if type(event) is ev.ResultArrived:
        is_last = row.step_index + 1 >= lane.steps_total
        return is_last or lane.kind != "phase" or event.error is not None or event.job_id != row.job_id
    return lane.kind != "phase" or isinstance(event, (ev.JobLost, ev.JobTimedOut))


def _load_batches(tx: Tx, view: View, batch_ids: set[int]) -> None:
    for batch in fetch(tx, Batch, reading.BATCHES, batch_ids):
        view.batches[batch.id] = batch
    for phase in fetch(tx, PhaseRow, reading.PHASES, batch_ids):
        view.phases[phase.id] = phase
    found = reading.ids(batch_ids)
    for values in tx.all(reading.HOLDS, (found,)):
        hold = reading.hold(values)
        view.holds.setdefault(hold.id, hold)


def _load_subjects(tx: Tx, view: View, wanted: Wanted, happened: Sequence[ev.Event]) -> None:
    for batch in view.batches.values():
        view.subjects[batch.id, 0] = Subject(batch, None, is_whole=True)
    for member in view.members.values():
        batch = view.batches[member.batch_id]
        view.subjects[batch.id, member.id] = Subject(batch, member, is_whole=member.id in wanted.whole)
    loaded = fetch(tx, Lane, reading.BATCH_LANES, view.batches)
    loaded += fetch(tx, Lane, reading.MEMBER_LANES, wanted.whole & set(view.members))
    for lane in loaded:
        view.lanes.setdefault(lane.id, lane)
    for lane in view.lanes.values():
        view.subject_of(lane).lanes.append(lane)
    needed = {lane.id for lane in loaded if lane.status in LANE_OPEN or lane.member_id in wanted.deep} - wanted.ending
    if wanted.kinds == {ev.Wake}:
        waking = {lane.id for lane in loaded if lane.kind in {"phase", "init"}}
        _add_executions(view, fetch(tx, Execution, reading.FIRST_OPEN, needed & waking))
        needed -= waking
    needed |= {lane.id for lane in loaded if lane.kind == "init" and lane.status == "failed"}
    if ev.RetryCleanup in wanted.kinds:
        needed |= {event.lane_id for event in happened if isinstance(event, ev.RetryCleanup)}
    _add_executions(view, fetch(tx, Execution, reading.LANE_EXECUTIONS, needed))
    causes = {lane.cause_execution_id for lane in loaded if lane.cause_execution_id and lane.status in LANE_OPEN}
    _add_executions(view, fetch(tx, Execution, reading.EXECUTIONS, causes - set(view.executions)))


def _load_jobs(tx: Tx, view: View, wanted: Wanted, happened: Sequence[ev.Event]) -> None:
    """Load the jobs that are out for whole subjects, and those that drain."""
    polled = ev.PollDue in wanted.kinds
    ends = {e.execution_id for e in happened if isinstance(e, ev.PollDue)} if polled else set[int]()
    out = wanted.jobs | {
        row.id
        for row in view.executions.values()
        if row.job_id is not None and (row.id in ends or view.subject_of(view.lanes[row.lane_id]).is_whole)
    }
    for job in fetch(tx, JobOut, reading.JOBS, out):
        view.jobs[job.execution_id] = job
    for job in fetch(tx, JobOut, reading.DRAINING, view.batches):
        view.jobs.setdefault(job.execution_id, job)
        for owner in (job.member_id or 0, _heir(view, job.member_id)):
            subject = None if owner is None else _subject(view, owner, job.batch_id)
            if subject is not None:
                subject.draining[job.execution_id] = view.jobs[job.execution_id]


def _heir(view: View, member_id: int | None) -> int | None:
    member = view.members.get(member_id or 0)
    return None if member is None else member.moved_to


def _subject(view: View, member_id: int, batch_id: int) -> Subject | None:
    member = view.members.get(member_id)
    return view.subjects.get((batch_id if member is None else member.batch_id, member_id))
