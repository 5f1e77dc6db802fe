"""Named time zones, and wall-clock times read in them.

A wall-clock time may not exist (a clock jumped over it) or exist twice (a clock was set back). Both have one answer
here: the first valid instant after a gap, the earlier of two, each with a note for whoever asked. Zones are IANA names
only: an abbreviation or the machine's own zone would mean something else elsewhere. This module must not know the
present.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, from_datetime
from tminus.runbook.wording import did_you_mean, quoted

LONGEST_TIME: Final = 100

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,2}")
_LOCAL: Final = frozenset({"localtime", "Factory", "posixrules"})
_TIME_SHAPE: Final = re.compile(
    r"\d{4}-?\d{2}-?\d{2}(?:[T ]\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d+)?)?)?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)
_ZONED: Final = re.compile(r"(.+\d) ([A-Za-z]+/[A-Za-z0-9_+\-/]+|UTC)", re.ASCII)


@lru_cache(maxsize=256)
def zone_of(name: str) -> ZoneInfo:
    """Return the zone of an IANA name."""
    if _NAME.fullmatch(name) and name not in _LOCAL:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, OSError, ValueError):
            pass  # The one error below says the same for every way in which a name can be unknown.
    hint = (
        did_you_mean(name, sorted(available_timezones() - _LOCAL), most=1_000)
        or "use an IANA name such as Europe/Berlin or UTC"
    )
    raise TminusError("E222", f"unknown time zone {quoted(name)}", hint=hint)


@lru_cache(maxsize=256)
def has_clock_changes(name: str) -> bool:
    """Tell whether the zone's clocks are still being changed, judged by the months of 2026 to 2037."""
    zone = zone_of(name)
    moments = (datetime(year, month, 1, tzinfo=UTC) for year in range(2026, 2038) for month in range(1, 13))
    return len({moment.astimezone(zone).utcoffset() for moment in moments}) > 1


def wall_to_instant(wall: datetime, zone: str) -> tuple[Instant, str | None]:
    """Read a naive wall-clock time in a zone; the note says what a clock change did to it."""
    place = zone_of(zone)
    early = wall.replace(tzinfo=place, fold=0)
    offset, other = early.utcoffset(), wall.replace(tzinfo=place, fold=1).utcoffset()
    instant = early.astimezone(UTC)
    if offset is None or other is None or offset == other:
        return from_datetime(instant), None
    shown = wall.isoformat(sep=" ", timespec="minutes")
    if instant.astimezone(place).replace(tzinfo=None, fold=0) == wall:
        return from_datetime(instant), f"{shown} happens twice in {zone}; the earlier one is meant"
    change = _change_between(wall.replace(tzinfo=UTC) - other, instant, place)
    local = change.astimezone(place).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")
    return from_datetime(change), f"{shown} does not exist in {zone}; the first instant after it is {local}"


def local_time(text: str, zone: str) -> tuple[Instant, str | None]:
    """Read a batch time: ISO 8601, a date alone is 00:00, without an offset in `zone`, with one as it says.

    A time may also name its own zone after a blank: `2026-12-04 22:00 Europe/Berlin`.
    """
    hint = "write 2026-12-04, 2026-12-04 22:00 or 2026-12-04T22:00:00+01:00"
    bare = text.strip()
    if len(bare) > LONGEST_TIME:
        raise TminusError("E221", f"{quoted(text)} is not a time", hint=hint)
    if (named := _ZONED.fullmatch(bare)) is not None:
        bare, zone = named[1], named[2]
    if not _TIME_SHAPE.fullmatch(bare):
        raise TminusError("E221", f"{quoted(text)} is not a time", hint=hint)
    try:
        moment = datetime.fromisoformat(re.sub(r"\s(?=[Z+-])", "", bare).replace(",", "."))
        if moment.tzinfo is None:
            return wall_to_instant(moment, zone)
        return from_datetime(moment), None
    except (ValueError, OverflowError) as error:
        raise TminusError("E221", f"{quoted(text)} is not a time", hint=hint) from error


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first second after `before` at which the zone has the offset that it has at `after`."""
    target = after.astimezone(zone).utcoffset()
    low, high = before, after
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=((high - low) // timedelta(seconds=1)) // 2)
        if middle.astimezone(zone).utcoffset() == target:
            high = middle
        else:
            low = middle
    return high
