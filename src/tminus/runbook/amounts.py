"""Kinds of amounts: truth, numbers, durations, and shares of a batch.

As in `kinds`, each reads, describes itself and has words for itself in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tminus.domain.errors import TminusError
from tminus.runbook.duration import format_duration, parse_duration
from tminus.runbook.kinds import Schema, described, text_of
from tminus.runbook.model import Share
from tminus.runbook.tree import Blank, Node, Scalar
from tminus.runbook.wording import quoted

if TYPE_CHECKING:
    from tminus.runbook.problem import Report


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false, and no other word for them."""

    words: str = "true or false"

    def read(self, node: Node, what: str, report: Report) -> bool | None:
        """Take the truth."""
        if isinstance(node, Blank):
            return None
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        hint = "without quotes: true or false"
        report.error("E202", f"{what} must be true or false, not {described(node)}", node.spot, hint)
        return None

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two bounds; `whole` without a fraction."""

    least: float
    most: float
    whole: bool = True

    @property
    def words(self) -> str:
        """Say which numbers."""
        return f"{'whole number' if self.whole else 'number'} {self.least:,.10g} to {self.most:,.10g}"

    def read(self, node: Node, what: str, report: Report) -> float | None:
        """Take the number."""
        if isinstance(node, Blank):
            return None
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            report.error("E202", f"{what} must be a {self.words}, not {described(node)}", node.spot)
            return None
        if not self.least <= value <= self.most or (self.whole and value != int(value)):
            report.error("E205", f"{what} must be a {self.words}, not {value:g}", node.spot)
            return None
        return value

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "integer" if self.whole else "number", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Span:
    """A duration; `least_s` where shorter makes no sense."""

    least_s: float = 0.001

    @property
    def words(self) -> str:
        """Say which durations."""
        return "duration" if self.least_s <= 0.001 else f"duration from {format_duration(self.least_s)}"  # noqa: PLR2004 - the smallest that can be written.

    def read(self, node: Node, what: str, report: Report) -> float | None:
        """Take the seconds."""
        text = text_of(node, what, report)
        if text is None:
            return None
        try:
            seconds = parse_duration(text, zero=self.least_s == 0)
        except TminusError as error:
            report.error(error.code, f"{what}: {error.message}", node.spot, error.hint)
            return None
        if seconds < self.least_s:
            hint = f"at least {format_duration(self.least_s)}"
            report.error("E207", f"{what}: {quoted(text)} is too short", node.spot, hint)
            return None
        return seconds

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string", "pattern": "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m(?!s))?([0-9]+s)?([0-9]+ms)?$"}


@dataclass(frozen=True, slots=True)
class Portion:
    """A number of members, or a percentage in quotes."""

    zero: bool

    @property
    def words(self) -> str:
        """Say which."""
        return f"count or percentage {'from 0' if self.zero else 'above 0'}"

    def read(self, node: Node, what: str, report: Report) -> Share | None:
        """Take a count or a percentage."""
        if isinstance(node, Blank):
            return None
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool):
            if self._fits(value, 1_000_000_000):
                return Share(count=value)
        elif isinstance(value, str) and value.endswith("%"):
            digits = value[:-1]
            if digits.replace(".", "", 1).isdigit() and digits.isascii() and self._fits(float(digits), 100):
                return Share(percent=float(digits))
        hint = 'write 3 or "10%"' if self.zero else 'write 1 or "10%", more than 0 and at most "100%"'
        report.error("E232", f"{what} is no number of members: {described(node)}", node.spot, hint)
        return None

    def _fits(self, number: float, most: float) -> bool:
        return number <= most and (number >= 0 if self.zero else number > 0)

    def schema(self) -> Schema:
        """Describe it to an editor."""
        count: Schema = {"type": "integer", "minimum": 0 if self.zero else 1}
        return {"oneOf": [count, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?%$"}]}
