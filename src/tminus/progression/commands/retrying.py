"""Retry: reopen what failed and what was cancelled because of it, in one transaction.

It starts at the failed step; after a rollback that succeeded, at the lane's first step; or where the operator says.
What had succeeded and must run again is replaced by new executions: a succeeded row is never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tminus.domain.instant import plus
from tminus.progression import course, holds, lanes
from tminus.progression.actions import BACK_TO, failed_init, lanes_after, refuse_retry, refuse_retry_init
from tminus.progression.commands.answering import answer
from tminus.progression.commands.pinning import pin
from tminus.progression.decision import History
from tminus.progression.member import catch_up, has_opened
from tminus.progression.phrases import hold_sentence

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Execution, Lane, PhaseRow
    from tminus.progression.events import Retry, RetryCleanup, RetryInit
    from tminus.progression.view import Subject, View
    from tminus.runbook.model import Step

_ENDED = frozenset({"failed", "poll_timeout", "rolled_back", "cancelled"})


def on_retry(view: View, event: Retry) -> None:
    """Try a member's failed work again."""
    member = view.members.get(event.member_id)
    subject = None if member is None else view.whole(view.subject(member.batch_id, member.id))
    if subject is None or member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    why = refuse_retry(view, subject) or _unknown_step(view, subject, event.from_step)
    start = None if why else starts_at(view, subject, event.from_step)
    if not why:
        pin(view, member, event.values)
        reopen(view, subject, event.from_step, original=event.original)
        course.advance(view, subject)
    answer(view, event, member.member_key, why, batch_id=member.batch_id)
    if start is not None:
        _tell(view, subject, *start)


def _tell(view: View, subject: Subject, lane: Lane, row: Execution) -> None:
    """Say where the retry starts, and what stands in its way."""
    reply = view.decision.replies[-1]
    reply.note = f"from {lane.sequence}/{row.step_name}"
    hold = holds.blocking(view, subject.batch, lane.member_id, lane.phase_id, starting=True)
    reply.held = "" if hold is None else hold_sentence(hold)


def _unknown_step(view: View, subject: Subject, name: str | None) -> str:
    if name is None:
        return ""
    rows = [(view.steps_of(ln), r) for ln in _lanes_to_retry(subject) for r in view.steps_of(ln)]
    for steps, row in rows:
        if row.step_name == name:
            failed = next((r for r in steps if r.status in _ENDED), row)
            late = row.step_index > failed.step_index
            return f'"{name}" comes after "{failed.step_name}", which has not passed: skip that first' if late else ""
    names = ", ".join(row.step_name for _, row in rows)
    return f'no step "{name}" in the lanes to retry (there are: {names or "none"})'


def _lanes_to_retry(subject: Subject) -> list[Lane]:
    """Return the phase lanes that run again: what failed or was cancelled, and what had succeeded and was undone."""
    undone = _undone_by_hand(subject)
    return [
        lane
        for lane in sorted(subject.lanes, key=lanes.place)
        if lane.kind == "phase" and (lane.status in {"failed", "cancelled"} or lane.id in undone)
    ]


def reopen(view: View, subject: Subject, from_step: str | None, *, original: bool) -> None:
    """Reopen member, batch, lanes and phases of a member that failed."""
    member, batch = subject.member, subject.batch
    if member is None:
        return
    if batch.status in {"completed", "failed"}:
        batch.round += 1
        batch.outcome = None
        view.move_batch(batch, "active", "retry")
    undone = _undone_by_hand(subject)
    again = _lanes_to_retry(subject)
    for lane in _rollbacks_on_demand(subject):
        lane.context_json = None  # What is retried now is not undone any more, and must not be run again later.
        view.touch_lane(lane)
    member.failed_at = None
    view.move_member(member, "active", "retry")
    for lane in again:
        _reopen_lane(view, subject, lane, from_step, original=original, undone=lane.id in undone)
    held = {lane.sequence for lane in subject.lanes if lane.kind == "phase"}
    for phase in view.phases_of(batch):
        current = phase.runbook_version == batch.runbook_version and has_opened(view, phase)
        if current and (phase.phase_name not in held or phase.status != "skipped"):
            catch_up(view, subject, phase)


