"""Instants: fixed-width UTC text, so that the order of letters is the order of time.

One form serves the core, SQLite and every message: `2026-11-18T21:11:31.123Z`. Comparing two instants is comparing two
strings, which is what the hot path and every due-scan do; arithmetic is rare and converts. Precision is a millisecond.
This module must not know a clock: the present is always handed in.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", str)

FIRST = Instant("0001-01-01T00:00:00.000Z")
LAST = Instant("9999-12-31T23:59:59.999Z")


def from_datetime(moment: datetime) -> Instant:
    """Write an aware datetime as an instant; what is finer than a millisecond is cut off."""
    return Instant(moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z")


def to_datetime(instant: Instant) -> datetime:
    """Read an instant back as an aware datetime in UTC."""
    return datetime.fromisoformat(instant)


def plus(instant: Instant, seconds: float) -> Instant:
    """Return the instant `seconds` later (earlier when negative), held inside the years 1 to 9999."""
    try:
        return from_datetime(to_datetime(instant) + timedelta(seconds=seconds))
    except OverflowError:
        return LAST if seconds > 0 else FIRST


def between_s(start: Instant, end: Instant) -> float:
    """Return the seconds from `start` to `end`, negative when `end` is earlier."""
    return (to_datetime(end) - to_datetime(start)).total_seconds()
