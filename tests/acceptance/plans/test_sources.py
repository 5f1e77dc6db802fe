"""Plans of what a source says: a batch for each of its times, what it would not take, and what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.plans.desk import put, refused, rows

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

BOOK = """\
name: queue
timezone: Europe/Berlin
data_source: {type: csv, connection: PEOPLE, primary_key: upn, batch_time_column: When}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: w, function: Move, params: {upn: "{{upn}}", dept: "{{dept}}"}}
"""
PEOPLE = """\
upn,When,dept
anna,2031-12-04 22:00,Sales
ben,2031-12-05 22:00,Sales
cleo,2031-12-04 22:00,Sales
dan,tomorrow,Sales
,2031-12-04 22:00,Sales
"""


@pytest.fixture(name="desk")
def sourced(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    put(terminal, "runbook.yaml", BOOK)
    put(terminal, "people.csv", PEOPLE)
    monkeypatch.setenv("PEOPLE", "people.csv")
    return terminal


def planned(desk: Terminal, *words: str) -> dict[str, object]:
    return desk.well("plan", *words, "-o", "json").fields()


@pytest.mark.parametrize("words", [(), ("--query",), ("runbook.yaml", "--query")])
def test_the_source_is_asked_and_each_time_is_a_batch(desk: Terminal, words: tuple[str, ...]) -> None:
    found = planned(desk, *words)
    assert [(one["batch_start_time"], one["members"]) for one in rows(found, "batches")] == [
        ("2031-12-04T21:00:00.000Z", 2),
        ("2031-12-05T21:00:00.000Z", 1),
    ]
    assert [(one["member_key"], one["place"], one["code"]) for one in rows(found, "would_not_run")] == [
        ("dan", "people.csv:5", "E339"),
        ("", "people.csv:6", "E333"),
    ]
    assert (found["members"], found["would_run"]) == (5, 3)
    assert not rows(found, "unused_columns")
    shown = desk.well("plan", *words).out
    assert "T-0 Thu 4 Dec 2031 22:00  2 of 2 members, 2 step runs" in shown
    assert "a row  the key is empty (people.csv:6)" in shown


def test_what_is_made_of_it_is_what_the_source_would_make(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    assert desk.well("apply", "one", "--yes").out.splitlines()[0] == (
        "queue v1 published; batches 1, 2 of 3 members made from one"
    )
    assert desk.value("SELECT count(*) FROM batches WHERE kind = 'source' AND source_time = batch_start_time") == 2
    desk.well("automation", "enable", "queue")
    desk.work()
    assert desk.value("SELECT count(*) FROM batches") == 2
    again = planned(desk)
    assert (again["has_changes"], again["would_run"]) == (False, 0)
    desk.well("doctor")


def test_who_is_new_in_a_batch_that_is_there_joins_by_the_source_and_not_by_the_plan(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    desk.well("apply", "one", "--yes")
    put(desk, "people.csv", f"{PEOPLE}eve,2031-12-04 22:00,Sales\nfay,2031-12-09 22:00,Sales\n")
    found = planned(desk, "--save", "two")
    assert found["would_run"] == 1
    assert found["notes"] == ["1 would join batch 1: its source's next answer does that, not the plan"]
    desk.well("apply", "two", "--yes")
    assert desk.well("batch", "members", "3", "-o", "name").out == "fay\n"


def test_who_has_ended_is_not_run_again(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    desk.well("apply", "one", "--yes")
    for batch in ("1", "2"):
        desk.well("batch", "reschedule", batch, "--at", "2026-01-01", "--reason", "at once")
    for _ in range(2):
        desk.work()
        for hold in desk.well("hold", "list", "-o", "name").out.split():
            desk.well("hold", "lift", hold, "--reason", "go")
    put(desk, "people.csv", PEOPLE.replace("2031-12-04", "2031-12-08"))
    found = planned(desk)
    codes = {str(one["member_key"]): one["code"] for one in rows(found, "would_not_run")}
    assert codes["anna"] == "E363"
    assert found["would_run"] == 0


def test_a_source_that_says_something_else_makes_the_plan_stale(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    put(desk, "people.csv", PEOPLE.replace("cleo", "carl"))
    before = desk.dump()
    ran = desk.run("apply", "one", "--yes")
    refused(ran, 6, "E450")
    assert "the source says something else by now" in ran.err
    assert desk.dump() == before


def test_a_batch_that_the_source_made_meanwhile_makes_the_plan_stale(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    desk.well("runbook", "publish")
    desk.well("plan", "--save", "two")
    desk.well("plan", "--save", "three")
    desk.well("apply", "two", "--yes")
    ran = desk.run("apply", "three", "--yes")
    refused(ran, 6, "E450")
    assert "anna and 2 more are in other batches by now" in ran.err
    refused(desk.run("apply", "one", "--yes"), 6, "E450")


def test_a_time_that_others_have_taken_meanwhile_makes_the_plan_stale(desk: Terminal) -> None:
    desk.well("runbook", "publish")
    desk.well("plan", "--save", "one")
    put(desk, "people.csv", PEOPLE.replace("cleo", "carl").replace("anna", "alex").replace("ben", "bob"))
    desk.well("plan", "--save", "others")
    desk.well("apply", "others", "--yes")
    put(desk, "people.csv", PEOPLE)
    before = desk.dump()
    ran = desk.run("apply", "one", "--yes")
    refused(ran, 6, "E450")
    assert "batch 1 has been made for 2031-12-04T21:00:00.000Z" in ran.err
    assert desk.dump() == before


def test_a_plan_of_a_source_has_its_own_times(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    refused(desk.run("apply", "one", "--yes", "--now"), 6, "E456")


def test_an_immediate_source_is_planned_for_now_and_makes_its_batches_itself(desk: Terminal) -> None:
    put(desk, "runbook.yaml", BOOK.replace("batch_time_column: When", "batch_time: immediate"))
    found = planned(desk, "--save", "one")
    assert found["would_run"] == 4
    assert len(rows(found, "batches")) == 1
    ran = desk.run("apply", "one", "--yes")
    refused(ran, 6, "E456")
    assert "tminus automation enable queue" in ran.err
    desk.well("rehearse", "one")


def test_a_plan_of_a_source_can_be_rehearsed(desk: Terminal) -> None:
    desk.well("plan", "--save", "one")
    assert "all of it would work: 3 moved" in desk.well("rehearse", "one").out


def test_many_batches_are_counted_and_all_are_in_the_object(desk: Terminal) -> None:
    lines = "".join(f"u{day},2031-12-{day:02} 22:00,x\n" for day in range(1, 21))
    put(desk, "people.csv", f"upn,When,dept\n{lines}")
    shown = desk.well("plan").out
    assert "and 12 more batches; -o json lists them" in shown
    assert len(rows(planned(desk), "batches")) == 20
