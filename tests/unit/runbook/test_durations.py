"""Durations: what they mean, what they refuse, and that any text is answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import attempted
from tminus.domain.errors import TminusError
from tminus.runbook.duration import LONGEST_S, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30.0),
        ("15m", 900.0),
        ("2h", 7_200.0),
        ("7d", 604_800.0),
        ("1h30m", 5_400.0),
        ("1d2h3m4s5ms", 93_784.005),
        ("1m500ms", 60.5),
        ("90m", 5_400.0),
        ("007s", 7.0),
        ("3650d", LONGEST_S),
        ("0" * 5_000 + "5s", 5.0),
    ],
)
def test_a_duration_is_its_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_zero_is_taken_only_where_it_makes_sense() -> None:
    assert parse_duration("0s", zero=True) == 0.0
    with pytest.raises(TminusError, match="no time at all") as caught:
        parse_duration("0s")
    assert caught.value.code == "E207"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("5 m", 'did you mean "5m"?'),
        ("5M", 'did you mean "5m"?'),
        ("30", "30s, 30m or 30h"),
        ("soon", "write a number and a unit"),
        ("", "write a number and a unit"),
    ],
)
def test_a_refused_duration_says_what_was_probably_meant(text: str, hint: str) -> None:
    with pytest.raises(TminusError) as caught:
        parse_duration(text)
    assert caught.value.code == "E206"
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["3651d", "3650d1ms", "9" * 5_000 + "s"])
def test_more_than_ten_years_is_refused_however_many_digits_it_has(text: str) -> None:
    with pytest.raises(TminusError) as caught:
        parse_duration(text)
    assert caught.value.code == "E207"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (-90, "-1m30s"), (0.25, "250ms"), (90_061.001, "1d1h1m1s1ms"), (3_600, "1h")]
)
def test_seconds_are_written_with_the_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=1, max_value=int(LONGEST_S * 1_000)))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    seconds = milliseconds / 1_000
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.text() | st.from_regex(r"[0-9dhms]{0,12}"))
def test_any_text_is_a_duration_or_refused_with_a_code(text: str) -> None:
    seconds, code = attempted(parse_duration, text)
    assert code in {"", "E206", "E207"}
    assert seconds is None or 0 < seconds <= LONGEST_S
