"""Ask a runbook's source once and show what it says; nothing is kept and no batch follows."""

import os
from typing import Annotated

import orjson
import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format, RunbookName
from tminus.cli.publishing import published
from tminus.domain.errors import TminusError
from tminus.ports.source import Answer, Question
from tminus.sources.csv import CsvSource


def preview(
    runbook: RunbookName,
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many rows.")] = 20,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Show the first rows of a source, and every problem in them."""
    book = published(runbook, db)
    kind = book.data_source.type
    if kind != "csv":
        message = f"a {kind} runbook has no source to ask" if kind in {"manual", "event"} else f"no {kind} source here"
        raise TminusError("E413", message, place=runbook)
    answer = CsvSource(os.environ.get).ask(Question(data_source=book.data_source, timezone=book.timezone))
    if not isinstance(answer, Answer):
        raise TminusError("E360", "the source gave no rows", place=runbook)
    rows = [
        {"key": row.key, "batch_time": row.batch_time, "data": orjson.loads(row.data)}
        for _, row in zip(range(limit), answer.rows, strict=False)
    ]
    problems = [{"place": one.place, "code": one.code, "message": one.message} for one in answer.problems]
    total = len(answer.rows)
    if shape in {"table", "wide", "csv", "name", "jsonl"}:
        output.rows([rows], shape, columns=("key", "batch_time", "data"), name="key", nothing="no rows")
        for one in answer.problems:
            telling.say(str(one))
        telling.say(f"{total:,} rows, {answer.problem_count:,} problems")
    else:
        whole = {"runbook_name": runbook, "row_count": total, "problem_count": answer.problem_count,
                 "columns": list(answer.columns), "rows": rows, "problems": problems}  # fmt: skip
        output.one(whole, shape, name="runbook_name")
    return Exit.SOME_FAILED if answer.problem_count else Exit.DONE
