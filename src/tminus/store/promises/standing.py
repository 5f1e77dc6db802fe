"""How lanes, executions and their jobs stand to one another at any commit.

A running lane has a step to run; a step that is out has exactly its job; a job that is out belongs to the step that
waits for it, or drains. Whatever breaks here is stuck for ever, or runs twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.ids import job_id
from tminus.domain.instant import plus
from tminus.domain.status import EXECUTION_OPEN, EXECUTION_OUT, EXECUTION_PASSED
from tminus.progression import holds
from tminus.progression.lanes import GOES_ON
from tminus.progression.loss import MOST_DELIVERIES

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import ExecutionSeen, JobSeen, LaneSeen
    from tminus.store.promises.slices import Slice

_BATCH_ENDED: Final = frozenset({"cancelled", "completed", "failed"})
_STOPS: Final = frozenset({"failed", "poll_timeout", "rolled_back"})
_NOT_CLEAN: Final = frozenset({"failed", "poll_timeout", "cancelled"})


def check_standing(findings: Findings, page: Slice) -> None:
    """Check every lane, every execution and every job of a slice."""
    steps = page.steps
    for lane in page.lanes.values():
        rows = steps[lane.id]
        if not lane.is_inherited:
            _lane(findings, page, lane, rows)
        for row in rows:
            _execution(findings, page, lane, row)
    for job in page.jobs.values():
        _job(findings, page, job)


def _lane(findings: Findings, page: Slice, lane: LaneSeen, rows: list[ExecutionSeen]) -> None:
    statuses = [row.status for row in rows]
    if len(rows) != lane.steps_total or any(row.step_index != index for index, row in enumerate(rows)):
        findings.add("P11", f"lane {lane.id} has {len(rows)} of its {lane.steps_total} steps")
    if lane.status == "running":
        _running(findings, page, lane, rows)
    elif lane.status == "waiting":
        if not EXECUTION_OUT.isdisjoint(statuses):
            findings.add("P08", f"lane {lane.id} waits, but a step of it is out")
    elif not EXECUTION_OPEN.isdisjoint(statuses):
        findings.add("P10", f"lane {lane.id} is {lane.status}, but a step of it is still open")
    elif lane.status == "succeeded":
        clean = _NOT_CLEAN.isdisjoint(statuses) if lane.kind in GOES_ON else EXECUTION_PASSED.issuperset(statuses)
        if not clean:
            findings.add("P10", f"lane {lane.id} succeeded with steps that did not")
    elif lane.status == "failed" and (_NOT_CLEAN if lane.kind in GOES_ON else _STOPS).isdisjoint(statuses):
        findings.add("P10", f"lane {lane.id} failed without a step that did")


def blocked(page: Slice, lane: LaneSeen, *, starting: bool) -> bool:
    """Tell whether an open hold stops this lane."""
    if lane.kind in GOES_ON:
        return False
    for hold in page.holds:
        power = holds.strength(hold)
        if power == "dispatch" or (starting and power == "start"):
            phase_id = lane.phase_id if lane.kind == "phase" else None
            if holds.covers(hold, page.batch, lane.member_id, phase_id):
                return True
    return False


def _is_kept(page: Slice, lane: LaneSeen) -> bool:
    """Tell whether a lane was kept from beginning by a hold that is open, or lifted and about to be followed."""
    if lane.started_at is not None or not (lane.reason or "").startswith("hold:"):
        return False
    return page.batch.wake_after is not None or blocked(page, lane, starting=True)


def _running(findings: Findings, page: Slice, lane: LaneSeen, rows: list[ExecutionSeen]) -> None:
    current = next((row for row in rows if row.status in EXECUTION_OPEN), None)
    if current is None:
        findings.add("P06", f"lane {lane.id} runs, but has no step to run")
    elif current.status == "pending" and current.ready_at is None:
        waits = (lane.reason or "").startswith("output:") or bool(page.drains(lane)) or _is_kept(page, lane)
        if not waits:
            findings.add("P06", f"execution {current.id} is due, but nobody will find it")


def _execution(findings: Findings, page: Slice, lane: LaneSeen, row: ExecutionSeen) -> None:
    if row.retry_count > row.max_retries:
        findings.add("P05", f"execution {row.id} spent {row.retry_count} retries of {row.max_retries}")
    if row.status not in EXECUTION_OUT:
        if row.job_id is not None:
            findings.add("P05", f"execution {row.id} is {row.status}, but still names {row.job_id} as its job")
        return
    if row.status == "polling":
        _polling(findings, row)
        if row.job_id is None:
            return
    elif row.job_id is None:
        findings.add("P06", f"execution {row.id} is dispatched without a job")
        return
    polls = row.poll_count if row.status == "polling" else 0
    if row.job_id != job_id(row.id, row.attempt, polls, init=lane.kind == "init"):
        findings.add("P05", f"execution {row.id} at attempt {row.attempt} calls its job {row.job_id}")
    job = page.jobs.get(row.id)
    if (job is None or job.message_id != row.job_id) and not _voided(page, lane):
        findings.add("P06", f"job {row.job_id} of execution {row.id} is out, but nobody can take or return it")


def _voided(page: Slice, lane: LaneSeen) -> bool:
    """Tell whether a cancel took unsent jobs back already while the rows still follow in chunks."""
    batch = page.batch
    return batch.ending_after is not None and lane.kind not in GOES_ON and _is_cancelled(page)


def _is_cancelled(page: Slice) -> bool:
    return page.batch.status == "cancelled" or bool(page.batch.is_cancelling)


def _polling(findings: Findings, row: ExecutionSeen) -> None:
    if row.poll_started_at is None or row.poll_due_at is None:
        findings.add("P16", f"execution {row.id} polls, but nobody will ask it again")
    elif row.poll_due_at > plus(row.poll_started_at, row.poll_timeout_sec or 0.0):
        findings.add("P16", f"execution {row.id} will be looked at only after its polling has timed out")


def _job(findings: Findings, page: Slice, job: JobSeen) -> None:
    row = page.executions[job.id]
    lane = page.lanes[row.lane_id]
    _claim(findings, job, row)
    if job.is_draining:
        if row.job_id == job.message_id:
            findings.add("P05", f"job {job.message_id} drains, but execution {row.id} still waits for it")
        return
    if row.job_id != job.message_id:
        findings.add("P05", f"job {job.message_id} is out, but execution {row.id} waits for {row.job_id}")
    if job.is_poll != (row.status == "polling"):
        findings.add(
            "P16", f"job {job.message_id} and execution {row.id}, which is {row.status}, disagree about a poll"
        )
    if job.is_poll and row.poll_count == 1 and row.poll_started_at is not None:
        due = plus(row.poll_started_at, min(row.poll_interval_sec or 0.0, row.poll_timeout_sec or 0.0))
        if job.created_at < due:
            findings.add("P16", f"execution {row.id} was first polled at {job.created_at}, before {due}")
    if lane.kind in GOES_ON:
        _alone(findings, page, lane, job)
    else:
        _not_voided(findings, page, lane, job)


def _claim(findings: Findings, job: JobSeen, row: ExecutionSeen) -> None:
    if job.claimed_at is None:
        if job.lease_until is not None or job.claimed_by is not None or job.is_draining:
            findings.add("P05", f"job {job.message_id} is unclaimed, but has a lease, an owner or drains")
    elif job.lease_until is None or job.timeout_at is None or job.lease_until > job.timeout_at:
        findings.add("P05", f"job {job.message_id} is claimed with a lease past its timeout, or without one")
    if job.delivery > MOST_DELIVERIES:
        findings.add("P07", f"job {job.message_id} was delivered {job.delivery} times")
    if row.is_one_way and not job.is_poll and job.delivery > 1:
        findings.add("P07", f"one_way job {job.message_id} was delivered again")


def _alone(findings: Findings, page: Slice, lane: LaneSeen, job: JobSeen) -> None:
    """Check that what cleans up waits until no job of its subject drains, unless an operator forced it.

    What was sent before the other job was given up goes on, and is asked about.
    """
    if (
        not lane.is_forced
        and not job.is_poll
        and any(job.created_at >= _given_up_at(page, other) for other in page.drains(lane))
    ):
        findings.add("P05", f"{lane.kind} job {job.message_id} is out while another job of its subject drains")


def _given_up_at(page: Slice, job: JobSeen) -> Instant:
    attempts = page.attempts.get(job.id, ())
    return next((one.ended_at for one in attempts if one.job_id == job.message_id), job.created_at)


def _not_voided(findings: Findings, page: Slice, lane: LaneSeen, job: JobSeen) -> None:
    """Check that nothing stays sent for what has ended; a job that came back during the end goes with its member."""
    member = page.members.get(lane.member_id or 0)
    if job.claimed_at is None and page.batch.status in _BATCH_ENDED and page.batch.ending_after is None:
        findings.add("P08", f"job {job.message_id} waits for a worker though batch {lane.batch_id} has ended")
    elif lane.status != "running" and not _voided(page, lane):
        findings.add("P08", f"job {job.message_id} is out though lane {lane.id} is {lane.status}")
    elif member is not None and member.status != "active" and not _voided(page, lane):
        findings.add("P08", f"job {job.message_id} is out though member {member.id} is {member.status}")
