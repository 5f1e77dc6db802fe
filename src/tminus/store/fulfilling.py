"""A plan becomes batches: published where it must be, each batch made as it would be by hand, marked as applied.

All of it is one transaction. Whoever dies in it has done nothing, whoever comes second finds it done, and what makes a
plan stale is looked at under the lock that writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.store import cohort, plans, runbooks, surroundings
from tminus.store.applying import Applied, Context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.runbook.model import Runbook
    from tminus.runbook.plan import PlannedBatch, SavedPlan
    from tminus.store.plans import KeptPlan
    from tminus.store.store import Store

MOST_SAID: Final = 3
_AUDIT: Final = """INSERT INTO audit (at, actor, action, scope, subject, reason, outcome)
  VALUES (?, ?, 'ApplyPlan', 'runbook', ?, ?, 'done')"""


@dataclass(slots=True)
class MadeBatch:
    """One batch that a plan became."""

    id: int
    t0: Instant | None
    members: int


@dataclass(slots=True)
class Fulfilled:
    """What a plan became; `already` if that was done before."""

    version: int
    published: bool
    batches: list[MadeBatch] = field(default_factory=list[MadeBatch])
    already: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who applies a plan and why; `at_once` gives it the present as T-0."""

    actor: str
    reason: str = ""
    at_once: bool = False


def refuse(plan: SavedPlan, book: Runbook, name: str, *, at_once: bool) -> None:
    """Raise `TminusError` where a plan is of a kind that is not applied."""
    from_source = any(batch.source_time is not None for batch in plan.batches)
    if from_source and book.data_source.immediate:
        hint = f"tminus automation enable {plan.runbook_name}"
        raise TminusError("E456", "an immediate source makes its batches itself", place=name, hint=hint)
    if from_source and at_once:
        raise TminusError("E456", "its source names its times", place=name, hint="leave --now out")
    if not plan.publishes and not any(batch.members for batch in plan.batches):
        raise TminusError("E456", "there is nothing to make: nobody is left to be moved", place=name)


def stale(name: str, reasons: Sequence[str]) -> TminusError:
    """Return the error that stands for what has changed."""
    more = f"; and {len(reasons) - MOST_SAID:,} more" if len(reasons) > MOST_SAID else ""
    return TminusError("E450", "; ".join(reasons[:MOST_SAID]) + more, place=name, hint="plan again")


def fulfil(store: Store, name: str, book: Runbook, order: Order) -> Fulfilled:
    """Apply a plan, or find that it was applied; one that is stale raises `TminusError` and changes nothing."""
    with store.database.write() as tx:
        kept = plans.read(tx, name)
        if kept.applied_at is not None:
            return before(kept)
        refuse(kept.plan, book, name, at_once=order.at_once)
        now = store.now()
        reasons = list(surroundings.changed(tx, kept, book, now, at_once=order.at_once))
        if reasons:
            raise stale(name, reasons)
        plan = kept.plan
        version = plan.around.active_version or 0
        if plan.publishes:
            version = runbooks.publish(tx, book, plan.runbook_text, now, actor=order.actor)
        done = Fulfilled(version, plan.publishes)
        for batch in plan.batches:
            if batch.members:
                done.batches.append(_make(tx, store, kept, replace(batch, t0=now) if order.at_once else batch, order))
        made = [one.id for one in done.batches]
        plans.mark_applied(tx, kept.id, now=now, actor=order.actor, version=version, batches=made)
        tx.run(_AUDIT, (now, order.actor, f"{plan.runbook_name}: {name}", order.reason))
    return done


def before(kept: KeptPlan) -> Fulfilled:
    """Return what a plan became when it was applied."""
    found = [MadeBatch(batch_id, None, 0) for batch_id in kept.applied_batches]
    return Fulfilled(kept.applied_version or 0, published=False, batches=found, already=True)


def _make(tx: Tx, store: Store, kept: KeptPlan, batch: PlannedBatch, order: Order) -> MadeBatch:
    """Make one batch, in the same way as one that is made by hand or by a source."""
    plan = kept.plan
    wanted = cohort.NewBatch(
        plan.runbook_name,
        batch.members,
        t0=batch.t0,
        kind="manual" if batch.source_time is None else "source",
        source_time=batch.source_time,
        data=plan.data,
        created_by=order.actor,
    )
    context = Context(
        now=store.now(),
        book=lambda name, version: runbooks.read(tx, name, version),
        window=store.window,
        chunk=store.chunk,
    )
    made = cohort.create(tx, wanted, context, Applied())
    return MadeBatch(made.batch_id, batch.t0, len(batch.members) - len(made.left_out))
