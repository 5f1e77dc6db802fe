"""What a check finds, and what it may be told beside the rows.

The logs are what a test worker and a test bus wrote down outside of the database. Production has none; what can only be
known from them is then not checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: its number in the list of promises, and what was seen."""

    promise: str
    message: str


@dataclass(frozen=True, slots=True)
class Started:
    """A worker began an effect. `seq` orders all lines of the logs, `at` is the worker's clock."""

    job_id: str
    execution_id: int
    attempt: int
    seq: int
    at: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An effect ended, well or not, and its result was handed over."""

    job_id: str
    execution_id: int
    ok: bool
    seq: int
    at: str


@dataclass(frozen=True, slots=True)
class Received:
    """A result event that reached the engine. `applied` tells whether its round was committed (else it comes again)."""

    job_id: str
    ok: bool
    polling: bool
    applied: bool


@dataclass(slots=True)
class Logs:
    """Everything that was written down outside of the database."""

    started: list[Started] = field(default_factory=list[Started])
    ended: list[Ended] = field(default_factory=list[Ended])
    received: list[Received] = field(default_factory=list[Received])


class Findings:
    """Collects violations; the same one is kept once."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        """Begin with none."""
        self._found: dict[Violation, None] = {}

    def add(self, promise: str, message: str) -> None:
        """Keep a violation."""
        self._found[Violation(promise, message)] = None

    def all(self) -> list[Violation]:
        """Return what was found, in the order of finding."""
        return list(self._found)
