"""`tminus apply`: exactly what was looked at is made, once, whole, and never from a plan that is stale."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.plans.desk import AT, BOOK, MEMBERS, TICKET, WANTED, elsewhere, put, refused

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

DIES = """
import os, sys
from tminus.store import cohort, plans
point = sys.argv.pop(1)
module, name = {"create": (cohort, "create"), "mark": (plans, "mark_applied")}[point]
setattr(module, name, lambda *_, **__: os._exit(137))
from tminus.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(name="desk")
def with_plan(terminal: Terminal) -> Terminal:
    """Have a plan that is called one."""
    terminal.well("plan", *WANTED, *AT, "--save", "one")
    return terminal


def test_what_was_planned_is_made_as_by_hand(desk: Terminal) -> None:
    ran = desk.well("apply", "one", "--yes", "--reason", "go")
    assert ran.out.splitlines()[0] == "wave v1 published; batch 1 of 4 members made from one"
    assert ran.out.splitlines()[1].startswith("prepare starts Sat 29 Nov 2031 22:00 (in ")
    assert ran.err == "Try:   tminus up\n"
    made = desk.well("batch", "get", "1", "-o", "json").fields()
    assert (made["kind"], made["batch_start_time"], made["data"], made["created_by"], made["runbook_version"]) == (
        "manual", "2031-12-04T21:00:00.000Z", {"ticket": "CHG-1"}, "anna", 1,
    )  # fmt: skip
    planned_keys = [line.split(",")[0] for line in MEMBERS.splitlines()[1:]]
    assert desk.well("batch", "members", "1", "-o", "name").out.splitlines() == planned_keys
    assert desk.value("SELECT count(*) FROM audit WHERE action = 'ApplyPlan' AND actor = 'anna' AND reason = 'go'") == 1
    assert desk.well("plan", "diff", "one", "1").out.splitlines() == ["one -> batch 1", "  nothing differs"]
    desk.well("doctor")


def test_a_published_runbook_is_not_published_again(terminal: Terminal) -> None:
    terminal.well("runbook", "publish")
    terminal.well("plan", "wave", *WANTED, "--save", "one")
    ran = terminal.well("apply", "one", "--yes")
    assert ran.out.splitlines() == ["batch 1 of 4 members made from one", "no T-0: it waits to be advanced"]
    assert ran.err == "Try:   tminus batch advance 1\n"
    assert terminal.value("SELECT count(*) FROM runbooks") == 1


def test_an_inactive_runbook_is_published_anew(terminal: Terminal) -> None:
    terminal.well("runbook", "publish")
    terminal.well("runbook", "deactivate", "wave")
    refused(terminal.run("plan", "wave", *WANTED), 7, "E521")
    assert "publishes v2" in terminal.well("plan", *WANTED, "--save", "one").out
    assert terminal.well("apply", "one", "--yes").out.startswith("wave v2 published; batch 1 of 4 members made")
    assert terminal.value("SELECT version FROM runbooks WHERE is_active") == 2


def test_applied_twice_it_says_so_and_changes_nothing(desk: Terminal) -> None:
    first = desk.well("apply", "one", "--yes", "-o", "json").fields()
    assert (first["already"], first["published"], first["version"]) == (False, True, 1)
    (desk.folder / "members.csv").unlink()
    before = desk.dump()
    again = desk.well("apply", "one", "--yes")
    assert "one was applied " in again.out
    assert "by anna: batch 1; nothing was changed" in again.out
    assert desk.well("apply", "one", "-o", "json").fields()["already"] is True
    assert desk.dump() == before


def test_a_dry_run_answers_and_leaves_nothing(desk: Terminal) -> None:
    before = desk.dump()
    ran = desk.well("apply", "one", "--dry-run")
    assert ran.out.splitlines()[0] == "wave v1 would be published; a batch of 4 members of wave v1 would be made"
    told = desk.well("apply", "one", "--dry-run", "-o", "json").fields()
    assert told["batches"] == [{"id": None, "batch_start_time": "2031-12-04T21:00:00.000Z", "members": 4}]
    assert desk.dump() == before


def test_now_makes_t0_the_present(desk: Terminal) -> None:
    ran = desk.well("apply", "one", "--yes", "--now")
    assert ran.out.splitlines()[1] == "prepare starts at once"
    late = "SELECT count(*) FROM phase_executions WHERE due_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    assert desk.value(late) == 0


def test_without_a_terminal_nobody_is_asked(desk: Terminal) -> None:
    before = desk.dump()
    refused(desk.run("apply", "one"), 2, "E453")
    assert desk.dump() == before


STALE = {
    "runbook": "runbook.yaml has changed",
    "members": "members.csv has changed",
    "gone": "members.csv is gone",
    "version": "another version of wave is published",
    "home": "anna@contoso.com is in batch 1 by now",
    "age": "it was valid until",
    "times": "prepare was due",
}


