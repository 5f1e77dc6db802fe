"""What an operator does to members that are stuck: retry, skip, mark done, roll back."""

from functools import partial
from typing import Annotated, Literal

import orjson
import typer

from tminus.cli import doing
from tminus.cli.options import Actor, Db, DryRun, Format, InBatch, Keys, Reason, Where
from tminus.cli.session import Who, opened, pairs, with_reason
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.store.store import Store

_FAILED = "status=failed"
_INIT = """SELECT 1 FROM lanes WHERE batch_id = ? AND member_id IS NULL AND kind = 'init' AND status = 'failed'"""


def retry(
    keys: Keys = None,
    *,
    reason: Reason,
    where: Where = None,
    batch: InBatch = None,
    from_step: Annotated[str | None, typer.Option("--from", metavar="STEP", help="Begin at this step.")] = None,
    definition: Annotated[
        Literal["current", "original"],
        typer.Option("--definition", help="Take the current version's steps, or those that failed."),
    ] = "current",
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="NAME=VALUE", help="Pin a value first; may be repeated.")
    ] = None,
    lane: Annotated[
        int | None, typer.Option("--lane", metavar="ID", help="A rollback, removal or hook lane that failed.")
    ] = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Try members again from their failed step; with --batch alone all failed ones, or the batch's failed init."""
    who = with_reason(actor, reason)
    values: dict[str, object] = {**pairs(data, "--data")}
    with opened(db) as store:
        if lane is not None:
            event = ev.RetryCleanup(lane_id=lane, actor=who.actor, reason=who.reason)
            results = doing.perform(store, [event], [f"lane {lane}"], dry_run=dry_run)
        elif batch is not None and not keys and where is None and _init_failed(store, batch):
            again = ev.RetryInit(batch_id=batch, actor=who.actor, reason=who.reason)
            results = doing.perform(store, [again], [f"batch {batch}"], dry_run=dry_run)
        else:
            found = doing.chosen(store, keys, where, batch, only=_FAILED, whole=True)
            make = partial(_retry, who, from_step, values, original=definition == "original")
            results = doing.each(store, found, make, dry_run=dry_run)
    return doing.report(results, shape, did="tried again", dry_run=dry_run)


def _retry(who: Who, from_step: str | None, values: dict[str, object], member_id: int, *, original: bool) -> ev.Retry:
    return ev.Retry(
        member_id=member_id, from_step=from_step, original=original, values=values, actor=who.actor, reason=who.reason
    )


def _init_failed(store: Store, batch_id: int) -> bool:
    with store.database.read() as tx:
        return tx.one(_INIT, (batch_id,)) is not None


Step = Annotated[str, typer.Option("--step", metavar="STEP", help="The step, or PHASE/STEP.")]


def skip(
    keys: Keys = None,
    *,
    step: Step,
    reason: Reason,
    where: Where = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Pass over a step; the members go on with the next."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        found = doing.chosen(store, keys, where, batch)
        results = doing.each(store, found, partial(_pass, who, step, None), dry_run=dry_run)
    return doing.report(results, shape, did=f"passed over {step}", dry_run=dry_run)


def mark_done(
    keys: Keys = None,
    *,
    step: Step,
    reason: Reason,
    outputs: Annotated[
        list[str] | None, typer.Option("--output", metavar="NAME=VALUE", help="What the step gives; may be repeated.")
    ] = None,
    where: Where = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Count a step as done that somebody has done by hand."""
    who = with_reason(actor, reason)
    given: dict[str, object] = {name: _value(text) for name, text in pairs(outputs, "--output").items()}
    with opened(db) as store:
        found = doing.chosen(store, keys, where, batch)
        results = doing.each(store, found, partial(_pass, who, step, given), dry_run=dry_run)
    return doing.report(results, shape, did=f"counted as done at {step}", dry_run=dry_run)


def _pass(who: Who, step: str, outputs: dict[str, object] | None, member_id: int) -> ev.PassStep:
    """Make the event of one member: with outputs the step is done, without it is skipped."""
    return ev.PassStep(
        member_id=member_id, step=step, done=outputs is not None, outputs=outputs or {}, actor=who.actor,
        reason=who.reason,
    )  # fmt: skip


def _value(text: str) -> object:
    """Read a list or a map that is given as JSON; every other value is text."""
    if text[:1] not in {"[", "{"}:
        return text
    try:
        found: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise TminusError(
            "E406", f"the value is no JSON: {error}", place="--output", hint="quote it as text"
        ) from error
    return found


def rollback(
    keys: Keys = None,
    *,
    reason: Reason,
    where: Where = None,
    batch: InBatch = None,
    to_phase: Annotated[
        str | None, typer.Option("--to", metavar="PHASE", help="Undo what came after it; everything without.")
    ] = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Undo the work of members; each is failed afterwards."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        found = doing.chosen(store, keys, where, batch, whole=True)
        results = doing.each(store, found, partial(_roll_back, who, to_phase), dry_run=dry_run)
    return doing.report(results, shape, did="rolled back", dry_run=dry_run)


def _roll_back(who: Who, to_phase: str | None, member_id: int) -> ev.RollBack:
    return ev.RollBack(member_id=member_id, to_phase=to_phase, actor=who.actor, reason=who.reason)
