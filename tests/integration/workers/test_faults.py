"""Children that die, hang or speak out of turn: the jobs come back, the pool goes on, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.workers.driving import HEAD, answer, call, ends, is_gone, pool_of, value
from tminus.ports.runner import Answer, Returned
from tminus.testing.runner_suite import gathered
from tminus.workers.child.desk import PATIENCE_S
from tminus.workers.pool import PoolSettings, PythonPool

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = r"""
import ctypes, re, socket

@function
def pid(): return os.getpid()

@function
def sleep(seconds: float): time.sleep(seconds)

@function
async def doze(seconds: float): await asyncio.sleep(seconds)

@function
async def block(seconds: float): time.sleep(seconds)

@function
def segfault(): ctypes.string_at(0)

@function
def exit_now(): os._exit(7)

@function
def abort(): os.abort()

@function
def terminate(): os.kill(os.getpid(), signal.SIGTERM)

@function
def close_all(): os.closerange(3, 1000); time.sleep(30)

@function
def close_some(): os.closerange(0, 3); print("nobody hears this"); return "fine"

def wire():
    return int(open("/proc/self/cmdline").read().split("\0")[-3])

@function
def speak(text: str): os.write(wire(), text.encode("latin-1")); time.sleep(30)

@function
def forked():
    if os.fork() == 0: return "copy"
    time.sleep(0.3)
    return "original"

@function
def interrupt(): os.kill(os.getpid(), signal.SIGINT); time.sleep(0.2); return "still here"

@function
def forked_behind():
    if ctypes.CDLL(None).fork() == 0:
        time.sleep(60)
    os._exit(5)

@function
def quit_loop():
    raise SystemExit

@function
async def quit_callback():
    def leave(): sys.exit(1)
    asyncio.get_running_loop().call_soon(leave)
    await asyncio.sleep(0.05)
    return "still here"

@function
def program():
    started = subprocess.Popen(["sleep", "60"])
    return started.pid

@function
def hold_interpreter():
    re.match(r"(a|aa)+$", "a" * 60 + "b")

@function
def exhaust():
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1, 1))
    return bytearray(10**9)

@function
def count(path: str):
    with open(path, "a") as file:
        file.write("x")
    os._exit(1)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("segfault", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("terminate", "SIGTERM"),
        ("exit_now", "code 7"),
        ("close_all", "SIGKILL"),
    ],
)
def test_a_death_returns_every_job_of_the_child(tmp_path: Path, name: str, words: str) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("sleep", number, seconds=30) for number in range(3)])
        pool.submit([call("doze", number, seconds=30) for number in range(3)])
        time.sleep(0.1)
        pool.submit([call(name)])
        reports = gathered(pool, 7)
        assert all(
            isinstance(report, Returned) and words in report.reason and report.started for report in reports.values()
        )
        assert pool.beats() == []
        assert value(pool, "pid")


def test_killing_a_child_from_outside_costs_nothing_but_a_redelivery(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2)) as pool:
        first = value(pool, "pid")
        assert isinstance(first, int)
        pool.submit([call("sleep", number, seconds=1) for number in range(20)])
        time.sleep(0.1)
        os.kill(first, signal.SIGKILL)
        reports = gathered(pool, 20)
        back = [report for report in reports.values() if isinstance(report, Returned)]
        assert len(back) == 10
        assert all("SIGKILL" in report.reason for report in back)
        assert sum(isinstance(report, Answer) for report in reports.values()) == 10


def test_answers_written_before_a_death_are_not_lost(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        child = value(pool, "pid")
        assert isinstance(child, int)
        pool.submit([call("sleep", number, seconds=0) for number in range(30)])
        time.sleep(1.2)  # All are answered by now, nothing has been read, and the dead are due to be looked for.
        os.kill(child, signal.SIGKILL)
        assert ends(child)
        assert all(isinstance(report, Answer) for report in gathered(pool, 30).values())


def test_what_a_dying_child_wrote_is_kept(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("segfault")])
        gathered(pool, 1)
        last = pool.health().last_death
        assert last is not None
        assert "Segmentation fault" in last
        assert "functions.py" in last


