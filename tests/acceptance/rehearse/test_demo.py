"""`tminus demo`: its numbers, its database that can be gone on with, and its picture on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.acceptance.screens.glass import Glass

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

FAILED = "user-0104@contoso.example"


def test_headless_it_prints_one_object(terminal: Terminal) -> None:
    ran = terminal.well("demo", "--headless", "-o", "json", "--dir", "d")
    found = ran.fields()
    hours, seconds = cast("float", found.pop("virtual_hours")), cast("float", found.pop("seconds"))
    assert Path(str(found.pop("database"))).is_absolute()
    assert found == {
        "members": 13, "succeeded": 11, "failed": 1, "removed": 1, "joined_late": 1, "rolled_back": 1,
    }  # fmt: skip
    assert 175 < hours < 185
    assert 0 < seconds < 60


def test_in_a_pipe_it_tells_the_end_and_what_to_do_next(terminal: Terminal) -> None:
    ran = terminal.well("demo", "--dir", "d")
    assert "11 moved · 1 failed · 1 left (cleaned up) · 1 joined late (caught up)" in ran.out
    assert f'{FAILED} failed at cutover/primary: "address already in use"; rolled back.' in ran.out
    assert "\x1b" not in ran.out
    assert "tminus up --db" in ran.err
    assert ran.err.splitlines()[-1].startswith(f"Try:   tminus why {FAILED} --db ")


def test_each_of_the_story_is_in_its_database(terminal: Terminal) -> None:
    terminal.well("demo", "--headless", "--dir", "d")
    connection = sqlite3.connect(terminal.folder / "d" / "demo.db")
    try:
        throttled = connection.execute("SELECT count(*) FROM attempts WHERE outcome = 'throttled'").fetchone()
        rolled_back = connection.execute(
            "SELECT group_concat(step_name || ' ' || status, ', ') FROM step_executions WHERE kind = 'rollback'"
        ).fetchone()
        removal = connection.execute("SELECT status FROM step_executions WHERE kind = 'removal'").fetchall()
    finally:
        connection.close()
    assert throttled == (1,)
    assert rolled_back == ("clear-guids succeeded, notify succeeded",)
    assert removal == [("succeeded",)]


def test_what_failed_can_be_looked_at_and_tried_again_for_real(terminal: Terminal) -> None:
    terminal.well("demo", "--headless", "--dir", "d")
    db = ("--db", "d/demo.db")
    assert "address already in use" in terminal.well("why", FAILED, *db).out
    assert terminal.well("member", "get", FAILED, *db, "-o", "json").fields()["status"] == "failed"
    terminal.well("retry", FAILED, *db, "--reason", "freed the address")
    command = [sys.executable, "-m", "tminus", "up", *db, "--functions", "d/functions.py", "--until-idle"]
    done = subprocess.run(command, cwd=terminal.folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert terminal.well("member", "get", FAILED, *db, "-o", "json").fields()["status"] == "done"
    terminal.well("doctor", *db)


def test_the_runbook_it_leaves_is_valid_and_its_members_fit(terminal: Terminal) -> None:
    terminal.well("demo", "--headless", "--dir", "d")
    terminal.well("validate", "d/runbook.yaml", "--strict")
    assert terminal.run("rehearse", "d/runbook.yaml", env={"DEMO_MEMBERS": "d/members.csv"}).code == 0


def test_a_second_demo_does_not_write_over_the_first(terminal: Terminal) -> None:
    terminal.well("demo", "--headless", "--dir", "d")
    ran = terminal.run("demo", "--headless", "--dir", "d")
    assert ran.code != 0
    assert "E411" in ran.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo terminals")
def test_on_a_terminal_that_cannot_draw_it_does_not_keep_anybody_waiting(terminal: Terminal) -> None:
    with Glass(terminal.folder, "demo", "--dir", "d", columns=60, TERM="dumb") as glass:
        assert glass.ends() == 0
    assert "T-5d prepare" not in glass.shown
    assert "11 moved" in " ".join(glass.shown.split())
    prose = glass.shown.partition("its database")[0]
    assert max(map(len, prose.splitlines())) <= 60


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo terminals")
def test_on_a_terminal_it_draws_a_picture_that_fits(terminal: Terminal) -> None:
    """Read what a terminal of 80 columns would show; one made for a test has that size by its environment."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "30", "TERM": "xterm"}
    command = [sys.executable, "-m", "tminus", "demo", "--speed", "300000", "--dir", "d"]
    process = subprocess.Popen(
        command, cwd=terminal.folder, stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True
    )
    os.close(slave)
    shown = _read(master, process)
    os.close(master)
    assert process.wait(timeout=10) == 0
    assert "T-5d prepare" in shown
    assert "throttled" in shown
    assert "11 moved" in shown


def _read(master: int, process: subprocess.Popen[bytes]) -> str:
    found, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                part = os.read(master, 65_536)
            except OSError:
                break
            if not part:
                break
            found += part
        elif process.poll() is not None:
            break
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found.decode("utf-8", "replace"))
