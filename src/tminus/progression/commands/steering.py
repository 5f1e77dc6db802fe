"""Steering a batch: cancel, advance, reschedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression import batch as batches
from tminus.progression import closing, course, ending, holds
from tminus.progression.actions import refuse_advance, refuse_cancel, refuse_reschedule
from tminus.progression.commands.answering import answer
from tminus.progression.events import BatchStart

if TYPE_CHECKING:
    from tminus.domain.rows import Hold
    from tminus.progression.events import Advance, CancelBatch, Reschedule
    from tminus.progression.view import View


def on_cancel(view: View, event: CancelBatch) -> None:
    """Stop a batch: the fence and the voiding of unsent jobs now, its members in chunks behind it."""
    batch = view.batches.get(event.batch_id)
    why = "no such batch" if batch is None else refuse_cancel(batch)
    if batch is not None and not why:
        view.decision.void_batches.append(batch.id)
        own = view.whole(view.subject(batch.id, None))
        left_running = batch.status == "active" and view.one_way_sent and not event.everyone
        if left_running:
            batch.is_cancelling = 1
            batch.ending_after = 0
            view.touch_batch(batch)
        else:
            batch.is_cancelling = 0
            ending.end_batch(view, batch, "cancelled", "cancelled by operator")
            closing.cancel_lanes(view, own, "batch cancelled")
            course.advance(view, own)
    answer(view, event, f"batch {event.batch_id}", why, batch_id=event.batch_id)


def on_advance(view: View, event: Advance) -> None:
    """Let a batch without T-0 take its next step."""
    batch = view.batches.get(event.batch_id)
    why = "no such batch" if batch is None else refuse_advance(view, batch)
    if batch is not None and not why:
        if batch.advanced_at is None:
            batch.advanced_at = view.now
            view.touch_batch(batch)
            batches.on_start(view, BatchStart(batch.id))
        pending = [p for p in view.phases_of(batch) if p.status == "pending" and p.due_at is None]
        following = max(pending, key=lambda p: (p.offset_minutes, -p.phase_index))
        following.due_at = view.now
        view.touch_phase(following)
    answer(view, event, f"batch {event.batch_id}", why, batch_id=event.batch_id)


def on_reschedule(view: View, event: Reschedule) -> None:
    """Give a batch another T-0; what has not opened gets new due times, and what a late gate held is asked anew."""
    batch = view.batches.get(event.batch_id)
    why = "no such batch" if batch is None else refuse_reschedule(batch)
    if batch is not None and not why:
        was_waiting = batch.batch_start_time is None and batch.status == "detected"
        batch.batch_start_time = event.t0
        view.touch_batch(batch)
        runbook = view.runbook(batch, batch.runbook_version)
        for phase in view.phases_of(batch):
            if phase.status == "pending" and phase.runbook_version == batch.runbook_version:
                spec = runbook.phases_by_name[phase.phase_name]
                phase.due_at = spec.offset.due_at(event.t0, runbook.timezone)
                view.touch_phase(phase)
        for hold in view.holds.values():
            if hold.is_open and hold.batch_id == batch.id and _is_stale(view, hold):
                view.move_hold(hold, "lifted", "rescheduled")
                holds.wake_scope(view, hold)
        if was_waiting:
            batches.on_start(view, BatchStart(batch.id))
    answer(view, event, f"batch {event.batch_id}", why, batch_id=event.batch_id)


def _is_stale(view: View, hold: Hold) -> bool:
    """Tell whether a hold was about the T-0 that is no more: a gate that waits is asked anew when it is due again."""
    if hold.kind == "gate":
        phase = view.phases.get(hold.phase_id or 0)
        is_due = phase is not None and phase.due_at is not None and phase.due_at <= view.now
        return hold.state in {"rejected", "expired"} or not is_due
    return hold.kind == "old_t0"
