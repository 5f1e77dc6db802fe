"""How work ends before its time: a lane fails, a member fails, what is open is cancelled.

A phase lane's failure fails its member, an init's its batch. Cancelling is here too, because it is how the other lanes
end when one has failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.domain.ids import job_id
from tminus.domain.status import LANE_OPEN
from tminus.progression import course, drain, lanes
from tminus.progression.decision import Attempt
from tminus.progression.ending import end_batch
from tminus.progression.holds import open_hold

if TYPE_CHECKING:
    from tminus.domain.rows import Execution, Lane
    from tminus.progression.view import Subject, View


def fail_lane(view: View, subject: Subject, lane: Lane, row: Execution) -> None:
    """Stop an init or phase lane at a final failure: unwind it, and fail its subject."""
    view.whole(subject)
    cause = f"step {row.step_name} failed"
    for other in view.steps_of(lane):
        cancel_step(view, subject, lane, other, cause)
    view.move_lane(lane, "failed", cause)
    step = lanes.step_of(view, lane, row)
    if step.on_failure is not None:
        runbook = view.runbook(subject.batch, row.runbook_version)
        lanes.open_lane(
            view,
            subject,
            "rollback",
            step.on_failure,
            row.runbook_version,
            runbook.rollbacks[step.on_failure],
            cause=row,
            lane_round=row.round,
        )
    if lane.kind == "init":
        _init_failed(view, subject, lane, cause)
    else:
        fail_member(view, subject, lane.runbook_version, cause)
    course.advance(view, subject)


def _init_failed(view: View, subject: Subject, lane: Lane, cause: str) -> None:
    batch = subject.batch
    if batch.status in {"detected", "init_dispatched"}:
        end_batch(view, batch, "failed", cause)
    elif batch.status == "active":
        open_hold(
            view,
            scope="batch",
            kind="rerun_init",
            reason=f"init of version {lane.runbook_version} failed: {cause}",
            batch=batch,
            evidence_json=f'{{"lane_id":{lane.id}}}',
        )


def fail_member(view: View, subject: Subject, version: int, cause: str) -> None:
    """Fail a member: its other work is cancelled, the hook is opened behind its rollback."""
    member = subject.member
    if member is None or member.status != "active":
        return
    member.failures += 1
    member.failed_at = view.now
    view.move_member(member, "failed", cause)
    cancel_lanes(view, subject, cause)
    hook = view.runbook(subject.batch, version).on_member_failed
    if hook:
        lanes.open_lane(view, subject, "member_failed", "", version, hook, lane_round=member.failures)


def cancel_lanes(view: View, subject: Subject, cause: str) -> None:
    """Cancel the subject's open phase (or init) lanes; what cleans up is never cancelled."""
    for lane in subject.lanes:
        if lane.kind in {"phase", "init"} and lane.status in LANE_OPEN:
            for row in view.steps_of(lane):
                cancel_step(view, subject, lane, row, cause)
            lane.cancelled_by = cause
            lane.reason = None
            view.move_lane(lane, "cancelled", cause)


def cancel_step(view: View, subject: Subject, lane: Lane, row: Execution, cause: str) -> None:
    """Cancel one execution that is still open; its job is voided, or drains."""
    if row.status not in {"pending", "dispatched", "polling"}:
        return
    if row.status != "pending":
        job = row.job_id or job_id(row.id, row.attempt, row.poll_count, init=lane.kind == "init")
        drain.release(view, subject, row)
        view.decision.attempts.append(
            Attempt(
                row,
                row.attempt,
                job,
                "cancelled",
                row.poll_count,
                row.dispatched_at,
                row.function_name,
                row.params_json,
            )
        )
    row.cancelled_by = cause
    row.completed_at = view.now
    row.ready_at = row.retry_after = row.poll_due_at = None
    view.move_execution(row, "cancelled", cause, lane.member_id)