def test_a_series_of_deaths_is_slowed_down_and_shown(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        begun_s = time.monotonic()
        for _ in range(4):
            pool.submit([call("exit_now")])
            gathered(pool, 1)
        assert pool.free() == 0
        health = pool.health()
        assert (health.deaths, health.ready) == (4, 0)
        assert health.restart_in_s is not None
        assert time.monotonic() + health.restart_in_s - begun_s > 0.1 + 0.2 + 0.4 + 0.8


def test_a_job_that_nobody_can_take_yet_waits(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("exit_now")])
        gathered(pool, 1)
        assert pool.health().ready == 0
        assert value(pool, "pid")


@pytest.mark.parametrize(
    "text", ["\x00\x00\x00\x04junk", "\xff\xff\xff\xff", '\x00\x00\x00\x0d["done",[[1]]', '\x00\x00\x00\x09["x", {}]']
)
def test_junk_in_the_socket_ends_the_child_and_nothing_else(tmp_path: Path, text: str) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("speak", text=text)])
        deadline_s = time.monotonic() + 2
        while time.monotonic() < deadline_s and not pool.health().deaths:
            pool.poll(0.1)
        assert pool.health().deaths == 1
        assert value(pool, "pid")


def test_an_answer_for_somebody_elses_job_is_not_heard(tmp_path: Path) -> None:
    forged = '["done",[["sleep",true,"1",null,null,0,"",0],["never",true,"1",null,null,0,"",0]]]'
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2, isolation="process")) as pool:
        pool.submit([call("sleep", seconds=1)])
        pool.submit([call("speak", text=f"\x00\x00\x00{chr(len(forged))}{forged}")])
        report = gathered(pool, 1)["sleep"]
        assert isinstance(report, Answer)
        assert report.result == "null"


