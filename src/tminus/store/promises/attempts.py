"""Attempts: every sending that ended is on record, once, under a job id of its own, and ended for a reason that holds.

The record is what an operator reads at night. A status without its attempt is a status that nobody can explain.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tminus.domain.ids import job_id
from tminus.domain.instant import plus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.store.promises.findings import Findings
    from tminus.store.promises.passage import Passage
    from tminus.store.promises.rows import AttemptSeen, ExecutionSeen, LaneSeen
    from tminus.store.promises.slices import Slice

# What ends a sending itself. The others end what came of it: a poll's answer, an operator's word.
_OF_THE_JOB: Final = frozenset({"succeeded", "failed", "throttled", "timeout", "lost"})
_FAILED: Final = frozenset({"failed", "rolled_back"})
_UNSENT: Final = frozenset({"UnresolvedTemplate", "deadline"})
_OURS: Final = frozenset({"failed", "timeout", "lost", "deadline", "throttled"})


def check_attempts(findings: Findings, page: Slice, passage: Passage) -> None:
    """Check the attempts of every execution of a slice."""
    nothing: list[AttemptSeen] = []
    for row in page.executions.values():
        if row.dispatched_at is None and not row.attempt and row.status == "pending":
            continue
        lane = page.lanes[row.lane_id]
        known = page.attempts.get(row.id, nothing)
        _names(findings, lane, row, known)
        _reasons(findings, row, known, passage)
        _all_kept(findings, row, known)


def _names(findings: Findings, lane: LaneSeen, row: ExecutionSeen, known: Sequence[AttemptSeen]) -> None:
    is_init = lane.kind == "init"
    for one in known:
        base = job_id(row.id, one.attempt, init=is_init)
        if one.job_id != base and not one.job_id.startswith(f"{base}-poll-"):
            findings.add("P05", f"attempt {one.attempt} of execution {row.id} is recorded under {one.job_id}")
        if one.attempt > row.attempt:
            findings.add("P05", f"execution {row.id} is at attempt {row.attempt}, but attempt {one.attempt} has ended")
        if one.outcome == "timeout":
            due = None if one.claimed_at is None else plus(one.claimed_at, row.timeout_sec)
            if due is None or one.ended_at < due:
                findings.add("P30", f"job {one.job_id} was timed out at {one.ended_at}, it had until {due}")
    if len(known) > 1:
        for name, times in Counter(one.job_id for one in known if one.outcome in _OF_THE_JOB).items():
            if times > 1:
                findings.add("P01", f"job {name} ended {times} times")


def _reasons(findings: Findings, row: ExecutionSeen, known: Sequence[AttemptSeen], passage: Passage) -> None:
    if row.status == "succeeded":
        if not any(one.outcome == "succeeded" and one.attempt == row.attempt for one in known) and (
            row.id not in passage.by_hand or not any(one.outcome == "marked_done" for one in known)
        ):
            findings.add("P02", f"execution {row.id} succeeded without a worker's or an operator's word")
    elif row.status in _FAILED:
        if (
            row.error_type not in _UNSENT
            and not any(one.outcome in _OURS and one.attempt == row.attempt for one in known)
            and not any(one.outcome == "poll_timeout" for one in known)
        ):
            findings.add("P02", f"execution {row.id} is {row.status}, but no attempt of it failed")
    elif row.status == "poll_timeout" and not any(one.outcome == "poll_timeout" for one in known):
        findings.add("P02", f"execution {row.id} is timed out of polling, but no attempt of it was")


def _all_kept(findings: Findings, row: ExecutionSeen, known: Sequence[AttemptSeen]) -> None:
    """Every attempt but the one that is still out has ended and is kept."""
    if row.dispatched_at is None:
        return
    over = row.attempt if row.status in {"dispatched", "polling"} else row.attempt + 1
    if len(known) < over or len({one.attempt for one in known}) < over:
        findings.add("P19", f"execution {row.id} was sent {row.attempt + 1} times, {len(known)} attempts are kept")
