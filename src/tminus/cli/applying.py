"""`tminus apply`: a plan that was looked at becomes batches, or is refused because it is stale; nothing in between."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.clocks import distance, wall
from tminus.cli.exits import Exit
from tminus.cli.gathering import digest_of_file, from_source, without_living
from tminus.cli.kept_plans import PlanName
from tminus.cli.options import Actor, Db, DryRun, Format, Remark
from tminus.cli.progress import Progress
from tminus.cli.session import acting, opened, trying
from tminus.cli.whys import typed
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant
from tminus.progression.outlook.stages import stages_of
from tminus.runbook import load
from tminus.runbook.model import Runbook
from tminus.store import fulfilling, plans, surroundings
from tminus.store.fulfilling import Fulfilled, Order
from tminus.store.plans import KeptPlan
from tminus.store.store import Store


def apply(
    plan: PlanName,
    *,
    now: Annotated[bool, typer.Option("--now", help="Make T-0 the present: for trying out.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Apply a saved plan: publish where needed, and make its batches; a stale one is refused."""
    who = acting(actor, reason)
    order = Order(actor=who.actor, reason=who.reason, at_once=now)
    with opened(db) as store:
        with store.database.read() as tx:
            kept = plans.read(tx, plan)
        book = load(kept.plan.runbook_text)
        if kept.applied_at is not None:
            return _tell(fulfilling.before(kept), kept, book, shape, db, at=store.now(), dry_run=dry_run)
        _refuse_stale(store, kept, book, at_once=now)
        if not yes and not dry_run:
            _ask(kept, now=now)
        with trying(store, dry_run=dry_run), Progress(f"applying {kept.name}"):
            done = fulfilling.fulfil(store, kept.name, book, order)
        if done.already:  # Somebody else was faster.
            with store.database.read() as tx:
                kept = plans.read(tx, plan)
        return _tell(done, kept, book, shape, db, at=store.now(), dry_run=dry_run)


def _refuse_stale(store: Store, kept: KeptPlan, book: Runbook, *, at_once: bool) -> None:
    """Raise `TminusError` where anything that the plan was made from has changed; the write looks again."""
    fulfilling.refuse(kept.plan, book, kept.name, at_once=at_once)
    reasons = [_changed(Path(one.path)) for one in kept.plan.files if digest_of_file(Path(one.path)) != one.digest]
    with store.database.read() as tx:
        reasons += surroundings.changed(tx, kept, book, store.now(), at_once=at_once)
    if not reasons and any(batch.source_time is not None for batch in kept.plan.batches):
        reasons += _asked_again(store, kept, book)
    if reasons:
        raise fulfilling.stale(kept.name, reasons)


def _changed(path: Path) -> str:
    return f"{path.name} {'has changed' if path.is_file() else 'is gone'}"


def _asked_again(store: Store, kept: KeptPlan, book: Runbook) -> list[str]:
    """Ask the source once more, and say if it names others than the plan does."""
    plan = without_living(store, from_source(book, kept.plan))
    same = [(one.source_time, one.members) for one in plan.batches if one.members]
    return (
        []
        if same == [(one.source_time, one.members) for one in kept.plan.batches if one.members]
        else ["the source says something else by now"]
    )


def _ask(kept: KeptPlan, *, now: bool) -> None:
    """Ask before anything is made; without a terminal that must be said beforehand."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        hint = "look at it with tminus plan show, and say --yes"
        raise TminusError("E453", "nobody can be asked here", place=kept.name, hint=hint)
    plan = kept.plan
    parts = [f"publish {plan.runbook_name} v{plan.version}"] if plan.publishes else []
    for batch in plan.batches:
        if batch.members:
            at = "T-0 now" if now else f"T-0 {batch.t0}" if batch.t0 else "waiting to be advanced"
            count = len(batch.members)
            parts.append(f"make a batch of {count:,} member{'' if count == 1 else 's'}, {at}")
    telling.say(f"{kept.name}: {', '.join(parts[:4])}{' …' if len(parts) > 4 else ''}")  # noqa: PLR2004 - a line's worth.
    if not typer.confirm("Go on?", err=True):
        raise TminusError("E458", "it was not applied: the answer was no", place=kept.name)


def _tell(
    done: Fulfilled, kept: KeptPlan, book: Runbook, shape: output.Shape, db: str | None, *, at: Instant, dry_run: bool
) -> int:
    if shape not in {"table", "wide"}:
        output.one(
            {
                "plan": kept.name,
                "runbook_name": kept.plan.runbook_name,
                "version": done.version,
                "published": done.published,
                "already": done.already,
                "batches": [
                    {"id": None if dry_run else one.id, "batch_start_time": one.t0, "members": one.members}
                    for one in done.batches
                ],
                "dry_run": dry_run,
            },
            shape,
            name="plan",
        )
        return Exit.DONE
    telling.write(telling.visible(_said(done, kept, dry_run=dry_run)))
    first = done.batches[0] if done.batches else None
    if not done.already and first is not None:
        telling.write(telling.visible(_begins(book, first.t0, at)))
    if not dry_run:
        telling.suggest(typed(_next(done)), shape, db=db)
    return Exit.DONE


def _said(done: Fulfilled, kept: KeptPlan, *, dry_run: bool) -> str:
    name = f"{kept.plan.runbook_name} v{done.version}"
    ids = ", ".join(str(one.id) for one in done.batches)
    if done.already:
        became = f"batch {ids}" if ids else f"{name} published"
        return f"{kept.name} was applied {kept.applied_at} by {kept.applied_by}: {became}; nothing was changed"
    parts = [f"{name} {'would be ' if dry_run else ''}published"] if done.published else []
    members = sum(one.members for one in done.batches)
    if done.batches:
        many = len(done.batches) > 1
        what = f"{len(done.batches):,} batches" if many else "a batch"
        made = f"{what} of {members:,} members of {name} would be made" if dry_run else ""
        parts.append(made or f"{'batches' if many else 'batch'} {ids} of {members:,} members made from {kept.name}")
    return "; ".join(parts)


def _begins(book: Runbook, t0: Instant | None, at: Instant) -> str:
    """Say when the first phase of a batch opens."""
    stage = next(one for one in stages_of(book, t0, at) if one.kind == "phase")
    if stage.due_at is None:
        return "no T-0: it waits to be advanced"
    if stage.due_at <= at:
        return f"{stage.name} starts at once"
    return f"{stage.name} starts {wall(stage.due_at, book.timezone, at)} ({distance(stage.due_at, at)})"


def _next(done: Fulfilled) -> list[str]:
    """Name what goes on: whoever waits to be advanced is, all else is run."""
    first = done.batches[0] if done.batches else None
    if first is None:
        return ["tminus", "runbook", "list"]
    if done.already:
        return ["tminus", "why", "batch", str(first.id)]
    return ["tminus", "batch", "advance", str(first.id)] if first.t0 is None else ["tminus", "up"]
