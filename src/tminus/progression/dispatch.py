"""Dispatch: the last look before a job leaves, in the transaction that sends it.

Everything is checked again here: member, batch, holds, the step's condition, its parameters, the room at its worker id.
What may not go stays `pending` with a reason; what can never go (an unresolved name) fails finally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tminus.domain.ids import job_id
from tminus.domain.status import LANE_OPEN
from tminus.progression import holds, names
from tminus.progression.decision import Job
from tminus.progression.holds import moved_end
from tminus.progression.lanes import earlier_open, must_drain, step_of
from tminus.progression.rooms import QUEUE_FULL
from tminus.runbook.template import Scope, Unresolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.domain.rows import Execution, Lane
    from tminus.progression.view import Subject, View
    from tminus.runbook.model import Step

SENT = "sent"
QUEUED = "queued"
SKIPPED = "skipped"
UNRESOLVED = "unresolved"


def scope_of(view: View, subject: Subject, lane: Lane, row: Execution, step: Step | None = None) -> Scope:
    """Return the names a step can see, in the order in which they win.

    With `step` given, the specials are left out where none of its templates names one: most never do.
    """
    batch, member = subject.batch, subject.member
    texts = [batch.outputs_json, batch.data_json]
    if member is not None and lane.kind not in {"init", "finish"}:
        texts = [member.pinned_json, member.worker_data_json, member.data_json, *texts]
    layers: list[Mapping[str, object]] = [orjson.loads(text) for text in texts if text != "{}"]
    if step is None or names.names_special(step):
        layers.append(_specials(view, subject, lane, row))
    return Scope(layers)


def _specials(view: View, subject: Subject, lane: Lane, row: Execution) -> dict[str, object]:
    batch, member = subject.batch, subject.member
    found = names.specials(
        batch_id=batch.id,
        start=batch.batch_start_time or batch.advanced_at or view.now,
        runbook_name=batch.runbook_name,
        version=row.runbook_version,
        kind=lane.kind,
        sequence=lane.sequence,
        step_name=row.step_name,
        attempt=row.attempt + (row.dispatched_at is not None),
        member_key=None if member is None else member.member_key,
    )
    if lane.context_json:
        found.update(orjson.loads(lane.context_json))
    return found


def may_dispatch(view: View, subject: Subject, lane: Lane) -> bool:
    """Tell whether the lane's subject may have a job sent now: the guard of every dispatch."""
    batch, member = subject.batch, subject.member
    if lane.kind == "phase":
        if member is None or member.status != "active" or batch.status != "active":
            return False
        if holds.is_fenced(batch):
            return False
    elif lane.kind == "init":
        if batch.status not in {"detected", "init_dispatched", "active"}:
            return False
    else:
        return True
    member_id = None if member is None else member.id
    return not view.holds or holds.blocking(view, batch, member_id, lane.phase_id, starting=False) is None


def offer(view: View, subject: Subject, lane: Lane, row: Execution, *, chosen: bool) -> tuple[str, str]:
    """Try to send a pending execution. Return what became of it and, where it matters, why."""
    if row.retry_after is not None and row.retry_after > view.now:
        row.ready_at = row.retry_after
        view.touch_execution(row)
        return QUEUED, "retry"
    if must_drain(subject, lane, row):
        row.ready_at = None
        view.touch_execution(row)
        return QUEUED, "drain"
    kept = _kept(view, subject, lane, row)
    if kept is not None:
        return kept
    if view.rooms.is_full(row.worker_id, row.batch_id, row.priority, chosen=chosen):
        return _queue(view, row, QUEUE_FULL)
    step = step_of(view, lane, row)
    scope = None
    if step.when is not None:
        scope = scope_of(view, subject, lane, row, step)
        if not step.when.holds(scope):
            return SKIPPED, "when"
    try:
        if step.params.names or not step.function.constant:
            scope = scope or scope_of(view, subject, lane, row, step)
            params, function = step.params.render(scope), step.function.text(scope)
        else:
            params, function = step.params.render(_EMPTY), step.function.source
    except Unresolved as error:
        return _unresolved(view, subject, lane, row, error)
    reason = view.rooms.take(row.worker_id, function)
    if reason is not None:
        return _queue(view, row, reason)
    row.function_name = function
    send(view, subject, lane, row, orjson.dumps(params).decode())
    return SENT, ""


