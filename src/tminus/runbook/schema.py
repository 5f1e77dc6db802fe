"""The keys of a runbook for machines and for readers: JSON Schema, and the tables of the reference.

Both are made from the table that validation reads by, so that an editor never praises what `validate` refuses for its
keys. A schema sees one value at a time: what keys mean together only `parse` knows. This module must not add a word of
its own about any key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.runbook.keys import RunbookKeys
from tminus.runbook.shapes import tables_in

if TYPE_CHECKING:
    from tminus.runbook.shapes import Key, Table

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TABLES: Final = tuple(tables_in(RunbookKeys.table))


def json_schema() -> dict[str, object]:
    """Return the JSON Schema of a runbook, for editors."""
    definitions: dict[str, object] = {table.ref: table.schema() for table in TABLES[1:]}
    return {"$schema": DIALECT, "title": "tminus runbook", **TABLES[0].schema(), "$defs": definitions}


def reference_table(table: Table) -> str:
    """Return the Markdown table of the reference for one map of keys."""
    rows = "".join(f"{_row(key)}\n" for key in table.keys)
    return f"| key | value | without it | meaning |\n|---|---|---|---|\n{rows}"


def _row(key: Key[object]) -> str:
    without = "**error**" if key.required else (key.default or "see meaning")
    return f"| `{key.name}` | {key.kind.words} | {without} | {key.about} |"
