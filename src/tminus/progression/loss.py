"""What goes wrong without a result: a lease ends, a timeout or a deadline passes.

A lost job is redelivered under the same id and costs no retry, unless the step is one_way: nobody knows then whether it
was done. A lost poll is no failure. A timeout ends the attempt while its job may still run: the retry waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import plus
from tminus.progression import course, drain, holds, lanes, own_time, step
from tminus.progression.events import WorkError

if TYPE_CHECKING:
    from tminus.domain.rows import Execution, Lane
    from tminus.progression.events import DeadlinePassed, JobLost, JobTimedOut
    from tminus.progression.view import Subject, View

MOST_DELIVERIES: Final = 10


def on_lost(view: View, event: JobLost) -> None:
    """Deliver a lost job again, or end its attempt."""
    row = view.executions.get(event.execution_id)
    job = view.jobs.get(event.execution_id)
    if row is None or job is None or job.message_id != event.job_id:
        return
    if not (event.dead or event.returned) and (job.lease_until is None or job.lease_until > view.now):
        return
    lane = view.lanes[row.lane_id]
    subject = view.subject_of(lane)
    if row.job_id != event.job_id:
        drain.ended(view, subject, row, event.job_id)
        return
    if job.is_poll:
        _end_job(view, row)
        step.plan_poll(view, row)
        return
    if not event.dead and not row.is_one_way and job.delivery < MOST_DELIVERIES:
        view.decision.job_returns.append(row.id)
        return
    _end_job(view, row)
    times = f" in {job.delivery} deliveries" if job.delivery > 1 else ""
    message = f"no result came back for {event.job_id}{times}{f': {event.reason}' if event.reason else ''}"
    error = WorkError(message, "lost", retryable=False if row.is_one_way else None, log=event.log or None)
    step.attempt_failed(view, view.whole(subject), lane, row, error, None, "lost", job=event.job_id)


def _end_job(view: View, row: Execution) -> None:
    view.decision.job_ends.append(row.id)
    view.jobs.pop(row.id, None)
    row.job_id = None
    view.touch_execution(row)


def on_timeout(view: View, event: JobTimedOut) -> None:
    """End an attempt that took longer than its step allows."""
    row = view.executions.get(event.execution_id)
    job = view.jobs.get(event.execution_id)
    if row is None or job is None or row.job_id != event.job_id or job.message_id != event.job_id:
        return
    if job.timeout_at is None or job.timeout_at > view.now:
        return
    lane = view.lanes[row.lane_id]
    subject = view.whole(view.subject_of(lane))
    drain.release(view, subject, row)
    if job.is_poll:
        step.plan_poll(view, row)
        return
    error = WorkError(f"no result within {row.timeout_sec:g} s of the claim", "timeout")
    step.attempt_failed(view, subject, lane, row, error, None, "timeout", job=event.job_id)


def on_deadline(view: View, event: DeadlinePassed) -> None:
    """Fail what a lane still has open when its deadline passes; a pause has stretched it."""
    lane = view.lanes.get(event.lane_id)
    if lane is None or lane.deadline_at is None or lane.status not in {"waiting", "running"}:
        return
    if lane.deadline_at > view.now:
        return
    subject = view.whole(view.subject_of(lane))
    if lane.deadline_from is None:
        own_time.begin(view, subject.batch, lane)
        course.advance(view, subject)
        return
    span_s = _deadline_s(view, subject, lane)
    stretched = holds.moved_end(view, subject.batch, lane.member_id, lane.deadline_from, span_s)
    if stretched > view.now or holds.is_paused(view, subject.batch, lane.member_id):
        lane.deadline_at = max(stretched, view.now)
        if lane.deadline_at == view.now:
            lane.deadline_at = plus(view.now, 60.0)
        view.touch_lane(lane)
        return
    lane.deadline_at = None
    view.touch_lane(lane)
    row = lanes.current_step(view, lane)
    if row is None:
        return
    if lane.status == "waiting":
        view.move_lane(lane, "running", "deadline")
    _fail_at_deadline(view, subject, lane, row)


def _deadline_s(view: View, subject: Subject, lane: Lane) -> float:
    deadline = view.runbook(subject.batch, lane.runbook_version).phases_by_name[lane.sequence].deadline
    return 0.0 if deadline is None else deadline.after_s


def _fail_at_deadline(view: View, subject: Subject, lane: Lane, row: Execution) -> None:
    error = WorkError("the deadline of the phase has passed", "deadline", retryable=False)
    if row.status != "pending":
        job = step.last_job(lane, row)
        drain.release(view, subject, row)
        step.note_attempt(view, row, job, "deadline", None, error)
    step.fail_for(view, subject, lane, row, error)
