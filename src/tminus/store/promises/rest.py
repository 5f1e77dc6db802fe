"""At rest: nothing is due any more and no job is out. Whatever is still open must then say what it waits for.

This is the liveness half: a simulator that has stopped its faults and let all time pass may look for what got lost. In
production nothing is ever at rest, so `doctor` does not ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.status import EXECUTION_OPEN, LANE_OPEN
from tminus.store.promises.standing import blocked

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, PhaseRow
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import JobSeen, LaneSeen
    from tminus.store.promises.slices import Slice

_BEGUN: Final = frozenset({"detected", "init_dispatched"})


def check_rest(findings: Findings, page: Slice) -> None:
    """Check that nothing of a slice was lost."""
    for job in page.jobs.values():
        if not _may_stand(page, job):
            findings.add("P06", f"job {job.message_id} is still out")
    for lane in page.lanes.values():
        if lane.status == "waiting":
            why = _why_waiting(page, lane)
            if why:
                findings.add("P06", f"lane {lane.id} waits {why}")
        elif lane.status == "running":
            _running(findings, page, lane)
    for phase in page.phases.values():
        _phase(findings, page, phase)
    _batch(findings, page)


def _may_stand(page: Slice, job: JobSeen) -> bool:
    """Tell whether a job may stay where it is: unclaimed, because a hold keeps workers from it."""
    lane = page.lanes[page.executions[job.id].lane_id]
    return job.claimed_at is None and blocked(page, lane, starting=False)


def _running(findings: Findings, page: Slice, lane: LaneSeen) -> None:
    for row in page.steps[lane.id]:
        if row.status not in EXECUTION_OPEN:
            continue
        if row.status == "pending":
            if not blocked(page, lane, starting=lane.started_at is None):
                findings.add("P06", f"execution {row.id} is still pending, and nothing holds it")
        elif row.id not in page.jobs:
            findings.add("P06", f"execution {row.id} is still {row.status}")
        return


def _why_waiting(page: Slice, lane: LaneSeen) -> str:
    """Return what is wrong with a lane that waits, empty when it waits for something that is there."""
    reason = lane.reason
    if reason is None:
        return "and says not for what"
    if blocked(page, lane, starting=True):
        return ""
    word = reason.partition(":")[0]
    mates = page.of_member.get(lane.member_id, []) if lane.member_id is not None else list(page.lanes.values())
    others = [other for other in mates if other.id != lane.id and other.status in LANE_OPEN]
    if word in {"phase", "order"} and others:
        return ""
    if word == "ring" and lane.phase_id is not None and page.phases[lane.phase_id].open_lanes > 1:
        return ""
    if word == "init" and (page.batch.status in _BEGUN or _has_open_init(page)):
        return ""
    return f'for "{reason}", which is not there'


def _has_open_init(page: Slice) -> bool:
    return any(lane.kind == "init" and lane.status in LANE_OPEN for lane in page.lanes.values())


def _phase(findings: Findings, page: Slice, phase: PhaseRow) -> None:
    if phase.opening_after is not None:
        findings.add("P10", f"phase {phase.id} was never opened to its end")
    is_current = phase.runbook_version == page.batch.runbook_version
    if phase.status == "pending" and phase.due_at is not None and is_current and page.batch.status == "active":
        held = (phase.reason or "").startswith(("hold:", "gate:"))
        if not held or not any(hold.is_open for hold in page.holds):
            findings.add("P10", f"phase {phase.id} never opened, and nothing holds it")


def _batch(findings: Findings, page: Slice) -> None:
    batch = page.batch
    if batch.ending_after is not None or batch.wake_after is not None:
        findings.add("P10", f"batch {batch.id} was not walked to its end")
    if batch.status == "active" and batch.open_lanes == 0 and batch.open_phases == 0:
        findings.add("P10", f"batch {batch.id} has nothing left to do, but is active")
    own = [lane for lane in page.lanes.values() if lane.member_id is None and lane.status in LANE_OPEN]
    if batch.status == "closing" and not any(lane.kind == "finish" for lane in own):
        findings.add("P10", f"batch {batch.id} is closing, and nothing closes it")
    if batch.status in _BEGUN and _should_begin(batch) and not any(lane.kind == "init" for lane in own):
        findings.add("P10", f"batch {batch.id} is {batch.status}, and nothing starts it")


def _should_begin(batch: Batch) -> bool:
    return batch.batch_start_time is not None or batch.advanced_at is not None
