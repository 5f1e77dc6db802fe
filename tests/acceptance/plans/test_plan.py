"""`tminus plan`: who, what, when, what it waits for and what would not run - and nothing is touched by saying so."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.plans.desk import AT, BOOK, MEMBERS, TICKET, WANTED, elsewhere, planned, put, rows, stages, waits

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

CSV = "{type: csv, connection: PEOPLE, primary_key: upn, batch_time_column: When}"
SCREEN = """\
Plan for wave · 3 of 4 members · 15 step runs (2 once + 13) · publishes v1
  (DIGEST)
 when (Europe/Berlin)         phase    steps x members
 now                          init     1                group
 Sat 29 Nov 2031 22:00  T-5d  prepare  2 x 4, 7 run     limit graph: 2 at once;
                                                        limit graph: 6 a minute,
                                                        at least 20s; 1 skipped
                                                        by when
 Thu 4 Dec 2031 22:00   T-0   cutover  2 x 4, 6 run     gate: needs approval,
                                                        held unless answered
                                                        within 12h; rings of 1,
                                                        3; brake above 25%;
                                                        one-way: move; move
                                                        polls up to 8h; limit
                                                        graph: 2 at once; limit
                                                        graph: 6 a minute, at
                                                        least 50s; 1 skipped by
                                                        when; 3 run if their
                                                        condition holds then
 at the end                   finish   1                tell
 Would not run:  cleo@contoso.com  {{TargetId}} in params.id has no value at
                   cutover/move (members.csv:4)
 Empty:  {{dept}} of 1 member: ben@contoso.com (members.csv:3)
 Unused column:  Departmnt
 Not offered:  Move (worker graph; cutover/move) - did you mean "Mov"?
               New-User (worker graph; prepare/create)
Saved as NAME (valid 7 days).
"""


def test_the_screen_says_it_all_in_eighty_columns(terminal: Terminal) -> None:
    ran = terminal.well("plan", *WANTED, *AT)
    name = terminal.well("plan", "list", "-o", "name").out.strip()
    lines = ran.out.replace(name, "NAME").splitlines()
    lines[1] = "  (DIGEST)"
    assert "\n".join([*lines, ""]) == SCREEN
    assert all(len(line) <= 80 for line in lines)
    assert ran.err == f"Try:   tminus rehearse {name}\n"


def test_nothing_is_touched_by_planning(terminal: Terminal) -> None:
    before = {path: path.read_bytes() for path in terminal.folder.iterdir()}
    planned(terminal, *AT, "--no-save")
    assert {path: path.read_bytes() for path in terminal.folder.iterdir()} == before
    terminal.well("runbook", "publish")
    terminal.well("batch", "create", "wave", "members.csv", *TICKET)
    others = elsewhere(terminal)
    name = str(planned(terminal, *AT, "--save", "one")["plan"])
    terminal.well("plan", "show", name)
    terminal.well("plan", "diff", name, "1")
    terminal.well("rehearse", name)
    assert elsewhere(terminal) == others
    assert not (terminal.folder / "touched").exists(), "a plan has loaded somebody's functions"


def test_every_step_is_counted(terminal: Terminal) -> None:
    found = planned(terminal, *AT)
    assert (found["members"], found["would_run"], found["step_runs"], found["step_runs_once"]) == (4, 3, 15, 2)
    assert (found["version"], found["publishes"], found["has_changes"]) == (1, True, True)
    shown = stages(found)
    assert list(shown) == ["init", "prepare", "cutover", "finish"]
    assert [shown[name]["due_at"] for name in ("prepare", "cutover")] == [
        "2031-11-29T21:00:00.000Z",
        "2031-12-04T21:00:00.000Z",
    ]
    assert (shown["prepare"]["step_runs"], shown["prepare"]["skipped"]) == (7, 1)
    assert (shown["cutover"]["step_runs"], shown["cutover"]["depends"], shown["cutover"]["unresolved"]) == (6, 3, 1)
    assert "rings of 1, 3" in waits(shown["cutover"])


def test_who_would_not_run_is_named_with_the_place_in_the_file(terminal: Terminal) -> None:
    assert rows(planned(terminal, *AT), "would_not_run") == [
        {
            "member_key": "cleo@contoso.com",
            "place": "members.csv:4",
            "phase_name": "cutover",
            "step_name": "move",
            "code": "E237",
            "reason": "{{TargetId}} in params.id has no value",
            "batch_id": None,
        }
    ]


def test_a_column_that_is_not_there_stops_everybody_and_the_likely_one_is_named(terminal: Terminal) -> None:
    put(terminal, "runbook.yaml", BOOK.replace("{{dept}}", "{{Department}}"))
    found = planned(terminal, *AT)
    assert (found["would_run"], len(rows(found, "would_not_run"))) == (0, 4)
    assert {"name": "Departmnt", "meant": "Department"} in rows(found, "unused_columns")
    shown = terminal.well("plan", *WANTED, *AT).out
    assert 'Departmnt - did you mean "Department"?' in shown
    assert "3 members" in shown
    assert "(members.csv:2)" in shown


def test_an_init_that_cannot_run_stops_the_batch(terminal: Terminal) -> None:
    put(terminal, "runbook.yaml", BOOK.replace('{t: "{{ticket}}"}', '{t: "{{nothing}}"}'))
    found = planned(terminal, *AT)
    assert (found["would_run"], found["step_runs"]) == (0, 1)
    assert [(one["member_key"], one["phase_name"]) for one in rows(found, "would_not_run")] == [("", "init")]
    assert "the batch: {{nothing}}" in terminal.well("plan", *WANTED, *AT).out


def words(terminal: Terminal, *more: str) -> str:
    """Return a plan's screen with every run of blanks as one."""
    return " ".join(terminal.well("plan", *WANTED, *more).out.split())


