"""Holds: one mechanism for everything that waits for a human, and what each kind stops.

Two strengths. `dispatch` stops what would start a job of an init or phase lane; `start` stops phase openings and lane
starts, while running lanes finish. The rest only asks. Results, polls, timeouts and every rollback, removal and hook
lane go on under any hold. Deadlines and gate expiry stand still under a pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from tminus.domain.instant import between_s, plus
from tminus.domain.rows import Hold

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch, Lane, PhaseRow
    from tminus.domain.status import HoldKind, HoldScope
    from tminus.progression.view import View

Strength = Literal["dispatch", "start", "none"]

_DISPATCH: Final = frozenset({"pause", "old_t0", "rerun_init"})
_START: Final = frozenset({"freeze", "brake", "one_way", "over_cost"})
OLD_T0_S: Final = 7 * 86_400.0


def is_old(t0: Instant, now: Instant) -> bool:
    """Tell whether a T-0 is so long past that a batch made now begins held."""
    return between_s(t0, now) > OLD_T0_S


def strength(hold: Hold) -> Strength:
    """Tell what this hold stops while it is open."""
    if not hold.is_open:
        return "none"
    if hold.kind == "gate":
        return "start" if hold.state == "waiting" else "dispatch"
    if hold.kind in _DISPATCH:
        return "dispatch"
    return "start" if hold.kind in _START else "none"


def covers(hold: Hold, batch: Batch, member_id: int | None, phase_id: int | None) -> bool:
    """Tell whether the hold's scope holds this work. A rejected or expired gate widens to its batch."""
    if hold.scope == "all":
        return True
    if hold.scope == "runbook":
        return hold.runbook_name == batch.runbook_name
    if hold.batch_id != batch.id:
        return False
    if hold.scope == "member":
        return hold.member_id == member_id and member_id is not None
    if hold.scope == "phase":
        return (hold.phase_id == phase_id and phase_id is not None) or hold.state in {"rejected", "expired"}
    return True


def is_fenced(batch: Batch) -> bool:
    """Tell whether a batch is being cancelled and its members are still being told: until then nobody gets anything."""
    return bool(batch.is_cancelling) and batch.ending_after is not None


def blocking(view: View, batch: Batch, member_id: int | None, phase_id: int | None, *, starting: bool) -> Hold | None:
    """Return a hold in the way of dispatching (or, with `starting`, of starting) this work."""
    for hold in view.holds.values():
        power = strength(hold)
        if (power == "dispatch" or (starting and power == "start")) and covers(hold, batch, member_id, phase_id):
            return hold
    return None


def keeping(view: View, batch: Batch, lane: Lane) -> Hold | None:
    """Return the hold that keeps a phase lane from beginning; one whose first job has gone out is let finish."""
    if lane.kind != "phase" or lane.started_at is not None:
        return None
    for hold in view.holds.values():
        if strength(hold) == "start" and covers(hold, batch, lane.member_id, lane.phase_id):
            return hold
    return None


def paused_s(view: View, batch: Batch, member_id: int | None, start: Instant, end: Instant) -> float:
    """Return for how many seconds between two instants a pause covered this work; overlapping pauses count once."""
    spans = sorted(
        (max(hold.opened_at, start), min(hold.closed_at or end, end))
        for hold in view.holds.values()
        if hold.kind == "pause" and covers(hold, batch, member_id, None)
    )
    total, reached = 0.0, start
    for opened, closed in spans:
        if closed > max(opened, reached):
            total += between_s(max(opened, reached), closed)
            reached = closed
    return total


def is_paused(view: View, batch: Batch, member_id: int | None) -> bool:
    """Tell whether a pause covers this work now."""
    return any(
        hold.kind == "pause" and hold.is_open and covers(hold, batch, member_id, None) for hold in view.holds.values()
    )


def moved_end(view: View, batch: Batch, member_id: int | None, start: Instant, span_s: float) -> Instant:
    """Return when a span that began at `start` ends, pauses left out; the far future while one is open."""
    end = plus(start, span_s)
    while True:
        later = plus(start, span_s + paused_s(view, batch, member_id, start, min(end, view.now)))
        if later <= end:
            return end
        end = later


def gate_of(view: View, phase: PhaseRow) -> Hold | None:
    """Return the newest gate hold of a phase."""
    found = [
        hold
        for hold in view.holds.values()
        if hold.kind == "gate" and hold.phase_id == phase.id and hold.state != "lifted"
    ]
    return max(found, key=lambda hold: (hold.id > 0, abs(hold.id)), default=None)


def open_hold(  # noqa: PLR0913 - a hold has this many parts, and each caller names them.
    view: View,
    *,
    scope: HoldScope,
    kind: HoldKind,
    reason: str,
    batch: Batch | None = None,
    member_id: int | None = None,
    phase_id: int | None = None,
    runbook_name: str | None = None,
    evidence_json: str = "{}",
    expires_at: Instant | None = None,
) -> Hold:
    """Open a hold, or return the open one of the same kind and subject."""
    batch_id = None if batch is None else batch.id
    for known in view.holds.values():
        same = (known.kind, known.scope, known.batch_id, known.member_id, known.phase_id, known.runbook_name)
        if known.is_open and same == (kind, scope, batch_id, member_id, phase_id, runbook_name):
            return known
    hold = Hold(
        id=view.fresh_id(),
        scope=scope,
        kind=kind,
        state="waiting",
        is_open=1,
        runbook_name=runbook_name,
        batch_id=batch_id,
        member_id=member_id,
        phase_id=phase_id,
        reason=reason,
        evidence_json=evidence_json,
        opened_at=view.now,
        opened_by=view.actor or "tminus",
        expires_at=expires_at,
        closed_at=None,
        closed_by=None,
        note=None,
    )
    view.holds[hold.id] = hold
    view.decision.new_holds.append(hold)
    view.note(batch_id, member_id, "hold", hold.id, None, "waiting", kind)
    return hold


def wake_scope(view: View, hold: Hold) -> None:
    """Have the waiting lanes of every batch in the hold's scope looked at again."""
    if hold.scope in {"all", "runbook"}:
        view.decision.wakes.append(hold.runbook_name)
        return
    batch = view.batches.get(hold.batch_id or 0)
    if batch is not None:
        batch.wake_after = 0
        view.touch_batch(batch)
