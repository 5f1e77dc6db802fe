"""Offsets of T-0: `T-5d T-4h T-30m T-90s T-0 T+2d10h`.

`d` are calendar days in the runbook's zone, so that 22:00 stays 22:00 across a clock change; `h m s` are elapsed time.
The calendar part goes first, then the elapsed part. Both numbers are positive before T-0 and negative after it, like
the stored `offset_minutes`. A phase's due time is computed once from this and then wins; the minutes are for reading
and ordering. This module must not know the present.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tminus.domain.errors import TminusError
from tminus.domain.instant import FIRST, LAST, Instant, plus, to_datetime
from tminus.runbook.wording import quoted
from tminus.runbook.zones import local_time, wall_to_instant, zone_of

__all__ = ["Offset", "local_time"]

FARTHEST_DAYS: Final = 3_650

# Nine digits hold ten years of seconds; a longer number need not be computed to be refused.
_MOST_DIGITS: Final = 9

_SHAPE: Final = re.compile(r"T([+-])(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_FORMS: Final = "write T-5d, T-4h, T-30m, T-90s, T-0, T+2d or T-1d12h"


@dataclass(frozen=True, slots=True)
class Offset:
    """A distance from T-0: calendar `days` and elapsed `seconds`, positive before T-0, negative after."""

    days: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Offset:
        """Read an offset; zero is written `T-0` and nothing else."""
        if text == "T-0":
            return cls(0, 0)
        match = _SHAPE.fullmatch(text)
        if match is None or not any(match.groups()[1:]):
            raise TminusError("E208", f"{quoted(text)} is not an offset", hint=_hint(text))
        amounts = [(digits or "").lstrip("0") for digits in match.groups()[1:]]
        if any(len(digits) > _MOST_DIGITS for digits in amounts):
            raise _too_far(text)
        days, hours, minutes, seconds = (int(digits or "0") for digits in amounts)
        elapsed = hours * 3_600 + minutes * 60 + seconds
        if days * 86_400 + elapsed > FARTHEST_DAYS * 86_400:
            raise _too_far(text)
        if not days and not elapsed:
            raise TminusError("E208", f"{quoted(text)} is zero", hint="write T-0")
        sign = 1 if match[1] == "-" else -1
        return cls(sign * days, sign * elapsed)

    @property
    def minutes(self) -> int:
        """The stored `offset_minutes`: days of 24 hours, seconds rounded up to minutes, away from T-0."""
        size = abs(self.days) * 1_440 + -(-abs(self.seconds) // 60)
        return size if self.days > 0 or self.seconds > 0 else -size

    def due(self, t0: Instant, zone: str) -> tuple[Instant, str | None]:
        """Return when a phase at this offset is due, and a note when a clock change moved it."""
        place = zone_of(zone)
        base, note = t0, None
        if self.days:
            try:
                wall = to_datetime(t0).astimezone(place).replace(tzinfo=None, fold=0) - timedelta(days=self.days)
                base, note = wall_to_instant(wall, zone)
            except (OverflowError, ValueError):
                # The calendar ends; what lies beyond is as early or as late as an instant can be.
                return (FIRST if self.days > 0 else LAST), None
        return plus(base, -self.seconds), note

    def due_at(self, t0: Instant, zone: str) -> Instant:
        """Return when a phase at this offset is due."""
        return self.due(t0, zone)[0]

    def __str__(self) -> str:
        """Write the offset as an author would: days, then the largest elapsed units."""
        if not self.days and not self.seconds:
            return "T-0"
        hours, rest = divmod(abs(self.seconds), 3_600)
        minutes, seconds = divmod(rest, 60)
        parts = ((abs(self.days), "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
        sign = "-" if self.days > 0 or self.seconds > 0 else "+"
        return f"T{sign}" + "".join(f"{amount}{unit}" for amount, unit in parts if amount)


def _too_far(text: str) -> TminusError:
    return TminusError("E209", f"{quoted(text)} is more than ten years from T-0", hint="at most 3650d")


def _hint(text: str) -> str:
    """Say what is probably meant, else which forms there are."""
    slim = re.sub(r"\s+", "", text)
    repaired = "T" + slim[1:].lower() if slim[:1] in "Tt" else "T" + slim.lower()
    if repaired in {"T+0", "T-0d", "T-0h", "T-0m", "T-0s", "T", "T-", "T0"}:
        return "write T-0"
    if repaired != text and (match := _SHAPE.fullmatch(repaired)) and any(match.groups()[1:]):
        return f"did you mean {quoted(repaired)}?"
    return _FORMS
