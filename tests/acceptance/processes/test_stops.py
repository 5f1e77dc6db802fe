"""How `up` ends: cleanly at the first signal, at once at the second, and the next start goes on without waiting."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.processes.host import book
from tminus.store.claims import LEASE_S

if TYPE_CHECKING:
    import subprocess

    from tests.acceptance.processes.host import Host


def under_way(host: Host, *words: str) -> subprocess.Popen[str]:
    """Start a process and wait until it has jobs in hand."""
    process = host.up(*words, until_idle=False)
    host.until(lambda: host.words("start") > 0)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_jobs_in_hand_finish_and_nothing_is_left_claimed(host: Host, number: signal.Signals) -> None:
    host.wave(book(2, takes=0.5), 4)
    process = under_way(host)
    process.send_signal(number)
    ended = host.end(process)
    assert ended.code == 0, ended.err
    assert f"stopping ({number.name}): jobs in hand may finish" in ended.err
    assert host.words("start") == host.words("end") > 0
    assert host.count("SELECT count(*) FROM messages WHERE claimed_by IS NOT NULL") == 0
    assert host.count("SELECT count(*) FROM attempts WHERE outcome = 'succeeded'") == host.words("end")
    host.expect_clean()
    assert host.end(host.up()).code == 0
    host.expect_each_step_once(4, 2)


def test_a_job_that_does_not_finish_in_time_is_run_again_by_the_next(host: Host) -> None:
    host.wave(book(1, takes=3), 3)
    process = under_way(host, "--drain", "0.2")
    began = time.monotonic()
    process.terminate()
    assert host.end(process).code == 0
    assert time.monotonic() - began < 3
    assert host.words("end") == 0
    assert host.end(host.up()).code == 0
    host.expect_each_step_once(3, 1)
    host.expect_clean()


def test_the_second_ctrl_c_ends_at_once_and_the_next_start_waits_for_no_lease(host: Host) -> None:
    host.wave(book(1, takes=4), 2)
    process = under_way(host)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    ended = host.end(process)
    assert (ended.code, ended.lines[-1]) == (130, "interrupted")
    assert time.monotonic() - began < 2.5
    assert "Traceback" not in ended.err
    began = time.monotonic()
    assert host.end(host.up()).code == 0
    assert time.monotonic() - began < LEASE_S * 0.7
    host.expect_each_step_once(2, 1)
    host.expect_clean()


def test_a_wait_that_was_interrupted_is_no_success(host: Host) -> None:
    host.wave(book(1, takes=1), 1)
    process = host.up()
    host.until(lambda: host.words("start") > 0)
    process.terminate()
    assert host.end(process).code == 130


def test_a_source_that_hangs_keeps_nobody_from_ending(host: Host) -> None:
    text = book(1).replace(
        "{type: manual, primary_key: key}", "{type: csv, connection: HANGS, primary_key: key, batch_time: immediate}"
    )
    (host.folder / "slow").mkdir()
    host.write(
        "slow/sitecustomize.py",
        "import time, tminus.sources.csv as c\nc.CsvSource.ask = lambda *a: time.sleep(600)\n",
    )
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--enable", "--as", "anna")
    process = host.up(until_idle=False, env={"HANGS": "members.csv", "PYTHONPATH": str(host.folder / "slow")})
    host.until(lambda: host.count("SELECT count(*) FROM runbooks WHERE source_asked_at IS NOT NULL") > 0)
    process.terminate()
    assert host.end(process, timeout_s=15).code == 0
