"""Members: get one and its history, remove some, move some, edit the data of one, answer for leavers."""

from functools import partial
from typing import Annotated, Final, Literal

import typer

from tminus.cli import doing, output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, BatchId, Db, DryRun, Format, InBatch, Keys, Reason, Where
from tminus.cli.session import Who, opened, pairs, trying, wanted, with_reason
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.store.insights import batches, holds, members
from tminus.store.insights.records import Record

LEAVING: Final = ("leavers", "vanished")


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
    telling.suggest(f"tminus why {key}", shape, db=db)
    return Exit.DONE


def remove(
    batch: BatchId,
    keys: Keys = None,
    *,
    reason: Reason,
    where: Where = None,
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
        found = doing.chosen(store, keys, where, batch)
        results = doing.each(store, found, partial(_remove, who, force=force), dry_run=dry_run)
    return doing.report(results, shape, did="removed", dry_run=dry_run)


def _remove(who: Who, member_id: int, *, force: bool) -> ev.Remove:
    return ev.Remove(member_id=member_id, force=force, actor=who.actor, reason=who.reason)


def move(
    keys: Keys = None,
    *,
    to: Annotated[int, typer.Option("--to", metavar="ID", help="The batch in which they go on.")],
    reason: Reason,
    where: Where = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let members go on in another open batch, with their outputs and the phases they have passed."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        with store.database.read() as tx:
            target = wanted(tx, batches.one, to, "batch")
        found = doing.chosen(store, keys, where, batch)
        results: list[doing.Result] = []
        with trying(store, dry_run=dry_run):
            for one in found:
                if one.error is not None:
                    results.append(doing.missed(one.key, one.error))
                    continue
                with store.database.read() as tx:
                    why = _not_to(tx, wanted(tx, members.one, one.member_id, "member"), target)
                if not why and store.move(one.member_id, to, who.actor, who.reason) is None:
                    why = f"batch {to} does not take it"
                done = {"ok": not why, "code": "E410" if why else "", "message": why or "done"}
                results.append({"subject": one.key, **done})
    return doing.report(results, shape, did=f"moved to batch {to}", dry_run=dry_run)


def _not_to(tx: Tx, member: Record, target: Record) -> str:
    """Say why a member cannot go on in a batch; empty where it can."""
    home = wanted(tx, batches.one, int(str(member["batch_id"])), "batch")
    if home["id"] == target["id"]:
        return "it is in this batch already"
    if home["runbook_name"] != target["runbook_name"]:
        return f"batch {target['id']} is of another runbook, {target['runbook_name']}"
    if target["status"] not in {"detected", "init_dispatched", "active"} or target["is_cancelling"]:
        return f"batch {target['id']} is {'being cancelled' if target['is_cancelling'] else target['status']}"
    if member["status"] not in {"active", "failed"}:
        return f"the member is {member['status']}"
    rows = members.by_key(tx, str(member["member_key"]))
    if any(row["batch_id"] == target["id"] and row["status"] not in {"removed", "cancelled"} for row in rows):
        return f"the key lives in batch {target['id']} already"
    return ""


def history(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a member.")],
    *,
    batch: InBatch = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Print every move of a member, over all of its batches."""
    with opened(db) as store:
        with store.database.read() as tx:
            members.meant(tx, key, batch) if batch is not None else _known(tx, key)
        columns = ("at", "batch_id", "entity", "phase_name", "step_name", "from_status", "to_status", "cause", "actor")
        output.rows(members.history(store.database, key, batch), shape, columns=columns, nothing="nothing has happened")
    return Exit.DONE


def _known(tx: Tx, key: str) -> None:
    if not members.by_key(tx, key):
        near = members.alike(tx, key)
        hint = f"did you mean {', '.join(near)}?" if near else "keys are looked up as a whole"
        raise TminusError("E404", "there is no such member", place=key, hint=hint)


def accept_leavers(
    batch: BatchId,
    *,
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let everybody leave about whom the source raised a question in this batch."""
    return _answer_leavers(batch, "accept", (actor, reason), shape, db, dry_run=dry_run)


def refuse_leavers(
    batch: BatchId,
    *,
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Keep everybody about whom the source raised a question in this batch."""
    return _answer_leavers(batch, "refuse", (actor, reason), shape, db, dry_run=dry_run)


def _answer_leavers(
    batch: int,
    answer: Literal["accept", "refuse"],
    person: tuple[str | None, str],
    shape: Format,
    db: str | None,
    *,
    dry_run: bool,
) -> int:
    who = with_reason(*person)
    with opened(db) as store:
        with store.database.read() as tx:
            wanted(tx, batches.one, batch, "batch")
            open_ones = [one for kind in LEAVING for one in holds.listed(tx, kind=kind, batch_id=batch)]
        if not open_ones:
            raise TminusError("E410", "nobody is about to leave", place=f"batch {batch}", hint="tminus hold list")
        numbers = [int(str(one["id"])) for one in open_ones]
        events = [
            ev.AnswerHold(hold_id=number, batch_id=batch, answer=answer, actor=who.actor, reason=who.reason)
            for number in numbers
        ]
        results = doing.perform(store, events, [f"hold {number}" for number in numbers], dry_run=dry_run)
    return doing.report(results, shape, did="accepted" if answer == "accept" else "refused", dry_run=dry_run)


def edit(
    keys: Keys = None,
    *,
    reason: Reason,
    assigned: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Pin a value; may be repeated.")
    ] = None,
    released: Annotated[
        list[str] | None,
        typer.Option(
            "--release", metavar="NAME", help="Let the source count again (_batch: about where, _stay: about whether)."
        ),
    ] = None,
    where: Where = None,
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
        found = doing.chosen(store, keys, where, batch)
        results = doing.each(store, found, partial(_edit, who, values), dry_run=dry_run)
    return doing.report(results, shape, did="edited", dry_run=dry_run)


def _edit(who: Who, values: dict[str, object], member_id: int) -> ev.EditData:
    return ev.EditData(member_id=member_id, values=values, actor=who.actor, reason=who.reason)
