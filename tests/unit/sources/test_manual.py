"""A file that a person hands in: taken whole or not at all, with every problem at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tminus.runbook.model import DataSource, MultiValued
from tminus.sources.manual import read_member_bytes, read_member_file
from tminus.sources.still import Patience

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = DataSource(
    type="manual",
    primary_key="Key",
    batch_time_column="When",
    multi_valued_columns=(MultiValued(name="Tags", format="json_array"),),
)
GOOD = b"Key,Tags\na,[]\nb,[]"


def test_a_good_file_gives_rows() -> None:
    verdict = read_member_bytes(GOOD, SOURCE, name="wave 3.csv")
    assert verdict.ok
    assert [(row.key, row.batch_time, row.place) for row in verdict.rows] == [
        ("a", None, "wave 3.csv:2"),
        ("b", None, "wave 3.csv:3"),
    ]


def test_one_bad_row_refuses_all_rows() -> None:
    verdict = read_member_bytes(GOOD + b"\nc,[", SOURCE, name="m.csv")
    assert not verdict.ok
    assert verdict.rows == ()


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    verdict = read_member_bytes(b'Key,Tags\na,[\nb,[]\nb,[]\nc\n,[]\n"d"x,[]\n', SOURCE, name="m.csv")
    assert [(problem.code, problem.place) for problem in verdict.problems] == [
        ("E340", "m.csv:2"),
        ("E336", "m.csv:4"),
        ("E330", "m.csv:5"),
        ("E333", "m.csv:6"),
        ("E331", "m.csv:7"),
    ]
    error = verdict.error()
    assert (error.code, error.place) == ("E350", "m.csv:2")
    assert error.message.startswith("5 problems, the first: E340 Tags: not JSON")


def test_problems_before_an_unclosed_quote_are_told_too() -> None:
    verdict = read_member_bytes(b'Key,Tags\na,[\nb,"[]\n', SOURCE, name="m.csv")
    assert [(problem.code, problem.place) for problem in verdict.problems] == [("E340", "m.csv:2"), ("E310", "m.csv:3")]
    assert verdict.problem_count == 2


def test_a_single_problem_is_its_own_error() -> None:
    error = read_member_bytes(GOOD + b"\nb,[]", SOURCE, name="m.csv").error()
    assert (error.code, error.place) == ("E336", "m.csv:4")
    assert str(error) == 'm.csv:4: E336 "b" stands already at m.csv:3, which counts'


def test_problems_beyond_the_first_thousand_are_counted() -> None:
    verdict = read_member_bytes(b"Key,Tags\n" + b"a\n" * 1_500, SOURCE, name="m.csv")
    assert len(verdict.problems) == 1_000
    assert verdict.error().message.startswith("1,500 problems")


def test_problems_beyond_the_first_thousand_are_counted_when_reading_stops() -> None:
    verdict = read_member_bytes(b"Key,Tags\n" + b"a\n" * 1_500 + b'b,"', SOURCE, name="m.csv")
    assert verdict.problem_count == 1_501
    assert len(verdict.problems) == 1_001
    assert verdict.problems[-1].code == "E310"


def test_notes_are_handed_on() -> None:
    verdict = read_member_bytes(b"Key\na\n", SOURCE, name="m.csv")
    assert verdict.notes == ('there is no column "Tags", which multi_valued_columns names',)


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_bytes(GOOD)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    verdict = read_member_file(path, SOURCE)
    assert [row.place for row in verdict.rows] == ["members.csv:2", "members.csv:3"]


def test_a_file_just_saved_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_bytes(b"Key,Tags\n")
    pauses: list[float] = []

    def save(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            path.write_bytes(GOOD)

    verdict = read_member_file(path, SOURCE, patience=Patience(clock=lambda: 0, pause=save))
    assert len(verdict.rows) == 2
    assert len(pauses) == 2


def test_a_missing_file_is_a_verdict(tmp_path: Path) -> None:
    verdict = read_member_file(tmp_path / "none.csv", SOURCE)
    assert not verdict.ok
    assert (verdict.error().code, verdict.error().place) == ("E302", "none.csv")
