"""The runner suite, run against the pool of Python functions, in both isolations."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest

from tminus.testing.runner_suite import Feature, RunnerSuite
from tminus.workers.pool import PoolSettings, PythonPool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUNCTIONS = """
import asyncio
import os
import time
from tminus import Fatal, Pending, Throttled, function
from tminus.functions import job

class SuiteFailure(Exception):
    pass

@function("suite-echo")
def echo(text):
    now = job()
    return {
        "echo": text, "job": now.job_id, "attempt": now.attempt, "member": now.member_key, "batch": now.batch_id
    }

@function("suite-fail")
def fail(length: int):
    raise SuiteFailure("x" * length)

@function("suite-fatal")
def fatal():
    raise Fatal("never")

@function("suite-throttled")
def throttled():
    raise Throttled(retry_after=7)

@function("suite-pending")
def pending():
    return Pending({"percent": 40})

@function("suite-complete")
def complete():
    return {"complete": True, "data": {"id": 1}}

@function("suite-large")
def large(length: int):
    return "x" * length

@function("suite-sleep")
def sleep(seconds: float):
    time.sleep(seconds)

@function("suite-print")
def say(text: str, fail: bool = False):
    print(text, end="")
    if fail:
        raise SuiteFailure

@function("suite-die")
def die():
    os._exit(3)
"""

ASYNC = (
    FUNCTIONS.replace("\ndef ", "\nasync def ")
    .replace("time.sleep(seconds)", "await asyncio.sleep(seconds)")
    .replace("    now = job()", "    await asyncio.sleep(0)\n    now = job()")
)


class PoolSuite(RunnerSuite):
    """What all pools can do."""

    features: ClassVar = frozenset({Feature.LOG, Feature.DEATH})
    functions: ClassVar = FUNCTIONS
    settings: ClassVar = PoolSettings(children=2, concurrency=8)

    @pytest.fixture
    def runner(self, tmp_path: Path) -> Iterator[PythonPool]:
        file = tmp_path / "functions.py"
        file.write_text(self.functions, encoding="utf-8")
        pool = PythonPool(self.settings)
        pool.start([str(file)])
        yield pool
        pool.close(0)


class TestPlainFunctions(PoolSuite):
    """Functions that block, in threads."""


class TestAsyncFunctions(PoolSuite):
    """Functions that await, in one loop per child."""

    functions: ClassVar = ASYNC


class TestOneCallPerProcess(PoolSuite):
    """Calls that share nothing."""

    settings: ClassVar = PoolSettings(children=3, isolation="process")
