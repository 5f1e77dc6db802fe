"""Batches to look at: list, get, members, phases, steps, events."""

from typing import Annotated, Literal

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import BatchId, Db, Format
from tminus.cli.session import opened, wanted
from tminus.store.insights import batches, members

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
        telling.suggest(f"tminus why batch {batch}", shape)
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


def list_events(batch: BatchId, *, shape: Format = "table", db: Db = None) -> int:
    """Print the history of a batch."""
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
        columns = ("at", "entity", "entity_id", "member_key", "from_status", "to_status", "cause", "actor")
        output.rows(batches.all_events(store.database, batch), shape, columns=columns)
    return Exit.DONE
