"""The worker's side of the loop: jobs claimed go to a runner, what comes back becomes events.

It keeps what is in hand by job id: which execution a job belongs to, and when its time is over. A runner that loses a
job hands it back: begun ones are lost and delivered again under the rules of loss, others are simply put back.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.ports.runner import Answer, Job
from tminus.progression import events as ev

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tminus.ports.rounds import Claimed
    from tminus.ports.runner import Report, Runner

BEAT_S: Final = 10.0


@dataclass(slots=True)
class InHand:
    """A job that this process has claimed and not answered."""

    execution_id: int
    over_at: float


class Work:
    """Jobs in hand at one runner."""

    def __init__(self, runner: Runner) -> None:
        """Hand jobs to this runner."""
        self.runner = runner
        self.in_hand: dict[str, InHand] = {}
        self._beat_at = 0.0
        self._look_at = 0.0

    def take(self, claimed: Sequence[Claimed]) -> None:
        """Submit claimed jobs."""
        if not claimed:
            return
        now = time.monotonic()
        jobs: list[Job] = []
        for claim in claimed:
            self.in_hand[claim.job_id] = InHand(claim.execution_id, now + claim.timeout_s)
            jobs.append(
                Job(claim.job_id, claim.function, claim.params_json, claim.attempt, claim.member_key, claim.batch_id)
            )
        self.runner.submit(jobs)

    def events(self, reports: Iterable[Report]) -> tuple[list[ev.Event], list[tuple[int, str]]]:
        """Turn reports into events, and into jobs that are to be put back because they were never begun."""
        found: list[ev.Event] = []
        unbegun: list[tuple[int, str]] = []
        for report in reports:
            held = self.in_hand.pop(report.job_id, None)
            if held is None:
                continue
            if isinstance(report, Answer):
                found.append(arrived(held.execution_id, report))
            elif report.started:
                found.append(
                    ev.JobLost(held.execution_id, report.job_id, returned=True, reason=report.reason, log=report.log)
                )
            else:
                unbegun.append((held.execution_id, report.job_id))
        return found, unbegun

    def beats_due(self, *, at_once: bool = False) -> list[tuple[int, str]]:
        """Return the jobs whose leases are to be renewed now; empty until the next beat is due."""
        now = time.monotonic()
        if (now < self._beat_at and not at_once) or not self.in_hand:
            return []
        self._beat_at = now + BEAT_S
        alive = set(self.runner.beats())
        return [(held.execution_id, job) for job, held in self.in_hand.items() if job in alive]

    def abandon_overdue(self) -> int:
        """Give up jobs whose time is over; the store's timeout ends their attempt."""
        now = time.monotonic()
        if now < self._look_at:
            return 0
        self._look_at = now + 0.25
        over = [job for job, held in self.in_hand.items() if held.over_at <= now]
        for job in over:
            self.runner.abandon(job)
            del self.in_hand[job]
        return len(over)


def arrived(execution_id: int, answer: Answer) -> ev.ResultArrived:
    """Make the event of an answer."""
    error = None
    if answer.error is not None:
        failure = answer.error
        error = ev.WorkError(
            failure.message,
            failure.type,
            is_throttled=failure.is_throttled,
            retryable=None if failure.retryable else False,
            retry_after_s=failure.retry_after_s,
        )
    said = answer.result if error is None else f"{error.type} {error.message}"
    return ev.ResultArrived(
        execution_id,
        answer.job_id,
        error,
        answer.result,
        answer.complete,
        float(answer.duration_ms),
        answer.log or None,
        digest(said or ""),
    )


def digest(text: str) -> str:
    """Tell two answers of one job apart."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
