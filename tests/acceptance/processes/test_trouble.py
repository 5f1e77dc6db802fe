"""Trouble that no function makes: a full disk, a file that may not be written, a neighbour, edits, a late job."""

from __future__ import annotations

import resource
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.processes.host import book
from tminus.bootstrap import open_store
from tminus.runbook import load

if TYPE_CHECKING:
    import subprocess

    from tests.acceptance.processes.host import Host

# Root may write everything, so that it gives up that right before it becomes the program.
UNPRIVILEGED = """\
import ctypes, os, sys
prctl = ctypes.CDLL(None).prctl
if os.geteuid() == 0:
    assert prctl(24, 1, 0, 0, 0) == 0, "the right could not be given up"
os.execv(sys.argv[1], sys.argv[1:])
"""
CONFINED = [sys.executable, "-c", UNPRIVILEGED]
EDITS = 1_000


def fill(host: Host, process: subprocess.Popen[str]) -> None:
    """Let no file of the process grow any more, as on a full disk."""
    sizes = [path.stat().st_size for path in host.folder.glob("tminus.db*")]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (max(sizes) + 8192, resource.RLIM_INFINITY))


def free(process: subprocess.Popen[str]) -> None:
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_a_full_disk_is_waited_out_and_nothing_is_lost_or_done_again(host: Host) -> None:
    host.wave(book(3, takes=0.02), 200)
    process = host.up()
    host.until(lambda: host.words("end") > 40)
    fill(host, process)
    host.until(lambda: host.words("start") == host.words("end"))
    time.sleep(2)
    done = host.words("end")
    assert done < 600, "it ended before the disk was full"
    time.sleep(1)
    assert (host.words("end"), process.poll()) == (done, None)
    host.expect_clean()
    free(process)
    ended = host.end(process)
    assert ended.code == 0, ended.err
    assert [line for line in ended.lines if "E504 no room to write" in line] == [ended.lines[1]]
    assert "the database works again after" in ended.err
    host.expect_each_step_once(200, 3)
    assert host.words("start") == 600, "an answer that waited in memory was asked for again"
    host.expect_clean()


def test_who_is_stopped_on_a_full_disk_says_so_and_loses_nothing(host: Host) -> None:
    host.wave(book(3, takes=0.02), 100)
    process = host.up()
    host.until(lambda: host.words("end") > 20)
    fill(host, process)
    host.until(lambda: host.words("start") == host.words("end"))
    time.sleep(2)
    process.terminate()
    ended = host.end(process)
    assert (ended.code, "E504" in ended.lines[-1], "Traceback" in ended.err) == (1, True, False), ended.err
    assert host.end(host.up()).code == 0
    host.expect_each_step_once(100, 3)
    host.expect_clean()


def test_a_database_that_may_not_be_written_is_one_line_and_can_still_be_read(host: Host) -> None:
    host.wave(book(1), 3)
    host.path.chmod(0o444)
    try:
        files = ("--functions", str(host.folder / "functions.py"))
        ended = host.end(host.start("up", "--db", str(host.path), *files, before=CONFINED))
        paused = host.end(host.start("pause", "--all", "--reason", "x", "--db", str(host.path), before=CONFINED))
        looked = host.end(host.start("batch", "list", "--db", str(host.path), before=CONFINED))
    finally:
        host.path.chmod(0o644)
    assert (ended.code, "E503" in ended.lines[-1], "Traceback" in ended.err) == (1, True, False), ended.err
    assert (paused.code, len(paused.lines), "E503" in paused.err) == (1, 1, True), paused.err
    assert looked.code == 0, looked.err
    assert host.words("start") == 0


def test_two_on_one_database_share_the_work_and_survive_each_other(host: Host) -> None:
    host.wave(book(3, takes=0.3), 0)
    first, second = host.up(until_idle=False), host.up(until_idle=False)
    host.until(lambda: host.count("SELECT count(*) FROM workers") == 2)
    host.batch([f"m{number:03d}" for number in range(120)])
    host.until(lambda: len({line.pid for line in host.account()}) > 2 and host.words("end") > 50)
    host.kill(first)
    third = host.up()
    assert host.end(third).code == 0
    second.terminate()
    assert host.end(second).code == 0
    host.expect_each_step_once(120, 3)
    host.expect_clean()


def test_a_thousand_edits_while_a_wave_runs(host: Host) -> None:
    text = book(4, takes=0.4)
    host.wave(text, 250)
    process = host.up(until_idle=False)
    host.until(lambda: host.words("end") > 0)
    ended = host.words("end")
    store = open_store(str(host.path))
    for number in range(EDITS):
        care = f"  - {{name: care-{number}, offset: T+1d, steps: [{{name: c, worker_id: w, function: work}}]}}\n"
        store.publish(load(text + care), text + care, overdue="ignore", actor="anna")
    store.database.close()
    assert process.poll() is None
    assert host.words("end") > ended, "the wave stood still while runbooks were edited"
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--overdue", "ignore", "--as", "anna")
    host.until(lambda: host.statuses() == {"done": 250}, timeout_s=90)
    process.terminate()
    assert host.end(process).code == 0
    host.expect_each_step_once(250, 4)
    host.expect_clean()
    assert host.count("SELECT max(version) FROM runbooks") == EDITS + 2
    assert host.count("SELECT count(*) FROM phase_executions WHERE status = 'pending'") == 0


@pytest.mark.parametrize(("rows", "late"), [(["a,30"], {"a"}), (["a,30", "b,0.5", "c,2.5", "d,0"], {"a", "c"})])
def test_a_job_past_its_timeout_is_given_up_and_others_go_on(host: Host, rows: list[str], late: set[str]) -> None:
    """A child whose only job is given up is ended; one with others is replaced once they have ended."""
    text = book(1, takes=30, more=", timeout: 1s").replace("takes: 30", 'takes: "{{takes}}"')
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--as", "anna")
    file = host.write("members.csv", "\n".join(["key,takes", *rows]) + "\n")
    t0 = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    host.well("batch", "create", "wave", str(file), "--at", t0, "--as", "anna")
    began = time.monotonic()
    assert host.end(host.up()).code == 3
    assert time.monotonic() - began < 20
    assert {key for (key,) in host.rows("SELECT member_key FROM batch_members WHERE status = 'failed'")} == late
    assert host.rows("SELECT DISTINCT outcome FROM attempts WHERE outcome <> 'succeeded'") == [("timeout",)]
    assert "a" not in {line.key for line in host.account() if line.word == "end"}
    assert [line.pid for line in host.account() if Path(f"/proc/{line.pid}").exists()] == []
    host.expect_clean()
