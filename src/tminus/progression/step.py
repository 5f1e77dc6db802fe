"""A step's life: a result comes in, the next step goes out, a failure retries, unwinds or is passed over.

Only a result for the current job counts; any other is kept as late. One that succeeds or is skipped lets the next go in
the same transaction. What a final failure means depends on the kind of lane and on nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import orjson

from tminus.domain.ids import job_id
from tminus.domain.instant import plus
from tminus.domain.status import PRIORITY_RETRY
from tminus.progression import course, dispatch, drain, lanes, outcome
from tminus.progression.closing import fail_lane
from tminus.progression.decision import Attempt, Late
from tminus.progression.events import WorkError
from tminus.progression.holds import open_hold
from tminus.runbook.template import Unresolved

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Execution, Lane
    from tminus.progression.events import ExecutionReady, PollDue, ResultArrived
    from tminus.progression.view import Subject, View

_POLL_DEFAULT_S = 300.0
_POLL_TIMEOUT_S = 86_400.0
_POLL_TIMEOUT_ASIDE_S = 3_600.0
_WORTH_A_LOOK = frozenset({"failed", "poll_timeout", "cancelled", "rolled_back"})


def on_result(view: View, event: ResultArrived) -> None:
    """Take a worker's answer."""
    row = view.executions.get(event.execution_id)
    if row is None:
        _keep_late(view, event, None, None)
        return
    lane = view.lanes[row.lane_id]
    subject = view.subject_of(lane)
    if row.job_id != event.job_id:
        _keep_late(view, event, row, lane)
        drain.ended(view, subject, row, event.job_id)
        return
    view.decision.job_ends.append(row.id)
    row.job_id = None
    if event.error is not None:
        attempt_failed(view, subject, lane, row, event.error, event, "failed")
    elif event.complete is False:
        _still_going(view, lane, row, event)
    else:
        _succeeded(view, subject, lane, row, event)


def _keep_late(view: View, event: ResultArrived, row: Execution | None, lane: Lane | None) -> None:
    member_id = None if lane is None else lane.member_id
    reason = "unknown execution" if row is None else f"not the current job; the step is {row.status}"
    view.decision.late.append(
        Late(
            job_id=event.job_id,
            digest=event.digest,
            execution_id=None if row is None else row.id,
            batch_id=None if row is None else row.batch_id,
            member_id=member_id,
            is_success=event.error is None,
            reason=reason,
            result_json=event.result_json,
            error_message=None if event.error is None else event.error.message,
        )
    )
    is_end = event.error is None and event.complete is not False
    if row is None or lane is None or not is_end:
        return
    if row.status not in {"succeeded", "skipped"} and _was_sent(lane, row, event.job_id):
        _keep_for_cleaning_up(view, view.subject_of(lane), lane, row, event)
    if row.status not in _WORTH_A_LOOK:
        return
    evidence = {"job_id": event.job_id, "step": row.step_name, "status": row.status}
    open_hold(
        view,
        scope="batch" if member_id is None else "member",
        kind="late_success",
        reason=f'the job of step "{row.step_name}" succeeded after the step was {row.status}',
        batch=view.batches[row.batch_id],
        member_id=member_id,
        evidence_json=orjson.dumps(evidence).decode(),
    )


def _was_sent(lane: Lane, row: Execution, job: str) -> bool:
    """Tell whether a job id is one of this execution's sendings, and not a guess at one to come."""
    sent, _, _ = job.partition("-poll-")
    is_init = lane.kind == "init"
    return row.dispatched_at is not None and any(
        sent == job_id(row.id, attempt, init=is_init) for attempt in range(row.attempt + 1)
    )


def _keep_for_cleaning_up(view: View, subject: Subject, lane: Lane, row: Execution, event: ResultArrived) -> None:
    """Keep the outputs of a late success that nothing else has given: what undoes the step may need them."""
    found = outcome.outputs(lanes.step_of(view, lane, row), event.result_json, complete=event.complete)
    text = subject.batch.outputs_json if subject.member is None else subject.member.worker_data_json
    known = {name.casefold() for name in cast("dict[str, object]", orjson.loads(text))}
    keep_outputs(view, subject, {name: value for name, value in found.items() if name.casefold() not in known})


def note_attempt(
    view: View,
    row: Execution,
    job: str,
    ended_as: str,
    event: ResultArrived | None = None,
    error: WorkError | None = None,
) -> None:
    """Record how the current attempt ended."""
    view.decision.attempts.append(
        Attempt(
            row,
            row.attempt,
            job,
            ended_as,
            row.poll_count,
            row.dispatched_at,
            row.function_name,
            row.params_json,
            None if event is None else event.result_json,
            None if error is None else error.message,
            None if error is None else error.type,
            None if event is None else event.duration_ms,
            event.log if event is not None else None if error is None else error.log,
        )
    )


def _succeeded(view: View, subject: Subject, lane: Lane, row: Execution, event: ResultArrived) -> None:
    note_attempt(view, row, event.job_id, "succeeded", event)
    finish(view, subject, lane, row, event.result_json, event.complete, "result")
    follow_up(view, subject, lane, row)


