"""What is true around a plan: the published runbook, where its members live, pauses, limits, what workers offer.

It is read when a plan is made, and again when it is to be applied: what differs then makes the plan stale. Everything
here only looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import Instant
from tminus.progression.outlook.stages import stages_of
from tminus.runbook.plan import Surroundings, digest_of_text
from tminus.store.discovery import pending, places
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tminus.db.connection import Tx
    from tminus.runbook.model import Runbook
    from tminus.runbook.plan import SavedPlan
    from tminus.store.discovery.pending import Living
    from tminus.store.plans import KeptPlan

_NEWEST: Final = "SELECT version, is_active, yaml_content FROM runbooks WHERE name = ? ORDER BY version DESC LIMIT 1"
_MOVING: Final = """SELECT count(*) FROM batches WHERE runbook_name = ? AND kind <> 'event'
  AND status IN ('detected', 'init_dispatched', 'active')"""
_PAUSES: Final = """SELECT scope, opened_by, reason FROM holds WHERE is_open AND kind = 'pause'
  AND (scope = 'all' OR (scope = 'runbook' AND runbook_name = ?)) ORDER BY id"""
_LIMITS: Final = "SELECT scope, in_flight, per_minute FROM limits ORDER BY scope"
_WORKERS: Final = "SELECT functions_json FROM workers WHERE stopped_at IS NULL ORDER BY id"
_ENDED: Final = frozenset({"done"})


def look(tx: Tx, runbook_name: str) -> Surroundings:
    """Return what is true around a runbook's name now."""
    version, digest = published(tx, runbook_name)
    moving = tx.one(_MOVING, (runbook_name,))
    workers = tx.all(_WORKERS)
    offered = sorted({name for (functions,) in workers for name in orjson.loads(text(functions))})
    return Surroundings(
        active_version=version,
        active_digest=digest,
        moving=number(moving[0]) if moving else 0,
        pauses=tuple(
            _paused(text(scope), text(who), text(why)) for scope, who, why in tx.all(_PAUSES, (runbook_name,))
        ),
        limits={text(scope): (_count(most), _count(rate)) for scope, most, rate in tx.all(_LIMITS)},
        offered=tuple(offered) if workers else None,
        offered_by="the workers" if workers else "",
    )


def published(tx: Tx, runbook_name: str) -> tuple[int | None, str]:
    """Return the newest version of a name and the digest of its text; no digest while none is active."""
    row = tx.one(_NEWEST, (runbook_name,))
    if row is None:
        return None, ""
    return number(row[0]), digest_of_text(text(row[2])) if row[1] else ""


def _count(value: object) -> int | None:
    return None if value is None else int(str(value))


def _paused(scope: str, who: str, why: str) -> str:
    return f"{'everything' if scope == 'all' else 'the runbook'} is paused by {who}: {why}"


def living(tx: Tx, runbook_name: str, keys: Iterable[str]) -> dict[str, Living]:
    """Return where these keys live in open batches of a runbook's name."""
    return pending.living(tx, runbook_name, list(keys))


def ended(tx: Tx, runbook_name: str, keys: Iterable[str]) -> dict[str, int]:
    """Return the keys that ended done in an earlier batch, each with its number: a source does not run them again."""
    found = pending.past(tx, runbook_name, list(keys))
    return {key: rows[-1].batch_id for key, rows in found.items() if any(row.status in _ENDED for row in rows)}


def batch_at(tx: Tx, runbook_name: str, source_time: Instant) -> int | None:
    """Return the batch that stands for a time of the source."""
    place = places.find(tx, runbook_name, source_time)
    return None if place is None else place.id


def changed(tx: Tx, kept: KeptPlan, book: Runbook, now: Instant, *, at_once: bool) -> Iterator[str]:
    """Say what is not any more as the plan says; `at_once` gives it another T-0, so that its times do not count."""
    plan = kept.plan
    if kept.valid_until <= now:
        yield f"it was valid until {kept.valid_until}"
    if published(tx, plan.runbook_name) != (plan.around.active_version, plan.around.active_digest):
        yield f"another version of {plan.runbook_name} is published"
    yield from _homes(tx, plan)
    if not at_once:
        yield from _passed(plan, book, now)


def _homes(tx: Tx, plan: SavedPlan) -> Iterator[str]:
    keys = [key for batch in plan.batches for key, _ in batch.members]
    taken = living(tx, plan.runbook_name, keys)
    if taken:
        first, home = min(taken.items())
        others = len(taken) - 1
        yield (
            f"{first} and {others:,} more are in other batches by now"
            if others
            else (f"{first} is in batch {home.batch_id} by now")
        )
    for batch in plan.batches:
        if batch.source_time is not None and batch.members:
            made = batch_at(tx, plan.runbook_name, batch.source_time)
            if made is not None:
                yield f"batch {made} has been made for {batch.source_time}"


def _passed(plan: SavedPlan, book: Runbook, now: Instant) -> Iterator[str]:
    """Say which phase was still to come when the plan was made, and would open late now."""
    for batch in plan.batches:
        for stage in stages_of(book, batch.t0, plan.made_at):
            if stage.kind == "phase" and stage.due_at is not None and plan.made_at < stage.due_at <= now:
                yield f"{stage.name} was due {stage.due_at}, which has passed"
                return


_BATCH: Final = """SELECT runbook_name, runbook_version, batch_start_time, data_json FROM batches WHERE id = ?"""
_MEMBERS: Final = """SELECT member_key, data_json FROM batch_members WHERE batch_id = ? AND moved_to IS NULL
  AND status <> 'removed' ORDER BY id"""


def batch_as_planned(
    tx: Tx, batch_id: int
) -> tuple[str, int, Instant | None, dict[str, object], dict[str, str]] | None:
    """Return name, version, T-0, data and members of a batch, to be compared with a plan."""
    row = tx.one(_BATCH, (batch_id,))
    if row is None:
        return None
    t0 = maybe(row[2])
    members = {text(key): text(data) for key, data in tx.all(_MEMBERS, (batch_id,))}
    return text(row[0]), number(row[1]), None if t0 is None else Instant(t0), orjson.loads(text(row[3])), members
