"""A runbook of the M&A Toolkit: taken as it is, with comments where the same words mean something else here.

Not a character of the runbook is changed; lines of comment are added, and what comes out must read as the same runbook
or nothing is written. Stubs stand for the functions, which were PowerShell: one that has no body yet fails at once,
because a stub that reports success would be believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.cli import members_header
from tminus.cli.begin import differences, draft, stubs
from tminus.cli.begin.draft import Beginning, Draft
from tminus.cli.offline import check
from tminus.domain.errors import TminusError
from tminus.runbook import load

if TYPE_CHECKING:
    from pathlib import Path

    from tminus.runbook.model import Runbook

_LANGUAGE: Final = "yaml-language-server"


def beginning(file: Path) -> Beginning:
    """Return what becomes of a runbook of the Toolkit."""
    verdict, content = check(file)
    book = verdict.runbook
    if book is None:
        first, count = verdict.errors[0], len(verdict.errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        place = f"{file}:{first.line}:{first.column}"
        raise TminusError(first.code, f"{first.message}{more}", place=place, hint=f"tminus validate {file}")
    text = content.decode("utf-8-sig")
    commented = differences.commented(text, book)
    if _LANGUAGE not in text.split("\n", 1)[0]:
        commented = draft.SCHEMA_LINE + commented
    if load(commented) != book:
        raise TminusError("E470", "comments cannot be added without changing it", place=str(file))
    offered = stubs.offered(book)
    columns = _columns(book)
    steps = sum(len(phase.steps) for phase in book.phases)
    notes = [f"{one.line}:{one.column} {one.code} {one.message}" for one in verdict.warnings]
    if offered.computed:
        notes.append(f"{draft.listed(offered.computed)} is put together by a template: write a stub for each name")
    return Beginning(
        [
            Draft("runbook.yaml", commented.encode(), f"{_counted(book, steps)}, with comments on what differs"),
            Draft("members.csv", members_header.line(columns).encode(), f"the header: {_many(len(columns), 'column')}"),
            Draft(
                "functions.py", stubs.written(offered).encode(), f"{_many(len(offered.named), 'stub')} to be written"
            ),
            draft.schema(),
        ],
        notes=notes,
    )


def _many(number: int, noun: str) -> str:
    return draft.counted(number, noun)


def _counted(book: Runbook, steps: int) -> str:
    parts = [_many(len(book.phases), "phase"), _many(steps, "step")]
    return ", ".join([*parts, *([_many(len(book.rollbacks), "rollback")] if book.rollbacks else [])])


def _columns(book: Runbook) -> list[str]:
    """Return the columns that a file of members needs; its batch time goes along, as the source would send it."""
    found = list(members_header.columns(book))
    time = book.data_source.batch_time_column
    if time is not None and time.casefold() not in {name.casefold() for name in found}:
        found.insert(1, time)
    return found
