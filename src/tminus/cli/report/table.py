"""The report as a table for a spreadsheet: one row a member, every cell quoted, none of them a formula."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final, cast

from tminus.cli import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.store.insights.records import Record

FIRST: Final = "batch_id"
COLUMNS: Final = (
    "member_key", "generation", "status", "failed_step", "error_type", "error_message", "retries", "rollback",
    "removal", "is_late", "is_back", "is_missing", "from_batch", "to_batch", "added_at", "failed_at", "removed_at",
    "ended_at",
)  # fmt: skip


def table(report: Record, pages: Iterable[Sequence[Record]]) -> Iterator[str]:
    """Yield the lines of the table, its header first; times are UTC."""
    phases = list(dict.fromkeys(str(one["phase_name"]) for one in cast("list[Record]", report["phases"])))
    home = [report["batch_id"], report["runbook_name"], report["t0"]]
    yield _line([FIRST, "runbook_name", "t0", *COLUMNS, *(f"phase {name}" for name in phases)])
    for page in pages:
        for row in page:
            lanes = cast("dict[str, str]", row["phases"])
            yield _line([*home, *(row[name] for name in COLUMNS), *(lanes.get(name) for name in phases)])


def _line(values: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(_cell(value) for value in values)
    return line.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return cells.safe(value) if isinstance(value, str) else str(value)
