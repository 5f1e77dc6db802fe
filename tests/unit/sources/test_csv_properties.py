"""What holds for every CSV: it comes back as it was written, it never breaks the reader, and it is never half."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tminus.domain.members import forbidden, twin
from tminus.ports.source import Question, SourceError, SourceRow
from tminus.runbook.model import DataSource, MultiValued
from tminus.sources.reading import CsvLimits, Reading, read_csv

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
KEYS = CELLS.map(str.strip).filter(lambda key: bool(twin(key)) and forbidden(key) is None)

PIECES = st.sampled_from(
    [
        '"',
        '""',
        ",",
        ";",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\0",
        "Key",
        "When",
        "a",
        " ",
        "2026-12-04",
        "[",
        "]",
        "{{",
        "sep=",
        "é",
    ]
)
BYTES = st.one_of(
    st.binary(max_size=80),
    st.lists(PIECES, max_size=40).map(lambda pieces: "".join(pieces).encode()),
    st.lists(PIECES, max_size=40).map(lambda pieces: ("Key,When,Tags\n" + "".join(pieces)).encode()),
)


def question() -> Question:
    source = DataSource(
        type="csv",
        primary_key="Key",
        batch_time_column="When",
        multi_valued_columns=(MultiValued(name="Tags", format="json_array"),),
    )
    return Question(data_source=source)


def read(content: bytes, *, timed: bool, final_newline: bool = True) -> Reading:
    limits = CsvLimits(final_newline=final_newline)
    return read_csv(io.BytesIO(content), question(), name="m.csv", limits=limits, timed=timed)


def read_or_error(content: bytes, *, timed: bool, final_newline: bool = True) -> Reading | SourceError:
    try:
        return read(content, timed=timed, final_newline=final_newline)
    except SourceError as error:
        return error


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    others = draw(
        st.lists(NAMES, max_size=4, unique_by=twin).filter(lambda names: not {"key", "tags"} & set(map(twin, names)))
    )
    keys = draw(st.lists(KEYS, max_size=6, unique_by=twin))
    return ["Key", *others], [[key, *(draw(CELLS) for _ in others)] for key in keys]


@dataclass(frozen=True)
class Style:
    """How a table is written."""

    quote_all: bool
    end: str
    delimiter: str
    mark: bool

    def written(self, header: list[str], rows: list[list[str]]) -> bytes:
        text = io.StringIO(newline="")
        # The writer of Python 3.11 forgets to quote a lone carriage return, and one column has no delimiter to find.
        careful = self.quote_all or len(header) == 1 or any("\r" in cell for row in rows for cell in row)
        quoting: Literal[0, 1] = csv.QUOTE_ALL if careful else csv.QUOTE_MINIMAL
        writer = csv.writer(text, quoting=quoting, lineterminator=self.end, delimiter=self.delimiter)
        writer.writerow(header)
        writer.writerows(rows)
        return b"\xef\xbb\xbf" * self.mark + text.getvalue().encode()


STYLES = st.builds(
    Style,
    quote_all=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";", "\t"]),
    mark=st.booleans(),
)


@given(tables(), STYLES)
def test_a_table_comes_back_as_it_was_written(table: tuple[list[str], list[list[str]]], style: Style) -> None:
    header, rows = table
    reading = read(style.written(header, rows), timed=False)
    assert reading.columns == tuple(header)
    assert not reading.problems
    assert [row.key for row in reading.rows] == [row[0] for row in rows]
    assert [list(json.loads(row.data).values()) for row in reading.rows] == rows


@given(BYTES, st.sampled_from(["watched", "handed in"]), st.sampled_from(["timed", "untimed"]))
@settings(max_examples=300)
def test_no_bytes_break_the_reader(content: bytes, how: str, when: str) -> None:
    reading = read_or_error(content, timed=when == "timed", final_newline=how == "watched")
    if isinstance(reading, SourceError):
        assert reading.code.startswith("E3")
        assert reading.problems
        return
    for row in reading.rows:
        assert row.key.strip() == row.key != ""
        assert row.key in json.loads(row.data).values()


def rows_of(content: bytes) -> list[SourceRow] | None:
    reading = read_or_error(content, timed=False)
    if isinstance(reading, SourceError):
        return None
    assert not reading.problems
    return list(reading.rows)


@given(tables(), STYLES)
def test_a_file_cut_off_anywhere_never_gives_half_a_row(table: tuple[list[str], list[list[str]]], style: Style) -> None:
    content = style.written(*table)
    whole = rows_of(content)
    assert whole is not None
    for cut in range(len(content)):
        part = rows_of(content[:cut])
        if part is not None:
            assert part == whole[: len(part)]