def calls(terminal: Terminal, *words: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in terminal.well("plan", *WANTED, *words, "-o", "jsonl").out.splitlines()]


def test_every_call_is_a_row_with_its_parameters(terminal: Terminal) -> None:
    found = calls(terminal, *AT)
    assert len(found) == 2 + 4 * 4
    create = next(one for one in found if (one["member_key"], one["step_name"]) == ("anna@contoso.com", "create"))
    assert (create["state"], create["function"], create["due_at"]) == ("runs", "New-User", "2031-11-29T21:00:00.000Z")
    assert create["params"] == {
        "upn": "anna@contoso.com",
        "group": "<GroupId from step group>",
        "dept": "Sales",
        "first": "pw ***",
        "secret": "***",
    }
    states = {(str(one["member_key"]), str(one["step_name"])): one["state"] for one in found}
    assert states["anna@contoso.com", "license"] == "depends"
    assert states["cleo@contoso.com", "create"] == "skipped"
    assert states["cleo@contoso.com", "license"] == "skipped", "a step that was skipped gives nothing"
    assert states["cleo@contoso.com", "move"] == "unresolved"
    license_ = next(one for one in found if (one["member_key"], one["step_name"]) == ("anna@contoso.com", "license"))
    assert license_["params"] == {"batch": "<the number of the batch>", "key": "anna@contoso.com", "on": "cutover"}
    assert found[-1]["params"] == {"outcome": "<outcome of the batch>"}


def test_secrets_are_shown_nowhere(terminal: Terminal) -> None:
    for shape in ("table", "wide", "json", "jsonl", "csv", "yaml"):
        ran = terminal.well("plan", *WANTED, *AT, "-o", shape, "--save", shape)
        shown = ran.out + terminal.well("plan", "show", shape, "--member", "anna@contoso.com", "-o", shape).out
        assert "pw-anna" not in shown
        assert "abc" not in shown


