"""Counters equal what they count, and what follows from counters follows.

Counters are moved by deltas, never by counting, so that nothing is proportional to a batch; this is where they are
counted after all. A large batch comes in pages: the tally adds them up, and only its end is judged.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tminus.domain.instant import plus
from tminus.domain.status import BATCH_OPEN, LANE_OPEN, PHASE_OPEN
from tminus.progression.ending import ignored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch, PhaseRow
    from tminus.runbook.model import Share
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.passage import Passage
    from tminus.store.promises.slices import Slice

DAY_S: Final = 86_400.0
_MEMBER: Final = ("active", "done", "failed", "removed", "cancelled")


class Tally:
    """What was counted of one batch."""

    __slots__ = (
        "by_deadline",
        "lanes",
        "members",
        "open_lanes",
        "open_work",
        "own",
        "removed_at",
        "ring_failed",
        "ring_started",
        "started",
    )

    def __init__(self) -> None:
        """Begin at zero."""
        self.own = False
        self.members: Counter[str] = Counter()
        self.lanes: Counter[tuple[int, str]] = Counter()
        self.started: Counter[int] = Counter()
        self.ring_started: Counter[int] = Counter()
        self.ring_failed: Counter[int] = Counter()
        self.by_deadline: set[int] = set()
        self.open_lanes = 0
        self.open_work = 0
        self.removed_at: list[Instant] = []

    def add(self, page: Slice, passage: Passage) -> None:
        """Count a page; the batch's own lanes come with every page and count once."""
        for member in page.members.values():
            self.members[member.status] += 1
        for lane in page.lanes.values():
            if lane.member_id is None and self.own:
                continue
            is_open = lane.status in LANE_OPEN
            if is_open:
                self.open_lanes += lane.kind != "finish"
                self.open_work += lane.kind in {"init", "phase"}
            if lane.kind != "phase" or lane.phase_id is None:
                continue
            phase = page.phases[lane.phase_id]
            self.lanes[phase.id, "open" if is_open else lane.status] += 1
            in_ring = lane.ring in {-1, phase.ring}
            if lane.started_at is not None and not lane.is_inherited:
                self.started[phase.id] += 1
                self.ring_started[phase.id] += in_ring
            if lane.status == "failed":
                self.ring_failed[phase.id] += in_ring
            if lane.id in passage.by_deadline and lane.ring >= 0:
                self.by_deadline.add(phase.id)
        self.own = True
        self.removed_at += passage.removed_at


def check_counts(findings: Findings, batch: Batch, phases: Iterable[PhaseRow], tally: Tally) -> None:
    """Compare the counters with the tally, and the statuses with the counters."""
    for status in _MEMBER:
        _equal(findings, f"batch {batch.id}: members_{status}", getattr(batch, f"members_{status}"),
               tally.members[status])  # fmt: skip
    _equal(findings, f"batch {batch.id}: open_lanes", batch.open_lanes, tally.open_lanes)
    known = list(phases)
    _equal(findings, f"batch {batch.id}: open_phases", batch.open_phases, sum(p.status in PHASE_OPEN for p in known))
    for phase in known:
        _phase_counters(findings, phase, tally)
        _phase_status(findings, phase)
    _batch_status(findings, batch, known, tally)


def check_brake(findings: Findings, batch: Batch, brakes: Iterable[Share], tally: Tally) -> None:
    """Check that the source's silence never took more out within a day than the widest brake lets go (P15).

    Who was counted at the time is not known any more; all who ever were in the batch are at least as many.
    """
    total = tally.members.total()
    most = max((_most(brake, total) for brake in brakes), default=total)
    times = sorted(tally.removed_at)
    for first, last in zip(times, times[most:], strict=False):
        if last < plus(first, DAY_S):
            findings.add("P15", f"more than {most} of {total} members of batch {batch.id} were removed within a day")


def _most(brake: Share, total: int) -> int:
    # The batch may have been a small one when it lost its one.
    return brake.of(total) if brake.percent is None else max(int(brake.percent > 0), int(total * brake.percent // 100))


def _equal(findings: Findings, name: str, stands: int, counted: int) -> None:
    if stands != counted:
        findings.add("P10", f"{name} says {stands}, there are {counted}")


def _phase_counters(findings: Findings, phase: PhaseRow, tally: Tally) -> None:
    lanes, name = tally.lanes, f"phase {phase.id}"
    opened = lanes[phase.id, "open"]
    succeeded, failed = lanes[phase.id, "succeeded"], lanes[phase.id, "failed"]
    cancelled = lanes[phase.id, "cancelled"]
    _equal(findings, f"{name}: lanes_total", phase.lanes_total, opened + succeeded + failed + cancelled)
    _equal(findings, f"{name}: open_lanes", phase.open_lanes, opened)
    _equal(findings, f"{name}: lanes_succeeded", phase.lanes_succeeded, succeeded)
    _equal(findings, f"{name}: lanes_failed", phase.lanes_failed, failed)
    _equal(findings, f"{name}: lanes_cancelled", phase.lanes_cancelled, cancelled)
    _equal(findings, f"{name}: lanes_started", phase.lanes_started, tally.started[phase.id])
    if phase.id not in tally.by_deadline:
        _equal(findings, f"{name}: ring_started", phase.ring_started, tally.ring_started[phase.id])
        _equal(findings, f"{name}: ring_failed", phase.ring_failed, tally.ring_failed[phase.id])


def _phase_status(findings: Findings, phase: PhaseRow) -> None:
    """Check that a phase is open as long as it has open lanes, and that its outcome says what its lanes say."""
    status, total = phase.status, phase.lanes_total
    if status == "dispatched":
        if phase.open_lanes == 0 and phase.opening_after is None:
            findings.add("P10", f"phase {phase.id} is dispatched, but all of its lanes have ended")
        return
    if phase.open_lanes:
        findings.add("P10", f"phase {phase.id} is {status} with {phase.open_lanes} open lanes")
    if phase.opening_after is not None:
        findings.add("P10", f"phase {phase.id} is {status} while it is still being opened")
    if status == "completed":
        truthful = phase.lanes_succeeded > 0
    elif status == "failed":
        truthful = phase.lanes_succeeded == 0 and phase.lanes_cancelled < total
    elif status == "cancelled":
        truthful = phase.lanes_cancelled == total
    else:
        truthful = total == 0
    if not truthful:
        findings.add("P11", f"phase {phase.id} is {status}, but {phase.lanes_succeeded} of its {total} lanes succeeded")


def _batch_status(findings: Findings, batch: Batch, phases: list[PhaseRow], tally: Tally) -> None:
    if batch.status in BATCH_OPEN and batch.status != "closing":
        return
    if batch.ending_after is None:
        if tally.open_work:
            findings.add("P10", f"batch {batch.id} is {batch.status} with {tally.open_work} open lanes")
        if batch.open_phases:
            findings.add("P10", f"batch {batch.id} is {batch.status} with {batch.open_phases} open phases")
        if batch.status in {"completed", "cancelled"} and tally.members["active"]:
            findings.add("P10", f"batch {batch.id} is {batch.status} with {tally.members['active']} active members")
    counted = [phase for phase in phases if phase.status != "superseded"]
    is_good = any(phase.status == "completed" for phase in counted) or all(ignored(phase) for phase in counted)
    if batch.status == "failed" and any(phase.status == "completed" for phase in counted):
        findings.add("P11", f"batch {batch.id} is failed, but one of its phases is completed")
    if batch.status == "completed" and not is_good:
        findings.add("P11", f"batch {batch.id} is completed, but none of its phases is")
