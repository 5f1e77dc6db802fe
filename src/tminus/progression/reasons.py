"""Why is it waiting: one sentence for whatever does not move, and the instant of what happens to it next.

Everything is computed from the rows of the view with the rules that the state machine itself obeys, so that a sentence
cannot say something else than what is done. The recorded `lane.reason` is consulted where only the past knows: whether
a wait is one of throttling. Nothing here changes a row, and no rule about moving may live here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from tminus.domain.instant import LAST, Instant, plus
from tminus.domain.status import BATCH_OPEN, LANE_OPEN, PHASE_OPEN
from tminus.progression import dispatch, holds, lanes, step
from tminus.progression.phase import shut_before
from tminus.progression.phrases import clock, hold_code, hold_sentence, since, span
from tminus.runbook.template import Unresolved

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Execution, Hold, Lane, PhaseRow
    from tminus.progression.view import Subject, View

Code = Literal[
    # A hold is in the way.
    "pause", "gate", "gate_rejected", "gate_expired", "brake", "freeze", "one_way", "old_t0", "rerun_init", "over_cost",
    # It is not its turn.
    "member", "batch", "init", "ring", "phase", "order", "drain", "start", "output",
    # Its step waits to be sent.
    "retry", "throttled", "window", "limit", "rate", "turn", "ready",
    # Its step is at a worker.
    "unclaimed", "running", "poll", "poll_out", "lost_track",
    # Phases and batches.
    "due", "advance", "opening", "progress", "closing", "cancelling",
    "ended",
]  # fmt: skip
_PATIENCE_S: Final = 5.0
CODES: Final[tuple[Code, ...]] = get_args(Code)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something waits: a stable code, a sentence for a person, and when it is looked at next (None: not known).

    `hold_id` leads to the hold that is in the way, if one is; it is no part of what is said.
    """

    code: Code
    sentence: str
    next_at: Instant | None = None
    hold_id: int | None = field(default=None, compare=False)


def reason(view: View, subject: Subject, lane: Lane) -> Reason:
    """Say why a lane does not move. The subject must be whole, with the steps of its open lanes and its jobs."""
    if lane.status not in LANE_OPEN:
        return _ended(view, lane)
    if lane.status == "waiting":
        return _waiting(view, subject, lane)
    row = lanes.current_step(view, lane)
    if row is None:
        return Reason("closing", "its last step has ended: it closes now", view.now)
    if row.status == "pending":
        return _pending(view, subject, lane, row)
    return _polling(view, lane, row) if row.status == "polling" else _dispatched(view, subject, lane, row)


def of_hold(hold: Hold) -> Reason:
    """Say that a hold is in the way."""
    code = CODES[CODES.index(hold_code(hold))]
    return Reason(code, hold_sentence(hold), hold.expires_at if code == "gate" else None, hold.id)


def of_own_time(view: View, at: Instant) -> Reason:
    """Say that a member's own T-0 has not come."""
    return Reason("due", f"waits for its own T-0: due at {clock(at, view.now)}", at)


def _ended(view: View, lane: Lane) -> Reason:
    at = "" if lane.closed_at is None else f" at {clock(lane.closed_at, view.now)}"
    why = f": {lane.cancelled_by}" if lane.cancelled_by else ""
    return Reason("ended", f"{lane.status}{at}{why}")


# -- a lane that has not started ---------------------------------------------------------------------------------------


def _waiting(view: View, subject: Subject, lane: Lane) -> Reason:
    """Put the state machine's own reason into words."""
    found = lanes.reason_to_wait(view, subject, lane)
    if found is None:
        return Reason("start", "starts at the next look", view.now)
    kind, _, rest = found.partition(":")
    if kind == "hold":
        return of_hold(view.holds[int(rest)])
    if kind == "due":
        return of_own_time(view, Instant(rest))
    if kind in {"init", "ring"}:
        return _for_init(view, subject, lane) if kind == "init" else _for_ring(view, subject, lane)
    if kind in {"member", "batch"}:
        status = _status(subject) if kind == "member" else _standing(subject.batch)
        return Reason("member" if kind == "member" else "batch", f"the {kind} is {status}: it will not start")
    if kind == "phase":
        return Reason("phase", f"waits for phase {rest}")
    if kind == "order":
        return Reason("order", f"waits for the {rest.replace('_', ' ')} steps")
    return _for_drain(view, subject)


