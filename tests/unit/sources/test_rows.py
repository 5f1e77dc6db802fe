"""Rows of any source: values that are no text, keys that are numbers, lists that came as lists."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from tminus.domain.errors import TminusError
from tminus.ports.source import Question, RowProblem, SourceRow
from tminus.runbook.model import DataSource, MultiFormat, MultiValued
from tminus.sources.rows import RowMaker
from tminus.sources.values import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = ("Key", "When", "Tags")


def maker(
    form: MultiFormat = "semicolon_delimited", columns: Sequence[str] = COLUMNS, *, timed: bool = True
) -> RowMaker:
    source = DataSource(
        type="sql",
        primary_key="Key",
        batch_time_column="When",
        multi_valued_columns=(MultiValued(name="Tags", format=form),),
    )
    return RowMaker(columns, Question(data_source=source, timezone="Europe/Berlin"), timed=timed)


def made(cells: list[object], form: MultiFormat = "semicolon_delimited") -> SourceRow:
    row = maker(form).make(cells, "row 1")
    assert isinstance(row, SourceRow)
    return row


def refused(cells: list[object], form: MultiFormat = "semicolon_delimited") -> RowProblem:
    problem = maker(form).make(cells, "row 1")
    assert isinstance(problem, RowProblem)
    return problem


def nested(levels: int) -> object:
    value: object = None
    for _ in range(levels):
        value = [value]
    return value


class TestKeys:
    @pytest.mark.parametrize(("value", "key"), [(17, "17"), (17.0, "17"), (1.5, "1.5"), (" a ", "a")])
    def test_become_text(self, value: object, key: str) -> None:
        row = made([value, "2026-12-04", ""])
        assert row.key == key
        assert json.loads(row.data)["Key"] == key

    def test_null_is_empty(self) -> None:
        assert refused([None, "2026-12-04", ""]).code == "E333"

    def test_half_a_character_is_none(self) -> None:
        assert refused(["a\ud800", "2026-12-04", ""]).code == "E335"

    def test_a_failed_row_has_spent_its_key(self) -> None:
        rows = maker()
        first = rows.make(["a", "never", ""], "row 1")
        second = rows.make(["a", "2026-12-04", ""], "row 2")
        assert isinstance(first, RowProblem)
        assert isinstance(second, RowProblem)
        assert (first.code, second.code) == ("E339", "E336")
        assert "row 1" in second.message

    def test_a_twin_of_a_duplicate_names_the_first(self) -> None:
        rows = maker()
        replies = [rows.make([key, "2026-12-04", ""], f"row {n}") for n, key in enumerate(("Ann", "ann", "Ann"))]
        assert [reply.code for reply in replies if isinstance(reply, RowProblem)] == ["E337", "E336"]

    def test_hostile_ones_are_shown_harmless(self) -> None:
        assert "\x1b" not in refused(["\x1b[31m", "2026-12-04", ""]).message


class TestTimes:
    def test_null_is_none(self) -> None:
        assert refused(["a", None, ""]).code == "E338"

    def test_numbers_are_none(self) -> None:
        assert refused(["a", 46_360.9, ""]).code == "E339"

    def test_are_cut_to_the_second(self) -> None:
        assert made(["a", "2026-12-04T22:00:59.999", ""]).batch_time == "2026-12-04T21:00:59.000Z"

    def test_more_than_are_remembered(self) -> None:
        rows = maker()
        for n in range(20_001):
            text = f"2026-12-04T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z"
            row = rows.make([f"k{n}", text, ""], f"row {n}")
            assert isinstance(row, SourceRow)
            assert row.batch_time == text.replace("Z", ".000Z")

    def test_are_left_alone_where_none_is_asked_for(self) -> None:
        row = maker(timed=False).make(["a", "whenever", ""], "row 1")
        assert isinstance(row, SourceRow)
        assert row.batch_time is None
        assert json.loads(row.data)["When"] == "whenever"


class TestValues:
    def test_null_and_empty_text_stay_apart(self) -> None:
        columns = ("Key", "When", "A", "B")
        row = maker(columns=columns).make(["a", "2026-12-04", None, ""], "row 1")
        assert isinstance(row, SourceRow)
        assert json.loads(row.data) == {"Key": "a", "When": "2026-12-04", "A": None, "B": ""}

    def test_columns_keep_their_order(self) -> None:
        assert list(json.loads(made(["a", "2026-12-04", ""]).data)) == list(COLUMNS)

    @pytest.mark.parametrize("value", [b"x", "\ud800", 2**70, object()])
    def test_what_json_does_not_know_fails_the_row(self, value: object) -> None:
        problem = maker(columns=("Key", "When", "A")).make(["a", "2026-12-04", value], "row 1")
        assert isinstance(problem, RowProblem)
        assert (problem.code, problem.key) == ("E341", "a")


class TestLists:
    @pytest.mark.parametrize("form", ["semicolon_delimited", "comma_delimited", "json_array"])
    @pytest.mark.parametrize(
        ("cell", "items"), [(None, []), ("", []), (" ", []), (["x", 1], ["x", 1]), (7, [7]), (False, [False])]
    )
    def test_of_values(self, form: MultiFormat, cell: object, items: list[object]) -> None:
        assert json.loads(made(["a", "2026-12-04", cell], form).data)["Tags"] == items

    def test_a_long_number_keeps_its_digits(self) -> None:
        assert (
            '"Tags":[ 12345678901234567890123 , 1.10]'
            in made(["a", "2026-12-04", "[ 12345678901234567890123 , 1.10]"], "json_array").data
        )

    def test_an_array_that_nobody_could_read_back_is_refused(self) -> None:
        assert refused(["a", "2026-12-04", "[" * 1_020 + "]" * 1_020], "json_array").code == "E340"

    def test_an_array_of_many_arrays_is_fine(self) -> None:
        cell = "[" + ",".join(["[]"] * 2_000) + "]"
        assert len(json.loads(made(["a", "2026-12-04", cell], "json_array").data)["Tags"]) == 2_000

    def test_the_message_names_the_column(self) -> None:
        problem = refused(["a", "2026-12-04", "[1"], "json_array")
        assert problem.message.startswith("Tags: not JSON")
        assert problem.key == "a"


class TestPlain:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (True, True),
            (1, 1),
            (2**63, "9223372036854775808"),
            (-(2**70), "-1180591620717411303424"),
            (1.25, 1.25),
            (Decimal("12.00"), 12),
            (Decimal("0.1"), 0.1),
            (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
            (Decimal("1E+30"), 1e30),
            (Decimal("1E+400"), "1E+400"),
            (date(2026, 12, 4), "2026-12-04"),
            (datetime(2026, 12, 4, 22, 0, tzinfo=UTC), "2026-12-04T22:00:00+00:00"),
            (time(22, 0), "22:00:00"),
            (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            ((1, Decimal(2), [None]), [1, 2, [None]]),
            (nested(64), nested(64)),
            ({"a": Decimal("0.5"), 1: "x"}, {"a": 0.5, "1": "x"}),
        ],
    )
    def test_has_a_json_form(self, value: object, expected: object) -> None:
        result = plain(value)
        assert result == expected
        assert type(result) is type(expected)

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            (math.nan, "E341"),
            (-math.inf, "E341"),
            (Decimal("NaN"), "E341"),
            (Decimal("sNaN"), "E341"),
            (b"x", "E341"),
            ({"a": {1, 2}}, "E341"),
            (nested(65), "E341"),
            (nested(50_000), "E341"),
            ("a\0b", "E332"),
        ],
    )
    def test_or_fails_the_row(self, value: object, code: str) -> None:
        with pytest.raises(TminusError) as caught:
            plain(value)
        assert caught.value.code == code