def starts_at(view: View, subject: Subject, from_step: str | None = None) -> tuple[Lane, Execution] | None:
    """Return the lane and the step at which a retry of the member would start."""
    undone = _undone_by_hand(subject)
    for lane in _lanes_to_retry(subject):
        rows = view.steps_of(lane)
        first = _first_index(rows, from_step, undone=lane.id in undone)
        found = next((row for row in rows if row.step_index >= first), None)
        if found is not None:
            return lane, found
    return None


def _undone_by_hand(subject: Subject) -> set[int]:
    """Return the lanes whose work an operator has rolled back since the last retry: also what had succeeded."""
    found: set[int] = set()
    for lane in _rollbacks_on_demand(subject):
        if lane.status == "succeeded":
            back_to = orjson.loads(lane.context_json or "{}")[BACK_TO] or None
            found |= {one.id for one in lanes_after(subject, back_to) if not one.is_inherited}
    return found


def _rollbacks_on_demand(subject: Subject) -> list[Lane]:
    return [ln for ln in subject.lanes if ln.kind == "rollback" and ln.cause_execution_id is None and ln.context_json]


def _reopen_lane(
    view: View, subject: Subject, lane: Lane, from_step: str | None, *, original: bool, undone: bool
) -> None:
    batch = subject.batch
    rows = view.steps_of(lane)
    first = _first_index(rows, from_step, undone=undone)
    # Asked before a newer definition takes the place of the steps that ran.
    if any(r.is_one_way and r.status == "succeeded" and r.step_index >= first for r in rows):
        holds.open_hold(
            view,
            scope="member",
            kind="one_way",
            reason=f"{lane.sequence} would run again over a one_way step that succeeded",
            batch=batch,
            member_id=lane.member_id,
        )
    if not original and batch.runbook_version > lane.runbook_version:
        rows = _take_current(view, batch, lane, rows, first)
    for row in rows:
        if row.step_index >= first:
            _reopen_step(view, lane, row)
    lane.cancelled_by = lane.deadline_at = lane.deadline_from = None
    spec = view.runbook(batch, lane.runbook_version).phases_by_name[lane.sequence]
    if spec.deadline is not None and spec.deadline.start == "due":
        lane.deadline_from = view.now
        lane.deadline_at = plus(view.now, spec.deadline.after_s)
    lane.round += 1
    view.move_lane(lane, "waiting", "retry")
    _reopen_phase(view, view.phases.get(lane.phase_id or 0))


def _first_index(rows: list[Execution], from_step: str | None, *, undone: bool = False) -> int:
    for row in rows:
        if from_step is not None and row.step_name == from_step:
            return row.step_index
    if undone or (from_step is None and any(row.status == "rolled_back" for row in rows)):
        return 0
    return next((row.step_index for row in rows if row.status in _ENDED), len(rows))


def _reopen_phase(view: View, phase: PhaseRow | None) -> None:
    if phase is None or phase.status in {"pending", "dispatched", "superseded"}:
        return
    if phase.status == "cancelled":
        view.move_phase(phase, "pending", "retry")
    view.move_phase(phase, "dispatched", "retry")


def _reopen_step(view: View, lane: Lane, row: Execution) -> None:
    if row.status in _ENDED:
        view.move_execution(row, "pending", "retry", lane.member_id)
        row.round += 1
        row.retry_count, row.throttled_sec = 0, 0.0
        row.first_dispatched_at = row.retry_after = row.ready_at = row.completed_at = None
        if row.poll_started_at is not None:
            view.decision.results[row.id] = None
        row.poll_started_at = row.last_polled_at = row.poll_due_at = None
        row.poll_count = 0
        row.cancelled_by = None
    elif row.status in {"succeeded", "skipped"}:
        replace(view, lane, row, lanes.step_of(view, lane, row), row.runbook_version)


