"""A file of members that a person hands in: for `batch create`, `member add` and `plan`.

It is read as the CSV source reads, with two differences. It is taken whole or not at all: any problem refuses it, and
all problems are told at once, each with file and line. And it has no batch time: the batch's T-0 is given apart, a
column of times is data like any other. This module must not know what is created from the rows.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.ports.source import Question, RowProblem, SourceError, SourceRow
from tminus.sources.csv import place_of, read_file
from tminus.sources.reading import HANDED_IN, CsvLimits, Reading, read_csv
from tminus.sources.still import Patience, settle

if TYPE_CHECKING:
    from pathlib import Path

    from tminus.runbook.model import DataSource

_PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFile:
    """The verdict on a file: its rows when all is well, else no row and every problem (the first 1,000)."""

    name: str
    columns: tuple[str, ...] = ()
    rows: tuple[SourceRow, ...] = ()
    problems: tuple[RowProblem, ...] = ()
    problem_count: int = 0
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether the rows may be used."""
        return not self.problems

    def error(self) -> TminusError:
        """Return the one error that stands for the whole verdict; call it only when there are problems."""
        first = self.problems[0]
        if self.problem_count == 1:
            return TminusError(first.code, first.message, place=first.place, hint=first.hint)
        return TminusError(
            "E350",
            f"{self.problem_count:,} problems, the first: {first.code} {first.message}",
            place=first.place,
            hint="nothing was created; correct them all and hand the file in again",
        )


def read_member_file(
    path: Path,
    data_source: DataSource,
    *,
    timezone: str = "UTC",
    limits: CsvLimits = HANDED_IN,
    patience: Patience = _PATIENCE,
) -> MemberFile:
    """Read a file of members; never raises for what is wrong with the file."""
    name, question = place_of(path), Question(data_source=data_source, timezone=timezone)
    try:
        look = settle(path, patience, place=name)
        return _verdict(name, read_file(path, look, question, limits=limits, timed=False))
    except SourceError as error:
        return _refusal(name, error)


def read_member_bytes(
    content: bytes, data_source: DataSource, *, name: str, timezone: str = "UTC", limits: CsvLimits = HANDED_IN
) -> MemberFile:
    """Read a file of members that was sent; `name` is what its places begin with."""
    question = Question(data_source=data_source, timezone=timezone)
    try:
        return _verdict(name, read_csv(io.BytesIO(content), question, name=name, limits=limits, timed=False))
    except SourceError as error:
        return _refusal(name, error)


def _verdict(name: str, reading: Reading) -> MemberFile:
    try:
        problems, count = tuple(reading.problems), reading.problem_count
        if not problems and not len(reading.rows):
            problems, count = (RowProblem(place=name, code="E351", message="the file names no members"),), 1
        rows = () if problems else tuple(reading.rows)
        return MemberFile(
            name=name,
            columns=reading.columns,
            rows=rows,
            problems=problems,
            problem_count=count,
            notes=reading.notes,
        )
    finally:
        reading.rows.close()


def _refusal(name: str, error: SourceError) -> MemberFile:
    return MemberFile(name=name, problems=error.problems, problem_count=error.problem_count)
