"""A T-0 of its own for the member that cannot be moved that night."""

from functools import partial
from typing import Annotated

import typer

from tminus.cli import doing, telling
from tminus.cli.options import Actor, Db, DryRun, Format, InBatch, Keys, Reason, Where
from tminus.cli.session import Who, opened, wanted, with_reason
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.runbook.zones import local_time
from tminus.store.insights import batches, members
from tminus.store.store import Store


def set_time(
    keys: Keys = None,
    *,
    reason: Reason,
    at: Annotated[
        str | None, typer.Option("--at", metavar="T0", help='Such as "2026-12-05 22:00 Europe/Berlin".')
    ] = None,
    release: Annotated[bool, typer.Option("--release", help="Let the batch's T-0 count again.")] = False,
    where: Where = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Give members a T-0 of their own, later than their batch's; what has started keeps its time."""
    who = with_reason(actor, reason)
    if (at is None) != release:
        raise TminusError("E401", "one of --at and --release is needed", hint="give --at T0, or --release")
    with opened(db) as store:
        found = doing.chosen(store, keys, where, batch)
        results = doing.each(store, found, partial(_event, store, who, at), dry_run=dry_run)
    did = "given the batch's T-0 again" if at is None else f"given a T-0 of its own, {at}"
    return doing.report(results, shape, did=did, dry_run=dry_run)


def _event(store: Store, who: Who, at: str | None, member_id: int) -> ev.SetTime:
    """Read the time in the zone of the member's batch."""
    if at is None:
        return ev.SetTime(member_id=member_id, t0=None, actor=who.actor, reason=who.reason)
    with store.snapshot() as (tx, context):
        home = wanted(tx, batches.one, int(str(wanted(tx, members.one, member_id, "member")["batch_id"])), "batch")
        zone = context.book(str(home["runbook_name"]), int(str(home["runbook_version"]))).timezone
    t0, note = local_time(at, zone)
    if note:
        telling.say(f"note: {note}")
    return ev.SetTime(member_id=member_id, t0=t0, actor=who.actor, reason=who.reason)
