"""Which jobs are in hand, where each of them is, and what there is to report.

A job waits here, then lies with one child, and leaves as exactly one report. What a child says about a job that it does
not hold (one that was abandoned, or that it invented) is not heard.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from tminus.ports.runner import Answer, Failure, Job, Report, Returned
from tminus.workers.share import shares
from tminus.workers.suspects import Suspects
from tminus.workers.wire import packed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.workers.process import Child
    from tminus.workers.wire import AnswerRow, JobRow

PARAMS_CHARACTERS_MAX = 8 * 1024 * 1024
FRAME_CHARACTERS_MAX = 1024 * 1024
PATIENCE_S = 2.0
"""How long nothing may move before the jobs that wait go back: others may have room, and their time is running."""


class Ledger:
    """The jobs of a pool."""

    def __init__(self, places: int, *, ahead: bool, push: Callable[[Child], None], ring: Callable[[], None]) -> None:
        """Know how many jobs a child runs at once, and whether more may wait in it."""
        self._places = places
        self._ahead = ahead
        self._push = push
        self._ring = ring
        self._waiting: deque[JobRow] = deque()
        self._apart: deque[JobRow] = deque()
        self._suspects = Suspects(places)
        self._held: set[str] = set()
        self._reports: list[Report] = []
        self._moved_s = 0.0

    @property
    def has_reports(self) -> bool:
        """Say whether there is something to take away."""
        return bool(self._reports)

    def held(self) -> list[str]:
        """Return the ids of all jobs in hand."""
        return list(self._held)

    def reports(self) -> list[Report]:
        """Take away what there is to report."""
        reports, self._reports = self._reports, []
        return reports

    def free(self, children: Sequence[Child], now_s: float) -> int:
        """Return how many more jobs these children have room for."""
        waiting = len(self._waiting) + sum(self._suspects.weight(row[0]) for row in self._apart)
        return max(0, sum(self._room(child, now_s) for child in children) - waiting)

    def accept(self, jobs: Sequence[Job]) -> None:
        """Take jobs in hand; one that cannot be sent to any child is answered at once."""
        for job in jobs:
            if job.job_id in self._held:
                continue
            row = (job.job_id, job.function, job.params, job.attempt, job.member_key, job.batch_id)
            if len(job.params) > PARAMS_CHARACTERS_MAX:
                self._refuse(row, f"the parameters are longer than {PARAMS_CHARACTERS_MAX} characters")
            else:
                self._held.add(job.job_id)
                (self._apart if job.job_id in self._suspects else self._waiting).append(row)

    def turn_away(self, jobs: Sequence[Job], reason: str) -> None:
        """Report jobs as returned without taking them in hand."""
        for job in jobs:
            if job.job_id not in self._held:
                self._report(Returned(job.job_id, reason, started=False))

    def hand_out(self, children: Sequence[Child], now_s: float) -> None:
        """Send waiting jobs to where there is room, in as few frames as possible."""
        if self._apart:
            children = self._place_apart(children)
        if not self._waiting:
            self._moved_s = now_s
            return
        rooms = [self._room(child, now_s) for child in children]
        counts = shares([self._taken(child) for child in children], rooms, len(self._waiting))
        for child, count in zip(children, counts, strict=True):
            rows: list[JobRow] = []
            size = 0
            for _ in range(count):
                row = self._waiting.popleft()
                rows.append(row)
                size += len(row[2])
                if size > FRAME_CHARACTERS_MAX:
                    self._send(child, rows)
                    rows, size = [], 0
            self._send(child, rows)
        if any(counts):
            self._moved_s = now_s
        elif now_s - self._moved_s > PATIENCE_S:
            self._turn_out(self._waiting, "there was no room for it")

    def _place_apart(self, children: Sequence[Child]) -> list[Child]:
        """Send suspects where they have the room they need; return the children that take others meanwhile.

        One that finds no room has the child that holds the least kept free for it.
        """
        while self._apart and children:
            emptiest = min(children, key=self._taken)
            if self._suspects.weight(self._apart[0][0]) > self._places - self._taken(emptiest):
                return [child for child in children if child is not emptiest]
            self._send(emptiest, [self._apart.popleft()])
        return list(children)

    def answered(self, child: Child, rows: Sequence[AnswerRow], now_s: float) -> None:
        """Report what a child has answered."""
        jobs, held, reports = child.jobs, self._held, self._reports
        for job_id, ok, result, complete, error, duration_ms, log, started_ms in rows:
            if job_id in jobs:
                failure = Failure(*error) if error else None
                reports.append(Answer(job_id, ok, result, complete, failure, duration_ms, log, started_ms))
                del jobs[job_id]
                held.discard(job_id)
                if self._suspects:
                    self._suspects.clear(job_id)
        child.pace.note(len(rows), now_s, sum(row[5] for row in rows))

    def given_back(self, child: Child, job_ids: Sequence[str]) -> None:
        """Put jobs that a child has not begun back to the front of the queue."""
        for job_id in reversed(job_ids):
            row = child.jobs.pop(job_id, None)
            if row is not None:
                (self._apart if job_id in self._suspects else self._waiting).appendleft(row)

    def lost(self, child: Child, reason: str, last_words: str = "") -> None:
        """Report the jobs that were with a child as returned; they may have run."""
        self._suspects.present(child.jobs)
        for job_id in child.jobs:
            self._held.discard(job_id)
            self._report(Returned(job_id, reason, started=True, log=last_words))
        child.jobs.clear()

    def turn_out(self, reason: str) -> None:
        """Report the jobs that no child holds as returned."""
        self._turn_out(self._apart, reason)
        self._turn_out(self._waiting, reason)

    def _turn_out(self, rows: deque[JobRow], reason: str) -> None:
        for row in rows:
            self._held.discard(row[0])
            self._report(Returned(row[0], reason, started=False))
        rows.clear()

    def forget(self, job_id: str, children: Sequence[Child]) -> Child | None:
        """Drop a job without a report, and return the child that held it."""
        if job_id not in self._held:
            return None
        self._held.discard(job_id)
        holder = next((child for child in children if child.jobs.pop(job_id, None)), None)
        if holder is None:
            self._waiting = deque(row for row in self._waiting if row[0] != job_id)
            self._apart = deque(row for row in self._apart if row[0] != job_id)
        return holder

    def _room(self, child: Child, now_s: float) -> int:
        extra = self._suspects.weighing(child.jobs) if self._suspects else 0
        ahead = child.pace.ahead(now_s) if self._ahead and not extra else 0
        return self._places + ahead - len(child.jobs) - extra

    def _taken(self, child: Child) -> int:
        return len(child.jobs) + (self._suspects.weighing(child.jobs) if self._suspects else 0)

    def _send(self, child: Child, rows: list[JobRow]) -> None:
        if not rows:
            return
        try:
            child.send("run", rows)
        except TypeError:
            rows = self._sendable(rows)
            child.send("run", rows)
        for row in rows:
            child.jobs[row[0]] = row
        self._push(child)

    def _sendable(self, rows: list[JobRow]) -> list[JobRow]:
        """Answer the jobs whose text JSON cannot hold, and return the others."""
        kept: list[JobRow] = []
        for row in rows:
            try:
                packed("run", row)
            except TypeError:
                self._refuse(row, "the job's text is not valid Unicode")
            else:
                kept.append(row)
        return kept

    def _refuse(self, row: JobRow, message: str) -> None:
        self._held.discard(row[0])
        failure = Failure("ArgumentError", message, retryable=False)
        self._report(Answer(row[0], False, None, None, failure, 0, "", 0))  # noqa: FBT003 - fields by place, as rows are.

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        self._ring()


def answer_rows(content: object) -> list[AnswerRow]:
    """Read the content of a done frame; what is misshapen shows when it is taken apart."""
    return cast("list[AnswerRow]", content)
