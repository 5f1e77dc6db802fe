"""From a line of cells to a row: keys, times and lists, for all sources alike.

The rules: a key is trimmed and everything else is kept as it came, empty text too; NULL stays NULL. A time is read in
the runbook's zone and cut to the second. A multi-valued cell becomes a JSON array; the parts of a delimited one are
trimmed and empty parts dropped, a JSON array is kept letter for letter. A row that breaks a rule becomes a problem. Its
key is spent all the same: of two rows that claim one key neither a lucky parse nor the order of faults may decide.

This runs once per row of every answer, so it is written for speed: one pass, no objects but the row itself. It must not
know where cells come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant
from tminus.domain.members import KEY_CHARACTERS_MAX, forbidden, twin
from tminus.ports.source import RowProblem, SourceRow
from tminus.runbook.offset import local_time
from tminus.sources.header import find
from tminus.sources.lists import LIST_READERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.ports.source import Question

_TIMES_KEPT: Final = 10_000
_NOTES_MAX: Final = 100
_EARLIEST: Final = Instant("1970-01-01T00:00:00.000Z")
_SHOWN: Final = 60


class RowMaker:
    """Makes rows of one answer. It remembers every key it saw, so that a second one is noticed."""

    def __init__(self, columns: Sequence[str], question: Question, *, timed: bool = True) -> None:
        """Find the columns that matter; `timed` False leaves the batch time aside, as manual batches do."""
        source = question.data_source
        self._columns = tuple(columns)
        self._zone = question.timezone
        self._key_at = columns.index(find(source.primary_key, columns) or source.primary_key)
        self._time_at: int | None = None
        if timed and source.batch_time_column is not None:
            self._time_at = columns.index(find(source.batch_time_column, columns) or source.batch_time_column)
        self._lists: list[tuple[int, str, Callable[[object], object]]] = []
        self.notes: list[str] = []
        for multi in source.multi_valued_columns:
            if (name := find(multi.name, columns)) is None:
                self.notes.append(f'there is no column "{multi.name}", which multi_valued_columns names')
            else:
                self._lists.append((columns.index(name), name, LIST_READERS[multi.format]))
        self._places: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._times: dict[str, Instant | TminusError] = {}

    def make(self, cells: list[object], place: str) -> SourceRow | RowProblem:
        """Make a row of as many cells as there are columns; the list is used up. Cells are values that JSON knows."""
        cell = cells[self._key_at]
        key = (cell if isinstance(cell, str) else _key_text(cell)).strip()
        cells[self._key_at] = key
        folded = key.lower() if key.isascii() else twin(key)
        suspect = not folded or len(key) > KEY_CHARACTERS_MAX or not key.isprintable()
        if suspect and (problem := _unusable_key(key, folded, place)) is not None:
            return problem
        if folded in self._places:
            return self._second(key, folded, place)
        self._places[folded] = place
        if key != folded:
            self._written[folded] = key
        batch_time: Instant | None = None
        if self._time_at is not None:
            found = self._time(cells[self._time_at])
            if isinstance(found, TminusError):
                return _problem(found, place, key)
            batch_time = found
        try:
            for at, name, read in self._lists:
                try:
                    cells[at] = read(cells[at])
                except TminusError as error:
                    error.message = f"{name}: {error.message}"
                    return _problem(error, place, key)
            data = orjson.dumps(dict(zip(self._columns, cells, strict=True))).decode()
        except TypeError as error:
            return RowProblem(place=place, code="E341", message=f"the row has no JSON form: {error}", key=key)
        return SourceRow(key, batch_time, data, place)

    def _second(self, key: str, folded: str, place: str) -> RowProblem:
        first, written = self._places[folded], self._written.get(folded, folded)
        if written == key:
            return RowProblem(
                place=place, code="E336", message=f"{_shown(key)} stands already at {first}, which counts", key=key
            )
        return RowProblem(
            place=place,
            code="E337",
            message=f"{_shown(key)} looks the same as {_shown(written)} at {first}, which counts",
            hint="they differ in letter case, width or invisible characters only",
            key=key,
        )

    def _time(self, cell: object) -> Instant | TminusError:
        """Read a time once; a table holds few different ones."""
        text = cell if isinstance(cell, str) else "" if cell is None else str(cell)
        known = self._times.get(text)
        if known is None:
            if len(self._times) >= _TIMES_KEPT:
                self._times.clear()
            known = self._times[text] = self._read_time(text)
        return known

    def _read_time(self, text: str) -> Instant | TminusError:
        if not text.strip():
            return TminusError("E338", "the row has no batch time")
        try:
            instant, note = local_time(text, self._zone)
        except TminusError as error:
            return TminusError("E339", error.message, hint=error.hint)
        if instant < _EARLIEST:
            hint = "databases write a time that was never set in this way"
            return TminusError("E339", f"{_shown(text)} lies before 1970", hint=hint)
        if note and len(self.notes) < _NOTES_MAX:
            self.notes.append(note)
        return Instant(f"{instant[:19]}.000Z")


def _key_text(cell: object) -> str:
    """Write a key that came as a number or NULL: 1.0 and 1 are one key."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _unusable_key(key: str, folded: str, place: str) -> RowProblem | None:
    """Say why a key is none. What is merely unprintable, such as a zero-width space, may stay."""
    if not folded:
        return RowProblem(place=place, code="E333", message="the key is empty")
    if len(key) > KEY_CHARACTERS_MAX:
        message = f"the key {_shown(key)} has {len(key):,} characters, at most {KEY_CHARACTERS_MAX} are allowed"
        return RowProblem(place=place, code="E334", message=message, key=key)
    if (character := forbidden(key)) is not None:
        message = f"the key {_shown(key)} holds the control character {character}"
        return RowProblem(place=place, code="E335", message=message, key=key)
    return None


def _problem(error: TminusError, place: str, key: str) -> RowProblem:
    return RowProblem(place=place, code=error.code, message=error.message, hint=error.hint, key=key)


def _shown(text: str) -> str:
    """Quote a value for a message: short, and with what cannot be seen written out."""
    visible = "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)
    return f'"{visible[:_SHOWN]}…"' if len(visible) > _SHOWN else f'"{visible}"'
