"""How results are written: one shape for scripts (json, jsonl, csv, yaml, name), one for people (table, wide).

JSON goes straight to stdout, row by row, so that fifty thousand members are never one text in memory. A table has no
boxes; on a terminal it is cut to the terminal's width, in a pipe nothing is cut. Colour is for terminals only and
always beside a word. This module knows no command and no table of the database.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
from typing import TYPE_CHECKING, Final, Literal, cast

import orjson

from tminus.cli import telling
from tminus.cli.cells import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO

Shape = Literal["table", "wide", "json", "jsonl", "yaml", "csv", "name"]
Record = dict[str, object]

_NARROWEST: Final = 8
_GAP: Final = "  "
_COLOURS: Final = {
    "failed": "31", "poll_timeout": "31", "refused": "31", "error": "31", "rejected": "31", "expired": "31",
    "active": "36", "dispatched": "36", "running": "36", "polling": "36",
    "waiting": "33", "held": "33", "cancelled": "33", "removed": "33", "rolled_back": "33", "warning": "33",
    "completed": "32", "succeeded": "32", "done": "32", "ok": "32", "approved": "32",
}  # fmt: skip


def colour_wanted(stream: TextIO) -> bool:
    """Tell whether this stream shows colours: `NO_COLOR` and `FORCE_COLOR` come before what the stream is."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def rows(
    pages: Iterable[Sequence[Mapping[str, object]]],
    shape: Shape,
    *,
    columns: Sequence[str],
    name: str = "id",
    nothing: str = "nothing",
) -> None:
    """Write a list; `columns` are those of a table, `name` is the key that `-o name` prints."""
    if shape == "json":
        _json_array(pages)
    elif shape == "jsonl":
        for page in pages:
            for row in page:
                _json_line(row)
    elif shape == "name":
        for page in pages:
            for row in page:
                telling.write(_cell(row[name]))
    elif shape == "csv":
        _csv(pages)
    elif shape == "yaml":
        _yaml([dict(row) for page in pages for row in page])
    else:
        _table(pages, columns, nothing, whole=shape == "wide")


def one(row: Mapping[str, object], shape: Shape, *, name: str = "id") -> None:
    """Write one thing: as an object, or as lines of name and value."""
    if shape in {"json", "jsonl"}:
        _json_line(row)
    elif shape == "yaml":
        _yaml(dict(row))
    elif shape == "csv":
        _csv([[row]])
    elif shape == "name":
        telling.write(_cell(row[name]))
    else:
        widest = max((len(key) for key in row), default=0)
        for key, value in row.items():
            telling.write(f"{key:<{widest}}{_GAP}{_cell(value)}".rstrip())


def _json_line(row: Mapping[str, object]) -> None:
    sys.stdout.write(orjson.dumps(row).decode() + "\n")


def _json_array(pages: Iterable[Sequence[Mapping[str, object]]]) -> None:
    before = "["
    for page in pages:
        for row in page:
            sys.stdout.write(f"{before}\n{orjson.dumps(row).decode()}")
            before = ","
    sys.stdout.write("[]\n" if before == "[" else "\n]\n")


def _csv(pages: Iterable[Sequence[Mapping[str, object]]]) -> None:
    writer = None
    for page in pages:
        for row in page:
            if writer is None:
                writer = csv.writer(sys.stdout, lineterminator="\n")
                writer.writerow(row)
            writer.writerow(
                [safe(_plain(value)) if isinstance(value, str) else _plain(value) for value in row.values()]
            )


def _yaml(value: object) -> None:
    import yaml  # noqa: PLC0415 - a tenth of a second that only this shape pays for.

    yaml.safe_dump(value, sys.stdout, sort_keys=False, allow_unicode=True)


def _plain(value: object) -> str:
    """Write a value as text: lists and maps as JSON, nothing as empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return orjson.dumps(value).decode()
    return str(value)


def _cell(value: object) -> str:
    shown = _counts(cast("dict[str, object]", value)) if isinstance(value, dict) else _plain(value)
    return telling.visible(shown) or "-"


def _counts(value: dict[str, object]) -> str:
    """Write counts so that they are read at a glance, what is zero left out; any other map as JSON."""
    if value and all(isinstance(part, int) for part in value.values()):
        return " ".join(f"{key}={part}" for key, part in value.items() if part)
    return _plain(value)


def _table(
    pages: Iterable[Sequence[Mapping[str, object]]], columns: Sequence[str], nothing: str, *, whole: bool
) -> None:
    """Write a table page by page; the first page decides the widths."""
    coloured = colour_wanted(sys.stdout)
    widths: list[int] = []
    for page in pages:
        if not page:
            continue
        wanted = list(page[0]) if whole else list(columns)
        cells = [[_cell(row[key]) for key in wanted] for row in page]
        if not widths:
            heads = [key.replace("_", " ").upper() for key in wanted]
            widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
            if not whole and sys.stdout.isatty():
                widths = fitted(widths, shutil.get_terminal_size((80, 24)).columns)
            _line(heads, widths, coloured=False, cut=not whole)
        for line in cells:
            _line(line, widths, coloured=coloured, cut=not whole and sys.stdout.isatty())
    if not widths:
        telling.say(nothing)


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Take from the widest column until the line fits; no column becomes narrower than eight characters."""
    found = list(widths)
    while sum(found) + len(_GAP) * (len(found) - 1) > room and max(found) > _NARROWEST:
        found[found.index(max(found))] -= 1
    return found


def _line(cells: Sequence[str], widths: Sequence[int], *, coloured: bool, cut: bool) -> None:
    parts: list[str] = []
    for text, width in zip(cells, widths, strict=True):
        shown = f"{text[: width - 1]}…" if cut and len(text) > width else text
        padded = f"{shown:<{width}}"
        colour = _COLOURS.get(text) if coloured else None
        parts.append(f"\x1b[{colour}m{padded}\x1b[0m" if colour else padded)
    telling.write(_GAP.join(parts).rstrip())
