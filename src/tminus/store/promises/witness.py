"""Rows against logs: what workers and the bus wrote down outside is what the database says happened.

Only tests have such logs. They are what makes "exactly once" checkable at all: a record that nobody did, and a deed
that nobody recorded, both look well from inside.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from tminus.domain.ids import execution_of
from tminus.progression.lanes import GOES_ON

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.store.promises.findings import Findings, Logs
    from tminus.store.promises.passage import Passage
    from tminus.store.promises.slices import Slice

_WORKERS_WORD: Final = frozenset({"succeeded", "failed", "throttled"})
_LATE: Final = "SELECT job_id, sum(seen) FROM late_results GROUP BY job_id"
_RECORDED: Final = """SELECT job_id FROM attempt_rows WHERE outcome IN ('succeeded', 'failed', 'throttled')"""


class Witness:
    """The logs, sorted by what is asked of them."""

    __slots__ = ("_first_ok", "_last_start", "_logs", "_words")

    def __init__(self, logs: Logs) -> None:
        """Sort the logs."""
        self._logs = logs
        self._words = {(line.job_id, line.ok) for line in logs.ended}
        self._last_start: dict[int, int] = {}
        self._first_ok: dict[int, int] = {}
        for start in logs.started:
            self._last_start[start.execution_id] = max(start.seq, self._last_start.get(start.execution_id, 0))
        for end in logs.ended:
            if end.ok:
                known = self._first_ok.get(end.execution_id, end.seq)
                self._first_ok[end.execution_id] = min(end.seq, known)

    def check_page(self, findings: Findings, page: Slice, passage: Passage) -> None:
        """Check that every result on record was given by a worker, and that effects happened in order."""
        for known in page.attempts.values():
            for one in known:
                if one.outcome in _WORKERS_WORD and (one.job_id, one.outcome == "succeeded") not in self._words:
                    findings.add("P02", f"job {one.job_id} is recorded as {one.outcome}; no worker said so")
        for lane_id, rows in page.steps.items():
            if page.lanes[lane_id].kind in GOES_ON:
                continue
            before = -1
            for row in rows:
                if row.status != "succeeded" or row.id in passage.by_hand:
                    continue
                if before > self._last_start.get(row.id, before):
                    findings.add("P03", f"the effect of execution {row.id} began before the step before it had ended")
                before = max(before, self._first_ok.get(row.id, -1))
        self._starts(findings, page)

    def _starts(self, findings: Findings, page: Slice) -> None:
        names: dict[tuple[int, int], set[str]] = defaultdict(set)
        times: Counter[str] = Counter()
        for start in self._logs.started:
            row = page.executions.get(start.execution_id)
            if row is None:
                continue
            if start.attempt > row.attempt or row.dispatched_at is None:
                findings.add("P07", f"a worker began {start.job_id}, which was never sent")
            if "-poll-" in start.job_id:
                continue
            names[start.execution_id, start.attempt].add(start.job_id)
            times[start.job_id] += 1
            if row.is_one_way and times[start.job_id] > 1:
                findings.add("P07", f"one_way job {start.job_id} was begun twice")
        for (execution_id, attempt), found in names.items():
            if len(found) > 1:
                findings.add("P07", f"attempt {attempt} of execution {execution_id} was begun as {sorted(found)}")

    def check_results(self, findings: Findings, tx: Tx) -> None:
        """Check that each result received was recorded, as current once or as late: none lost, none doubled."""
        late = {str(job): int(seen or 0) for job, seen in tx.all(_LATE)}
        recorded = Counter(str(job) for (job,) in tx.all(_RECORDED))
        arrived: Counter[str] = Counter()
        may_pass: set[str] = set()
        for line in self._logs.received:
            if line.applied:
                arrived[line.job_id] += 1
                if line.polling or "-poll-" in line.job_id:
                    may_pass.add(line.job_id)
        for job, times in arrived.items():
            current = times - late.get(job, 0)
            wanted = 1 if recorded[job] else 0
            is_fine = current == wanted or (job in may_pass and current in {0, 1} and not wanted)
            if not is_fine:
                promise = "P19" if current > wanted else "P01"
                seen = f"{recorded[job]} times recorded and {late.get(job, 0)} times late"
                findings.add(promise, f"job {job} was received {times} times, {seen}")
        for job in recorded.keys() - arrived.keys():
            if execution_of(job) is not None:
                findings.add("P02", f"job {job} is recorded, but no result of it was received")
