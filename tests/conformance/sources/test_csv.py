"""The source suite, run against the CSV source."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, ClassVar

import pytest

from tminus.runbook.model import DataSource
from tminus.sources.csv import CsvSource
from tminus.sources.still import Patience
from tminus.testing.source_suite import Feature, SourceSuite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class CsvStage:
    """A file that somebody writes. The clock runs an hour ahead, so that a file just written is old enough."""

    secret = "kept-from-sight"

    def __init__(self, folder: Path) -> None:
        """Choose a file; it is written by `fill`."""
        folder = folder / self.secret
        folder.mkdir()
        self.path = folder / "members.csv"
        later = Patience(clock=lambda: self.path.stat().st_mtime + 3_600)
        self.source = CsvSource({"MEMBERS": str(self.path)}.get, patience=later)
        self.data_source = DataSource(type="csv", primary_key="Key", connection="MEMBERS", batch_time_column="Wave")

    def fill(self, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        with self.path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(rows)

    def spoil(self, how: str) -> None:
        content = self.path.read_bytes()
        match how:
            case "gone":
                self.path.unlink()
            case "emptied":
                self.path.write_bytes(b"")
            case "cut off in its last line":
                self.path.write_bytes(content[:-4])
            case "cut off inside a quote":
                self.path.write_bytes(content + b'c,"\n')
            case "in another encoding":
                self.path.write_text(content.decode(), encoding="utf-16")
            case _:
                raise AssertionError(how)


class TestCsv(SourceSuite):
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.UNCHANGED})
    spoilers: ClassVar[tuple[str, ...]] = (
        "gone",
        "emptied",
        "cut off in its last line",
        "cut off inside a quote",
        "in another encoding",
    )

    @pytest.fixture
    def stage(self, tmp_path: Path) -> CsvStage:
        return CsvStage(tmp_path)