def _status(subject: Subject) -> str:
    return "gone" if subject.member is None else subject.member.status


def _standing(batch: Batch) -> str:
    return "being cancelled" if holds.is_fenced(batch) else batch.status


def _for_init(view: View, subject: Subject, lane: Lane) -> Reason:
    newest = lanes.init_for(view, subject.batch, lane.runbook_version)
    if newest is not None and newest.status == "failed":
        return Reason("init", f"init of version {newest.runbook_version} failed: it waits for its retry")
    version = lane.runbook_version if newest is None else newest.runbook_version
    return Reason("init", f"waits for init of version {version}")


def _for_ring(view: View, subject: Subject, lane: Lane) -> Reason:
    spec = view.runbook(subject.batch, lane.runbook_version).phases_by_name[lane.sequence]
    return Reason("ring", f"waits for ring {lane.ring + 1} of {len(spec.rings)}")


def _for_drain(view: View, subject: Subject) -> Reason:
    """Say which job must end first; its lease ends at the latest then."""
    jobs = sorted(subject.draining.values(), key=lambda job: job.lease_until or view.now)
    ends = jobs[-1].lease_until if jobs else None
    return Reason("drain", "waits for a running job" + (f" ({len(jobs)} are out)" if len(jobs) > 1 else ""), ends)


# -- a step that waits to be sent --------------------------------------------------------------------------------------


def _pending(view: View, subject: Subject, lane: Lane, row: Execution) -> Reason:
    """Walk the same way as a dispatch does: time, drain, holds, names, room."""
    if lanes.must_drain(subject, lane, row):
        return _for_drain(view, subject)
    if row.retry_after is not None and row.retry_after > view.now:
        return _for_retry(view, lane, row, row.retry_after)
    if not dispatch.may_dispatch(view, subject, lane) or holds.keeping(view, subject.batch, lane):
        return _not_allowed(view, subject, lane)
    return _for_output(view, subject, lane, row) or _for_room(view, row)


def _for_retry(view: View, lane: Lane, row: Execution, at: Instant) -> Reason:
    why = f": {row.error_message}" if row.error_message else ""
    if lane.reason == "throttled":
        spent = f"{row.retry_count} of {row.max_retries} retries spent, {span(round(row.throttled_sec))} waited"
        return Reason("throttled", f"throttled, next try {clock(at, view.now)} ({spent}){why}", at)
    return Reason("retry", f"retry {row.retry_count} of {row.max_retries} at {clock(at, view.now)}{why}", at)


def _not_allowed(view: View, subject: Subject, lane: Lane) -> Reason:
    hold = _held(view, subject, lane)
    if hold is not None:
        return of_hold(hold)
    if subject.member is not None and subject.member.status != "active":
        return Reason("member", f"the member is {_status(subject)}: nothing more is sent")
    return Reason("batch", f"the batch is {_standing(subject.batch)}: nothing more is sent")


def _held(view: View, subject: Subject, lane: Lane) -> Hold | None:
    """Return the hold that stops dispatches of this lane, if there is one and its kind can be stopped."""
    if lane.kind in lanes.GOES_ON:
        return None
    stopping = holds.blocking(view, subject.batch, lane.member_id, lane.phase_id, starting=False)
    return stopping or holds.keeping(view, subject.batch, lane)


def _for_output(view: View, subject: Subject, lane: Lane, row: Execution) -> Reason | None:
    """Say for which output of an earlier phase a step waits; a name that nobody will give fails when it is sent."""
    one = lanes.step_of(view, lane, row)
    scope = dispatch.scope_of(view, subject, lane, row)
    try:
        one.params.render(scope)
        one.function.text(scope)
    except Unresolved as missing:
        earlier = dispatch.producer(view, subject, lane, missing.name)
        if earlier is not None:
            return Reason("output", f"waits for output {missing.name} of phase {earlier.sequence}")
    return None