def test_without_t0_each_phase_waits_for_an_advance(terminal: Terminal) -> None:
    shown = stages(planned(terminal))
    assert [(one["turn"], one["due_at"]) for one in shown.values()] == [(1, None), (1, None), (2, None), (2, None)]
    shown_words = words(terminal)
    assert "1st advance T-5d prepare" in shown_words
    assert "2nd advance T-0 cutover" in shown_words


def test_without_t0_the_largest_offset_comes_first_wherever_it_stands(terminal: Terminal) -> None:
    head, first = BOOK.split("  - name: prepare\n")
    before, behind = first.split("  - name: cutover\n")
    cutover, finish = behind.split("on_batch_finished:\n")
    swapped = f"{head}  - name: cutover\n{cutover}  - name: prepare\n{before}on_batch_finished:\n{finish}"
    put(terminal, "runbook.yaml", swapped)
    assert list(stages(planned(terminal))) == ["init", "prepare", "cutover", "finish"]
    assert list(stages(planned(terminal, *AT))) == ["init", "prepare", "cutover", "finish"]


def test_a_t0_that_is_past_says_now_and_an_old_one_is_held(terminal: Terminal) -> None:
    found = planned(terminal, "--at", "2020-01-01")
    assert [one["kind"] for one in rows(found, "holds")] == ["old_t0"]
    assert " now T-5d prepare " in words(terminal, "--at", "2020-01-01")


def test_a_clock_change_is_told(terminal: Terminal) -> None:
    assert "2031-03-30 02:30 does not exist in Europe/Berlin" in words(terminal, "--at", "2031-04-04 02:30")


def test_pauses_limits_and_moving_batches_of_the_database_are_told(terminal: Terminal) -> None:
    put(terminal, "first.yaml", BOOK.replace("per_minute: 6", "per_minute: 60"))
    terminal.well("runbook", "publish", "first.yaml")
    put(terminal, "more.csv", MEMBERS.replace("@contoso", "@fabrikam"))
    terminal.well("batch", "create", "wave", "more.csv", *TICKET)
    terminal.well("pause", "--runbook", "wave", "--reason", "audit")
    found = planned(terminal, *AT)
    assert [one["words"] for one in rows(found, "holds")] == ["the runbook is paused by anna: audit"]
    assert (found["version"], found["moves_batches"]) == (2, 1)
    assert "publishing moves open batches (1)" in words(terminal, *AT)
    named = planned(terminal, "wave", *AT)
    assert (named["version"], named["publishes"]) == (1, False)
    assert not any("a minute" in words for words in waits(stages(named)["prepare"]))


def test_who_lives_in_an_open_batch_is_left_out(terminal: Terminal) -> None:
    terminal.well("runbook", "publish")
    put(terminal, "two.csv", "\n".join([*MEMBERS.splitlines()[:3], ""]))
    terminal.well("batch", "create", "wave", "two.csv", *TICKET)
    found = planned(terminal, *AT)
    assert rows(found, "batches", 0, "left_out") == [
        {"member_key": "anna@contoso.com", "batch_id": 1},
        {"member_key": "ben@contoso.com", "batch_id": 1},
    ]
    assert (found["members"], found["would_run"]) == (4, 1)
    assert "2 members in batch 1 already: anna@contoso.com, ben@contoso.com" in words(terminal, *AT)


def test_detailed_exit_codes_tell_changes_from_none(terminal: Terminal) -> None:
    planned(terminal, *AT, "--detailed-exitcode", code=10)
    terminal.well("runbook", "publish")
    planned(terminal, *AT, "--detailed-exitcode", code=10)
    terminal.well("batch", "create", "wave", "members.csv", *TICKET)
    before = terminal.dump()
    found = planned(terminal, *AT, "--detailed-exitcode")
    assert (found["has_changes"], found["plan"]) == (False, None)
    assert terminal.dump() == before, "what would make nothing is not kept"
    ran = terminal.well("plan", *WANTED, *AT)
    assert "Nothing would be made." in ran.out
    assert ran.err == "Try:   tminus status\n"


