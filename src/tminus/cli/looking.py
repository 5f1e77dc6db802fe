"""The one screen: open batches, what waits for a human, what falls due; and one key over all batches."""

import shutil
import sys
from typing import Annotated, cast

import typer

from tminus.cli import output, signs, telling, whys
from tminus.cli import overview as screenful
from tminus.cli.clocks import wall
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.session import opened
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant
from tminus.store.insights import members, overview
from tminus.store.insights.records import Record

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def status(*, shape: Format = "table", db: Db = None) -> int:
    """Show what lives, what waits for a human, what falls due within 24 hours, and what is out of order."""
    with opened(db) as store, store.snapshot() as (tx, context):
        found = overview.now(tx, context)
    if shape not in {"table", "wide"}:
        output.one(found, shape, name="now")
        return Exit.DONE
    again = telling.same_database(db)
    at = str(found["now"])
    telling.write(f"as of {wall(Instant(at), 'UTC')}:{at[17:19]} UTC")
    coloured = output.colour_wanted(sys.stdout)
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 0
    behind = f" {whys.typed(again)}" if again else ""
    for line in screenful.lines(found, again=behind, plain=signs.is_plain(sys.stdout)):
        telling.write(_painted(line, width, coloured=coloured))
    telling.suggest(whys.typed(_next(found)), shape, db=db)
    return Exit.DONE


def _painted(line: screenful.Line, width: int, *, coloured: bool) -> str:
    """Write a line with its colours, cut to the terminal's width unless it holds a command, which must stay whole."""
    text = "".join(part for part, _ in line)
    if width and len(text) > width and "tminus " not in text:
        return f"{text[: width - 1]}…"
    if not coloured:
        return text.rstrip()
    return "".join(f"\x1b[{_STYLES[style]}m{part}\x1b[0m" if style else part for part, style in line)


def _next(found: Record) -> list[str]:
    """Name the command that looks closer at what is worst."""
    waiting, live = cast("list[Record]", found["holds"]), cast("list[Record]", found["batches"])
    failed = [one for one in live if cast("dict[str, int]", one["counts"])["failed"]]
    if waiting:
        return ["tminus", "why", "hold", str(waiting[0]["id"])]
    if live:
        return ["tminus", "why", "batch", str((failed or live)[0]["id"])]
    return ["tminus", "batch", "list"]


def find(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a member.")],
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Find a member across all batches, newest first."""
    with opened(db) as store, store.database.read() as tx:
        found = members.by_key(tx, key)
        near = [] if found else members.alike(tx, key)
    if not found:
        hint = f"did you mean {', '.join(near)}?" if near else "keys are looked up as a whole"
        raise TminusError("E404", "there is no such member", place=key, hint=hint)
    columns = ("batch_id", "runbook_name", "generation", "status", "failed_step", "error_message", "moved_to")
    output.rows([found], shape, columns=columns)
    telling.suggest(whys.typed(["tminus", "why", key]), shape, db=db)
    return Exit.DONE
