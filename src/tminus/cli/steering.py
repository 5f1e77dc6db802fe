"""Steering a batch: advance, cancel, reschedule."""

from typing import Annotated, Final

import typer

from tminus.cli import doing, telling
from tminus.cli.options import Actor, BatchId, Db, DryRun, Format, Reason, Remark
from tminus.cli.session import acting, opened, wanted, with_reason
from tminus.progression import events as ev
from tminus.runbook.zones import local_time
from tminus.store.insights import batches, members
from tminus.store.store import Store

_MOST: Final = 10


def advance(
    batch: BatchId,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let a batch without T-0 take its next step: init and the first phase, then one phase each."""
    who = acting(actor, reason)
    event = ev.Advance(batch_id=batch, actor=who.actor, reason=who.reason or "advanced")
    return _steer(db, batch, event, shape, did="advanced", dry_run=dry_run)


def cancel(
    batch: BatchId,
    *,
    reason: Reason,
    everyone: Annotated[bool, typer.Option("--everyone", help="Stop members past a one-way step as well.")] = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Stop a batch."""
    who = with_reason(actor, reason)
    event = ev.CancelBatch(batch_id=batch, everyone=everyone, actor=who.actor, reason=who.reason)
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
            going_on = [] if everyone else members.past_one_way(tx, batch)
        results = doing.perform(store, [event], [f"batch {batch}"], dry_run=dry_run)
    code = doing.report([{**one, "going_on": going_on} for one in results], shape, did="cancelled", dry_run=dry_run)
    if going_on and shape in {"table", "wide"}:
        verb = "is past a one-way step and goes" if len(going_on) == 1 else "are past a one-way step and go"
        more = f" and {len(going_on) - _MOST:,} more" if len(going_on) > _MOST else ""
        telling.say(f"{len(going_on):,} {verb} on: {', '.join(going_on[:_MOST])}{more} - --everyone stops them as well")
    return code


def reschedule(
    batch: BatchId,
    *,
    at: Annotated[str, typer.Option("--at", metavar="T0", help='Such as "2026-12-04 22:00 Europe/Berlin".')],
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Give a batch another T-0; what has not opened gets new due times."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        with store.snapshot() as (tx, context):
            home = wanted(tx, batches.one, batch, "batch")
            # The version that the batch is bound to: its runbook may be inactive by now.
            zone = context.book(str(home["runbook_name"]), int(str(home["runbook_version"]))).timezone
        t0, note = local_time(at, zone)
        if note:
            telling.say(f"note: {note}")
        event = ev.Reschedule(batch_id=batch, t0=t0, actor=who.actor, reason=who.reason)
        results = doing.perform(store, [event], [f"batch {batch}"], dry_run=dry_run)
    return doing.report(results, shape, did=f"rescheduled to {t0}", dry_run=dry_run)


def _steer(db: str | None, batch: int, event: ev.Event, shape: Format, *, did: str, dry_run: bool) -> int:
    with opened(db) as store:
        _there(store, batch)
        results = doing.perform(store, [event], [f"batch {batch}"], dry_run=dry_run)
    return doing.report(results, shape, did=did, dry_run=dry_run)


def _there(store: Store, batch: int) -> None:
    with store.database.read() as tx:
        wanted(tx, batches.one, batch, "batch")
