"""What `up` says while it runs: each noteworthy thing in one plain line, a flood in a few, nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from typing import TYPE_CHECKING, cast

from tests.acceptance.processes.host import book

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

CSV = "{type: csv, connection: MEMBERS, primary_key: key, batch_time: immediate, interval: 1s}"


def said(lines: list[str]) -> list[str]:
    """Return what was said without the time in front, and without the database that each command names."""
    return [(line[11:] if line[8:11] == "Z  " else line).partition(" --db ")[0] for line in lines]


def test_a_wave_that_goes_well_is_told_in_a_few_lines(host: Host) -> None:
    host.wave(book(2), 3)
    ended = host.end(host.up("--worker-id", "w"))
    assert ended.code == 0
    greeting, *rest = said(ended.lines)
    assert greeting.startswith("tminus ")
    assert "- 2 functions from " in greeting
    assert "- worker ids: w -" in greeting
    assert rest == [
        "batch 1 of wave has completed: 3 done",
        "nothing is left to do now: batches: 1 completed",
        "Try:   tminus status",
    ]


def test_what_goes_wrong_is_told_with_its_cause_and_the_next_command(host: Host) -> None:
    more = "  - {name: care, offset: T+2d, steps: [{name: c, worker_id: x, function: nope}]}\n"
    host.wave(book(1, function="fail") + more, 2)
    ended = host.end(host.up("--worker-id", "w"))
    assert ended.code == 3
    lines = said(ended.lines)
    assert "batch 1: m000 failed, step s1 failed: it broke" in lines
    assert "runbook wave: worker ids not served here: x" in lines
    assert lines[-2] == "nothing is left to do now: batches: 1 active - members failed: 2"
    assert lines[-1] == "Try:   tminus batch steps 1 --failed"


def test_what_a_function_printed_is_shown_with_where_it_broke(host: Host) -> None:
    functions = host.folder / "functions.py"
    talking = (
        "\n@function\ndef talk(**rest):\n    for n in range(9): print('line', n)\n    raise ValueError('it broke')\n"
    )
    functions.write_text(functions.read_text("utf-8") + talking, encoding="utf-8")
    host.wave(book(1, function="talk"), 1)
    assert host.end(host.up()).code == 3
    said = host.run("why", "m000")[1]
    assert "printed  (5 lines before: -o json shows all)" in said
    assert "line 8" in said
    assert "line 4" not in said
    assert ", in talk" in said
    assert "ValueError: it broke" in said


def test_functions_that_nobody_offers_are_named_before_a_member_meets_them(host: Host) -> None:
    process = host.up(until_idle=False)
    assert process.stderr is not None
    process.stderr.readline()
    host.wave(book(1, function="New-User"), 1, t0_in_s=3600)
    lines = sorted(said([process.stderr.readline() for _ in range(2)]))
    assert lines[0].startswith("batch 1 of wave made: 1 member, T-0 ")
    assert lines[1] == "runbook wave: nobody here offers New-User; its steps will fail\n"
    process.terminate()
    assert host.end(process).code == 0


def test_a_hold_is_told_with_the_command_that_explains_it(host: Host) -> None:
    host.wave(book(1, phase="gate: {expires: 2d}"), 2)
    ended = host.end(host.up())
    assert ended.code == 5
    assert any("batch 1: waits for a human, gate (cutover): " in line for line in ended.lines)
    assert said(ended.lines)[-1] == "Try:   tminus why hold 1"


def test_a_source_that_fails_is_told_once_and_again_when_it_answers(host: Host) -> None:
    text = book(1).replace("{type: manual, primary_key: key}", CSV)
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--enable", "--as", "anna")
    process = host.up(env={"MEMBERS": str(host.folder / "late.csv")})
    host.until(lambda: host.count("SELECT count(*) FROM runbooks WHERE source_failures > 1") > 0)
    host.write("late.csv", "key\nm1\n")
    ended = host.end(process)
    assert ended.code == 0, ended.err
    lines = said(ended.lines)
    assert len([line for line in lines if "runbook wave: its source fails: " in line]) == 1
    assert "runbook wave: its source answers again" in lines
    assert any(line.startswith("batch 1 of wave made: 1 member, T-0 ") for line in lines), lines


def test_rows_that_no_batch_follows_are_told_and_a_source_that_is_not_complete_is_waited_for(host: Host) -> None:
    text = book(1).replace("{type: manual, primary_key: key}", CSV)
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--enable", "--as", "anna")
    host.write("list.csv", "key\nm1\nm2,what\n")
    process = host.up(env={"MEMBERS": str(host.folder / "list.csv")})
    host.until(lambda: host.statuses() == {"done": 1})
    host.until(lambda: host.count("SELECT max(source_asks) FROM runbooks") > 2)
    assert process.poll() is None
    host.write("list.new", "key\nm1\nm2\n").rename(host.folder / "list.csv")
    ended = host.end(process)
    assert ended.code == 0, ended.err
    told = [line for line in said(ended.lines) if line.startswith("runbook wave: ")]
    assert told == [
        (
            "runbook wave: 1 row cannot be read, first list.csv:3: E330 the row has 2 cells, the header has 1; the"
            " answer is not complete, so that nobody can leave by it - tminus automation status wave"
        ),
        "runbook wave: every row of its source is followed again",
    ]


def test_a_flood_is_counted_instead_of_listed(host: Host) -> None:
    host.wave(book(1, function="fail"), 2_000)
    ended = host.end(host.up())
    assert ended.code == 3
    failures = [line for line in said(ended.lines) if "failed, the first" in line]
    assert failures
    assert len(ended.lines) < 60
    assert max(map(len, ended.lines)) < 400


def test_as_json_each_line_is_an_object_and_the_end_goes_to_stdout(host: Host) -> None:
    host.wave(book(1), 2)
    files = ("--functions", str(host.folder / "functions.py"))
    done = subprocess.run(
        host.program("up", "--db", str(host.path), *files, "--until-idle", "-o", "json"),
        env={**os.environ, "TMINUS_TEST_LOG": str(host.log)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = [cast("dict[str, object]", json.loads(line)) for line in done.stderr.splitlines()]
    assert [line["kind"] for line in lines] == ["up", "batch_completed"]
    assert all({"at", "kind", "message"} <= set(line) for line in lines)
    end = json.loads(done.stdout)
    assert (end["idle"], end["exit_code"], end["batches"]) == (True, 0, {"completed": 1})


def test_a_reader_that_sleeps_stops_no_work(host: Host) -> None:
    """What `up` says waits in a thread while nobody reads, and the wave goes on."""
    process = host.up(until_idle=False)
    assert process.stderr is not None
    process.stderr.readline()
    fcntl.fcntl(process.stderr.fileno(), fcntl.F_SETPIPE_SZ, 4096)
    host.well("runbook", "publish", str(host.write("runbook.yaml", book(1, function="fail"))), "--as", "anna")
    for number in range(8):
        host.batch([f"b{number}-{key}-{'x' * 400}" for key in range(3)])
    host.until(lambda: host.statuses() == {"failed": 24})
    host.until(lambda: host.count("SELECT count(*) FROM batches WHERE status = 'failed'") == 8)
    process.terminate()
    assert host.end(process).code == 0


def test_who_has_gone_is_not_spoken_to(host: Host) -> None:
    host.wave(book(2, function="fail"), 3)
    process = host.up()
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(60) == 3
