"""Offsets of T-0: calendar days in a zone, elapsed time after them, and both across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import attempted
from tminus.domain.errors import TminusError
from tminus.domain.instant import FIRST, LAST, Instant, between_s, from_datetime, to_datetime
from tminus.runbook.offset import FARTHEST_DAYS, Offset

BERLIN = "Europe/Berlin"
ZONES = ("UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca")


def signed(sign: int, days: int, seconds: int) -> Offset:
    """Return an offset on one side of T-0."""
    return Offset(sign * days, sign * seconds)


offsets = st.builds(
    signed,
    st.sampled_from((1, -1)),
    st.integers(min_value=0, max_value=400),
    st.integers(min_value=0, max_value=200_000),
)
moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2037, 12, 31))  # noqa: DTZ001 - made aware next.
instants = moments.map(lambda moment: from_datetime(moment.replace(microsecond=0, tzinfo=UTC)))


def at(text: str, zone: str = BERLIN) -> Instant:
    """Return the instant of a wall-clock time that is not near a clock change."""
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("T-5d", 7_200),
        ("T-4h", 240),
        ("T-30m", 30),
        ("T-90s", 2),
        ("T-1s", 1),
        ("T-0", 0),
        ("T+2d10h", -3_480),
        ("T-1d12h", 2_160),
        ("T+90s", -2),
    ],
)
def test_minutes_are_positive_before_t0_and_rounded_up(text: str, minutes: int) -> None:
    assert Offset.parse(text).minutes == minutes


def test_days_keep_the_hour_across_a_clock_change() -> None:
    # The clocks of Berlin are set back on 25 October 2026.
    t0 = at("2026-10-26 22:00")
    assert Offset.parse("T-5d").due_at(t0, BERLIN) == at("2026-10-21 22:00")
    assert Offset.parse("T-120h").due_at(t0, BERLIN) == at("2026-10-21 23:00")


def test_the_calendar_part_goes_first_then_the_elapsed_part() -> None:
    # 29 March 2026, 02:00 to 03:00 does not exist. One day before T-0 is 12:00 on that day, 11 hours earlier is 00:00.
    assert Offset.parse("T-1d11h").due_at(at("2026-03-30 12:00"), BERLIN) == at("2026-03-29 00:00")
    # The other way round would give 25 elapsed hours of another day.
    assert Offset.parse("T+1d1h").due_at(at("2026-03-28 01:30"), BERLIN) == at("2026-03-29 03:30")


def test_a_day_that_lands_in_a_gap_means_the_first_instant_after_it_with_a_note() -> None:
    due, note = Offset.parse("T-1d").due(at("2026-03-30 02:30"), BERLIN)
    assert due == at("2026-03-29 03:00")
    assert note == "2026-03-29 02:30 does not exist in Europe/Berlin; the first instant after it is 2026-03-29 03:00"


def test_a_day_that_lands_in_an_overlap_means_the_earlier_with_a_note() -> None:
    due, note = Offset.parse("T-1d").due(at("2026-10-26 02:30"), BERLIN)
    assert due == Instant("2026-10-25T00:30:00.000Z")
    assert note == "2026-10-25 02:30 happens twice in Europe/Berlin; the earlier one is meant"


def test_a_gap_of_half_an_hour_and_a_day_that_never_was_have_a_first_instant_too() -> None:
    lord_howe, _ = Offset.parse("T-1d").due(at("2026-10-05 02:15", "Australia/Lord_Howe"), "Australia/Lord_Howe")
    assert lord_howe == from_datetime(datetime(2026, 10, 3, 15, 30, tzinfo=UTC))
    # Samoa left out 30 December 2011.
    apia, note = Offset.parse("T-1d").due(at("2011-12-31 10:00", "Pacific/Apia"), "Pacific/Apia")
    assert apia == at("2011-12-31 00:00", "Pacific/Apia")
    assert note is not None


def test_seconds_are_exact_although_the_minutes_are_rounded() -> None:
    t0 = at("2026-12-04 22:00")
    assert between_s(Offset.parse("T-90s").due_at(t0, BERLIN), t0) == 90


def test_t0_inside_an_overlap_stays_where_it_is() -> None:
    later = Instant("2026-10-25T01:30:00.000Z")
    assert Offset.parse("T-0").due_at(later, BERLIN) == later
    assert Offset.parse("T-30m").due_at(later, BERLIN) == Instant("2026-10-25T01:00:00.000Z")


def test_beyond_the_calendar_lie_its_ends() -> None:
    assert Offset.parse("T-3650d").due_at(Instant("0005-01-01T00:00:00.000Z"), "UTC") == FIRST
    assert Offset.parse("T+3650d").due_at(Instant("9995-01-01T00:00:00.000Z"), "UTC") == LAST


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("t-5d", 'did you mean "T-5d"?'),
        ("T - 5D", 'did you mean "T-5d"?'),
        ("-5d", 'did you mean "T-5d"?'),
        ("T+0", "write T-0"),
        ("T-0d", "write T-0"),
        ("five days", "write T-5d"),
    ],
)
def test_a_refused_offset_says_what_was_probably_meant(text: str, hint: str) -> None:
    with pytest.raises(TminusError) as caught:
        Offset.parse(text)
    assert caught.value.code == "E208"
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["T-" + "9" * 5_000 + "d", "T-1d" + "9" * 5_000 + "s", "T+" + "0" * 5_000 + "3651d"])
def test_more_than_ten_years_is_refused_however_many_digits_it_has(text: str) -> None:
    assert attempted(Offset.parse, text) == (None, "E209")


@given(offsets)
def test_what_is_written_is_read_back(offset: Offset) -> None:
    assert Offset.parse(str(offset)) == offset


@given(offsets, instants, st.sampled_from(ZONES))
def test_the_sign_says_on_which_side_of_t0_a_phase_lies(offset: Offset, t0: Instant, zone: str) -> None:
    due = offset.due_at(t0, zone)
    # A clock change can move a phase by its size, never to the other side of T-0 by more.
    slack_s = 86_400 if offset.days else 0
    assert between_s(due, t0) * (1 if offset.minutes > 0 else -1) >= -slack_s
    assert abs(between_s(due, t0) - (offset.days * 86_400 + offset.seconds)) <= slack_s


@given(st.integers(min_value=-400, max_value=399), instants, st.sampled_from(ZONES))
def test_more_days_are_never_later(days: int, t0: Instant, zone: str) -> None:
    assert Offset(days + 1, 0).due_at(t0, zone) <= Offset(days, 0).due_at(t0, zone)


@given(st.integers(min_value=1, max_value=400), instants, st.sampled_from(ZONES))
def test_days_keep_the_wall_clock_unless_a_note_says_otherwise(days: int, t0: Instant, zone: str) -> None:
    due, note = Offset(days, 0).due(t0, zone)
    if note is None or "twice" in note:
        place = ZoneInfo(zone)
        start = to_datetime(t0).astimezone(place).replace(tzinfo=None)
        assert to_datetime(due).astimezone(place).replace(tzinfo=None, fold=0) == start - timedelta(days=days)


@given(st.text() | st.from_regex(r"T[+-][0-9dhms]{0,12}"))
def test_any_text_is_an_offset_or_refused_with_a_code(text: str) -> None:
    offset, code = attempted(Offset.parse, text)
    assert code in {"", "E208", "E209"}
    assert offset is None or abs(offset.minutes) <= FARTHEST_DAYS * 1_440
