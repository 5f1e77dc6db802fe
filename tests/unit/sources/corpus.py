"""The CSV corpus: what each file of `tests/corpus/csv` is asked and what must come of it.

Small files lie there as they are; large ones are written from their parts when a test needs them. A part is a text and
how often it stands there, with `{n}` for the count from 0; a lone surrogate in it stands for a raw byte.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from tminus.ports.source import Question
from tminus.runbook.model import DataSource, MultiFormat, MultiValued

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parents[2] / "corpus" / "csv"


class Ask(TypedDict, total=False):
    """How the question differs from: key column `Key`, no time, no lists, UTC."""

    time: str
    zone: str
    lists: list[tuple[str, MultiFormat]]


class Expect(TypedDict, total=False):
    """Either an error, with every code if there are several, or an answer."""

    error: str
    line: int
    all_codes: list[str]
    keys: list[str]
    keys_count: int
    problems: list[tuple[str, int]]
    problem_count: int
    failed: list[str]
    complete: bool
    data: dict[str, dict[str, object]]
    times: dict[str, str]
    notes: int


class Entry(TypedDict):
    """One entry of the manifest."""

    name: str
    parts: NotRequired[list[tuple[str, int]]]
    ask: NotRequired[Ask]
    reader: NotRequired[str]
    expect: Expect


@dataclass(frozen=True)
class Case:
    """One case, ready to be asked."""

    name: str
    parts: list[tuple[str, int]] | None
    ask: Ask
    handed_in: bool
    expect: Expect

    def content(self) -> bytes:
        """Return the file."""
        if self.parts is None:
            return (FOLDER / "files" / f"{self.name}.csv").read_bytes()
        text = "".join(
            "".join(part.replace("{n}", str(n)) for n in range(times)) if "{n}" in part else part * times
            for part, times in self.parts
        )
        return text.encode(errors="surrogateescape")

    def data_source(self) -> DataSource:
        """Return what the runbook says about the file."""
        lists = tuple(MultiValued(name=name, format=form) for name, form in self.ask.get("lists", []))
        time = self.ask.get("time")
        return DataSource(
            type="csv",
            primary_key="Key",
            connection="MEMBERS",
            batch_time_column=time,
            immediate=time is None,
            multi_valued_columns=lists,
        )

    def question(self) -> Question:
        """Return the question for the source."""
        return Question(data_source=self.data_source(), timezone=self.ask.get("zone", "UTC"))


def entries() -> list[Entry]:
    """Read the manifest."""
    return cast("list[Entry]", json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8")))


def cases() -> Mapping[str, Case]:
    """Return all cases by name."""
    return {
        entry["name"]: Case(
            name=entry["name"],
            parts=entry.get("parts"),
            ask=entry.get("ask", {}),
            handed_in=entry.get("reader") == "handed_in",
            expect=entry["expect"],
        )
        for entry in entries()
    }
