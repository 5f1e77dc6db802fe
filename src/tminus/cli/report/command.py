"""`tminus report`: a batch as a page, a table or a text, for people without a login."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.files import replacing
from tminus.cli.options import BatchId, Db, Format
from tminus.cli.progress import Progress
from tminus.cli.report.page import GENERATOR, page
from tminus.cli.report.prose import MARK, prose
from tminus.cli.report.table import FIRST, table
from tminus.cli.session import opened, wanted
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.store.insights import batches
from tminus.store.insights.records import Record
from tminus.store.insights.report import rows, summary

Pages = Iterable[Sequence[Record]]
_BOM: Final = b"\xef\xbb\xbf"
_LOOK: Final = 2_000
_STDOUT: Final = Path("-")


def report(
    batch: BatchId,
    *,
    as_page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one page that needs no server; - is stdout.")
    ] = None,
    as_table: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write a row a member, for a spreadsheet.")
    ] = None,
    as_text: Annotated[
        Path | None, typer.Option("--md", metavar="FILE", help="Write Markdown; to stdout without any of the three.")
    ] = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Write the report of a batch; an older report is replaced, no other file is."""
    files = [
        (as_page, f'content="{GENERATOR}"', page, rows.ORDER),
        (as_table, FIRST, table, (None,)),
        (as_text, MARK, prose, rows.ORDER),
    ]
    asked = [(path, write, order) for path, mark, write, order in files if path is not None and _may_write(path, mark)]
    if sum(path == _STDOUT for path, _, _ in asked) > 1:
        raise TminusError("E401", "stdout holds one of them", place="tminus report", hint="name files for the others")
    with opened(db) as store, store.snapshot() as (tx, context), Progress("report") as progress:
        wanted(tx, batches.one, batch, "batch")
        found = summary.report(tx, context, batch) or {}
        members = int(str(found["members_total"]))
        if not asked and shape in {"table", "wide"}:
            asked.append((_STDOUT, prose, rows.ORDER))
        for path, write, order in asked:
            if path == _STDOUT:
                progress.clear()
            read = _counted(_rows(tx, batch, order), progress, members)
            _put(path, write(found, read), bom=write is table)
        if shape not in {"table", "wide"}:
            progress.clear()
            _shaped(found, _counted(_rows(tx, batch, (None,)), progress, members), shape)
    for path, _, _ in asked:
        if path != _STDOUT:
            telling.say(f"written {path}")
    return Exit.DONE


def _rows(tx: Tx, batch: int, order: Sequence[str | None]) -> Pages:
    return rows.rows(lambda: nullcontext(tx), batch, order)


def _counted(pages: Pages, progress: Progress, of: int) -> Iterator[Sequence[Record]]:
    done = 0
    for part in pages:
        done += len(part)
        progress.at(done, of, "members")
        yield part


def _may_write(path: Path, mark: str) -> bool:
    """Refuse to write over anything but an older report: `--csv members.csv` is mistyped soon."""
    if path != _STDOUT and path.exists():
        with path.open("rb") as file:
            start = file.read(_LOOK)
        if start and mark.encode() not in start:
            hint = "only an older report is replaced; name another file"
            raise TminusError("E411", "there is another file already", place=str(path), hint=hint)
    return True


def _put(path: Path, lines: Iterator[str], *, bom: bool) -> None:
    if path == _STDOUT:
        for line in lines:
            sys.stdout.write(line)
        return
    with replacing(path) as file:
        # Without a mark at its beginning, spreadsheets take a file for one in the letters of their country.
        file.write(_BOM if bom else b"")
        for line in lines:
            file.write(line.encode())


def _shaped(found: Record, pages: Pages, shape: output.Shape) -> None:
    if shape == "json":
        between = orjson.dumps(found).decode().removesuffix("}") + ',"rows":['
        for row in chain.from_iterable(pages):
            sys.stdout.write(f"{between}\n{orjson.dumps(row).decode()}")
            between = ","
        sys.stdout.write("\n]}\n" if between == "," else f"{between}]}}\n")
    elif shape == "csv":
        _put(_STDOUT, table(found, pages), bom=False)
    elif shape == "jsonl":
        output.rows(pages, shape, columns=())
    else:
        output.one(found, shape, name="batch_id")
