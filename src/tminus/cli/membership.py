"""Members: get one, remove some, edit the data of one."""

from typing import Annotated

import typer

from tminus.cli import doing, output, telling
from tminus.cli.exits import Exit
from tminus.cli.operating import Key
from tminus.cli.options import Actor, BatchId, Db, DryRun, Format, InBatch, Reason
from tminus.cli.session import opened, pairs, wanted, with_reason
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.store.insights import batches, members


def get_member(
    key: Annotated[str, typer.Argument(metavar="KEY|ID", help="Key of the member, or the number of its row.")],
    *,
    batch: InBatch = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Show a member with its data."""
    with opened(db) as store, store.database.read() as tx:
        number = int(key) if key.isascii() and key.isdecimal() and not members.by_key(tx, key) else None
        found = wanted(tx, members.one, number or members.meant(tx, key, batch), "member")
    output.one(found, shape, name="member_key")
    telling.suggest(f"tminus why {key}", shape)
    return Exit.DONE


def remove(
    batch: BatchId,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Member keys; - reads them from stdin.")],
    *,
    reason: Reason,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for a job that is out.")] = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Take members out of a batch: their open work is cancelled, their removal steps run."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
        found = doing.chosen(store, keys, None, batch)
        events = [
            ev.Remove(member_id=member_id, force=force, actor=who.actor, reason=who.reason) for member_id, _ in found
        ]
        results = doing.perform(store, events, [key for _, key in found], dry_run=dry_run)
    return doing.report(results, shape, did="removed", dry_run=dry_run)


def edit(
    key: Key,
    *,
    reason: Reason,
    assigned: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Pin a value; may be repeated.")
    ] = None,
    released: Annotated[
        list[str] | None, typer.Option("--release", metavar="NAME", help="Let the source count again; may be repeated.")
    ] = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Pin values over the source's: they count from the next attempt on, until they are released."""
    who = with_reason(actor, reason)
    values: dict[str, object] = {**pairs(assigned, "--set")}
    for name in released or ():
        if name in values:
            raise TminusError("E406", f"{name} is both set and released", place="--release")
        values[name] = None
    if not values:
        raise TminusError(
            "E401", "nothing to set and nothing to release", hint="give --set NAME=VALUE or --release NAME"
        )
    with opened(db) as store:
        with store.database.read() as tx:
            member_id = members.meant(tx, key, batch)
        event = ev.EditData(member_id=member_id, values=values, actor=who.actor, reason=who.reason)
        results = doing.perform(store, [event], [key], dry_run=dry_run)
    return doing.report(results, shape, did="edited", dry_run=dry_run)
