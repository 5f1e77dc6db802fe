"""Problems: what is wrong in a runbook, each with its code and the place that an editor can jump to.

All problems of a file are collected before anything is said, because an author who is told one error at a time runs the
command once per error. The number is capped: a file that is not a runbook at all would otherwise drown its reader. This
module must not know YAML or the keys of a runbook.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from tminus.domain.errors import TminusError
    from tminus.runbook.model import Runbook

MOST_PROBLEMS: Final = 200

Severity = Literal["error", "warning"]


class Spot(NamedTuple):
    """A place in the file: line and column from 1, and how many characters of the line are meant."""

    line: int
    column: int
    width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong (error) or probably not meant (warning); `hint` says how to mend it."""

    code: str
    message: str
    line: int
    column: int
    hint: str = ""
    severity: Severity = "error"
    width: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of reading a file: a runbook if there is no error, and every problem in the order of the file."""

    runbook: Runbook | None
    problems: tuple[Problem, ...]
    place: str = "runbook.yaml"

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the file from being a runbook."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether there is a runbook."""
        return self.runbook is not None


class Report:
    """Collects problems while a file is read. `failed` tells whether any of them is an error."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.failed = False
        self._problems: list[Problem] = []
        self._more = 0

    @property
    def full(self) -> bool:
        """Whether further problems are only counted, so that nobody need look for good hints."""
        return len(self._problems) >= MOST_PROBLEMS

    def error(self, code: str, message: str, spot: Spot, hint: str = "") -> None:
        """Add an error."""
        self.failed = True
        self._add(code, message, spot, hint, "error")

    def warn(self, code: str, message: str, spot: Spot, hint: str = "") -> None:
        """Add a warning."""
        self._add(code, message, spot, hint, "warning")

    def raised(self, error: TminusError, spot: Spot) -> None:
        """Add what a parser of one value said."""
        self.error(error.code, error.message, spot, error.hint)

    def sorted(self) -> tuple[Problem, ...]:
        """Return the problems in the order of the file; how many more there are stands at the end."""
        found = sorted(self._problems, key=lambda problem: (problem.line, problem.column))
        if self._more:
            last = found[-1]
            rest = f"and {self._more} more problems, not listed"
            found.append(
                Problem(code="E120", message=rest, line=last.line, column=last.column, hint="mend these first")
            )
        return tuple(found)

    def _add(self, code: str, message: str, spot: Spot, hint: str, severity: Severity) -> None:
        if self.full:
            self._more += 1
            return
        line, column, width = spot
        problem = Problem(
            code=code, message=message, line=line, column=column, hint=hint, severity=severity, width=width
        )
        self._problems.append(problem)
