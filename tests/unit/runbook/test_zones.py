"""Batch times and zones: what a source may write, read in one way only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import attempted
from tminus.domain.errors import TminusError
from tminus.domain.instant import FIRST, LAST
from tminus.runbook.offset import local_time
from tminus.runbook.zones import has_clock_changes, zone_of

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-12-04", "2026-12-03T23:00:00.000Z"),
        ("2026-12-04 22:00", "2026-12-04T21:00:00.000Z"),
        ("2026-12-04T22:00", "2026-12-04T21:00:00.000Z"),
        ("2026-12-04T22:00:30", "2026-12-04T21:00:30.000Z"),
        ("2026-12-04 22:00:00.1230000", "2026-12-04T21:00:00.123Z"),
        ("2026-12-04T22:00:00,5", "2026-12-04T21:00:00.500Z"),
        ("2026-12-04T22:00:00Z", "2026-12-04T22:00:00.000Z"),
        ("2026-12-04T22:00:00+05:30", "2026-12-04T16:30:00.000Z"),
        ("2026-12-04 22:00:00 +01:00", "2026-12-04T21:00:00.000Z"),
        ("2026-12-04 22:00:00 -0500", "2026-12-05T03:00:00.000Z"),
        ("20261204T220000", "2026-12-04T21:00:00.000Z"),
        ("  2026-12-04 22:00 ", "2026-12-04T21:00:00.000Z"),
        ("2026-12-04 22:00 America/New_York", "2026-12-05T03:00:00.000Z"),
        ("2026-12-04 22:00 UTC", "2026-12-04T22:00:00.000Z"),
    ],
)
def test_a_time_without_an_offset_is_read_in_the_zone(text: str, instant: str) -> None:
    assert local_time(text, BERLIN) == (instant, None)


def test_a_time_in_a_gap_is_the_first_instant_after_it() -> None:
    instant, note = local_time("2026-03-29 02:30", BERLIN)
    assert instant == "2026-03-29T01:00:00.000Z"
    assert note is not None
    assert "does not exist" in note


def test_a_time_that_happens_twice_is_the_earlier() -> None:
    instant, note = local_time("2026-10-25 02:30", BERLIN)
    assert instant == "2026-10-25T00:30:00.000Z"
    assert note is not None
    assert "twice" in note


def test_a_date_whose_midnight_does_not_exist_begins_at_its_first_instant() -> None:
    # Clocks in Beirut go from 00:00 to 01:00.
    assert local_time("2026-03-29", "Asia/Beirut")[0] == "2026-03-28T22:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026",
        "2026-13-01",
        "2026-02-30",
        "04.12.2026",
        "12/04/2026",
        "2026-12-04 25:00",
        "2026-W49-5",
        "1764882000",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-12-04 22:00 Europe/Nowhere",
        "\uff12\uff10\uff12\uff16-12-04",
        "2026-12-04" + " " * 200 + "x",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(TminusError) as caught:
        local_time(text, BERLIN)
    assert caught.value.code in {"E221", "E222"}


@pytest.mark.parametrize(
    "name", ["", "CEST", "localtime", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "UTC+1"]
)
def test_a_zone_is_an_iana_name_that_means_the_same_everywhere(name: str) -> None:
    with pytest.raises(TminusError) as caught:
        zone_of(name)
    assert caught.value.code == "E222"


def test_a_misspelt_zone_is_guessed() -> None:
    with pytest.raises(TminusError) as caught:
        zone_of("europe/berln")
    assert caught.value.hint == 'did you mean "Europe/Berlin"?'


def test_zones_with_clock_changes_are_told_apart() -> None:
    assert has_clock_changes(BERLIN)
    assert not has_clock_changes("UTC")
    assert not has_clock_changes("Asia/Kolkata")


@given(st.text() | st.from_regex(r"[0-9TZ:+\- ]{0,30}"))
def test_any_text_is_a_time_or_refused_with_a_code(text: str) -> None:
    read, code = attempted(lambda written: local_time(written, BERLIN), text)
    assert code in {"", "E221", "E222"}
    assert read is None or FIRST <= read[0] <= LAST
