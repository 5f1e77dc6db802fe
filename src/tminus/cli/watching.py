"""Follow what happens: one JSON line for each change when piped, a live screen on a terminal."""

import os
import sys
import time
from typing import Annotated, cast

import typer

from tminus.cli import output, telling, whys
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, Db, Format
from tminus.cli.session import acting, opened, wanted
from tminus.domain.errors import TminusError
from tminus.runbook.duration import parse_duration
from tminus.store.insights import batches
from tminus.store.insights.records import Record
from tminus.store.store import Store

PAUSE_S = 0.5
ENDED = {"completed", "failed", "cancelled"}


def watch(
    batch: Annotated[int | None, typer.Argument(metavar="BATCH", help="Number of a batch; all without it.")] = None,
    *,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Stop after 30s, 15m or 2h; then exit 8.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Begin with what has happened already.")] = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Follow a batch until it ends (0, or 3 where members failed), or everything until Ctrl-C."""
    until = None if timeout is None else time.monotonic() + _seconds(timeout)
    with opened(db) as store:
        with store.database.read() as tx:
            if batch is not None:
                wanted(tx, batches.one, batch, "batch")
            after = 0 if history else batches.newest_event(tx)
        if shape in {"table", "wide"} and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            from tminus.cli.screen import live  # noqa: PLC0415 - Rich costs a terminal alone.

            code = live(store, batch, until, acting(actor).actor)
            wanted_next = ["tminus", "status"] if batch is None else ["tminus", "why", "batch", str(batch)]
            telling.suggest(whys.typed(wanted_next), db=db)
            return code
        return _lines(store, batch, after, until)


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except TminusError as error:
        raise TminusError("E406", error.message, place="--timeout", hint="write 30s, 15m or 2h") from error


def _lines(store: Store, batch: int | None, after: int, until: float | None) -> int:
    while True:
        # Whether it has ended is asked first, so that what led there is among the lines that follow.
        ended = ending(store, batch)
        with store.database.read() as tx:
            found = batches.events(tx, after, batch)
        output.rows([found], "jsonl", columns=())
        sys.stdout.flush()
        after = int(str(found[-1]["id"])) if found else after
        if found:
            continue
        if ended is not None:
            return ended
        if until is not None and time.monotonic() >= until:
            return Exit.STILL_RUNNING
        time.sleep(PAUSE_S)


def ending(store: Store, batch: int | None) -> int | None:
    """Return the exit code of a batch that has ended, None while it lives."""
    if batch is None:
        return None
    with store.database.read() as tx:
        found = wanted(tx, batches.one, batch, "batch")
    if found["status"] not in ENDED:
        return None
    return verdict(found)


def verdict(batch: Record) -> int:
    """Return what the end of a batch means for a script."""
    if batch["status"] == "failed":
        return Exit.FAILED
    return Exit.SOME_FAILED if cast("dict[str, int]", batch["counts"])["failed"] else Exit.DONE
