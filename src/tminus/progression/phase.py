"""A phase's life: due, opened in chunks, ring after ring, braked, ended.

A phase opens for the members that are active then; joiners add their own lanes later. Opening a large phase is many
transactions, so the phase keeps a cursor and cannot end before it is through. Ring and brake are looked at as lanes
close, from counters, never by counting members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tminus.domain.instant import plus
from tminus.progression import holds
from tminus.progression.decision import Opening

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Hold, PhaseRow
    from tminus.progression.events import PhaseDue, PhaseOpening, PhaseSettled
    from tminus.progression.view import View
    from tminus.runbook.model import Phase

NO_MEMBERS = "no members at its due time"


def definition(view: View, batch: Batch, phase: PhaseRow) -> Phase:
    """Return the definition that the phase is bound to."""
    return view.runbook(batch, phase.runbook_version).phases_by_name[phase.phase_name]


def on_due(view: View, event: PhaseDue) -> None:
    """Open a phase whose time has come, unless something holds it."""
    phase = view.phases.get(event.phase_id)
    if phase is None or phase.status != "pending" or phase.due_at is None or phase.due_at > view.now:
        return
    batch = view.batches[phase.batch_id]
    if batch.status != "active" or phase.runbook_version != batch.runbook_version:
        return
    if holds.is_fenced(batch):
        return
    gate = definition(view, batch, phase).gate
    if gate is not None and not _gate_open(view, batch, phase, gate.expires_s):
        return
    hold = holds.blocking(view, batch, None, phase.id, starting=True)
    if hold is not None:
        _wait(view, phase, f"hold:{hold.id}")
        return
    earlier = shut_before(view, batch, phase)
    if earlier is not None:
        _wait(view, phase, f"phase:{earlier.phase_name}")
        return
    if batch.members_active == 0:
        view.move_phase(phase, "skipped", "due", NO_MEMBERS)
        return
    view.move_phase(phase, "dispatched", "due")
    phase.dispatched_at = view.now
    phase.opening_after = 0
    phase.members_at_opening = batch.members_active
    batch.current_phase = phase.phase_name
    view.touch_batch(batch)
    view.decision.openings.append(Opening(phase, batch))


def shut_before(view: View, batch: Batch, phase: PhaseRow) -> PhaseRow | None:
    """Return the phase that goes before this one and has not opened yet: only lanes wait for lanes, and it has none."""
    if definition(view, batch, phase).overlap:
        return None
    return next((one for one in _before(view, batch, phase) if one.status == "pending"), None)


def _before(view: View, batch: Batch, phase: PhaseRow) -> list[PhaseRow]:
    mine = [one for one in view.phases_of(batch) if one.runbook_version == phase.runbook_version]
    return [one for one in mine if one.due_at is not None and _place(one) < _place(phase)]


def _place(phase: PhaseRow) -> tuple[str, int]:
    return (phase.due_at or "", phase.phase_index)


def _wait(view: View, phase: PhaseRow, reason: str) -> None:
    if phase.reason != reason:
        phase.reason = reason
        view.touch_phase(phase)


def _gate_open(view: View, batch: Batch, phase: PhaseRow, expires_s: float | None) -> bool:
    """Tell whether the gate lets the phase open; ask for the go/no-go when nobody has been asked."""
    gate = holds.gate_of(view, phase)
    if gate is None:
        gate = ask(view, batch, phase, expires_s)
    if gate.state == "approved":
        return True
    _wait(view, phase, f"gate:{gate.state}")
    return False


def ask(view: View, batch: Batch, phase: PhaseRow, expires_s: float | None) -> Hold:
    """Open the phase's gate."""
    evidence: dict[str, object] = {
        "phase": phase.phase_name,
        "members": batch.members_active,
        "failed": batch.members_failed,
        "expires_s": expires_s or 0,
    }
    return holds.open_hold(
        view,
        scope="phase",
        kind="gate",
        reason=f"go/no-go before {phase.phase_name}",
        batch=batch,
        phase_id=phase.id,
        evidence_json=orjson.dumps(evidence).decode(),
        expires_at=None if expires_s is None else plus(view.now, expires_s),
    )


def on_opening(view: View, event: PhaseOpening) -> None:
    """Open the next chunk of a phase."""
    phase = view.phases.get(event.phase_id)
    if phase is None or phase.opening_after is None or phase.status != "dispatched":
        return
    batch = view.batches[phase.batch_id]
    if any(one.opening_after is not None for one in _before(view, batch, phase)):
        return  # A member must have its lane in the earlier phase before it gets one that waits for it.
    view.decision.openings.append(Opening(phase, batch))


def on_settled(view: View, event: PhaseSettled) -> None:
    """Look at a phase whose lanes have changed: its brake, its rings, its end."""
    phase = view.phases.get(event.phase_id)
    if phase is None or phase.status != "dispatched":
        return
    batch = view.batches[phase.batch_id]
    if phase.opening_after is None and phase.open_lanes == 0:
        _end(view, phase)
        return
    spec = definition(view, batch, phase)
    if spec.brake is not None and batch.status == "active":
        _brake(view, batch, phase, spec)
    if spec.rings and phase.opening_after is None and phase.id not in view.ring_open:
        _next_ring(view, batch, phase, spec)


def _end(view: View, phase: PhaseRow) -> None:
    for hold in view.holds.values():
        if hold.kind == "brake" and hold.is_open and hold.phase_id == phase.id:
            view.move_hold(hold, "lifted", "nothing is left to be held")
    if phase.lanes_succeeded:
        view.move_phase(phase, "completed", "all lanes ended")
    elif phase.lanes_cancelled == phase.lanes_total:
        view.move_phase(phase, "cancelled", "all lanes ended")
    else:
        view.move_phase(phase, "failed", "all lanes ended")


def _brake(view: View, batch: Batch, phase: PhaseRow, spec: Phase) -> None:
    failed = phase.ring_failed - phase.ring_acknowledged
    if spec.brake is None or failed <= 0 or not spec.brake.exceeded_by(failed, phase.ring_started):
        return
    evidence = {"failed": phase.ring_failed, "started": phase.ring_started, "ring": phase.ring + 1}
    hold = holds.open_hold(
        view,
        scope="phase",
        kind="brake",
        reason=f"{failed} of {phase.ring_started} failed in {phase.phase_name}: the brake holds what has not started",
        batch=batch,
        phase_id=phase.id,
        evidence_json=orjson.dumps(evidence).decode(),
    )
    _wait(view, phase, f"hold:{hold.id}")


def _next_ring(view: View, batch: Batch, phase: PhaseRow, spec: Phase) -> None:
    """Open the ring after the one whose lanes have all ended, unless the brake holds the phase."""
    braked = any(h.kind == "brake" and h.is_open and h.phase_id == phase.id for h in view.holds.values())
    if braked or phase.ring + 1 >= len(spec.rings):
        return
    phase.ring += 1
    phase.ring_started = phase.ring_failed = phase.ring_acknowledged = 0
    view.touch_phase(phase)
    batch.wake_after = 0
    view.touch_batch(batch)
    # Its members may all have left meanwhile: nobody else would ever look at the ring after it.
    view.decision.settled_phases.add(phase.id)


def ring_ends(spec: Phase, members: int) -> tuple[int, ...]:
    """Return after how many members each ring ends; the last takes the rest."""
    ends: list[int] = []
    reached = 0
    for share in spec.rings[:-1]:
        reached = min(members, reached + share.of(members))
        ends.append(reached)
    return (*ends, members) if spec.rings else ()
