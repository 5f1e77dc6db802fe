"""Durations: `500ms 30s 15m 2h 7d`, combined from the largest unit to the smallest (`1h30m`).

A duration is a float of seconds everywhere inside; only authors and readers see the text. Whole numbers only, each unit
at most once: `90m` and `1h30m` are one length with two spellings, and `30m1h` is a slip of the pen. This module knows
nothing of clocks or zones; a `d` here is 24 hours (an offset's `d` is a calendar day and lives in `offset`).
"""

from __future__ import annotations

import re
from typing import Final

from tminus.domain.errors import TminusError
from tminus.runbook.wording import quoted

UNITS_S: Final[dict[str, float]] = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
LONGEST_S: Final = 3_650 * 86_400.0

# Twelve digits hold ten years of milliseconds; a longer number need not be computed to be refused.
_MOST_DIGITS: Final = 12

_SHAPE: Final = re.compile(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9]+)s)?(?:([0-9]+)ms)?")
_FORMS: Final = "write a number and a unit, such as 500ms, 30s, 15m, 2h, 7d or 1h30m"


def parse_duration(text: str, *, zero: bool = False) -> float:
    """Return the seconds that `text` says; zero is refused unless `zero`, and so is more than ten years."""
    match = _SHAPE.fullmatch(text) if text else None
    if match is None:
        raise TminusError("E206", f"{quoted(text)} is not a duration", hint=_hint(text))
    seconds = 0.0
    for written, unit_s in zip(match.groups(), UNITS_S.values(), strict=True):
        digits = (written or "").lstrip("0")
        if len(digits) > _MOST_DIGITS:
            raise TminusError("E207", f"{quoted(text)} is longer than ten years", hint="at most 3650d")
        seconds += int(digits or "0") * unit_s
    seconds = round(seconds, 3)
    if seconds > LONGEST_S:
        raise TminusError("E207", f"{quoted(text)} is longer than ten years", hint="at most 3650d")
    if seconds == 0 and not zero:
        raise TminusError("E207", f"{quoted(text)} is no time at all", hint="must be more than zero")
    return seconds


def format_duration(seconds: float) -> str:
    """Write seconds with the largest units that fit, to the millisecond; the reverse of `parse_duration`."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    rest_ms = round(seconds * 1_000)
    parts: list[str] = []
    for unit, unit_s in UNITS_S.items():
        amount, rest_ms = divmod(rest_ms, round(unit_s * 1_000))
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"


def _hint(text: str) -> str:
    """Say what is probably meant, else which forms there are."""
    if text.isascii() and text.isdigit():
        return f"a number needs a unit: {text[:20]}s, {text[:20]}m or {text[:20]}h?"
    slim = re.sub(r"\s+", "", text).lower()
    if slim != text and slim and _SHAPE.fullmatch(slim):
        return f"did you mean {quoted(slim)}?"
    return _FORMS
