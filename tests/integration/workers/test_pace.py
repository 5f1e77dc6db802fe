"""Functions share a child without standing in each other's way."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.integration.workers.driving import answer, call, pool_of, value
from tminus.ports.runner import Answer, Returned
from tminus.testing.runner_suite import gathered
from tminus.workers.pool import PoolSettings

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = """
@function
def nothing(): return None

@function
async def nothing_async(): return None

@function
def sleep(seconds: float): time.sleep(seconds)

@function
async def doze(seconds: float): await asyncio.sleep(seconds)

@function
async def block(seconds: float): time.sleep(seconds)

@function
def busy(seconds: float):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass

@function
def sometimes(seconds: float = 0):
    if seconds: time.sleep(seconds)
"""


def test_blocking_functions_run_side_by_side_in_one_child(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        begun_s = time.monotonic()
        pool.submit([call("sleep", number, seconds=0.5) for number in range(32)])
        gathered(pool, 32)
        assert time.monotonic() - begun_s < 1.2


def test_async_functions_run_side_by_side_in_one_loop(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        begun_s = time.monotonic()
        pool.submit([call("doze", number, seconds=0.5) for number in range(32)])
        gathered(pool, 32)
        assert time.monotonic() - begun_s < 1.2


def test_no_more_run_at_once_than_was_set(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=4)) as pool:
        for name in ("sleep", "doze"):
            begun_s = time.monotonic()
            pool.submit([call(name, number, seconds=0.2) for number in range(12)])
            gathered(pool, 12)
            assert time.monotonic() - begun_s > 0.55


def test_a_busy_function_slows_neither_the_caller_nor_other_children(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2)) as pool:
        answer(pool, "nothing")
        pool.submit([call("busy", seconds=1.5)])
        taken: list[float] = []
        for _ in range(50):
            begun_s = time.monotonic()
            pool.submit([call("nothing")])
            assert set(gathered(pool, 1)) == {"nothing"}
            taken.append(time.monotonic() - begun_s)
        assert sorted(taken)[25] < 0.02
        gathered(pool, 1)


def test_a_busy_function_leaves_room_to_others_in_its_child(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("busy", seconds=2)])
        pool.submit([call("nothing", number) for number in range(2000)])
        pool.submit([call("nothing_async", number) for number in range(2000)])
        found = gathered(pool, 4000)
        assert "busy" not in found


def test_a_blocked_loop_stops_neither_plain_functions_nor_the_conversation(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("block", seconds=1.5)])
        time.sleep(0.1)
        pool.submit([call("nothing", number) for number in range(100)])
        assert "block" not in gathered(pool, 100)
        gathered(pool, 1)


def test_an_answer_does_not_wait_for_the_next_slow_call(tmp_path: Path) -> None:
    """A function that has been quick so far turns slow: what was answered before it must leave all the same."""
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=1)) as pool:
        for number in range(20):
            answer(pool, "sometimes", seconds=0)
            del number
        pool.submit([call("sometimes", number) for number in range(5)] + [call("sometimes", 5, seconds=1.5)])
        begun_s = time.monotonic()
        assert set(gathered(pool, 5)) == {f"sometimes-{number}" for number in range(5)}
        assert time.monotonic() - begun_s < 1.0
        gathered(pool, 1)


def test_jobs_sent_ahead_do_not_wait_behind_slow_ones_while_others_are_idle(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2, concurrency=2)) as pool:
        for _ in range(20):
            pool.submit([call("nothing", number) for number in range(200)])
            gathered(pool, 200)
        pool.submit([call("sleep", 1, seconds=20), call("sleep", 2, seconds=20)])
        pool.submit([call("sleep", number, seconds=20 if number % 2 else 0.01) for number in range(3, 5)])
        pool.submit([call("nothing", number) for number in range(100)])
        found = gathered(pool, 101, 10)
        assert all(isinstance(report, Answer) for report in found.values())


def test_free_follows_the_pace(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=4)) as pool:
        assert pool.free() == 4
        for _ in range(20):
            pool.submit([call("nothing", number) for number in range(100)])
            gathered(pool, 100)
        assert pool.free() > 100
        time.sleep(1)
        assert pool.free() == 4


def test_large_jobs_reach_a_child_though_its_socket_takes_them_piecewise(tmp_path: Path) -> None:
    text = "ü" * 1_000_000
    functions = """
@function
def length(text: str): return len(text)
"""
    with pool_of(tmp_path, functions) as pool:
        assert value(pool, "length", text=text) == len(text)
        refused = answer(pool, "length", text="x" * 9_000_000)
        assert refused.error is not None
        assert (refused.error.type, refused.error.retryable) == ("ArgumentError", False)


def test_jobs_that_find_no_room_go_back_unbegun(tmp_path: Path) -> None:
    """Their time is running, and another process may have room; those that run are left alone."""
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=2)) as pool:
        for _ in range(20):
            pool.submit([call("sometimes", number, seconds=0) for number in range(100)])
            gathered(pool, 100)
        pool.submit([call("sometimes", number, seconds=60) for number in range(6)])
        begun_s = time.monotonic()
        back = gathered(pool, 4, 10)
        assert all(isinstance(report, Returned) and not report.started for report in back.values())
        assert 1 < time.monotonic() - begun_s < 6
        assert len(pool.beats()) == 2
        assert pool.free() == 0


def test_jobs_that_come_forward_do_not_go_back(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=1)) as pool:
        pool.submit([call("sometimes", number, seconds=0.7) for number in range(6)])
        assert all(isinstance(report, Answer) for report in gathered(pool, 6, 20).values())
