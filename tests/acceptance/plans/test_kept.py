"""Plans that are kept: shown as they were made, by member, listed, compared; every shape has its keys."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.acceptance.plans.desk import AT, BOOK, MEMBERS, WANTED, put, rows

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA = """\
anna@contoso.com · wave · T-0 Thu 4 Dec 2031 22:00 Europe/Berlin · members.csv:2
 Sat 29 Nov 2031 22:00  T-5d  prepare
   create  New-User on graph
     upn     anna@contoso.com
     group   <GroupId from step group>
     dept    Sales
     first   pw ***
     secret  ***
   mail  Send on mail
     to  anna@contoso.com
 Thu 4 Dec 2031 22:00  T-0  cutover
   license  Set-License on graph  only when: {{TargetId}} != ''
     batch  <the number of the batch>
     key    anna@contoso.com
     on     cutover
   move  Move on graph
     id  <TargetId from step create>
"""
CLEO = """\
   move  would not run: {{TargetId}} in params.id has no value
"""
WHOLE = {
    "plan", "digest", "runbook_name", "version", "publishes", "moves_batches", "timezone", "made_at", "valid_until",
    "has_changes", "members", "would_run", "step_runs", "step_runs_once", "batches", "would_not_run", "empty",
    "unused_columns", "functions_from", "functions_known", "functions_whole", "missing_functions",
    "computed_functions", "holds", "notes", "data", "files",
}  # fmt: skip
KEPT = {"state", "made_by", "applied_at", "applied_by", "applied_version", "applied_batches"}
CALL = [
    "batch_start_time", "member_key", "stage", "step_name", "due_at", "state", "worker_id", "function", "params",
    "reason",
]  # fmt: skip
LISTED = {
    "name", "digest", "runbook_name", "batches", "members", "step_runs", "made_at", "made_by", "valid_until",
    "applied_at", "applied_by", "applied_version", "applied_batches", "state",
}  # fmt: skip


@pytest.fixture(name="desk")
def with_plan(terminal: Terminal) -> Terminal:
    terminal.well("plan", *WANTED, *AT, "--save", "one")
    return terminal


def test_a_member_is_shown_call_by_call(desk: Terminal) -> None:
    assert desk.well("plan", "show", "one", "--member", "anna@contoso.com").out == ANNA
    assert desk.well("plan", "show", "one", "--member", "cleo@contoso.com").out.endswith(CLEO)
    found = desk.well("plan", "show", "one", "--member", "anna@contoso.com", "-o", "json").fields()
    assert [one["step_name"] for one in rows(found, "calls")] == ["create", "mail", "license", "move"]


def test_a_plan_is_shown_later_as_it_was(desk: Terminal) -> None:
    first = desk.well("plan", *WANTED, *AT, "--save", "two").out
    put(desk, "runbook.yaml", BOOK.replace("Send", "Other"))
    put(desk, "members.csv", MEMBERS.replace("anna", "zoe"))
    shown = desk.well("plan", "show", "two")
    head, _, rest = shown.out.partition("\n")
    assert head.startswith("two: made ")
    assert rest + "Saved as two (valid 7 days).\n" == first
    assert shown.err == "Try:   tminus apply two\n"


def test_what_became_of_it_stands_above(desk: Terminal) -> None:
    desk.well("apply", "one", "--yes")
    shown = desk.well("plan", "show", "one")
    assert "by anna, applied " in shown.out.splitlines()[0]
    assert shown.out.splitlines()[0].endswith("by anna: batch 1")
    found = desk.well("plan", "show", "one", "-o", "json").fields()
    assert (found["state"], found["applied_version"], found["applied_batches"]) == ("applied", 1, [1])
    assert [one["state"] for one in desk.well("plan", "list", "-o", "json").rows()] == ["applied"]


def test_every_shape_has_its_keys(desk: Terminal) -> None:
    assert set(desk.well("plan", *WANTED, *AT, "-o", "json").fields()) == WHOLE
    found = desk.well("plan", "show", "one", "-o", "json").fields()
    assert set(found) == WHOLE | KEPT
    assert yaml.safe_load(desk.well("plan", "show", "one", "-o", "yaml").out) == found
    assert desk.well("plan", "show", "one", "-o", "name").out == "one\n"
    lines = [json.loads(line) for line in desk.well("plan", "show", "one", "-o", "jsonl").out.splitlines()]
    assert all(list(line) == CALL for line in lines)
    table = list(csv.reader(io.StringIO(desk.well("plan", "show", "one", "-o", "csv").out)))
    assert (table[0], len(table)) == (CALL, len(lines) + 1)
    listed = desk.well("plan", "list", "-o", "json").rows()
    assert all(set(one) == LISTED for one in listed)
    applied = desk.well("apply", "one", "--dry-run", "-o", "json").fields()
    assert set(applied) == {"plan", "runbook_name", "version", "published", "already", "batches", "dry_run"}


def test_a_script_hears_the_name_beside_the_rows(desk: Terminal) -> None:
    ran = desk.well("plan", *WANTED, *AT, "--save", "two", "-o", "jsonl")
    assert ran.err == "saved as two\n"
    assert desk.well("plan", *WANTED, *AT, "--save", "three", "-o", "name").out == "three\n"


def test_no_plan_is_no_error(terminal: Terminal) -> None:
    terminal.well("runbook", "publish")
    ran = terminal.well("plan", "list")
    assert (ran.out, ran.err) == ("", "no plan is kept\n")


def test_two_plans_are_compared_in_words(desk: Terminal) -> None:
    put(desk, "runbook.yaml", BOOK.replace("25%", "20%"))
    put(desk, "members.csv", f"{MEMBERS.replace('pw-anna', 'other').replace('ben@', 'eve@')}")
    desk.well("plan", "--members", "members.csv", "--at", "2031-12-05 22:00", "--data", "ticket=C2", "--save", "two")
    ran = desk.run("plan", "diff", "one", "two", "--detailed-exitcode")
    assert ran.code == 10
    assert ran.out.splitlines() == [
        "one -> two",
        "  phase cutover: brake 25% -> 20%",
        "  T-0 2031-12-04T21:00:00.000Z -> 2031-12-05T21:00:00.000Z",
        "  data ticket CHG-1 -> C2",
        "  ben@contoso.com is gone",
        "  anna@contoso.com Password *** -> ***",
        "  new eve@contoso.com",
    ]
    told = desk.well("plan", "diff", "one", "two", "-o", "json").fields()
    assert (told["old"], told["new"], len(rows(told, "changes"))) == ("one", "two", 6)
    assert "other" not in json.dumps(told)
    same = desk.run("plan", "diff", "one", "one", "--detailed-exitcode")
    assert (same.code, same.out) == (0, "one -> one\n  nothing differs\n")


def test_a_plan_is_compared_with_a_batch(desk: Terminal) -> None:
    desk.well("apply", "one", "--yes")
    desk.well("member", "remove", "1", "ben@contoso.com", "--reason", "stays")
    assert desk.well("plan", "diff", "one", "1").out.splitlines() == ["one -> batch 1", "  ben@contoso.com is gone"]


def test_many_differences_are_counted(desk: Terminal) -> None:
    put(desk, "members.csv", "upn,type\n" + "".join(f"u{number},User\n" for number in range(50)))
    desk.well("plan", *WANTED, *AT, "--save", "two")
    shown = desk.well("plan", "diff", "one", "two").out
    assert "  and 30 more: member new; -o wide lists them" in shown
    assert len(shown.splitlines()) == 1 + 4 + 20 + 1
    assert len(desk.well("plan", "diff", "one", "two", "-o", "wide").out.splitlines()) == 1 + 4 + 50
