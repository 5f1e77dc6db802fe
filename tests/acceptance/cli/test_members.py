"""Single members: moved to another wave, looked up through their whole life, let go or kept when a source is silent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.acceptance.cli.terminal import BOOK

if TYPE_CHECKING:
    import pytest

    from tests.acceptance.cli.terminal import Terminal

ANNA = "anna@contoso.com"
BEN = "ben@contoso.com"
WHY = ("--reason", "because")


def statuses(terminal: Terminal, batch: int) -> dict[str, str]:
    found = terminal.well("batch", "members", str(batch), "-o", "json").rows()
    return {str(row["member_key"]): str(row["status"]) for row in found}


def two_waves(terminal: Terminal) -> None:
    """Make batch 1, whose first phase has run, and batch 2 a year from now."""
    terminal.wave()
    (terminal.folder / "next.csv").write_text("upn,dept\ndan@contoso.com,Sales\n", encoding="utf-8")
    terminal.well("batch", "create", "wave", "next.csv", "--at", "2030-01-01")


def test_a_member_goes_on_in_the_next_wave_with_what_it_has_passed(terminal: Terminal) -> None:
    two_waves(terminal)
    assert terminal.well("member", "move", ANNA, "--to", "2", *WHY).out == f"{ANNA}: moved to batch 2\n"
    terminal.work()
    assert (statuses(terminal, 1)[ANNA], statuses(terminal, 2)[ANNA]) == ("removed", "active")
    steps = terminal.well("batch", "steps", "2", "-o", "json").rows()
    assert [row for row in steps if row["status"] == "dispatched"] == []
    assert terminal.value("SELECT count(*) FROM executions WHERE step_name = 'clean'") == 0
    assert terminal.value("SELECT count(*) FROM audit WHERE action = 'Move' AND actor = 'anna'") == 1
    assert terminal.run("doctor").code == 0


def test_who_cannot_move_is_named_and_the_others_move(terminal: Terminal) -> None:
    two_waves(terminal)
    terminal.well("batch", "remove-member", "1", BEN, *WHY)
    terminal.work()
    ran = terminal.run("member", "move", ANNA, BEN, "--batch", "1", "--to", "2", *WHY)
    assert (ran.code, ran.err) == (3, f"{BEN}: E410 the member is removed\n")
    (terminal.folder / "other.yaml").write_text(BOOK.replace("name: wave", "name: other", 1), encoding="utf-8")
    terminal.well("runbook", "publish", "other.yaml")
    (terminal.folder / "other.csv").write_text("upn,dept\neve@contoso.com,Sales\n", encoding="utf-8")
    terminal.well("batch", "create", "other", "other.csv")
    ran = terminal.run("member", "move", "cleo@contoso.com", "--to", "3", *WHY)
    assert (ran.code, "batch 3 is of another runbook, other" in ran.err) == (6, True)
    ran = terminal.run("member", "move", ANNA, "--to", "2", *WHY)
    assert (ran.code, "it is in this batch already" in ran.err) == (6, True)


def test_the_history_of_a_key_goes_over_all_of_its_batches(terminal: Terminal) -> None:
    two_waves(terminal)
    terminal.well("member", "move", ANNA, "--to", "2", *WHY)
    terminal.well("batch", "cancel", "2", *WHY)
    terminal.work()
    found = terminal.well("member", "history", ANNA, "-o", "json").rows()
    assert [row["id"] for row in found] == sorted(int(str(row["id"])) for row in found)
    passed = [(row["phase_name"], row["step_name"]) for row in found if row["to_status"] == "succeeded"]
    assert passed[0] == ("prepare", "create")
    ends = [(row["batch_id"], row["to_status"], row["cause"]) for row in found if row["entity"] == "member"]
    assert ends[0] == (1, "removed", "moved")
    assert (ends[1][0], ends[1][1]) == (2, "cancelled")
    only = terminal.well("member", "history", ANNA, "--batch", "1", "-o", "json").rows()
    assert {row["batch_id"] for row in only} == {1}


def source(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a wave out of a file whose first answer named six, and whose next two name one."""
    text = BOOK.replace("type: manual,", "type: csv, connection: WAVE_CSV, batch_time_column: at, interval: 1s,")
    text = text.replace("    gate: {expires: 2d}\n", "")
    (terminal.folder / "runbook.yaml").write_text(text, encoding="utf-8")
    (terminal.folder / "functions.py").write_text(
        "from tminus import function\n"
        + "".join(
            f"@function('F-{name}')\ndef {name}(**given): ...\n" for name in ("create", "check", "move", "clean")
        ),
        encoding="utf-8",
    )
    monkeypatch.setenv("WAVE_CSV", str(terminal.folder / "wave.csv"))
    at = (datetime.now(UTC) + timedelta(minutes=30)).isoformat(timespec="seconds")
    keys = [ANNA, BEN, *(f"user-{number}@contoso.com" for number in range(4))]
    lines = [f"{key},Sales,{at}\n" for key in keys]
    file = terminal.folder / "wave.csv"
    file.write_text(f"upn,dept,at\n{''.join(lines)}", encoding="utf-8")
    terminal.well("runbook", "publish", "--enable")
    with subprocess.Popen(
        [sys.executable, "-m", "tminus", "up", "--tick", "0.1"],
        cwd=terminal.folder,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    ) as process:
        try:
            wait(terminal, "SELECT count(*) = 6 FROM executions WHERE step_name = 'check' AND status = 'succeeded'")
            file.write_text(f"upn,dept,at\n{lines[0]}", encoding="utf-8")
            wait(terminal, "SELECT count(*) FROM holds WHERE kind = 'leavers' AND is_open")
        finally:
            process.terminate()


