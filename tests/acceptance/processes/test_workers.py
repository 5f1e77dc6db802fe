"""The table of workers: who is at work, who has ended, and who died without a word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.acceptance.processes.host import book
from tminus import __version__

if TYPE_CHECKING:
    import subprocess

    from tests.acceptance.processes.host import Host

QUICK = "import tminus.engine.presence as presence\npresence.BEAT_S = 0.1\n"
ALIVE = "SELECT count(*) FROM workers WHERE stopped_at IS NULL"


def at_work(host: Host, *words: str, alive: int = 1) -> subprocess.Popen[str]:
    """Start a process and wait until it has signed in."""
    process = host.up(*words, until_idle=False)
    host.until(lambda: host.path.exists() and host.count(ALIVE) == alive)
    return process


def test_a_process_signs_in_with_what_it_offers_and_signs_out(host: Host) -> None:
    host.wave(book(1), 1, t0_in_s=3600)
    process = at_work(host, "--worker-id", "w", "--worker-id", "x")
    name, ids, pid, functions, version, began, started, seen, stopped = host.rows(
        "SELECT name, worker_ids, pid, functions_json, version, process_started_at, started_at, last_seen_at, "
        "stopped_at FROM workers"
    )[0]
    assert str(name).split(":")[1] == str(process.pid)
    assert (json.loads(str(ids)), pid) == (["w", "x"], process.pid)
    assert (json.loads(str(functions)), version, stopped) == (["fail", "work"], __version__, None)
    assert str(began) < str(started) <= str(seen)
    looks = (("why", "batch", "1"), ("status",))
    assert all("nobody is at work" not in host.well(*words) for words in looks)
    process.terminate()
    assert host.end(process).code == 0
    assert host.count(ALIVE) == 0
    assert all("nobody is at work" in host.well(*words) for words in looks)
    assert "nobody is at work" in host.well("doctor")


def test_who_died_without_a_word_is_written_off_by_the_next_and_a_neighbour_is_not(host: Host) -> None:
    host.wave(book(1), 1, t0_in_s=3600)
    killed, neighbour = at_work(host), at_work(host, alive=2)
    host.kill(killed)
    assert host.count(ALIVE) == 2
    (name,) = host.rows("SELECT name FROM workers ORDER BY id")[0]
    assert f"at work: {name}, " in host.well("doctor")
    third = host.up(until_idle=False)
    host.until(lambda: host.count("SELECT count(*) FROM workers") == 3 and host.count(ALIVE) == 2)
    pids = {pid for (pid,) in host.rows("SELECT pid FROM workers WHERE stopped_at IS NULL")}
    assert pids == {neighbour.pid, third.pid}


def test_a_process_is_seen_again_and_again(host: Host) -> None:
    (host.folder / "quick").mkdir()
    host.write("quick/sitecustomize.py", QUICK)
    host.wave(book(1), 1, t0_in_s=3600)
    host.up(until_idle=False, env={"PYTHONPATH": str(host.folder / "quick")})
    host.until(lambda: host.count("SELECT count(DISTINCT last_seen_at) FROM workers") == 1)
    first = host.rows("SELECT last_seen_at FROM workers")
    host.until(lambda: host.rows("SELECT last_seen_at FROM workers") > first, timeout_s=5)