def _for_room(view: View, row: Execution) -> Reason:
    queue = view.rooms.queues.get(row.worker_id)
    if queue is not None and queue.places <= 0:
        return Reason("window", f"worker queue full: {row.worker_id}")
    short = view.rooms.short(row.worker_id, row.function_name)
    if short is not None:
        kind, _, scope = short.partition(":")
        words = "rate limit" if kind == "rate" else "limit of jobs in flight"
        return Reason("rate" if kind == "rate" else "limit", f"{words} reached: {scope}")
    if queue is not None and queue.waiting_batches - {row.batch_id}:
        return Reason("turn", f"waits for its turn at {row.worker_id}: other batches wait as well", view.now)
    if row.ready_at is not None and plus(row.ready_at, _PATIENCE_S) < view.now:
        # Its worker takes what it has room for; what has waited this long is waiting for room.
        return Reason("window", f"worker queue full: {row.worker_id}")
    return Reason("ready", f"goes out to {row.worker_id} at the next look", view.now)


# -- a step that is at a worker ----------------------------------------------------------------------------------------


def _dispatched(view: View, subject: Subject, lane: Lane, row: Execution) -> Reason:
    job = view.jobs.get(row.id)
    if job is None:
        return Reason("lost_track", f"{row.job_id} was sent and is nowhere: doctor mends it")
    again = f" (delivery {job.delivery})" if job.delivery > 1 else ""
    if job.claimed_at is not None:
        at = clock(job.claimed_at, view.now)
        ends = "" if job.timeout_at is None else f", times out at {clock(job.timeout_at, view.now)}"
        text = f"running since {at} at a worker, for {since(job.claimed_at, view.now)}{ends}{again}"
        return Reason("running", text, job.timeout_at)
    hold = _held(view, subject, lane)
    if hold is not None:
        return of_hold(hold)
    sent = "" if row.dispatched_at is None else f", sent at {clock(row.dispatched_at, view.now)}"
    return Reason("unclaimed", f"waits for a worker of {row.worker_id}{sent}{again}")


def _polling(view: View, lane: Lane, row: Execution) -> Reason:
    ends = step.poll_end(row, view)
    until = f"times out at {clock(ends, view.now)}"
    if row.job_id is not None:
        return Reason("poll_out", f"poll {row.poll_count} is at a worker, {until}", ends)
    at = row.poll_due_at
    unasked = "" if lanes.step_of(view, lane, row).poll else ' (the step has no "poll")'
    every = f"polls every {span(row.poll_interval_sec or 0)}{unasked}"
    following = "" if at is None or at >= ends else f"next at {clock(at, view.now)}, "
    return Reason("poll", f"{every}, {following}{until}", at)


# -- phases and batches ------------------------------------------------------------------------------------------------


def phase_reason(view: View, phase: PhaseRow) -> Reason:
    """Say what a phase waits for: its time, its gate, its ring, its lanes."""
    batch = view.batches[phase.batch_id]
    if phase.status == "pending":
        return _before_opening(view, batch, phase)
    if phase.status != "dispatched":
        at = "" if phase.completed_at is None else f" at {clock(phase.completed_at, view.now)}"
        return Reason("ended", f"{phase.status}{at}" + (f": {phase.reason}" if phase.reason else ""))
    if phase.opening_after is not None:
        return Reason("opening", f"opening: {phase.lanes_total} of {phase.members_at_opening} members", view.now)
    ended = phase.lanes_total - phase.open_lanes
    count = f"{ended} of {phase.lanes_total} lanes have ended"
    hold = holds.blocking(view, batch, None, phase.id, starting=True)
    if hold is not None:
        found = of_hold(hold)
        return Reason(found.code, f"{found.sentence}; {count}", found.next_at, hold.id)
    rings = len(view.runbook(batch, phase.runbook_version).phases_by_name[phase.phase_name].rings)
    return Reason("progress", f"ring {phase.ring + 1} of {rings}: {count}" if rings else count)


