"""A CSV file as a table: delimiter, header, then rows of cells with the line on which each begins.

RFC 4180 with what real files need: a byte order mark, any line end, the first line `sep=;` of Excel and `#TYPE …` of
PowerShell, semicolon or tab where the header says so. A fault that stays within its line costs that row; one that may
have swallowed lines is no table any more, because nobody can say which rows it hid. This module must not know keys,
times or lists.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from tminus.ports.source import RowProblem, SourceError
from tminus.sources.header import fits, header_problems
from tminus.sources.intake import BUFFER_BYTES, Intake, not_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

CELL_CHARACTERS_MAX: Final = 1024 * 1024

_DELIMITERS: Final[tuple[str, ...]] = (",", ";", "\t")
_WORDS: Final = {",": "comma", ";": "semicolon", "\t": "tab"}


class Table:
    """A table being read. `columns` is there at once; the rows come while the file is read, once."""

    def __init__(
        self, stream: BinaryIO, *, name: str, required: Sequence[tuple[str, str]], bytes_max: int, columns_max: int
    ) -> None:
        """Read the header; raises `SourceError` when it is none, or does not fit."""
        # The csv module has one limit for the whole process. It is set to the same number by every table.
        csv.field_size_limit(CELL_CHARACTERS_MAX)
        self._name = name
        self._stream = stream
        self.intake = Intake(stream, place=name, bytes_max=bytes_max)
        buffered = io.BufferedReader(self.intake, BUFFER_BYTES)
        self._text = io.TextIOWrapper(buffered, encoding="utf-8-sig", newline="")
        self._header_line = 0
        self.delimiter = ","
        try:
            self.columns = self._read_header(required, columns_max)
        except UnicodeDecodeError as error:
            raise not_utf8(stream, place=name) from error

    def rows(self) -> Iterator[tuple[int, list[str]] | RowProblem]:
        """Go through the rows: the line on which a row begins and its cells, or what is wrong with it."""
        try:
            yield from self._rows()
        except UnicodeDecodeError as error:
            raise not_utf8(self._stream, place=self._name) from error

    def _rows(self) -> Iterator[tuple[int, list[str]] | RowProblem]:
        reader = csv.reader(self._text, delimiter=self.delimiter, strict=True)
        above, width, intake = self._header_line + 1, len(self.columns), self.intake
        while True:
            line = above + reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self._misquoted(str(error), line, above + reader.line_num - line)
                continue
            if len(cells) != width:
                if any(cells):
                    yield self._ragged(cells, line, above + reader.line_num - line)
            elif not any(cells):
                continue
            elif intake.holds_nul and any("\0" in cell for cell in cells):
                yield RowProblem(place=self._at(line), code="E332", message="the row holds a NUL character")
            else:
                yield line, cells

    def _at(self, line: int) -> str:
        return f"{self._name}:{line}"

    def _misquoted(self, reason: str, line: int, lines: int) -> RowProblem:
        """Tell a fault within one line from one that may have swallowed rows; the latter is raised."""
        if "field limit" in reason:
            message = f"a cell is longer than {CELL_CHARACTERS_MAX:,} characters"
            raise SourceError("E311", message, place=self._at(line), hint="is there a quote that is not closed?")
        if lines > 1 or "unexpected end" in reason:
            message = "a quote that is opened in this row is not closed properly"
            raise SourceError(
                "E310", message, place=self._at(line), hint="a quote inside a quoted cell is written twice"
            )
        message = "text follows the closing quote of a cell"
        return RowProblem(
            place=self._at(line), code="E331", message=message, hint="a quote inside a quoted cell is written twice"
        )

    def _ragged(self, cells: Sequence[str], line: int, lines: int) -> RowProblem:
        span = f", over {lines} lines" if lines > 1 else ""
        return RowProblem(
            place=self._at(line),
            code="E330",
            message=f"the row has {_cells(len(cells))}{span}, the header has {len(self.columns):,}",
            hint=f"quote a cell that holds a {_WORDS.get(self.delimiter, 'delimiter')}, a quote or a line break",
        )

    def _read_header(self, required: Sequence[tuple[str, str]], columns_max: int) -> tuple[str, ...]:
        line, delimiters = self._first_line()
        place = self._at(self._header_line)
        readings: list[tuple[str, tuple[str, ...]]] = []
        fault: SourceError | None = None
        for delimiter in delimiters:
            try:
                cells = next(csv.reader([line], delimiter=delimiter, strict=True))
            except csv.Error as error:
                fault = fault or _unreadable_header(str(error), place)
                continue
            # One column more than allowed is enough to know that there are too many.
            readings.append((delimiter, tuple(map(str.strip, cells[: columns_max + 1]))))
        self.delimiter, columns = _chosen(readings, required, place)
        problems = header_problems(columns, required, place=place, columns_max=columns_max)
        if fault is not None and problems and len(columns) <= columns_max:
            # The reading that failed is the one that was meant: under the others the columns are not there.
            raise fault
        if problems:
            first = problems[0]
            raise SourceError(first.code, first.message, place=place, hint=first.hint, problems=problems)
        return columns

    def _first_line(self) -> tuple[str, tuple[str, ...]]:
        """Return the header's line and the delimiters that it may have; blank lines and known preambles are passed."""
        delimiters = _DELIMITERS
        for number, line in enumerate(self._text, start=1):
            bare = line.rstrip("\r\n")
            if number == 1 and bare.startswith("#TYPE "):
                continue
            if number == 1 and bare.lower().startswith("sep=") and bare[4:] in _DELIMITERS:
                delimiters = (bare[4:],)
                continue
            if bare.strip():
                self._header_line = number
                return bare, delimiters
        raise SourceError("E309", "the file is empty, not even a header stands in it", place=self._name)


def _chosen(
    readings: Sequence[tuple[str, tuple[str, ...]]], required: Sequence[tuple[str, str]], place: str
) -> tuple[str, tuple[str, ...]]:
    """Choose the delimiter under which the required columns appear: comma first, another only if no third one fits.

    When none fits, take the reading with the most columns: its faults are the ones worth telling.
    """
    fitting = [reading for reading in readings if fits(reading[1], required)]
    if fitting and (len(fitting) == 1 or fitting[0][0] == ","):
        return fitting[0]
    if fitting:
        words = " and ".join(_WORDS[delimiter] for delimiter, _ in fitting)
        raise SourceError("E318", f"the header can be read with {words}", place=place, hint="write it with commas")
    return max(readings, key=lambda reading: len(reading[1]), default=(",", ()))


def _unreadable_header(reason: str, place: str) -> SourceError:
    if "field limit" in reason:
        return SourceError("E311", "a column's name is too long", place=place)
    hint = "a column's name cannot hold a line break"
    return SourceError("E310", "a quote in the header is not closed properly", place=place, hint=hint)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"
