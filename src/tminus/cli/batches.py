"""Batches to look at: list, get, members, phases, steps, events."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import BatchId, Db, Format
from tminus.cli.session import opened, wanted
from tminus.cli.watching import PAUSE_S, ending
from tminus.store.insights import batches, members
from tminus.store.insights.records import Record
from tminus.store.store import Store

Status = Literal["detected", "init_dispatched", "active", "closing", "completed", "failed", "cancelled"]
COLUMNS = ("id", "runbook_name", "runbook_version", "status", "batch_start_time", "current_phase", "counts")


def list_batches(
    *,
    runbook: Annotated[str | None, typer.Option("--runbook", metavar="NAME", help="Of this runbook alone.")] = None,
    status: Annotated[Status | None, typer.Option("--status", help="In this status alone.")] = None,
    manual: Annotated[bool | None, typer.Option("--manual/--automatic", help="Made by hand, or by a source.")] = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """List batches, oldest first."""
    with opened(db) as store:
        pages = batches.listed(store.database, runbook=runbook, status=status, manual=manual)
        output.rows(pages, shape, columns=COLUMNS, nothing="no batch")
    return Exit.DONE


def get_batch(batch: BatchId, *, shape: Format = "table", db: Db = None) -> int:
    """Show one batch."""
    with opened(db) as store, store.database.read() as tx:
        found = wanted(tx, batches.one, batch, "batch")
    output.one(found, shape)
    if found["status"] not in {"completed", "cancelled"}:
        telling.suggest(f"tminus why batch {batch}", shape, db=db)
    return Exit.DONE


def list_members(batch: BatchId, *, shape: Format = "table", db: Db = None) -> int:
    """List the members of a batch by their keys."""
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
        columns = ("member_key", "status", "failed_step", "error_message")
        output.rows(members.of_batch(store.database, batch), shape, columns=columns, name="member_key")
    return Exit.DONE


def list_phases(batch: BatchId, *, shape: Format = "table", db: Db = None) -> int:
    """List the phases of a batch."""
    with opened(db) as store, store.database.read() as tx:
        wanted(tx, batches.one, batch, "batch")
        found = batches.phases(tx, batch)
    columns = ("phase_name", "runbook_version", "due_at", "status", "lanes_total", "lanes_succeeded", "lanes_failed")
    output.rows([found], shape, columns=columns, name="phase_name")
    return Exit.DONE


def list_steps(
    batch: BatchId,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Failed steps alone.")] = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """List the steps of a batch: its own first, then those of its members."""
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
        columns = ("id", "member_key", "phase_name", "step_name", "status", "attempt", "error_message")
        found = batches.steps(store.database, batch, failed=failed)
        output.rows(found, shape, columns=columns, nothing="no step has failed" if failed else "no step yet")
    return Exit.DONE


def list_events(
    batch: BatchId,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Wait for more, until the batch has ended.")] = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Print the history of a batch; with -f the exit code says how it ended, as that of `watch`."""
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
        columns = ("at", "entity", "entity_id", "member_key", "from_status", "to_status", "cause", "actor")
        pages = _followed(store, batch) if follow else batches.all_events(store.database, batch)
        output.rows(pages, shape, columns=columns)
        return (ending(store, batch) or Exit.DONE) if follow else Exit.DONE


def _followed(store: Store, batch: int) -> Iterator[list[Record]]:
    """Yield what happens by pages, and what happened before; each page is seen before the next is waited for."""
    after = 0
    while True:
        # Whether it has ended is asked first, so that what led there is among the lines that follow.
        ended = ending(store, batch)
        with store.database.read() as tx:
            found = batches.events(tx, after, batch)
        if found:
            yield found
            after = int(str(found[-1]["id"]))
            sys.stdout.flush()
        elif ended is not None:
            return
        else:
            time.sleep(PAUSE_S)
