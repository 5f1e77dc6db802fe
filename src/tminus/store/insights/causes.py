"""Causes: why a member or a batch's own lane failed, what was tried, why not again, and what was undone since.

Read from the same view as a command would load, so that where a retry would start is told by the rule that starts it.
Nothing is decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import between_s
from tminus.domain.status import LANE_OPEN
from tminus.progression import lanes
from tminus.progression.commands.retrying import starts_at
from tminus.progression.events import WorkError
from tminus.progression.outcome import retry_delay_s
from tminus.store.insights.records import Record, plain, records

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.rows import Execution, Lane
    from tminus.progression.view import Subject, View
    from tminus.runbook.model import Retry

_FAILED: Final = frozenset({"failed", "poll_timeout", "rolled_back"})
_ATTEMPT: Final = plain(
    "attempt", "outcome", "job_id", "worker", "dispatched_at", "claimed_at", "ended_at", "error_message", "error_type",
    "duration_ms", "log",
)  # fmt: skip
_ATTEMPTS: Final = "SELECT {columns} FROM attempt_rows WHERE execution_id = ? ORDER BY id DESC LIMIT 100"


def cause(tx: Tx, view: View, subject: Subject) -> Record | None:
    """Say which step failed for good, with its attempts and why there is no further one; None where none did."""
    kind = "phase" if subject.member is not None else "init"
    found = [(lane, row) for lane in subject.lanes if lane.kind == kind for row in view.steps_of(lane)]
    failed = [(lane, row) for lane, row in found if row.status in _FAILED]
    if not failed:
        return None
    lane, row = max(failed, key=lambda pair: (pair[1].completed_at or "", pair[1].id))
    attempts = records(tx, _ATTEMPT, _ATTEMPTS, (row.id,))[::-1]
    code, why = not_retried(lanes.step_of(view, lane, row).retry, row)
    return {
        "step_id": row.id,
        "phase": lane.sequence if lane.kind == "phase" else lane.kind,
        "step": row.step_name,
        "status": row.status,
        "failed_at": row.completed_at,
        "error_message": row.error_message,
        "error_type": row.error_type,
        "retries": row.retry_count,
        "max_retries": row.max_retries,
        "not_retried": {"code": code, "sentence": why},
        "attempts": attempts,
    }


def not_retried(policy: Retry | None, row: Execution) -> tuple[str, str]:
    """Say why a step that failed for good was not tried (once more)."""
    kind = row.error_type or ""
    ours = {
        "UnresolvedTemplate": "a name in it has no value, which no retry would change",
        "PollTimeout": "its polling timed out, which is never tried again",
        "deadline": "the deadline of its phase has passed",
    }
    if kind in ours or row.status == "poll_timeout":
        return ("poll_timeout", ours["PollTimeout"]) if row.status == "poll_timeout" else (kind, ours[kind])
    if policy is None:
        return "none", "the step has no retry"
    if kind.casefold() in {name.casefold() for name in policy.unless}:
        return "unless", f'class "{kind}" is in its unless'
    if row.retry_count >= row.max_retries:
        return "spent", f"{row.retry_count} of {row.max_retries} retries used"
    if kind == "lost" and row.is_one_way:
        return "one_way", "the step is one-way, and nobody knows whether it was done"
    if policy.total_s is not None and row.first_dispatched_at is not None and row.completed_at is not None:
        spent = between_s(row.first_dispatched_at, row.completed_at)
        if spent + retry_delay_s(policy, row, WorkError("", kind)) > policy.total_s:
            return "total", "its total time for retries is used up"
    return "not_retryable", "the worker said that it is not retryable"


def undone(view: View, subject: Subject) -> list[Record]:
    """Return the lanes that clean up after a subject, each with its steps in order."""
    found = sorted((lane for lane in subject.lanes if lane.kind in lanes.GOES_ON), key=lambda lane: lane.id)
    return [_cleaning(view, lane) for lane in found if lane.kind != "finish"]


def _cleaning(view: View, lane: Lane) -> Record:
    rows = view.steps_of(lane)
    if lane.status in LANE_OPEN:
        state = "running" if lane.status == "running" else "waiting"
    else:
        state = "clean" if lane.status == "succeeded" else "not clean"
    return {
        "lane_id": lane.id,
        "kind": lane.kind,
        "sequence": lane.sequence,
        "state": state,
        "steps": [
            {"step_name": row.step_name, "status": row.status, "error_message": row.error_message} for row in rows
        ],
    }


def retry_start(view: View, subject: Subject) -> str | None:
    """Return the `phase/step` at which a retry would start, None where there is nothing to retry."""
    found = starts_at(view, subject)
    return None if found is None else f"{found[0].sequence}/{found[1].step_name}"


def drains(view: View, subject: Subject) -> list[Record]:
    """Return the jobs that must end before the subject's other lanes may move."""
    return [_drain(view, execution_id) for execution_id in sorted(subject.draining)]


def _drain(view: View, execution_id: int) -> Record:
    job, row = view.jobs[execution_id], view.executions.get(execution_id)
    return {
        "job_id": job.message_id,
        "step_name": None if row is None else row.step_name,
        "claimed_at": job.claimed_at,
        "lease_until": job.lease_until,
    }