def spoil(desk: Terminal, how: str) -> None:
    if how == "runbook":
        put(desk, "runbook.yaml", f"{BOOK}# a word\n")
    elif how == "members":
        put(desk, "members.csv", MEMBERS.replace("Sales", "Legal"))
    elif how == "gone":
        (desk.folder / "members.csv").unlink()
    elif how == "version":
        put(desk, "other.yaml", BOOK.replace("25%", "20%"))
        desk.well("runbook", "publish", "other.yaml")
    elif how == "home":
        put(desk, "anna.csv", "\n".join([*MEMBERS.splitlines()[:2], ""]))
        desk.well("runbook", "publish", "runbook.yaml")
        desk.well("plan", *WANTED, *AT, "--save", "late")
        desk.well("batch", "create", "wave", "anna.csv", *TICKET)
    else:
        turn_back(desk, EXPIRED if how == "age" else PASSED)


EXPIRED = "UPDATE plans SET valid_until = '2026-01-01T00:00:00.000Z'"
PASSED = """UPDATE plans SET body_json = replace(replace(body_json, '2031-12-04T21', '2026-01-04T21'),
  json_extract(body_json, '$.plan.made_at'), '2025-12-01T00:00:00.000Z')"""


def turn_back(desk: Terminal, change: str) -> None:
    """Write into the plan what time would have made of it."""
    connection = sqlite3.connect(desk.path)
    connection.execute(change)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("how", STALE)
def test_a_stale_plan_is_refused_and_nothing_is_made(desk: Terminal, how: str) -> None:
    spoil(desk, how)
    name = "late" if how == "home" else "one"
    before = desk.dump()
    for more in ((), ("--dry-run",)):
        ran = desk.run("apply", name, "--yes", *more)
        refused(ran, 6, "E450")
        assert STALE[how] in ran.err
    assert desk.dump() == before


def test_a_plan_made_anew_can_be_applied(desk: Terminal) -> None:
    spoil(desk, "members")
    desk.well("plan", *WANTED, *AT, "--save", "two")
    shown = desk.well("plan", "diff", "one", "two").out
    assert "anna@contoso.com dept Sales -> Legal" in shown
    desk.well("apply", "two", "--yes")


def test_times_do_not_count_where_t0_is_the_present(desk: Terminal) -> None:
    spoil(desk, "times")
    desk.well("apply", "one", "--yes", "--now")


@pytest.mark.parametrize("point", ["create", "mark"])
def test_whoever_dies_in_the_middle_has_done_nothing_and_can_do_it_again(desk: Terminal, point: str) -> None:
    before = desk.dump()
    died = subprocess.run(
        [sys.executable, "-c", DIES, point, "apply", "one", "--yes"],
        cwd=desk.folder,
        env={**os.environ, "TMINUS_ACTOR": "anna"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert died.returncode == 137, died.stderr
    assert desk.dump() == before
    desk.well("apply", "one", "--yes")
    assert desk.value("SELECT count(*) FROM runbooks") == 1
    assert desk.value("SELECT count(*) FROM batches") == 1


def test_two_who_apply_at_once_make_one_batch(desk: Terminal) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "tminus", "apply", "one", "--yes"],
            cwd=desk.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [one.communicate(timeout=60)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sorted("was applied 20" in one for one in said) == [False, True], said
    assert desk.value("SELECT count(*) FROM batches") == 1


def test_the_others_see_what_the_plan_was_made_with(desk: Terminal) -> None:
    others = elsewhere(desk)
    desk.well("plan", "list")
    desk.well("plan", "show", "one")
    assert elsewhere(desk) == others


FUNCTIONS = """\
from tminus import function


@function
def work(**given):
    return {"id": "x-" + str(given.get("upn"))}


@function
def tell(**given):
    return None
"""
SMALL = """\
name: small
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: w, function: work, params: {upn: "{{upn}}"}, output_params: {TargetId: id}}
  - name: cutover
    offset: T-0
    steps:
      - {name: move, worker_id: w, function: tell, params: {id: "{{TargetId}}"}}
"""


def test_the_whole_chain_from_plan_to_the_end(terminal: Terminal) -> None:
    put(terminal, "runbook.yaml", SMALL)
    put(terminal, "functions.py", FUNCTIONS)
    shown = terminal.well("plan", "--members", "members.csv", *AT)
    name = shown.err.rsplit(maxsplit=1)[-1]
    assert "Not offered" not in shown.out
    rehearsed = terminal.well("rehearse", name)
    assert "all of it would work: 4 moved" in rehearsed.out
    assert rehearsed.err == f"Try:   tminus apply {name}\n"
    terminal.well("apply", name, "--now", "--yes")
    ran = subprocess.run(
        [sys.executable, "-m", "tminus", "up", "--until-idle", "--tick", "0.05"],
        cwd=terminal.folder,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert terminal.well("batch", "get", "1", "-o", "json").fields()["status"] == "completed"
    asked = "SELECT count(*) FROM executions WHERE step_name = 'move' AND params_json LIKE '%x-anna@contoso.com%'"
    assert terminal.value(asked) == 1
