"""The door: text in, a verdict out.

Four stages, each in its own module: clean text, a tree with places, fields by the table of keys, checks of what keys
mean together. A stage that cannot hand on anything ends the way; errors inside a stage do not, so that an author sees
all of them at once. Nothing here does I/O: whoever has a file reads it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.domain.errors import TminusError
from tminus.runbook.build import build_runbook
from tminus.runbook.checks import check
from tminus.runbook.intake import take_in
from tminus.runbook.keys import RunbookKeys
from tminus.runbook.problem import Report, Verdict
from tminus.runbook.tree import read_tree

if TYPE_CHECKING:
    from tminus.runbook.model import Runbook


def parse(text: str | bytes, *, place: str = "runbook.yaml") -> Verdict:
    """Read a runbook: a `Runbook` if there is no error, and every problem; `place` is what the file is called."""
    report = Report()
    runbook: Runbook | None = None
    clean = take_in(text, report)
    tree = None if clean is None else read_tree(clean, report)
    if tree is not None:
        fields = RunbookKeys.table.read(tree, report)
        check(fields, report)
        if not report.failed:
            runbook = build_runbook(fields)
    return Verdict(runbook, report.sorted(), place)


def load(text: str | bytes) -> Runbook:
    """Return the runbook of text that was checked before; the first error of one that was not is raised."""
    verdict = parse(text)
    if verdict.runbook is None:
        first = verdict.errors[0]
        place = f"{verdict.place}:{first.line}:{first.column}"
        raise TminusError(first.code, first.message, place=place, hint=first.hint)
    return verdict.runbook
