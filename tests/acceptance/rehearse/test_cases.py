"""`tminus runbook test`: which cases are found, what is told of one that comes out otherwise, and how it ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

WELL = """\
members: {members}
at: 2026-12-04 22:00
expect:
  exit: 0
  members: {{done: 4}}
"""
FAILS = """\
members: {members}
at: 2026-12-04 22:00
faults: ["move:fail=Conflict@key=anna@contoso.com"]
expect:
  exit: 0
  members: {{done: 4}}
  phases: {{cutover: completed}}
  holds: [gate]
"""


def case(folder: Path, name: str, text: str = WELL, members: str = "members.csv") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text.format(members=members), encoding="utf-8")


def test_cases_of_this_folder_and_its_tests_are_found(terminal: Terminal) -> None:
    case(terminal.folder, "a.case.yaml")
    case(terminal.folder, "b.test.yml")
    case(terminal.folder, "tests/c.yaml", members="../members.csv")
    (terminal.folder / "other.yaml").write_text("name: no case\n", encoding="utf-8")
    ran = terminal.well("runbook", "test")
    assert re.findall(r"^ok +(\S+)", ran.out, re.MULTILINE) == ["a.case.yaml", "b.test.yml", "tests/c.yaml"]
    assert ran.out.endswith("3 of 3 cases came out as expected\n")
    assert (terminal.well("runbook", "test", "tests").out.count("ok "), ran.err) == (1, "")


def test_what_comes_out_otherwise_is_shown_from_both_sides(terminal: Terminal) -> None:
    case(terminal.folder, "a.case.yaml", FAILS)
    case(terminal.folder, "b.case.yaml")
    ran = terminal.run("runbook", "test")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert [line.split() for line in lines[1:6]] == [
        ["expected", "found"], ["exit", "0", "3"], ["members", "done", "4", "0"],
        ["phase", "cutover", "completed", "dispatched"], ["open", "holds", "gate", "brake"],
    ]  # fmt: skip
    assert "1 x cutover/move: rehearsed failure" in ran.out
    assert "your brake would stop this at cutover" in ran.out
    assert lines[-1] == "1 of 2 cases came out as expected"
    assert "tminus rehearse runbook.yaml --expect a.case.yaml" in ran.err
    assert terminal.run("rehearse", "runbook.yaml", "--expect", "a.case.yaml").code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expect: {membrs: 1}\n", 'a.case.yaml:1:10: E214 unknown key "membrs"'),
        ("members: none.csv\nexpect: {exit: 0}\n", "E302"),
        ("runbook: none.yaml\nexpect: {exit: 0}\n", "none.yaml: E121"),
        ("members: members.csv\nat: soon\nexpect: {exit: 0}\n", "E221"),
        ("expect: {exit: 0}\n", "E432"),
        ("[", "a.case.yaml:1"),
    ],
)
def test_a_case_that_cannot_be_run_keeps_no_other_from_it(terminal: Terminal, text: str, said: str) -> None:
    (terminal.folder / "a.case.yaml").write_text(text, encoding="utf-8")
    case(terminal.folder, "b.case.yaml")
    ran = terminal.run("runbook", "test")
    assert ran.code == 1
    assert said in ran.out
    assert ran.out.startswith("ERROR a.case.yaml")
    assert "ok    b.case.yaml" in ran.out


def test_for_scripts_each_case_is_a_row(terminal: Terminal) -> None:
    case(terminal.folder, "a.case.yaml", FAILS)
    (terminal.folder / "b.case.yaml").write_text("expect: {membrs: 1}\n", encoding="utf-8")
    ran = terminal.run("runbook", "test", "-o", "json")
    assert ran.code == 1
    first, second = ran.rows()
    assert (first["file"], first["ok"], first["exit_code"], first["error"]) == ("a.case.yaml", False, 3, None)
    assert cast("list[object]", first["differences"])[0] == {"what": "exit", "expected": "0", "found": "3"}
    assert cast("dict[str, object]", second["error"])["code"] == "E214"
    assert terminal.run("runbook", "test", "-o", "name").out == "a.case.yaml\nb.case.yaml\n"


def test_where_there_is_no_case_it_says_how_to_write_one(terminal: Terminal) -> None:
    ran = terminal.run("runbook", "test")
    assert (ran.code, ran.out) == (7, "")
    assert "tests/NAME.yaml" in ran.err


def test_a_case_names_its_runbook_and_its_paths_from_where_it_lies(terminal: Terminal) -> None:
    (terminal.folder / "books").mkdir()
    (terminal.folder / "runbook.yaml").rename(terminal.folder / "books" / "wave.yaml")
    text = "runbook: ../books/wave.yaml\n" + WELL
    case(terminal.folder, "tests/c.yaml", text, members="../members.csv")
    assert terminal.well("runbook", "test").out.startswith("ok    tests/c.yaml")
    assert terminal.well("runbook", "test", "tests/c.yaml").out.startswith("ok")


def test_nothing_is_left_behind(terminal: Terminal) -> None:
    case(terminal.folder, "a.case.yaml", FAILS)
    before = {path: path.read_bytes() for path in terminal.folder.iterdir()}
    terminal.run("runbook", "test")
    assert {path: path.read_bytes() for path in terminal.folder.iterdir()} == before