def wait(terminal: Terminal, sql: str) -> None:
    deadline = time.monotonic() + 60
    while not terminal.value(sql):
        assert time.monotonic() < deadline, sql
        time.sleep(0.05)


def test_leavers_of_a_batch_are_kept_or_let_go_at_once(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    source(terminal, monkeypatch)
    tried = json.loads(terminal.well("member", "accept-leavers", "1", "--dry-run", *WHY, "-o", "json").out)
    assert (tried["done"], tried["dry_run"]) == (1, True)
    assert terminal.well("member", "accept-leavers", "1", *WHY).out == "hold 1: accepted\n"
    terminal.work()
    assert sorted(statuses(terminal, 1).values()) == ["active", *["removed"] * 5]
    ran = terminal.run("member", "refuse-leavers", "1", *WHY)
    assert (ran.code, "nobody is about to leave" in ran.err) == (6, True)


def test_a_batch_is_followed_until_it_has_ended(terminal: Terminal) -> None:
    (terminal.folder / "runbook.yaml").write_text(BOOK.replace("    gate: {expires: 2d}\n", ""), encoding="utf-8")
    terminal.batch("--at", datetime.now(UTC).isoformat(timespec="seconds"))
    with subprocess.Popen(
        [sys.executable, "-m", "tminus", "batch", "events", "1", "-f", "-o", "jsonl"],
        cwd=terminal.folder,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            first = json.loads(process.stdout.readline())
            assert (first["entity"], first["to_status"]) == ("batch", "active")
            terminal.work()
            rest = [json.loads(line) for line in process.stdout]
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert rest[-1]["to_status"] == "completed"
    assert len({line["id"] for line in rest}) == len(rest)


def test_an_inactive_runbook_makes_no_batch_and_its_live_ones_go_on(terminal: Terminal) -> None:
    terminal.wave()
    assert terminal.well("runbook", "deactivate", "wave", *WHY).out == "wave: inactive\n"
    (terminal.folder / "next.csv").write_text("upn,dept\ndan@contoso.com,Sales\n", encoding="utf-8")
    ran = terminal.run("batch", "create", "wave", "next.csv")
    assert (ran.code, "E521 the runbook is inactive - tminus runbook activate wave" in ran.err) == (7, True)
    assert terminal.well("runbook", "list", "-o", "json").rows() == []
    terminal.well("approve", "1/cutover", *WHY, "--as", "ben")
    terminal.well("batch", "cancel", "1", *WHY)
    terminal.work()
    assert terminal.run("doctor").code == 0
    assert terminal.well("runbook", "activate", "wave", *WHY).out == "wave: active\n"
    terminal.well("batch", "create", "wave", "next.csv")
    found = terminal.well("runbook", "versions", "wave", "-o", "json").rows()
    assert [(row["version"], row["is_active"]) for row in found] == [(1, True)]
    assert terminal.value("SELECT count(*) FROM audit WHERE action IN ('Activate', 'Deactivate')") == 2
