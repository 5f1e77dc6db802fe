"""One base for every error that a person can meet.

An error carries a stable code, so that a script can tell it apart and `tminus explain CODE` can say more than the one
line has room for. The codes themselves stand in `tminus.domain.codes`, one module per noun. This module must not know
where errors are shown: faces turn them into a line, a JSON object or a status.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Who can mend it."""

    AUTHOR = "author"
    OPERATOR = "operator"
    WORKER = "worker"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One entry of the catalogue: what went wrong in general, and how it is mended."""

    code: str
    title: str
    side: Side
    cause: str
    cure: str
    example: str = ""
    exit_code: int = 2
    http_status: int = 400


class TminusError(Exception):
    """The base of all errors that are meant for a person: `code place: message (hint)` on one line."""

    def __init__(self, code: str, message: str, *, place: str = "", hint: str = "") -> None:
        """Keep the parts apart, so that each face can lay them out as it likes."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        """Give the one line that a terminal shows."""
        where = f"{self.place}: " if self.place else ""
        cure = f" - {self.hint}" if self.hint else ""
        return f"{where}{self.code} {self.message}{cure}"