def finish(  # noqa: PLR0913, PLR0917 - a step ends with a result, its polling word and a cause.
    view: View,
    subject: Subject,
    lane: Lane,
    row: Execution,
    result_json: str | None,
    complete: bool | None,  # noqa: FBT001 - the polling word has three values, a flag it is not.
    cause: str,
) -> None:
    """Mark an execution succeeded and keep its outputs."""
    row.completed_at = view.now
    row.poll_due_at = row.error_message = row.error_type = None
    view.move_execution(row, "succeeded", cause, lane.member_id)
    view.decision.results[row.id] = result_json
    step = lanes.step_of(view, lane, row)
    keep_outputs(view, subject, outcome.outputs(step, result_json, complete=complete))


def keep_outputs(view: View, subject: Subject, found: dict[str, object]) -> None:
    """Add outputs to the member's, or to the batch's where a batch passes the lane."""
    if not found:
        return
    if subject.member is None:
        known = cast("dict[str, object]", orjson.loads(subject.batch.outputs_json))
        subject.batch.outputs_json = orjson.dumps(known | found).decode()
        view.touch_batch(subject.batch)
        return
    known = cast("dict[str, object]", orjson.loads(subject.member.worker_data_json))
    subject.member.worker_data_json = orjson.dumps(known | found).decode()
    view.touch_outputs(subject.member)


def follow_up(view: View, subject: Subject, lane: Lane, row: Execution) -> None:
    """Let the step after `row` go, or close the lane."""
    if lane.status != "running":
        return
    index = row.step_index + 1
    while index < lane.steps_total:
        following = view.steps[lane.id].get(index)
        if following is None or following.status != "pending":
            index += 1
            continue
        if take_turn(view, subject, lane, following, chosen=False):
            if subject.is_whole:
                course.advance(view, subject)
            return
        index += 1
    course.close_lane(view, subject, lane)


def take_turn(view: View, subject: Subject, lane: Lane, row: Execution, *, chosen: bool) -> bool:
    """Offer an execution its turn; True when it is out or queued, False when the lane goes on behind it."""
    became, why = dispatch.offer(view, subject, lane, row, chosen=chosen)
    if became in {dispatch.SENT, dispatch.QUEUED}:
        return True
    row.ready_at = None
    row.completed_at = view.now
    if became == dispatch.SKIPPED:
        view.move_execution(row, "skipped", why, lane.member_id)
        return False
    row.error_message, row.error_type = why, "UnresolvedTemplate"
    view.move_execution(row, "failed", "unresolved", lane.member_id)
    return not _goes_on(view, subject, lane, row)


def on_ready(view: View, event: ExecutionReady) -> None:
    """Give the execution that the dispatcher chose its turn."""
    row = view.executions.get(event.execution_id)
    if row is None or row.status != "pending" or row.ready_at is None or row.ready_at > view.now:
        return
    lane = view.lanes[row.lane_id]
    if lane.status != "running":
        return
    subject = view.subject_of(lane)
    if not take_turn(view, subject, lane, row, chosen=True):
        follow_up(view, subject, lane, row)


def _still_going(view: View, lane: Lane, row: Execution, event: ResultArrived) -> None:
    # How far the work is, for people: what comes after it takes its place.
    view.decision.results[row.id] = event.result_json
    if row.status == "dispatched":
        warning = None
        if not row.is_poll_step:
            row.poll_interval_sec = _POLL_DEFAULT_S
            row.poll_timeout_sec = _POLL_TIMEOUT_S if lane.kind == "phase" else _POLL_TIMEOUT_ASIDE_S
            row.is_poll_step = 1
            warning = f'"{row.step_name}" has no "poll": asked every 5 min'
        row.poll_started_at = view.now
        view.move_execution(row, "polling", "complete: false", lane.member_id, warning)
    row.last_polled_at = view.now
    plan_poll(view, row)


def plan_poll(view: View, row: Execution, delay_s: float | None = None) -> None:
    """Set when the sweep next looks at a polling step: the next poll, or its timeout when that comes first."""
    due = plus(view.now, row.poll_interval_sec or _POLL_DEFAULT_S if delay_s is None else delay_s)
    row.poll_due_at = min(due, poll_end(row, view))
    view.touch_execution(row)


def poll_end(row: Execution, view: View) -> Instant:
    """Return when the attempt's polling times out."""
    return plus(row.poll_started_at or view.now, row.poll_timeout_sec or _POLL_TIMEOUT_S)


def on_poll_due(view: View, event: PollDue) -> None:
    """Ask again, or time out: decided here even while a poll is out."""
    row = view.executions.get(event.execution_id)
    if row is None or row.status != "polling" or row.poll_due_at is None or row.poll_due_at > view.now:
        return
    lane = view.lanes[row.lane_id]
    subject = view.subject_of(lane)
    if poll_end(row, view) <= view.now:
        drain.release(view, subject, row)
        error = WorkError(f"polled for {row.poll_timeout_sec:g} s without an end", "PollTimeout", retryable=False)
        note_attempt(view, row, last_job(lane, row), "poll_timeout", None, error)
        row.poll_due_at = None
        _fail(view, subject, lane, row, error, "poll_timeout")
        return
    if row.job_id is not None:
        row.poll_due_at = poll_end(row, view)
        view.touch_execution(row)
    elif row.id not in subject.draining:
        _ask_again(view, subject, lane, row)


