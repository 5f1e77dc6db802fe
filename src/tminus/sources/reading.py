"""Reading a whole CSV: table, rows and problems brought together, for the source and for files handed in.

What it returns is whole: when reading stops midway, everything is thrown away and the error goes up. This module must
not know where the bytes come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from tminus.ports.source import RowProblem, SourceError, SourceRow
from tminus.sources.header import required_columns
from tminus.sources.intake import check_ends
from tminus.sources.rows import RowMaker
from tminus.sources.spool import Spool
from tminus.sources.table import Table

if TYPE_CHECKING:
    from typing import BinaryIO

    from tminus.ports.source import Question

PROBLEMS_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLimits:
    """How much is read, and how certain a file's end must be.

    `final_newline`: a last line without a line break is an error, because a file that was cut off looks so.
    """

    rows_max: int = 1_000_000
    bytes_max: int = 512 * 1024 * 1024
    columns_max: int = 2_000
    final_newline: bool = True


# What a person hands in, on a command line or over HTTP. People save files without a last line break.
HANDED_IN: Final = CsvLimits(rows_max=50_000, bytes_max=10 * 1024 * 1024, final_newline=False)


@dataclass(slots=True, kw_only=True)
class Reading:
    """A table that was read to its end. `problem_count` counts also the problems that are not kept."""

    columns: tuple[str, ...]
    rows: Spool
    problems: list[RowProblem] = field(default_factory=list[RowProblem])
    problem_count: int = 0
    failed_keys: set[str] = field(default_factory=set[str])
    complete: bool = True
    notes: tuple[str, ...] = ()
    size: int = 0
    sha256: str = ""


def read_csv(stream: BinaryIO, question: Question, *, name: str, limits: CsvLimits, timed: bool = True) -> Reading:
    """Read a CSV from a stream that can seek, which its owner closes. Raises `SourceError`, and nothing else.

    The error of a file that stops being a table midway lists the row problems before it, and itself last.
    """
    check_ends(stream, place=name, final_newline=limits.final_newline)
    required = required_columns(question, timed=timed)
    table = Table(stream, name=name, required=required, bytes_max=limits.bytes_max, columns_max=limits.columns_max)
    reading = Reading(columns=table.columns, rows=Spool())
    try:
        _read_rows(table, RowMaker(table.columns, question, timed=timed), reading, name, limits)
    except SourceError as error:
        reading.rows.close()
        error.problems = (*reading.problems, *error.problems)
        error.problem_count += reading.problem_count
        raise
    except BaseException:
        reading.rows.close()
        raise
    reading.size, reading.sha256 = table.intake.size, table.intake.sha256()
    return reading


def _read_rows(table: Table, maker: RowMaker, reading: Reading, name: str, limits: CsvLimits) -> None:
    count, rows_max, add, make = 0, limits.rows_max, reading.rows.add, maker.make
    for found in table.rows():
        count += 1
        if count > rows_max:
            raise SourceError("E312", f"the table has more than {rows_max:,} rows", place=name)
        if isinstance(found, RowProblem):
            # Which member the row was about cannot be told, so nobody's absence can be told either.
            reading.complete = False
            _note(reading, found)
            continue
        line, cells = found
        row = make(cast("list[object]", cells), f"{name}:{line}")
        if isinstance(row, SourceRow):
            add(row)
        else:
            _note(reading, row)
    reading.notes = tuple(maker.notes)


def _note(reading: Reading, problem: RowProblem) -> None:
    reading.problem_count += 1
    if len(reading.problems) < PROBLEMS_KEPT:
        reading.problems.append(problem)
    if problem.key is not None:
        reading.failed_keys.add(problem.key)
