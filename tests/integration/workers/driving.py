"""How the tests of this folder drive a pool: write a file, start, submit, gather."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.ports.runner import Answer, Job
from tminus.testing.runner_suite import gathered
from tminus.workers.pool import PoolSettings, PythonPool

if TYPE_CHECKING:
    from collections.abc import Generator

HEAD = """
import asyncio, os, signal, subprocess, sys, threading, time
from tminus import Fatal, Pending, Throttled, function
from tminus.functions import job
"""


@contextmanager
def pool_of(folder: Path, text: str, settings: PoolSettings | None = None) -> Generator[PythonPool]:
    """Start a pool on functions, one child unless told otherwise, and close it."""
    file = folder / "functions.py"
    file.write_text(HEAD + text, encoding="utf-8")
    pool = PythonPool(settings or PoolSettings(children=1))
    pool.start([str(file)])
    try:
        yield pool
    finally:
        pool.close(0)


def call(function: str, number: int | None = None, /, **params: object) -> Job:
    """Make a job; its id is the function's name, and a number where one is given."""
    return Job(function if number is None else f"{function}-{number}", function, json.dumps(params))


def answer(pool: PythonPool, function: str, **params: object) -> Answer:
    """Run one call to its answer."""
    pool.submit([call(function, None, **params)])
    report = gathered(pool, 1)[function]
    assert isinstance(report, Answer), report
    return report


def value(pool: PythonPool, function: str, **params: object) -> object:
    """Run one call to its result."""
    found = answer(pool, function, **params)
    assert found.result is not None, found.error
    parsed: object = json.loads(found.result)
    return parsed


def is_gone(pid: int) -> bool:
    """Say whether a process has ended; one that nobody has reaped yet counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in {"Z", "X"}


def ends(pid: int, patience_s: float = 5.0) -> bool:
    """Wait for a process to end; a signal takes a moment to arrive."""
    deadline_s = time.monotonic() + patience_s
    while not is_gone(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return is_gone(pid)
