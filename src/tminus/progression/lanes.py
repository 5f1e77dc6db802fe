"""Lanes: what they are bound to, how they are laid out, and why one waits.

A subject's phase lanes run in the order of due time, runbook and version, the next when the ones before have succeeded;
its other lanes run one at a time, rollback before removal before hooks. How a lane runs its course, from its start to
its end, is `tminus.progression.course`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.rows import Execution, Lane
from tminus.domain.status import LANE_OPEN, PRIORITY_BY_KIND
from tminus.progression import holds, own_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.domain.rows import Batch, PhaseRow
    from tminus.domain.status import LaneKind
    from tminus.progression.view import Subject, View
    from tminus.runbook.model import Phase, Runbook, Step

GOES_ON: Final = frozenset({"rollback", "removal", "member_failed", "finish"})
_TURN: Final = {"rollback": 0, "removal": 1, "member_failed": 2, "finish": 3}


def definition(runbook: Runbook, lane: Lane) -> tuple[Step, ...]:
    """Return the steps that a lane is bound to."""
    if lane.kind == "phase":
        return runbook.phases_by_name[lane.sequence].steps
    if lane.kind == "rollback":
        return tuple(step for name in lane.sequence.split("\n") for step in runbook.rollbacks[name])
    return {
        "init": runbook.init,
        "removal": runbook.on_member_removed,
        "member_failed": runbook.on_member_failed,
        "finish": runbook.on_batch_finished,
    }[lane.kind]


def step_of(view: View, lane: Lane, row: Execution) -> Step:
    """Return the definition that an execution runs: that of its own version, found by name."""
    key = (lane.batch_id, row.runbook_version, lane.kind, lane.sequence, row.step_index, row.step_name)
    known = view.definitions.get(key)
    if known is None:
        runbook = view.runbook(view.batches[lane.batch_id], row.runbook_version)
        steps = definition(runbook, lane)
        if row.step_index < len(steps) and steps[row.step_index].name == row.step_name:
            known = steps[row.step_index]
        else:
            known = next(step for step in steps if step.name == row.step_name)
        view.definitions[key] = known
    return known


def make_execution(lane: Lane, step: Step, index: int, row_id: int) -> Execution:
    """Lay out one step of a lane; its policy is stored with it and never changes under it."""
    poll, retry = step.poll, step.retry
    return Execution(
        id=row_id,
        lane_id=lane.id,
        batch_id=lane.batch_id,
        step_name=step.name,
        step_index=index,
        runbook_version=lane.runbook_version,
        worker_id=step.worker_id,
        function_name=step.function.source,
        params_json=None,
        status="pending",
        job_id=None,
        attempt=0,
        retry_count=0,
        max_retries=retry.max_retries if retry else 0,
        retry_interval_sec=retry.interval_s if retry else None,
        retry_after=None,
        throttled_sec=0.0,
        ready_at=None,
        priority=PRIORITY_BY_KIND[lane.kind],
        first_dispatched_at=None,
        dispatched_at=None,
        completed_at=None,
        timeout_sec=step.timeout_s,
        is_one_way=int(step.one_way),
        is_poll_step=int(poll is not None),
        poll_interval_sec=poll.interval_s if poll else None,
        poll_timeout_sec=poll.timeout_s if poll else None,
        poll_started_at=None,
        last_polled_at=None,
        poll_due_at=None,
        poll_count=0,
        round=0,
        error_message=None,
        error_type=None,
        cancelled_by=None,
    )


def open_lane(  # noqa: PLR0913 - the parts of a lane that differ by kind.
    view: View,
    subject: Subject,
    kind: LaneKind,
    sequence: str,
    version: int,
    steps: Sequence[Step],
    *,
    phase: PhaseRow | None = None,
    cause: Execution | None = None,
    lane_round: int = 0,
    context_json: str | None = None,
    is_forced: bool = False,
) -> Lane:
    """Make a lane with its executions; it starts when its turn comes."""
    lane = Lane(
        id=view.fresh_id(),
        batch_id=subject.batch.id,
        member_id=None if subject.member is None else subject.member.id,
        phase_id=None if phase is None else phase.id,
        kind=kind,
        sequence=sequence,
        runbook_version=version,
        status="waiting",
        steps_total=len(steps),
        lane_order=0 if phase is None else phase.phase_index,
        due_at=None if phase is None else phase.due_at,
        ring=-1,
        round=lane_round,
        cause_execution_id=None if cause is None else cause.id,
        cancelled_by=None,
        is_inherited=0,
        is_forced=int(is_forced),
        reason=None,
        next_at=None,
        deadline_at=None,
        deadline_from=None,
        context_json=context_json,
        started_at=None,
        closed_at=None,
    )
    view.lanes[lane.id] = lane
    subject.lanes.append(lane)
    view.decision.new_lanes.append(lane)
    view.count_new_lane(lane)
    rows = {i: make_execution(lane, step, i, view.fresh_id()) for i, step in enumerate(steps)}
    view.steps[lane.id] = rows
    view.executions.update({row.id: row for row in rows.values()})
    view.decision.new_executions.extend(rows.values())
    return lane


def init_for(view: View, batch: Batch, version: int) -> Lane | None:
    """Return the init that holds for a version: its own, else the one before, and a later one where that has failed."""
    inits = sorted((ln for ln in view.subject(batch.id, None).lanes if ln.kind == "init"), key=_version)
    found: Lane | None = None
    for lane in inits:
        if lane.runbook_version <= version or (found is not None and found.status == "failed"):
            found = lane
    return found


def _version(lane: Lane) -> int:
    return lane.runbook_version


def init_succeeded(view: View, batch: Batch, version: int) -> bool:
    """Tell whether the init that holds for this version has succeeded."""
    newest = init_for(view, batch, version)
    return newest is None or newest.status == "succeeded"


def reason_to_wait(view: View, subject: Subject, lane: Lane) -> str | None:
    """Return why a waiting lane may not start now, None when it may."""
    if lane.kind == "init":
        hold = holds.blocking(view, subject.batch, None, None, starting=False)
        return f"hold:{hold.id}" if hold else None
    if subject.draining and not lane.is_forced:
        return "drain"
    if lane.kind == "phase":
        return _phase_reason(view, subject, lane)
    for other in subject.lanes:
        if other is not lane and other.kind != "phase" and other.status in LANE_OPEN and _goes_before(other, lane):
            return f"order:{other.kind}"
    return None


def _goes_before(other: Lane, lane: Lane) -> bool:
    if other.kind == "init":
        return False
    return other.status == "running" or (_TURN[other.kind], other.round) < (_TURN[lane.kind], lane.round)


def _phase_reason(view: View, subject: Subject, lane: Lane) -> str | None:
    batch, member = subject.batch, subject.member
    if member is None or member.status != "active":
        return "member"
    if batch.status != "active" or holds.is_fenced(batch):
        return "init" if batch.status in {"detected", "init_dispatched"} else "batch"
    if not init_succeeded(view, batch, lane.runbook_version):
        return "init"
    at = own_time.due(view, subject, lane)
    if at is not None:
        return f"due:{at}"
    hold = holds.blocking(view, batch, member.id, lane.phase_id, starting=True)
    if hold is not None:
        return f"hold:{hold.id}"
    if lane.phase_id is not None and lane.ring > view.phases[lane.phase_id].ring:
        return f"ring:{lane.ring + 1}"
    if _phase_definition(view, lane).overlap:
        return None
    earlier = earlier_open(subject, lane)
    return f"phase:{earlier.sequence}" if earlier else None


def _phase_definition(view: View, lane: Lane) -> Phase:
    return view.runbook(view.batches[lane.batch_id], lane.runbook_version).phases_by_name[lane.sequence]


def place(lane: Lane) -> tuple[str, int, int]:
    """Return a phase lane's place in its member's order."""
    return (lane.due_at or "", lane.lane_order, lane.runbook_version)


def earlier_open(subject: Subject, lane: Lane) -> Lane | None:
    """Return the first open phase lane of the member that goes before this one."""
    before = [o for o in subject.lanes if o.kind == "phase" and o.status in LANE_OPEN and place(o) < place(lane)]
    return min(before, key=place, default=None)


def must_drain(subject: Subject, lane: Lane, row: Execution) -> bool:
    """Tell whether a step waits for a draining job: for its own always, in what cleans up for any of its subject."""
    if row.id in subject.draining:
        return True
    return bool(subject.draining) and lane.kind in GOES_ON and not lane.is_forced


def current_step(view: View, lane: Lane) -> Execution | None:
    """Return the first step of the lane that has not been passed and is not a failure that the lane went on from."""
    for row in view.steps_of(lane):
        if row.status in {"pending", "dispatched", "polling"}:
            return row
    return None


def make_ready(view: View, row: Execution) -> None:
    """Let the dispatcher find this execution from now (or from its retry's time) on."""
    row.ready_at = view.now if row.retry_after is None else max(view.now, row.retry_after)
    view.touch_execution(row)
