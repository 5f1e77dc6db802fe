"""A new version reaches a live batch: one transaction that makes its phases and supersedes the old pending ones.

Lanes that have opened finish under the version they are bound to; nothing here touches them. What was past due runs
again or is skipped as the publisher said, once per batch and version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.domain.rows import PhaseRow
from tminus.domain.status import LANE_OPEN
from tminus.progression import course, holds, lanes

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch
    from tminus.progression.events import VersionMove
    from tminus.progression.view import View
    from tminus.runbook.model import Runbook

IGNORED = "ignored as overdue"
_WAS_OPENED = frozenset({"dispatched", "completed", "failed", "skipped"})


def on_move(view: View, event: VersionMove) -> None:
    """Move a batch to a newer version."""
    batch = view.batches.get(event.batch_id)
    if batch is None or batch.status not in {"detected", "init_dispatched", "active"} or batch.kind == "event":
        return
    subject = view.subject(batch.id, None)
    if event.version <= batch.runbook_version or any(
        lane.kind == "init" and lane.status in LANE_OPEN for lane in subject.lanes
    ):
        return
    runbook = view.runbook(batch, event.version)
    known = view.phases_of(batch)
    reached = _reached(batch, runbook, known)
    _supersede(view, known)
    for index, spec in enumerate(runbook.phases):
        phase = new_phase(view, batch, runbook, event.version, index)
        older = [p for p in known if p.phase_name == spec.name and _was_opened(p)]
        overdue = _is_overdue(view, batch, reached, phase)
        if overdue and event.overdue == "ignore" and older:
            view.move_phase(phase, "skipped", "new version", IGNORED)
        elif overdue:
            phase.due_at = phase.due_at or view.now
            if spec.name in event.one_way_phases:
                holds.open_hold(
                    view,
                    scope="phase",
                    kind="one_way",
                    reason=f"{spec.name} would run again over a one_way step that was sent",
                    batch=batch,
                    phase_id=phase.id,
                )
    batch.runbook_version, batch.runbook_id = event.version, event.runbook_id
    batch.ignored_version = event.version
    view.touch_batch(batch)
    view.decision.settled_batches.add(batch.id)
    if event.rerun_init and runbook.init and batch.status == "active":
        for hold in view.holds.values():
            # The new init is the answer to the one that failed; should it fail as well, it asks again.
            if hold.kind == "rerun_init" and hold.is_open and hold.batch_id == batch.id:
                view.move_hold(hold, "lifted", "new version")
        lanes.open_lane(view, subject, "init", "", event.version, runbook.init)
        course.advance(view, subject)


def _was_opened(phase: PhaseRow) -> bool:
    """Tell whether a phase has had its turn; one whose members were all cancelled had it as well."""
    return phase.status in _WAS_OPENED or (phase.status == "cancelled" and phase.dispatched_at is not None)


def _supersede(view: View, known: list[PhaseRow]) -> None:
    for phase in known:
        if phase.status == "pending":
            gate = holds.gate_of(view, phase)
            if gate is not None and gate.is_open:
                view.move_hold(gate, "lifted", "new version")
            view.move_phase(phase, "superseded", "new version")


def _reached(batch: Batch, runbook: Runbook, known: list[PhaseRow]) -> int | None:
    """Return how far a batch without T-0 was advanced, as an offset; also where the phase has got another name."""
    spec = runbook.phases_by_name.get(batch.current_phase or "")
    old = [phase.offset_minutes for phase in known if phase.phase_name == batch.current_phase]
    return spec.offset.minutes if spec is not None else old[-1] if old else None


def _is_overdue(view: View, batch: Batch, reached: int | None, phase: PhaseRow) -> bool:
    if batch.batch_start_time is not None:
        return phase.due_at is not None and phase.due_at <= view.now
    return reached is not None and phase.offset_minutes >= reached


def new_phase(view: View, batch: Batch, runbook: Runbook, version: int, index: int) -> PhaseRow:
    """Make a pending phase of a batch; its due time is computed here, once."""
    spec = runbook.phases[index]
    due: Instant | None = None
    if batch.batch_start_time is not None:
        due = spec.offset.due_at(batch.batch_start_time, runbook.timezone)
    phase = PhaseRow(
        id=view.fresh_id(),
        batch_id=batch.id,
        phase_name=spec.name,
        phase_index=index,
        runbook_version=version,
        offset_minutes=spec.offset.minutes,
        due_at=due,
        status="pending",
        reason=None,
        dispatched_at=None,
        completed_at=None,
        opening_after=None,
        members_at_opening=0,
        lanes_total=0,
        open_lanes=0,
        lanes_succeeded=0,
        lanes_failed=0,
        lanes_cancelled=0,
        lanes_started=0,
        ring=0,
        ring_started=0,
        ring_failed=0,
        ring_acknowledged=0,
    )
    view.phases[phase.id] = phase
    view.decision.new_phases.append(phase)
    view.count_batch(batch.id, "open_phases", 1)
    return phase
