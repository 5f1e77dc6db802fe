"""A lane's course: it starts when nothing is in its way, and closes when its last step has ended.

Whenever something about a subject changes, `advance` walks its lanes once and starts what may start: there is no other
place where a lane begins. What cleans up goes on to its last step and asks a human when it was not clean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.domain.instant import Instant
from tminus.progression import lanes, own_time
from tminus.progression.holds import keeping, open_hold
from tminus.progression.lanes import current_step, make_ready, place, reason_to_wait

if TYPE_CHECKING:
    from tminus.domain.rows import Lane
    from tminus.domain.status import HoldKind
    from tminus.progression.view import Subject, View

_NOT_CLEAN = frozenset({"failed", "poll_timeout", "cancelled"})


def advance(view: View, subject: Subject) -> None:
    """Start every lane of the subject that may start, and offer what was parked for a drain again."""
    for lane in sorted(subject.lanes, key=lambda ln: (ln.kind == "phase", place(ln))):
        if lane.status == "waiting":
            reason = reason_to_wait(view, subject, lane)
            if reason is not None and reason.startswith("due:"):
                own_time.wait(view, lane, Instant(reason.removeprefix("due:")))
            elif reason is None and own_time.waits(lane):
                own_time.begin(view, subject.batch, lane)
            if reason is None:
                start(view, subject, lane)
            elif reason != lane.reason:
                lane.reason = reason
                view.touch_lane(lane)
        elif lane.status == "running":
            _unpark(view, subject, lane)


def start(view: View, subject: Subject, lane: Lane) -> None:
    """Set a waiting lane going: its first open step is ready."""
    view.move_lane(lane, "running", "turn")
    lane.reason = None
    if lane.kind == "init" and subject.batch.status == "detected":
        view.move_batch(subject.batch, "init_dispatched", "init started")
        subject.batch.init_dispatched_at = view.now
    current = current_step(view, lane)
    if current is None:
        # An operator has passed every step while the lane waited.
        close_lane(view, subject, lane)
    else:
        make_ready(view, current)


def _unpark(view: View, subject: Subject, lane: Lane) -> None:
    row = current_step(view, lane)
    if row is None or row.status != "pending" or row.ready_at is not None:
        return
    if lanes.must_drain(subject, lane, row) or keeping(view, subject.batch, lane) is not None:
        return
    make_ready(view, row)


def close_lane(view: View, subject: Subject, lane: Lane) -> None:
    """Close a lane whose last step has ended."""
    view.whole(subject)
    clean = lane.kind not in lanes.GOES_ON or not any(r.status in _NOT_CLEAN for r in view.steps_of(lane))
    view.move_lane(lane, "succeeded" if clean else "failed", "last step ended")
    if lane.kind == "init":
        _init_succeeded(view, subject)
    elif lane.kind == "rollback":
        _rollback_ended(view, subject, lane, clean=clean)
    elif lane.kind == "removal":
        _removal_ended(view, subject, lane, clean=clean)
    advance(view, subject)


def _init_succeeded(view: View, subject: Subject) -> None:
    batch = subject.batch
    if batch.status in {"detected", "init_dispatched"}:
        view.move_batch(batch, "active", "init succeeded")
    batch.wake_after = 0
    view.touch_batch(batch)


def _rollback_ended(view: View, subject: Subject, lane: Lane, *, clean: bool) -> None:
    if not clean:
        _ask(view, subject, lane, "rollback", "rollback is not clean")
        return
    _withdraw(view, lane, "rollback")
    cause = None if lane.cause_execution_id is None else view.executions.get(lane.cause_execution_id)
    if cause is not None and cause.status in {"failed", "poll_timeout"} and cause.round == lane.round:
        view.move_execution(cause, "rolled_back", "rollback succeeded", lane.member_id)


def _removal_ended(view: View, subject: Subject, lane: Lane, *, clean: bool) -> None:
    if clean:
        _withdraw(view, lane, "removal")
    else:
        _ask(view, subject, lane, "removal", "removal steps failed")


def _withdraw(view: View, lane: Lane, kind: HoldKind) -> None:
    """Take back what was asked about a lane that is clean at last."""
    for hold in view.holds.values():
        mine = hold.batch_id == lane.batch_id and hold.member_id == lane.member_id
        if hold.kind == kind and hold.is_open and mine:
            view.move_hold(hold, "lifted", f"{kind} succeeded")


def _ask(view: View, subject: Subject, lane: Lane, kind: str, reason: str) -> None:
    who = "the batch" if subject.member is None else subject.member.member_key
    open_hold(
        view,
        scope="batch" if subject.member is None else "member",
        kind="removal" if kind == "removal" else "rollback",
        reason=f"{reason} for {who}",
        batch=subject.batch,
        member_id=lane.member_id,
        evidence_json=f'{{"lane_id":{lane.id}}}',
    )
