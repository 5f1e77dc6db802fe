"""Times as an operator reads them: T-clock, wall clock in the batch's zone, distance from now.

All pure: the present is handed in. An instant is stored in UTC; a cut-over night is lived in its own zone.
"""

from __future__ import annotations

import re
from typing import Final

from tminus.domain.instant import Instant, between_s, from_datetime, to_datetime
from tminus.runbook.zones import zone_of

_MINUTE: Final = 60
_HOUR: Final = 3_600
_DAY: Final = 86_400
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_STAMP: Final = re.compile(r"(?:\b(\d{4}-\d\d-\d\d) )?\b((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)Z\b")
_CLOCK: Final = len("22:00")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def t_clock(t0: Instant | None, now: Instant) -> str:
    """Write where the countdown stands: `T-2d 04h`, `T-3h 05m`, `T-0m 12s`, `T+1d 02h`."""
    if t0 is None:
        return "no T-0"
    left = between_s(now, t0)
    sign = "-" if left >= 0 else "+"
    seconds = int(abs(left))
    if seconds >= _DAY:
        return f"T{sign}{seconds // _DAY}d {seconds % _DAY // _HOUR:02}h"
    if seconds >= _HOUR:
        return f"T{sign}{seconds // _HOUR}h {seconds % _HOUR // _MINUTE:02}m"
    return f"T{sign}{seconds // _MINUTE}m {seconds % _MINUTE:02}s"


def wall(at: Instant, zone: str, now: Instant | None = None) -> str:
    """Write an instant in a zone: `Fri 4 Dec 22:00`; with its year where that is not the present one."""
    moment = to_datetime(at).astimezone(zone_of(zone))
    year = (
        "" if now is not None and to_datetime(now).astimezone(zone_of(zone)).year == moment.year else f" {moment.year}"
    )
    day = f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]}{year}"
    return f"{day} {moment.hour:02}:{moment.minute:02}"


def localized(sentence: str, zone: str, now: Instant) -> str:
    """Write the times of a sentence, which are UTC, as they are lived in a zone, which is named behind the last one.

    A time without a day is of today; one that is today there needs none either.
    """
    found = [] if zone == "UTC" else list(_STAMP.finditer(sentence))
    today = to_datetime(now).astimezone(zone_of(zone)).date()
    for number, one in enumerate(reversed(found)):
        try:
            moment = to_datetime(Instant(f"{one[1] or now[:10]}T{one[2]}.000Z")).astimezone(zone_of(zone))
        except ValueError:
            continue  # No day of any month: somebody else's words.
        day = "" if moment.date() == today else wall(from_datetime(moment), zone, now)[:-_CLOCK]
        shown = f"{day}{moment:%H:%M:%S}".removesuffix(":00") + ("" if number else f" {zone}")
        sentence = sentence[: one.start()] + shown + sentence[one.end() :]
    return sentence


def exact(at: Instant, zone: str) -> str:
    """Write an instant in a zone to the second, for a report: `2026-12-04 22:00:00 +01:00`."""
    return to_datetime(at).astimezone(zone_of(zone)).isoformat(sep=" ", timespec="seconds").replace("+", " +", 1)


def span(seconds: float) -> str:
    """Write a length of time in its two largest units: `2d 4h`, `5m 3s`, `12s`."""
    whole = int(abs(seconds))
    parts = (
        (whole // _DAY, "d"),
        (whole % _DAY // _HOUR, "h"),
        (whole % _HOUR // _MINUTE, "m"),
        (whole % _MINUTE, "s"),
    )
    first = next((index for index, (amount, _) in enumerate(parts) if amount), len(parts) - 1)
    shown = [f"{amount}{unit}" for amount, unit in parts[first : first + 2] if amount]
    return " ".join(shown) or "0s"


def distance(at: Instant, now: Instant) -> str:
    """Write how far an instant is from now: `in 5m 3s`, `2d 4h ago`, `now`."""
    seconds = between_s(now, at)
    if int(seconds) == 0:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(seconds)} ago"
