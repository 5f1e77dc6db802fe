"""How a batch ends: the fence first, then its members one by one, then its finish steps.

Ending is more than one transaction for a large batch, so it is a cursor (`ending_after`) that the tick moves on: each
member is ended by its own event. A completed batch ends its members before it closes, a cancelled or failed one is
fenced by its status at once and its members follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.status import LANE_OPEN
from tminus.progression import course, lanes

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, PhaseRow
    from tminus.domain.status import BatchStatus, HoldKind
    from tminus.progression.view import View

# What still asks when the batch has ended. Everything else nobody can answer any more; but a pause stands as long as a
# retry may reopen the batch.
_ASKS_ON: Final[frozenset[HoldKind]] = frozenset({"rollback", "removal", "late_success"})
_OUTCOME: Final[dict[str, BatchStatus]] = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}


def end_batch(view: View, batch: Batch, status: BatchStatus, cause: str) -> None:
    """Fence a batch that ends before its time (failed init, cancelled): nothing new goes out from here on."""
    view.move_batch(batch, status, cause)
    batch.ending_after = 0
    batch.wake_after = None
    cancel_phases(view, batch, cause)
    _withdraw(view, batch, status, cause)


def cancel_phases(view: View, batch: Batch, cause: str) -> None:
    """Cancel the phases that have not opened, and stop openings."""
    for phase in view.phases_of(batch):
        phase.opening_after = None
        if phase.status == "pending":
            view.move_phase(phase, "cancelled", cause)
        elif phase.status == "dispatched":
            view.touch_phase(phase)
            view.decision.settled_phases.add(phase.id)


def _withdraw(view: View, batch: Batch, ended: BatchStatus, cause: str) -> None:
    """Take back what is asked about a batch that has ended and can be answered no more."""
    for hold in view.holds.values():
        asks_on = hold.kind in _ASKS_ON or (hold.kind == "pause" and ended != "cancelled")
        if not asks_on and hold.batch_id == batch.id and hold.is_open:
            view.move_hold(hold, "lifted", cause)


def outcome_of(view: View, batch: Batch) -> str:
    """Tell how a batch that may close ends."""
    phases = [phase for phase in view.phases_of(batch) if phase.status != "superseded"]
    if batch.is_cancelling:
        return "cancelled"
    if not batch.members_active and not batch.members_failed and not batch.members_done:
        return "cancelled"
    if any(phase.status == "completed" for phase in phases):
        return "completed"
    return "completed" if phases and all(ignored(phase) for phase in phases) else "failed"


def ignored(phase: PhaseRow) -> bool:
    """Tell whether a version move skipped this phase because its older version had been opened."""
    return phase.status == "skipped" and phase.reason == "ignored as overdue"


def settle(view: View, batch: Batch) -> None:
    """Take the next step of a batch's end, if there is one to take now."""
    if batch.status == "active":
        if batch.open_lanes == 0 and batch.open_phases == 0 and not _opening(view, batch):
            batch.outcome = outcome_of(view, batch)
            batch.ending_after = 0
            batch.wake_after = None
            view.move_batch(batch, "closing", "all phases ended")
        return
    if batch.ending_after is not None or batch.status in {"detected", "init_dispatched"}:
        return
    finish = [lane for lane in view.subject(batch.id, None).lanes if lane.kind == "finish"]
    this_round = [lane for lane in finish if lane.round == batch.round]
    if not this_round and _has_finish(view, batch):
        _open_finish(view, batch)
        return
    if batch.status == "closing" and not any(lane.status in LANE_OPEN for lane in this_round):
        ended = _OUTCOME[batch.outcome or "failed"]
        view.move_batch(batch, ended, "closed")
        _withdraw(view, batch, ended, "closed")


def _opening(view: View, batch: Batch) -> bool:
    return any(phase.opening_after is not None for phase in view.phases_of(batch))


def _has_finish(view: View, batch: Batch) -> bool:
    return bool(view.runbook(batch, batch.runbook_version).on_batch_finished)


def _open_finish(view: View, batch: Batch) -> None:
    if batch.open_lanes:
        return
    subject = view.subject(batch.id, None)
    context = view.facts.get(f"finish:{batch.id}")
    lanes.open_lane(
        view,
        subject,
        "finish",
        "",
        batch.runbook_version,
        view.runbook(batch, batch.runbook_version).on_batch_finished,
        lane_round=batch.round,
        context_json=context,
    )
    course.advance(view, subject)