@pytest.mark.parametrize(
    ("named", "offered", "missing"),
    [
        (["--functions", "f.py"], "from tminus import function\n@function\ndef Send(to): ...\n", 5),
        (["--functions", "f.py"], "from tminus import *\n", 6),
        (["--functions", "f.py", "--functions", "functions.py"], "", 2),
    ],
)
def test_functions_are_told_from_the_files_that_are_named(
    terminal: Terminal, named: list[str], offered: str, missing: int
) -> None:
    put(terminal, "f.py", offered)
    assert len(rows(planned(terminal, *AT, *named), "missing_functions")) == missing


def test_functions_come_from_neighbours_too_and_a_computed_name_makes_the_answer_partial(terminal: Terminal) -> None:
    put(terminal, "f.py", "import beside\nfrom tminus import function\n@function(str(1))\ndef a(): ...\n")
    put(terminal, "beside.py", "from tminus.functions import function\n@function('Move')\nasync def a(): ...\n")
    found = planned(terminal, *AT, "--functions", "f.py")
    assert "Move" not in {one["function"] for one in rows(found, "missing_functions")}
    assert found["functions_whole"] is False
    shown = terminal.well("plan", *WANTED, *AT, "--functions", "f.py").out
    assert "f.py may offer more than its text tells" in shown


def test_a_broken_file_that_merely_lies_there_stops_no_plan(terminal: Terminal) -> None:
    put(terminal, "functions.py", "def (")
    assert planned(terminal, *AT)["functions_known"] is False


def test_functions_of_workers_count_where_no_file_is(terminal: Terminal) -> None:
    (terminal.folder / "functions.py").unlink()
    assert planned(terminal, *AT)["functions_known"] is False
    connection = sqlite3.connect(terminal.path)
    connection.execute(
        "INSERT INTO workers (name, worker_ids, host, pid, process_started_at, functions_json, started_at,"
        " last_seen_at) VALUES ('w', '*', 'h', 1, 't', '[\"Move\", \"Send\"]', 't', 't')"
    )
    connection.commit()
    connection.close()
    found = planned(terminal, *AT)
    assert found["functions_from"] == "the workers"
    assert {one["function"] for one in rows(found, "missing_functions")} == {
        "New-Group", "New-User", "Set-License", "Tell",
    }  # fmt: skip


def test_a_plan_goes_through_a_pipe_of_letters(terminal: Terminal) -> None:
    colourful = terminal.well("plan", *WANTED, *AT)
    plain = terminal.run("plan", *WANTED, *AT, env={"NO_COLOR": "1"})
    assert plain.out == colourful.out
    assert "\x1b" not in plain.out
    narrow = terminal.run("plan", *WANTED, *AT, env={"COLUMNS": "60"})
    assert all(len(line) <= 60 for line in narrow.out.splitlines()), narrow.out
    wide = terminal.run("plan", *WANTED, *AT, "-o", "wide")
    assert any(len(line) > 120 for line in wide.out.splitlines())


def test_a_runbook_that_is_valid_leads_to_its_plan(terminal: Terminal) -> None:
    checked = terminal.well("validate")
    assert checked.err == "Try:   tminus plan --members members.csv --data ticket=VALUE\n"
    terminal.well(*checked.err.split()[2:])
    assert terminal.well("validate", "-o", "json").err == ""
    put(terminal, "other.yaml", BOOK.replace("{type: manual, primary_key: upn}", CSV).replace("inputs: [ticket]\n", ""))
    assert terminal.well("validate", "other.yaml").err == "Try:   tminus plan other.yaml\n"
    put(terminal, "other.yaml", f"{BOOK}bogus: 1\n")
    assert terminal.run("validate", "other.yaml").err == ""
