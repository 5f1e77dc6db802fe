"""A job that ends its child again and again: the jobs beside it are told apart from it, and the others go on."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.integration.workers.driving import call, pool_of, value
from tminus.ports.runner import Answer, Returned
from tminus.workers.pool import PoolSettings, PythonPool
from tminus.workers.suspects import REMEMBERED, Suspects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tminus.ports.runner import Job

FUNCTIONS = """
@function
def sleep(seconds: float): time.sleep(seconds)

@function
def exit_now():
    time.sleep(0.1)
    os._exit(7)

@function
def pid(): return os.getpid()
"""


def delivered(pool: PythonPool, jobs: Sequence[Job], *, most: int = 10, patience_s: float = 30) -> Counter[str]:
    """Deliver jobs as the engine does, until each is answered or was delivered often enough; count deliveries."""
    by_id = {job.job_id: job for job in jobs}
    counts = Counter(by_id.keys())
    over: set[str] = set()
    pool.submit(jobs)
    end_s = time.monotonic() + patience_s
    while len(over) < len(by_id):
        assert time.monotonic() < end_s, counts
        for report in pool.poll(0.05):
            if isinstance(report, Answer) or counts[report.job_id] >= most:
                over.add(report.job_id)
            else:
                counts[report.job_id] += 1
                pool.submit([by_id[report.job_id]])
    return counts


def test_who_was_beside_a_job_that_ends_its_child_is_delivered_four_times_at_most(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2)) as pool:
        jobs = [call("sleep", number, seconds=0.5) for number in range(40)]
        counts = delivered(pool, [*jobs[:20], call("exit_now", 1), call("exit_now", 2), *jobs[20:]])
        guilty = [counts.pop("exit_now-1"), counts.pop("exit_now-2")]
        assert guilty == [10, 10]
        assert max(counts.values()) <= 4
        assert pool.beats() == []
        assert value(pool, "pid")


def test_others_do_not_wait_for_the_room_that_a_suspect_needs(tmp_path: Path) -> None:
    """One child is kept free for it; the other takes what comes."""
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2, concurrency=4)) as pool:
        pool.submit([call("exit_now")])
        while not any(isinstance(report, Returned) for report in pool.poll(0.05)):
            pass
        while pool.health().ready < 2:
            pool.poll(0.05)
        pool.submit([call("sleep", number, seconds=1) for number in range(2)])
        pool.submit([call("exit_now")])
        began_s = time.monotonic()
        assert value(pool, "pid")
        assert time.monotonic() - began_s < 0.9


def test_the_pause_before_a_replacement_stays_short_when_a_job_was_running(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        for _ in range(7):
            pool.submit([call("exit_now")])
            while not any(isinstance(report, Returned) for report in pool.poll(0.05)):
                pass
        assert (pool.health().restart_in_s or 0) <= 1.0


def test_a_death_names_what_ran(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("exit_now"), call("sleep", seconds=30)])
        reports: list[object] = []
        while len(reports) < 2:
            reports += pool.poll(0.05)
        reasons = {report.reason for report in reports if isinstance(report, Returned)}
        assert reasons == {"the process exited with code 7 while it ran exit_now, sleep"}
        assert (pool.health().last_death or "").startswith(reasons.pop())


def test_a_crash_says_where_it_was(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS + "\n@function\ndef segfault(): __import__('ctypes').string_at(0)\n") as pool:
        pool.submit([call("segfault")])
        reports: list[object] = []
        while not reports:
            reports += pool.poll(0.05)
        (report,) = reports
        assert isinstance(report, Returned)
        assert "Segmentation fault" in report.log
        assert "in segfault" in report.log


def test_what_was_forgotten_is_suspected_no_more() -> None:
    suspects = Suspects(32)
    suspects.present(["first"])
    suspects.present(str(number) for number in range(REMEMBERED))
    assert "first" not in suspects
    assert [suspects.weight("0"), suspects.weight("new")] == [4, 1]
    for _ in range(5):
        suspects.present(["0"])
    assert suspects.weight("0") == 32
    suspects.clear("0")
    assert suspects.weight("0") == 1