def _before_opening(view: View, batch: Batch, phase: PhaseRow) -> Reason:
    gate = holds.gate_of(view, phase)
    hold = holds.blocking(view, batch, None, phase.id, starting=True)
    if phase.due_at is None:
        return Reason("advance", "waits for the batch to be advanced")
    if phase.due_at > view.now:
        known = "" if gate is None else f"; the {gate.reason} is {gate.state}"
        return Reason("due", f"due at {clock(phase.due_at, view.now)}{known}", phase.due_at)
    if batch.status in {"detected", "init_dispatched"}:
        return Reason("init", f"waits for init of version {batch.runbook_version}")
    if batch.status != "active":
        return Reason("batch", f"the batch is {batch.status}: it will not open")
    if hold is not None:
        return of_hold(hold)
    wants = view.runbook(batch, phase.runbook_version).phases_by_name[phase.phase_name].gate
    if wants is not None and (gate is None or gate.state != "approved"):
        return Reason("gate", f"waits for the go/no-go before {phase.phase_name}")
    earlier = shut_before(view, batch, phase)
    if earlier is not None:
        return Reason("phase", f"waits for phase {earlier.phase_name}, which has not opened")
    return Reason("start", "opens at the next look", view.now)


def batch_reason(view: View, batch: Batch) -> Reason:
    """Say what a batch waits for."""
    own = view.subject(batch.id, None)
    running = [lane for lane in own.lanes if lane.status in LANE_OPEN]
    if batch.status not in BATCH_OPEN:
        return _batch_ended(view, batch, own, running)
    if batch.ending_after is not None:
        return Reason("cancelling" if batch.is_cancelling else "closing", "its members are ended one by one", view.now)
    if batch.status == "closing":
        return _of_lane(view, own, running[0]) if running else Reason("closing", "closes at the next look", view.now)
    hold = holds.blocking(view, batch, None, None, starting=True)
    if hold is not None:
        return of_hold(hold)
    if running:
        return _of_lane(view, own, running[0])
    if batch.status == "detected" and batch.batch_start_time is None:
        return Reason("advance", "waits for its first advance")
    return _of_phases(view, batch)


def _batch_ended(view: View, batch: Batch, own: Subject, running: list[Lane]) -> Reason:
    at = "" if batch.completed_at is None else f" at {clock(batch.completed_at, view.now)}"
    if batch.ending_after is not None:
        return Reason("closing", f"{batch.status}{at}; its members are ended one by one", view.now)
    if running:
        return _of_lane(view, own, running[0])
    if batch.open_lanes:
        return Reason("closing", f"{batch.status}{at}; {batch.open_lanes} lanes that clean up are open")
    return Reason("ended", f"{batch.status}{at}")


def _of_lane(view: View, own: Subject, lane: Lane) -> Reason:
    """Say why a lane of the batch's own does not move, and which lane that is."""
    found = reason(view, own, lane)
    name = f"init of version {lane.runbook_version}" if lane.kind == "init" else lane.kind
    return Reason(found.code, f"{name}: {found.sentence}", found.next_at, found.hold_id)


def _of_phases(view: View, batch: Batch) -> Reason:
    """Say what the open phases of a batch wait for: the one that runs first, else the next that is due."""
    phases = [phase for phase in view.phases_of(batch) if phase.status in PHASE_OPEN]
    if not phases:
        return Reason("closing", "closes when its last lanes have ended", view.now)
    first = min(phases, key=lambda phase: (phase.status != "dispatched", phase.due_at or LAST, phase.phase_index))
    found = phase_reason(view, first)
    rest = "; it is being cancelled: members past a one_way step go on" if batch.is_cancelling else ""
    return Reason(
        "cancelling" if rest else found.code,
        f"phase {first.phase_name}: {found.sentence}{rest}",
        found.next_at,
        found.hold_id,
    )
