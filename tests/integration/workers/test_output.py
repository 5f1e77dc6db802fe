"""What functions print belongs to their attempt, whoever else prints at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.workers.driving import answer, call, pool_of, value
from tminus.ports.runner import Answer
from tminus.testing.runner_suite import gathered
from tminus.workers.pool import PoolSettings

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = """
import logging, warnings
logger = logging.getLogger("graph")

@function
def many(mark: str):
    for number in range(20):
        print(mark, end=" ")
        time.sleep(0.001)
        print(number, file=sys.stderr)

@function
async def many_async(mark: str):
    for number in range(20):
        print(mark, end=" ")
        await asyncio.sleep(0.001)
        print(number)

@function
async def in_a_thread(mark: str):
    await asyncio.to_thread(print, mark)

@function
async def in_a_task(mark: str):
    await asyncio.gather(*(asyncio.create_task(say(mark)) for _ in range(3)))

async def say(mark): print(mark)

@function
def by_logging(): logger.warning("slow tenant"); warnings.warn("old call")

@function
def as_bytes(): sys.stdout.buffer.write(b"caf\\xc3\\xa9 \\xff\\n"); sys.stdout.flush()

@function
def lines():
    sys.stdout.writelines(["a\\n", "b\\n"])
    print(sys.stdout.isatty(), sys.stdout.encoding, sys.stdout.writable())

@function
def odd(): print("a\\ud800b\\x00c")

@function
def flood(megabytes: int):
    print("first")
    for _ in range(megabytes): print("x" * 1_000_000)
    print("last")

@function
def umlauts(): print("ü" * 100_000)

@function
def fails(): print("before"); raise ValueError("so")

@function
def program(): subprocess.run(["sh", "-c", "head -c 1000000 /dev/zero; echo from a program"])

@function
def own_thread():
    thread = threading.Thread(target=print, args=("elsewhere",))
    thread.start()
    thread.join()

@function
async def behind():
    async def later():
        await asyncio.sleep(0.1)
        print("too late")
    asyncio.get_running_loop().keep = asyncio.create_task(later())
    print("in time")

@function
async def pause(): await asyncio.sleep(0.3)

import contextvars
LEFT = contextvars.ContextVar("left")

@function
def leave_mark(): found = LEFT.get("clean"); LEFT.set("marked"); return found

@function
async def leave_mark_async(): found = LEFT.get("clean"); LEFT.set("marked"); return found

LEFT.set("by the file")

@function
def who():
    now = job()
    return [now.job_id, now.function, now.attempt, now.member_key, now.batch_id]
"""


def log_of(report: object) -> str:
    """Return the log of an answer."""
    assert isinstance(report, Answer)
    return report.log


def test_functions_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        marks = [f"m{number}" for number in range(10)]
        for name in ("many", "many_async"):
            pool.submit([call(name, number, mark=mark) for number, mark in enumerate(marks)])
        found = gathered(pool, 20)
        for name in ("many", "many_async"):
            for number, mark in enumerate(marks):
                assert log_of(found[f"{name}-{number}"]) == "".join(f"{mark} {line}\n" for line in range(20))


def test_threads_and_tasks_of_a_function_belong_to_it(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert answer(pool, "in_a_thread", mark="x").log == "x\n"
        assert answer(pool, "in_a_task", mark="y").log == "y\ny\ny\n"


def test_logging_bytes_and_lines_arrive(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        logged = answer(pool, "by_logging").log
        assert "slow tenant" in logged
        assert "UserWarning: old call" in logged
        assert answer(pool, "as_bytes").log == "café \ufffd\n"
        assert answer(pool, "lines").log == "a\nb\nFalse utf-8 True\n"
        assert answer(pool, "odd").log == "a\ufffdb\ufffdc\n"


def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        for name, params in (("flood", {"megabytes": 20}), ("umlauts", {})):
            log = answer(pool, name, **params).log
            assert 60_000 < len(log.encode()) <= 64 * 1024
            assert "the middle is left out" in log
        log = answer(pool, "flood", megabytes=1).log
        assert log.startswith("first\n")
        assert log.endswith("last\n")


def test_a_failure_ends_its_log_with_the_traceback(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        failed = answer(pool, "fails")
        assert failed.log.startswith("before\nTraceback (most recent call last):\n")
        assert "in fails\n" in failed.log
        assert failed.log.endswith("ValueError: so\n")


def test_what_belongs_to_no_job_is_in_no_log(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert answer(pool, "program").log == ""
        assert answer(pool, "own_thread").log == ""
        assert answer(pool, "behind").log == "in time\n"
        assert answer(pool, "pause").log == ""


def test_a_function_knows_its_job(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS) as pool:
        assert value(pool, "who") == ["who", "who", 1, None, None]


def test_every_call_has_a_context_of_its_own(tmp_path: Path) -> None:
    with pool_of(tmp_path, FUNCTIONS, PoolSettings(children=1, concurrency=1)) as pool:
        for name in ("leave_mark", "leave_mark", "leave_mark_async", "leave_mark_async"):
            assert value(pool, name) == "clean"