def test_a_forked_copy_does_not_answer(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert value(pool, "forked") == "original"
        pool.submit([call("sleep", seconds=0.5)])
        assert set(gathered(pool, 1)) == {"sleep"}
        assert pool.health().deaths == 0


def test_a_death_is_noticed_though_a_copy_keeps_the_stream_open(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        pool.submit([call("forked_behind")])
        report = gathered(pool, 1, 10)["forked_behind"]
        assert isinstance(report, Returned)
        assert "code 5" in report.reason


def test_leaving_the_loop_does_not_end_it(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert value(pool, "quit_callback") == "still here"
        assert answer(pool, "doze", seconds=0).ok


def test_an_interrupt_is_the_business_of_the_pool_alone(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert value(pool, "interrupt") == "still here"


def test_closed_outputs_do_no_harm(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert value(pool, "close_some") == "fine"
        assert value(pool, "pid")


def test_want_of_memory_is_a_failure(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=1)) as pool:
        pool.submit([call("exhaust")])
        report = gathered(pool, 1)["exhaust"]
        assert isinstance(report, Returned) or (report.error is not None and report.error.type == "MemoryError")


def test_a_hanging_function_is_given_up_and_its_child_replaced(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        first = value(pool, "pid")
        assert isinstance(first, int)
        pool.submit([call("sleep", 1, seconds=60), call("sleep", 2, seconds=1.0)])
        time.sleep(0.1)
        pool.abandon("sleep-1")
        second = value(pool, "pid")
        assert second != first
        assert not is_gone(first)
        assert pool.health().draining == 1
        assert set(gathered(pool, 1)) == {"sleep-2"}
        assert ends(first)
        assert (pool.health().draining, pool.health().deaths) == (0, 0)


@pytest.mark.parametrize("name", ["sleep", "block", "hold_interpreter"])
def test_whatever_hangs_is_killed_when_it_is_alone(tmp_path: Path, name: str) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, isolation="process")) as pool:
        first = value(pool, "pid")
        assert isinstance(first, int)
        params = {} if name == "hold_interpreter" else {"seconds": 60}
        pool.submit([call(name, **params)])
        time.sleep(0.2)
        begun_s = time.monotonic()
        pool.abandon(name)
        assert time.monotonic() - begun_s < 1
        assert ends(first)
        assert value(pool, "pid") != first


def test_jobs_queued_behind_a_given_up_one_move_to_its_successor(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=2)) as pool:
        for _ in range(20):  # Raise the pace, so that jobs are sent ahead.
            pool.submit([call("doze", number, seconds=0) for number in range(100)])
            gathered(pool, 100)
        pool.submit([call("sleep", number, seconds=60) for number in range(2)])
        pool.submit([call("sleep", number, seconds=0) for number in range(2, 20)])
        time.sleep(0.1)
        begun_s = time.monotonic()
        pool.abandon("sleep-0")
        assert set(gathered(pool, 18)) == {f"sleep-{number}" for number in range(2, 20)}
        assert time.monotonic() - begun_s < PATIENCE_S * 0.7
        assert pool.beats() == ["sleep-1"]


def test_an_async_function_that_is_given_up_may_clean_up(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    functions = f"""
@function
async def hold(seconds: float):
    try: await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        open({str(mark)!r}, "w").close()
        raise
"""
    with pool_of(tmp_path, functions) as pool:
        pool.submit([call("hold", 1, seconds=60), call("hold", 2, seconds=0.5)])
        time.sleep(0.1)
        pool.abandon("hold-1")
        assert set(gathered(pool, 1)) == {"hold-2"}
    assert mark.exists()


def test_the_number_of_processes_is_bounded_when_everything_hangs(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=2)) as pool:
        for number in range(8):
            pool.submit([call("sleep", 2 * number, seconds=60), call("sleep", 2 * number + 1, seconds=60)])
            deadline_s = time.monotonic() + 1
            while pool.free() and time.monotonic() < deadline_s:
                pool.poll(0.05)
            pool.abandon(f"sleep-{2 * number}")
            deadline_s = time.monotonic() + 1
            while not pool.health().ready and time.monotonic() < deadline_s:
                pool.poll(0.05)
        health = pool.health()
        assert health.draining == 3
        assert health.ready == 0


PARENT = """
import sys, time
from tminus.ports.runner import Job
from tminus.workers.child.desk import PATIENCE_S
from tminus.workers.pool import PoolSettings, PythonPool
if __name__ == "__main__":
    pool = PythonPool(PoolSettings(children=1))
    pool.start([sys.argv[1]])
    pool.submit([Job("pid", "pid", "{}"), Job("program", "program", "{}")])
    found = []
    while len(found) < 2:
        found += pool.poll(1)
    pool.submit([Job("stuck", sys.argv[2], sys.argv[3])])
    time.sleep(0.3)
    print(*(report.result for report in found), flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("pid", "{}"),
        ("sleep", '{"seconds": 60}'),
        ("block", '{"seconds": 60}'),
        ("hold_interpreter", "{}"),
    ],
)
def test_children_end_when_their_parent_dies(tmp_path: Path, name: str, params: str) -> None:
    script, functions = tmp_path / "parent.py", tmp_path / "functions.py"
    script.write_text(PARENT, encoding="utf-8")
    functions.write_text(HEAD + FUNCTIONS, encoding="utf-8")
    command = [sys.executable, str(script), str(functions), name, params]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert not any(is_gone(pid) for pid in pids)
        parent.kill()
    assert all(ends(pid) for pid in pids)


def test_a_child_that_is_deaf_to_the_kernel_ends_with_the_stream(tmp_path: Path) -> None:
    script, functions = tmp_path / "parent.py", tmp_path / "functions.py"
    script.write_text(PARENT, encoding="utf-8")
    functions.write_text(HEAD + FUNCTIONS + "signal.signal(signal.SIGIO, signal.SIG_IGN)\n", encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script), str(functions), "pid", "{}"], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
    assert all(ends(pid) for pid in pids)


def test_closing_ends_the_programs_that_functions_started(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        started = value(pool, "program")
        assert isinstance(started, int)
        assert not is_gone(started)
    assert ends(started)


def test_no_descriptors_are_left(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted the same way twice.
    for _ in range(3):
        with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=2)) as pool:
            pool.submit([call("exit_now")])
            gathered(pool, 1)
            assert value(pool, "pid")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - see above.


def test_a_pool_that_was_never_started_closes(tmp_path: Path) -> None:
    del tmp_path
    pool = PythonPool()
    assert pool.free() == 0
    assert pool.close(1) == []
