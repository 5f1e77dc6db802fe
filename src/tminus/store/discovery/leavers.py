"""Leavers: members whose rows have been missed for long enough, batch by batch.

Whether they may go is decided about all of a batch's leavers at once, because the brake counts them together. Then they
go in chunks; those about whom a human must be asked come last, with their list. A question that no answer supports any
more is taken back.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.domain.instant import plus
from tminus.domain.rows import Batch
from tminus.progression import events as ev
from tminus.progression.leavers import why_ask
from tminus.store import facts, reading
from tminus.store.discovery import absence
from tminus.store.reading import fetch, maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.db.connection import Tx
    from tminus.store.discovery.desk import Desk

CHUNK: Final = 100
SETTLED_MAX: Final = 2_000
DAY_S: Final = 86_400.0

ABSENT: Final = """SELECT m.batch_id, m.id, s.absent_count, s.missed_count, s.doubt FROM source_rows s
  CROSS JOIN batch_members m ON m.member_key = s.member_key CROSS JOIN batches b ON b.id = m.batch_id
  WHERE s.runbook_name = ?1 AND s.is_pending AND s.missed_count > 0 AND b.runbook_name = ?1 AND b.kind = 'source'
    AND b.status IN ('detected', 'init_dispatched', 'active') AND m.moved_to IS NULL
    AND (m.status = 'active' OR (m.status = 'failed' AND NOT m.has_left)) ORDER BY m.batch_id, m.id"""
_ASKED: Final = """SELECT DISTINCT h.batch_id FROM holds h JOIN batches b ON b.id = h.batch_id
  WHERE h.is_open AND h.kind IN ('leavers', 'vanished') AND b.runbook_name = ?
    AND b.status IN ('detected', 'init_dispatched', 'active')"""
_STAYING: Final = """SELECT id FROM batch_members WHERE id IN (SELECT value FROM json_each(?))
  AND pinned_json -> '$._stay' IS NOT NULL"""
_LIVING: Final = """SELECT count(*) FROM batch_members WHERE batch_id = ? AND moved_to IS NULL
  AND (status = 'active' OR (status = 'failed' AND NOT has_left))"""
_REMOVED: Final = """SELECT count(*) FROM batch_members m WHERE m.batch_id = ?1 AND (m.removed_at >= ?2 OR EXISTS
  (SELECT 1 FROM batch_members h WHERE h.id = m.moved_to AND m.status = 'failed' AND h.added_at >= ?2))"""
_STANDING: Final = """SELECT kind, reason, evidence_json FROM holds WHERE batch_id = ? AND is_open
  AND kind IN ('leavers', 'vanished')"""
# Nobody lives on such a row any more; what is closing is waited for.
SETTLE: Final = """UPDATE source_rows SET is_pending = 0 WHERE id IN (SELECT s.id FROM source_rows s
  WHERE s.runbook_name = ?1 AND s.is_pending AND s.missed_count > 0 AND s.absent_count >= ?2 AND NOT EXISTS
    (SELECT 1 FROM batch_members m JOIN batches b ON b.id = m.batch_id WHERE m.member_key = s.member_key
      AND b.runbook_name = ?1 AND m.status IN ('active', 'failed') AND m.moved_to IS NULL
      AND b.status IN ('detected', 'init_dispatched', 'active', 'closing'))
  ORDER BY s.id LIMIT ?3)"""


@dataclass(slots=True)
class _Gone:
    """Members of one batch whose rows are missed: all of them, and those missed for long enough."""

    gone: int = 0
    ids: list[int] = field(default_factory=list[int])
    doubt: str | None = None


def follow_absences(desk: Desk) -> Iterator[None]:
    """Let members leave whose rows are gone, or ask about them."""
    grace = desk.source.leavers.grace
    with desk.database.read() as tx:
        batches = _gone(tx, desk.name, grace)
        for (batch_id,) in tx.all(_ASKED, (desk.name,)):
            batches.setdefault(number(batch_id), _Gone())
    for batch_id, gone in sorted(batches.items()):
        yield from _batch(desk, batch_id, gone)
    changed = SETTLED_MAX
    while changed == SETTLED_MAX:
        with desk.write() as tx:
            changed = tx.run(SETTLE, (desk.name, grace, SETTLED_MAX))
        if changed:
            yield


def _gone(tx: Tx, name: str, grace: int) -> dict[int, _Gone]:
    found: dict[int, _Gone] = defaultdict(_Gone)
    for batch_id, member_id, absent, missed, doubt in tx.all(ABSENT, (name,)):
        one = found[number(batch_id)]
        one.gone += 1
        if number(absent) >= grace:
            one.ids.append(number(member_id))
            one.doubt = one.doubt or maybe(doubt)
        elif number(missed) >= grace:
            one.ids.append(number(member_id))
            one.doubt = one.doubt or absence.INCOMPLETE
    return dict(found)


def _batch(desk: Desk, batch_id: int, gone: _Gone) -> Iterator[None]:
    with desk.write() as tx:
        plan = _plan(tx, desk, batch_id, gone)
        if plan.events:
            desk.apply(tx, plan.events)
    if plan.events:
        yield
    for at in range(0, len(plan.going), CHUNK):
        chunk = tuple(plan.going[at : at + CHUNK])
        with desk.write() as tx:
            # Each chunk carries the whole count, so that the brake says the same of all.
            desk.apply(tx, [ev.Absent(batch_id, chunk, plan.count - len(chunk))])
        yield


@dataclass(slots=True)
class _Plan:
    """Questions to put or to take back now, and who goes after that."""

    events: list[ev.Event] = field(default_factory=list[ev.Event])
    going: list[int] = field(default_factory=list[int])
    count: int = 0


def _plan(tx: Tx, desk: Desk, batch_id: int, gone: _Gone) -> _Plan:
    batch = next(iter(fetch(tx, Batch, reading.BATCHES, [batch_id])), None)
    if batch is None:
        return _Plan()
    context = desk.context_of(tx)
    leavers = context.book(batch.runbook_name, batch.runbook_version).data_source.leavers
    staying = {number(i) for (i,) in tx.all(_STAYING, (reading.ids(gone.ids),))}
    ids = [i for i in gone.ids if i not in staying]
    if not ids or leavers.policy == "ignore":
        return _Plan([ev.Absent(batch_id, (), 0)] if tx.one(_STANDING, (batch_id,)) else [])
    living = tx.one(_LIVING, (batch_id,))
    removed = tx.one(_REMOVED, (batch_id, plus(context.now, -DAY_S)))
    event = ev.Absent(batch_id, tuple(ids), number(removed[0] if removed else 0), doubtful=gone.doubt)
    event.vanished = living is not None and living[0] == gone.gone
    count = event.removed_24h + len(ids)
    reason = why_ask(batch, leavers, context.now, event, len(ids))
    if reason is not None:
        if not event.vanished:
            event.doubtful = reason
        return _Plan([] if _stands(tx, event, reason) else [event])
    sent = facts.one_way_members(tx, ids)
    asked = tuple(i for i in ids if i in sent)
    plan = _Plan(going=[i for i in ids if i not in sent], count=count)
    if asked:
        event = ev.Absent(batch_id, asked, count - len(asked), one_way_member_ids=sent)
        plan.events = [event]
    elif tx.one(_STANDING, (batch_id,)):
        plan.events = [ev.Absent(batch_id, (), 0)]
    return plan


def _stands(tx: Tx, event: ev.Absent, reason: str) -> bool:
    """Tell whether exactly this is being asked already."""
    kind = "vanished" if event.vanished else "leavers"
    rows = tx.all(_STANDING, (event.batch_id,))
    if len(rows) != 1 or rows[0][:2] != (kind, reason):
        return False
    listed = cast("dict[str, list[int]]", orjson.loads(text(rows[0][2])))
    return set(listed.get("member_ids", [])) == set(event.member_ids)
