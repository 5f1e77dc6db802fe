"""A function that ends its process, for one member out of many: that member fails, and nobody else notices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.acceptance.processes.host import book

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

CRASHING = """
@function
def crash(key: str, step: str, takes: float = 0):
    if key == "m007" and step == "s1":
        time.sleep(0.05)
        os._exit(3)
    work(key, step, takes)
"""


def test_a_function_that_ends_its_process_costs_its_own_member_alone(host: Host) -> None:
    path = host.folder / "functions.py"
    path.write_text(path.read_text("utf-8") + CRASHING, encoding="utf-8")
    host.wave(book(2, function="crash", takes=0.5), 40)
    began = time.monotonic()
    ended = host.end(host.up())
    assert ended.code == 3, ended.err
    assert time.monotonic() - began < 40
    assert host.rows("SELECT member_key FROM batch_members WHERE status <> 'done'") == [("m007",)]
    assert host.count("SELECT max(delivery) FROM attempts WHERE outcome = 'succeeded'") <= 5
    lost = host.rows("SELECT outcome, delivery, error_message FROM attempts WHERE outcome <> 'succeeded'")
    why = "no result came back for step-15 in 10 deliveries: the process exited with code 3 while it ran crash"
    assert lost == [("lost", 10, why)]
    told = [line for line in ended.lines if "a process that runs functions ended" in line]
    assert 1 <= len(told) <= 2, "a series of deaths is told like a flood"
    host.expect_clean()


def test_in_a_process_of_its_own_one_job_runs_at_a_time(host: Host) -> None:
    host.wave(book(1, takes=0.2), 3)
    assert host.end(host.up("--isolation", "process", "--children", "1")).code == 0
    assert [line.word for line in host.account()] == ["start", "end"] * 3


def test_a_job_that_is_alone_in_its_process_is_killed_when_its_time_is_over(host: Host) -> None:
    host.wave(book(1, takes=60, more=", timeout: 1s"), 1)
    process = host.up("--isolation", "process", "--children", "1")
    host.until(lambda: host.words("start") == 1)
    pid = host.account()[0].pid
    host.until(lambda: not Path(f"/proc/{pid}").exists(), timeout_s=5)
    assert host.end(process).code == 3
    assert host.rows("SELECT outcome FROM attempts") == [("timeout",)]


def test_no_more_is_claimed_than_there_is_room_for_however_many_worker_ids_there_are(host: Host) -> None:
    """A claimed job's time is running: it must not pass in a queue behind others."""
    text = book(1, takes=1, more=", timeout: 2s").replace("worker_id: w", "worker_id: w0")
    phases = "".join(
        f"  - {{name: p{number}, offset: T-0, overlap: true, steps: [{{name: x{number}, worker_id: w{number}, "
        f'function: work, params: {{key: "{{{{key}}}}", step: x{number}, takes: 1}}, timeout: 2s}}]}}\n'
        for number in range(1, 5)
    )
    host.wave(text + phases, 1)
    ended = host.end(host.up("--isolation", "process", "--children", "1"))
    assert ended.code == 0, ended.err
    assert host.rows("SELECT DISTINCT outcome, delivery FROM attempts") == [("succeeded", 1)]