def _ask_again(view: View, subject: Subject, lane: Lane, row: Execution) -> None:
    """Send the next poll; one whose function cannot be named never will be, so that the step fails."""
    try:
        unsent = dispatch.send_poll(view, subject, lane, row)
    except Unresolved as found:
        error = WorkError(str(found), "UnresolvedTemplate", retryable=False)
        note_attempt(view, row, last_job(lane, row), "failed", None, error)
        _fail(view, subject, lane, row, error, "failed")
        return
    if unsent is None:
        row.poll_due_at = poll_end(row, view)


def last_job(lane: Lane, row: Execution) -> str:
    """Return the id of the execution's last sending."""
    return row.job_id or job_id(row.id, row.attempt, row.poll_count, init=lane.kind == "init")


def attempt_failed(  # noqa: PLR0913, PLR0917 - what failed, why, and how its attempt is recorded.
    view: View,
    subject: Subject,
    lane: Lane,
    row: Execution,
    error: WorkError,
    event: ResultArrived | None,
    ended_as: str,
    job: str = "",
) -> None:
    """Decide what a failed attempt means: wait, try again, or fail for good."""
    policy = lanes.step_of(view, lane, row).retry
    if error.is_throttled:
        delay = outcome.throttle_delay_s(policy, row, error, view.now)
        if delay is not None:
            _throttled(view, subject, lane, row, error, event, delay)
            return
        error = WorkError(f"{error.message} (throttled for too long)", error.type or "Throttled", retryable=False)
    note_attempt(view, row, job or (event.job_id if event else last_job(lane, row)), ended_as, event, error)
    if policy is None or not outcome.may_retry(policy, row, error, view.now):
        _fail(view, subject, lane, row, error, "failed")
        return
    delay = outcome.retry_delay_s(policy, row, error)
    row.retry_count += 1
    row.error_message, row.error_type = error.message, error.type or None
    step = lanes.step_of(view, lane, row)
    if row.status == "polling" and step.poll is not None and step.poll.function is not None:
        plan_poll(view, row, delay)
        return
    row.retry_after = plus(view.now, delay)
    _record(view, lane, None)
    view.move_execution(row, "failed", error.type or ended_as, lane.member_id)
    again(view, subject, lane, row, "retry")


def again(view: View, subject: Subject, lane: Lane, row: Execution, cause: str) -> None:
    """Put a failed execution back to `pending`; it waits for its time, and for its own job to drain."""
    view.move_execution(row, "pending", cause, lane.member_id)
    if row.poll_started_at is not None:
        view.decision.results[row.id] = None
    row.poll_started_at = row.last_polled_at = row.poll_due_at = row.completed_at = None
    row.poll_count = 0
    if lane.kind == "phase":
        row.priority = PRIORITY_RETRY
    row.ready_at = None
    if not lanes.must_drain(subject, lane, row):
        lanes.make_ready(view, row)


def _throttled(  # noqa: PLR0913, PLR0917 - as for `attempt_failed`.
    view: View,
    subject: Subject,
    lane: Lane,
    row: Execution,
    error: WorkError,
    event: ResultArrived | None,
    delay_s: float,
) -> None:
    row.throttled_sec += delay_s
    row.error_message, row.error_type = error.message, error.type or "Throttled"
    if row.status == "polling":
        plan_poll(view, row, delay_s)
        return
    note_attempt(view, row, event.job_id if event else last_job(lane, row), "throttled", event, error)
    row.retry_after = plus(view.now, delay_s)
    _record(view, lane, "throttled")
    again(view, subject, lane, row, "throttled")


def _record(view: View, lane: Lane, reason: str | None) -> None:
    """Keep what only the past knows about a lane's wait; the rest is computed from its rows."""
    if lane.reason != reason:
        lane.reason = reason
        view.touch_lane(lane)


def _fail(view: View, subject: Subject, lane: Lane, row: Execution, error: WorkError, status: str) -> None:
    """Fail an execution for good and let its lane draw the consequence."""
    row.error_message, row.error_type = error.message, error.type or None
    row.completed_at = view.now
    row.poll_due_at = row.ready_at = None
    view.move_execution(
        row, "poll_timeout" if status == "poll_timeout" else "failed", error.type or status, lane.member_id
    )
    if _goes_on(view, subject, lane, row):
        follow_up(view, subject, lane, row)


def fail_for(view: View, subject: Subject, lane: Lane, row: Execution, error: WorkError) -> None:
    """Fail an execution finally for a reason of ours (a deadline, a loss)."""
    _fail(view, subject, lane, row, error, "failed")


def _goes_on(view: View, subject: Subject, lane: Lane, row: Execution) -> bool:
    """Apply the lane kind's failure policy; True when the lane goes on with its next step."""
    if lane.kind in lanes.GOES_ON:
        return True
    fail_lane(view, subject, lane, row)
    return False