def replace(view: View, lane: Lane, row: Execution, step: Step, version: int) -> Execution:
    """Put a new execution in the place of one that ended; the history says which."""
    fresh = lanes.make_execution(lane, step, row.step_index, view.fresh_id())
    fresh.runbook_version = version
    fresh.round = row.round + 1
    view.steps[lane.id][row.step_index] = fresh
    view.executions[fresh.id] = fresh
    if row.id > 0:
        view.decision.dropped_executions.append(row.id)
        view.decision.executions.pop(row.id, None)
    view.decision.new_executions.append(fresh)
    view.decision.history.append(
        History(
            row.batch_id,
            lane.member_id,
            "execution",
            fresh.id,
            None,
            "pending",
            0,
            "retry",
            view.actor,
            f"replaces execution {row.id} ({row.status})" if row.id > 0 else f"new in version {version}",
        )
    )
    return fresh


def _take_current(view: View, batch: Batch, lane: Lane, rows: list[Execution], first: int) -> list[Execution]:
    """Replace the failed execution and what follows by the current version's steps, where it has phase and step."""
    spec = view.runbook(batch, batch.runbook_version).phases_by_name.get(lane.sequence)
    failed = next((r for r in rows if r.step_index >= first), None)
    names = [step.name for step in spec.steps] if spec is not None else []
    if spec is None or failed is None or failed.step_name not in names:
        return rows
    kept = [row for row in rows if row.step_index < failed.step_index]
    following = spec.steps[names.index(failed.step_name) :]
    old = {row.step_index: row for row in rows if row.step_index >= failed.step_index}
    for offset, step in enumerate(following):
        index = failed.step_index + offset
        before = old.pop(index, None) or _blank(view, lane, step, index)
        kept.append(replace(view, lane, before, step, batch.runbook_version))
    for row in old.values():
        view.decision.dropped_executions.append(row.id)
        view.decision.executions.pop(row.id, None)
        del view.steps[lane.id][row.step_index]
    lane.steps_total = len(kept)
    return kept


def _blank(view: View, lane: Lane, step: Step, index: int) -> Execution:
    return lanes.make_execution(lane, step, index, view.fresh_id())


def on_retry_cleanup(view: View, event: RetryCleanup) -> None:
    """Try the failed steps of a lane that cleans up again."""
    lane = view.lanes.get(event.lane_id)
    if lane is None or lane.kind not in lanes.GOES_ON or lane.status != "failed":
        answer(view, event, f"lane {event.lane_id}", "no rollback, removal or hook lane that failed")
        return
    subject = view.whole(view.subject_of(lane))
    for row in view.steps_of(lane):
        if row.status in _ENDED:
            _reopen_step(view, lane, row)
    view.move_lane(lane, "waiting", "retry")
    course.advance(view, subject)
    answer(view, event, f"{lane.kind} lane {lane.id}", "", batch_id=lane.batch_id)


def on_retry_init(view: View, event: RetryInit) -> None:
    """Try a batch's failed init again; its members follow the batch back."""
    batch = view.batches.get(event.batch_id)
    failed = None if batch is None else failed_init(view, batch)
    why = "no init has failed" if batch is None else refuse_retry_init(view, batch)
    if batch is None or failed is None or why:
        answer(view, event, f"batch {event.batch_id}", why, batch_id=event.batch_id)
        return
    subject = view.whole(view.subject(batch.id, None))
    if batch.status == "failed":
        batch.round += 1
        batch.outcome = None
        batch.ending_after = 0
        view.move_batch(batch, "init_dispatched", "retry")
        for phase in view.phases_of(batch):
            if phase.status == "cancelled":
                view.move_phase(phase, "pending", "retry")
    for hold in view.holds.values():
        # The retry is the answer; should the init fail again, it asks again.
        if hold.kind == "rerun_init" and hold.is_open and hold.batch_id == batch.id:
            view.move_hold(hold, "lifted", "retry")
    first = _first_index(view.steps_of(failed), None)
    for row in view.steps_of(failed):
        if row.step_index >= first:
            _reopen_step(view, failed, row)
    failed.round += 1
    view.move_lane(failed, "waiting", "retry")
    course.advance(view, subject)
    answer(view, event, f"batch {batch.id}", "", batch_id=batch.id)
