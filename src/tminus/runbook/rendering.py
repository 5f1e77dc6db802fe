"""A verdict as a terminal shows it: place, code, what, how to mend it, and the line with a mark under the spot.

Errors show the line and the one before; warnings are one line. Nothing of the file reaches the terminal but what can be
seen. This module must not print: it returns text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.runbook.intake import lines_of
from tminus.runbook.wording import visible

if TYPE_CHECKING:
    from tminus.runbook.problem import Problem, Verdict

WIDEST: Final = 100

# The line of such an error may hold a password, and terminals are recorded.
SECRET: Final = frozenset({"E217"})


def render(verdict: Verdict, text: str | bytes, place: str | None = None) -> str:
    """Return the lines for a terminal; `place` is what the file is called in them."""
    where = visible(verdict.place if place is None else place)
    source = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    lines = lines_of(source.removeprefix("\ufeff"))
    places = [f"{where}:{problem.line}:{problem.column}" for problem in verdict.problems]
    widest = max(map(len, places), default=0)
    shown: list[str] = []
    for spot, problem in zip(places, verdict.problems, strict=True):
        cure = f"  - {problem.hint}" if problem.hint else ""
        shown.append(visible(f"{spot:<{widest}} {problem.severity} {problem.code}  {problem.message}{cure}"))
        if problem.severity == "error" and problem.code not in SECRET:
            shown += _excerpt(problem, lines)
    return "\n".join([*shown, _summary(verdict, where)])


def _excerpt(problem: Problem, lines: list[str]) -> list[str]:
    """Return the line before, the line, and the mark; a long line is cut around the spot."""
    if not 0 < problem.line <= len(lines):
        return []
    line = lines[problem.line - 1]
    start = max(0, problem.column - 1 - WIDEST // 2) if len(line) > WIDEST else 0
    gutter = max(5, len(str(problem.line)) + 1)
    shown: list[str] = []
    if problem.line > 1 and lines[problem.line - 2].strip():
        shown.append(f"{problem.line - 1:>{gutter}} | {_cut(lines[problem.line - 2], start)}")
    shown.append(f"{problem.line:>{gutter}} | {_cut(line, start)}")
    at = problem.column - 1 - start
    width = max(1, min(problem.width, len(line) - problem.column + 1, WIDEST - at))
    return [*shown, f"{'':>{gutter}} | {'':>{at}}{'^' * width}"]


def _cut(line: str, start: int) -> str:
    """Return the part of a line that is shown, one column per character."""
    return "".join(char if char.isprintable() else " " for char in line[start : start + WIDEST]).rstrip()


def _summary(verdict: Verdict, where: str) -> str:
    """Count what was found, or say what the runbook holds."""
    book, warnings = verdict.runbook, len(verdict.warnings)
    counts = [_counted(len(verdict.errors), "error")] if verdict.errors else []
    counts += [_counted(warnings, "warning")] if warnings else []
    if book is None:
        return f"{', '.join(counts)}."
    steps = sum(len(phase.steps) for phase in book.phases)
    parts = [_counted(len(book.phases), "phase"), _counted(steps, "step")]
    parts += [_counted(len(book.rollbacks), "rollback")] if book.rollbacks else []
    return f"{where}: valid, {', '.join([*parts, *counts])}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
