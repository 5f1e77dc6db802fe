"""A host: a folder with a database, files of functions, and real processes of `tminus up` that can be killed.

What is set up and looked at goes through the real commands in this process, which is quick; what is tested is started
as its own process. Functions write a line when they begin and when they end, and have it on disk before they go on, so
that a killed process leaves a true account of what it did.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tminus.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FUNCTIONS = """\
import os
import time

from tminus import function
from tminus.functions import job


def write(word, key, step):
    line = f"{word} {key} {step} {job().job_id} {os.getpid()}\\n".encode()
    log = os.open(os.environ["TMINUS_TEST_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line)
    os.fsync(log)
    os.close(log)


@function
def work(key: str, step: str, takes: float = 0):
    write("start", key, step)
    time.sleep(takes)
    write("end", key, step)


@function
def fail(key: str, step: str):
    raise ValueError("it broke")
"""


def book(steps: int = 3, *, function: str = "work", takes: float = 0, more: str = "", phase: str = "") -> str:
    """Write a runbook of one phase at T-0; `more` goes into each step, `phase` into the phase."""
    lines = [
        f"      - {{name: s{number}, worker_id: w, function: {function}, "
        f'params: {{key: "{{{{key}}}}", step: s{number}{f", takes: {takes}" if takes else ""}}}{more}}}'
        for number in range(1, steps + 1)
    ]
    head = "name: wave\ndata_source: {type: manual, primary_key: key}\nphases:\n  - name: cutover\n    offset: T-0\n"
    return head + (f"    {phase}\n" if phase else "") + "    steps:\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the account: a job began or ended."""

    word: str
    key: str
    step: str
    job_id: str
    pid: int


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process left behind."""

    code: int
    err: str

    @property
    def lines(self) -> list[str]:
        """Return what it said, line by line."""
        return self.err.splitlines()


class Host:
    """One database, and the processes over it."""

    def __init__(self, folder: Path) -> None:
        """Put the functions there."""
        self.folder = folder
        self.path = folder / "tminus.db"
        self.log = folder / "log.txt"
        self.processes: list[subprocess.Popen[str]] = []
        self.write("functions.py", FUNCTIONS)

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    # -- commands in this process ----------------------------------------------------------------------------------

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command; return its exit code and all that it said."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main([*words, "--db", str(self.path)])
        return code, said.getvalue()

    def well(self, *words: str) -> str:
        """Run a command that must succeed; return what it said."""
        code, said = self.run(*words)
        assert code == 0, (words, said)
        return said

    def wave(self, text: str, members: int, *, t0_in_s: float = -1) -> Host:
        """Publish a runbook, and make a batch of that many members where there are any."""
        self.well("runbook", "publish", str(self.write("runbook.yaml", text)), "--enable", "--as", "anna")
        if members:
            self.batch([f"m{number:03d}" for number in range(members)], t0_in_s=t0_in_s)
        return self

    def batch(self, keys: Iterable[str], *, t0_in_s: float = -1) -> None:
        """Make a batch of these members."""
        file = self.write("members.csv", "\n".join(["key", *keys]) + "\n")
        t0 = (datetime.now(UTC) + timedelta(seconds=t0_in_s)).isoformat(timespec="seconds")
        self.well("batch", "create", "wave", str(file), "--at", t0, "--as", "anna")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Read rows of the database."""
        connection = sqlite3.connect(self.path, timeout=10)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def count(self, sql: str) -> int:
        """Read one number of the database."""
        found = self.rows(sql)[0][0]
        assert isinstance(found, int)
        return found

    # -- processes -------------------------------------------------------------------------------------------------

    def up(self, *words: str, until_idle: bool = True, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `tminus up` in a session of its own, as a terminal or a service manager does."""
        files = [] if "--functions" in words else ["--functions", str(self.folder / "functions.py")]
        idle = ["--until-idle"] if until_idle else []
        return self.start("up", "--db", str(self.path), "--tick", "0.05", *files, *idle, *words, env=env)

    def start(
        self, *words: str, env: dict[str, str] | None = None, before: Iterable[str] = ()
    ) -> subprocess.Popen[str]:
        """Start any command as a process."""
        process = subprocess.Popen(
            [*before, *self.program(*words)],
            cwd=self.folder,
            env={**os.environ, "TMINUS_TEST_LOG": str(self.log), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    @staticmethod
    def program(*words: str) -> list[str]:
        """Return the command line of a command."""
        return [sys.executable, "-m", "tminus", *words]

    @staticmethod
    def end(process: subprocess.Popen[str], *, timeout_s: float = 60) -> Ended:
        """Wait for the end of a process."""
        _, err = process.communicate(timeout=timeout_s)
        return Ended(process.returncode, err)

    def kill(self, process: subprocess.Popen[str]) -> Ended:
        """Kill a process as `kill -9` does."""
        process.send_signal(signal.SIGKILL)
        return self.end(process)

    def close(self) -> None:
        """Leave no process behind."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
            elif process.stderr is not None:
                process.stderr.close()

    # -- what came of it -------------------------------------------------------------------------------------------

    def account(self) -> list[Line]:
        """Return what the functions wrote; a line that was cut off by a kill is none."""
        text = self.log.read_text("utf-8") if self.log.exists() else ""
        found = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [Line(word, key, step, job_id, int(pid)) for word, key, step, job_id, pid in found]

    def words(self, word: str) -> int:
        """Count the lines of one word."""
        return sum(line.word == word for line in self.account())

    def until(self, true: Callable[[], bool], *, timeout_s: float = 40) -> None:
        """Wait until something is true."""
        deadline = time.monotonic() + timeout_s
        while not true():
            assert time.monotonic() < deadline, "it did not come to pass in time"
            time.sleep(0.01)

    def statuses(self) -> dict[str, int]:
        """Count members by status."""
        found = self.rows("SELECT status, count(*) FROM batch_members GROUP BY status")
        return {str(status): int(str(count)) for status, count in found}

    def expect_each_step_once(self, members: int, steps: int) -> None:
        """Hold that all is done, each step was recorded once, and no step ran under two job ids."""
        assert self.statuses() == {"done": members}
        recorded = self.rows("SELECT execution_id, count(*) FROM attempts WHERE outcome = 'succeeded' GROUP BY 1")
        assert [count for _, count in recorded] == [1] * (members * steps)
        jobs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        ended: set[tuple[str, str]] = set()
        for line in self.account():
            jobs[line.key, line.step].add(line.job_id)
            if line.word == "end":
                ended.add((line.key, line.step))
        assert len(ended) == members * steps
        assert [step for step, ids in jobs.items() if len(ids) > 1] == []
        assert self.count("SELECT count(*) FROM messages") == 0

    def expect_clean(self) -> None:
        """Hold that the doctor finds nothing."""
        code, said = self.run("doctor")
        assert code == 0, said
