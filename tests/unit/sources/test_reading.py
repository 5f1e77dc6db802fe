"""Reading that ends early leaves nothing behind, and places are told in a way that can be shown."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING

import pytest

from tminus.ports.source import Question, SourceError
from tminus.runbook.model import DataSource
from tminus.sources import reading
from tminus.sources.csv import place_of, read_file
from tminus.sources.manual import read_member_bytes
from tminus.sources.reading import CsvLimits
from tminus.sources.spool import Spool
from tminus.sources.still import look_at
from tminus.sources.table import CELL_CHARACTERS_MAX

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = DataSource(type="csv", primary_key="Key")
ROWS = b"Key,Name\n" + b"".join(b"k%d,x\n" % n for n in range(5_000))


@pytest.fixture
def spools(monkeypatch: pytest.MonkeyPatch) -> list[Spool]:
    """Have every row leave memory, and keep hold of the spools."""
    made: list[Spool] = []

    def make() -> Spool:
        made.append(Spool(memory_bytes=0))
        return made[-1]

    monkeypatch.setattr(reading, "Spool", make)
    return made


def test_rows_of_a_file_that_ends_in_an_error_are_forgotten(spools: list[Spool]) -> None:
    assert not read_member_bytes(ROWS + b'z,"', SOURCE, name="m.csv").ok
    assert [len(spool) for spool in spools] == [0]


def test_rows_of_a_file_that_changed_are_forgotten(
    spools: list[Spool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(ROWS)
    look = look_at(path, place="m.csv")
    add = Spool.add

    def disturb(self: Spool, row: object) -> None:
        if len(self) == 100:
            os.utime(path, (1, 1))
        add(self, row)  # type: ignore[arg-type]  # The row is handed through as it came.

    monkeypatch.setattr(Spool, "add", disturb)
    with pytest.raises(SourceError, match="changed"):
        read_file(path, look, Question(data_source=SOURCE), limits=CsvLimits())
    assert [len(spool) for spool in spools] == [0]


def test_rows_of_a_refused_file_are_forgotten(spools: list[Spool]) -> None:
    assert not read_member_bytes(ROWS + b"k1,x\n", SOURCE, name="m.csv").ok
    assert [len(spool) for spool in spools] == [0]


def test_a_limit_of_cells_that_others_set_does_not_count() -> None:
    before = csv.field_size_limit(100)
    try:
        assert read_member_bytes(b"Key,Name\na," + b"x" * 1_000, SOURCE, name="m.csv").ok
        assert csv.field_size_limit() == CELL_CHARACTERS_MAX
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("name", "place"), [("wave 3.csv", "wave 3.csv"), ("a\nb\x1b[0m.csv", "a?b?[0m.csv"), ("\udcff.csv", "?.csv")]
)
def test_the_place_is_a_name_that_can_be_shown(tmp_path: Path, name: str, place: str) -> None:
    assert place_of(tmp_path / name) == place