_EMPTY = Scope(())


def _kept(view: View, subject: Subject, lane: Lane, row: Execution) -> tuple[str, str] | None:
    """Leave a held step on the list, take one that may not even begin off it; None where nothing is in the way."""
    if not may_dispatch(view, subject, lane):
        return _queue(view, row, "held")
    hold = holds.keeping(view, subject.batch, lane) if view.holds else None
    return None if hold is None else _park(view, lane, row, f"hold:{hold.id}")


def _queue(view: View, row: Execution, reason: str) -> tuple[str, str]:
    if row.ready_at is None:
        row.ready_at = view.now
        view.touch_execution(row)
    return QUEUED, reason


def _unresolved(view: View, subject: Subject, lane: Lane, row: Execution, error: Unresolved) -> tuple[str, str]:
    """Wait where an earlier open lane will still produce the name; otherwise it can never go."""
    if producer(view, subject, lane, error.name) is None:
        return UNRESOLVED, str(error)
    return _park(view, lane, row, f"output:{error.name}")


def _park(view: View, lane: Lane, row: Execution, reason: str) -> tuple[str, str]:
    """Take a step off the dispatcher's list until its subject is looked at again."""
    row.ready_at = None
    view.touch_execution(row)
    lane.reason = reason
    view.touch_lane(lane)
    return QUEUED, reason


def producer(view: View, subject: Subject, lane: Lane, name: str) -> Lane | None:
    """Return the earlier open phase lane that will still give this output, None where nothing will."""
    earlier = earlier_open(subject, lane) if lane.kind == "phase" else None
    while earlier is not None:
        produced = {
            output.casefold()
            for other in view.steps_of(earlier)
            for output, _ in step_of(view, earlier, other).output_params
        }
        if earlier.status in LANE_OPEN and name.casefold() in produced:
            return earlier
        earlier = earlier_open(subject, earlier)
    return None


def send(view: View, subject: Subject, lane: Lane, row: Execution, params_json: str) -> None:
    """Send a new attempt."""
    if row.dispatched_at is not None:
        row.attempt += 1
    if row.first_dispatched_at is None:
        row.first_dispatched_at = view.now
    row.params_json = params_json
    row.dispatched_at = view.now
    row.ready_at = row.retry_after = row.completed_at = None
    row.error_message = row.error_type = None
    row.job_id = job_id(row.id, row.attempt, init=lane.kind == "init")
    if lane.reason is not None:
        lane.reason = None
        view.touch_lane(lane)
    view.begin_lane(lane)
    member = subject.member
    view.move_execution(row, "dispatched", "dispatch", lane.member_id)
    key = None if member is None else member.member_key
    view.decision.jobs[row.id] = Job(row.job_id, row, lane, subject.batch, params_json, row.function_name, key)
    if lane.kind == "phase" and lane.deadline_at is None:
        _start_deadline(view, subject, lane)


def _start_deadline(view: View, subject: Subject, lane: Lane) -> None:
    runbook = view.runbook(subject.batch, lane.runbook_version)
    deadline = runbook.phases_by_name[lane.sequence].deadline
    if deadline is None or deadline.start != "dispatch":
        return
    member_id = None if subject.member is None else subject.member.id
    lane.deadline_from = view.now
    lane.deadline_at = moved_end(view, subject.batch, member_id, view.now, deadline.after_s)
    view.touch_lane(lane)


def send_poll(view: View, subject: Subject, lane: Lane, row: Execution) -> str | None:
    """Ask an unfinished step again, with the parameters of its attempt. Return why not, None when sent."""
    step = step_of(view, lane, row)
    function = row.function_name
    if step.poll is not None and step.poll.function is not None:
        function = step.poll.function.text(scope_of(view, subject, lane, row))
    if view.rooms.is_full(row.worker_id, row.batch_id, row.priority, chosen=True):
        return QUEUE_FULL
    reason = view.rooms.take(row.worker_id, function)
    if reason is not None:
        return reason
    row.poll_count += 1
    row.job_id = job_id(row.id, row.attempt, row.poll_count, init=lane.kind == "init")
    view.touch_execution(row)
    key = None if subject.member is None else subject.member.member_key
    view.decision.jobs[row.id] = Job(
        row.job_id, row, lane, subject.batch, row.params_json or "{}", function, key, is_poll=True
    )
    return None
