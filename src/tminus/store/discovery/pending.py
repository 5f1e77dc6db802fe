"""Pending rows: what batches have still to follow, where their members are now, and the marks that come off.

All lookups are set-based, a page of rows at a time. Nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import Instant
from tminus.progression.member import BATCH_PIN
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx, Value

PAGE: Final = 1_000

NEXT_TIME: Final = """SELECT min(batch_time) FROM source_rows WHERE runbook_name = ? AND is_pending
  AND missed_count = 0 AND batch_time > ?"""
NEXT_PAGE: Final = """SELECT id, member_key, present_since FROM source_rows WHERE runbook_name = ? AND is_pending
  AND missed_count = 0 AND batch_time IS ? AND id > ? ORDER BY id LIMIT ?"""
LIVING: Final = """SELECT m.member_key, m.id, b.id, b.status, b.kind, b.source_time, b.batch_start_time, m.pinned_json
  FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.member_key IN (SELECT value FROM json_each(?)) AND m.status IN ('active', 'failed') AND m.moved_to IS NULL
    AND b.runbook_name = ? AND b.status IN ('detected', 'init_dispatched', 'active', 'closing')"""
PAST: Final = """SELECT m.member_key, m.id, m.batch_id, m.status, coalesce(m.ended_at, m.removed_at, m.failed_at)
  FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.member_key IN (SELECT value FROM json_each(?)) AND b.runbook_name = ? AND m.moved_to IS NULL ORDER BY m.id"""
_DATA: Final = "SELECT id, data_json FROM source_rows WHERE id IN (SELECT value FROM json_each(?))"
_FRESHEN: Final = """UPDATE batch_members SET has_left = 0, data_json = ?
  WHERE id = ? AND status IN ('active', 'failed') AND (has_left OR data_json <> ?)"""
# Who was kept although his row was gone is asked about anew when it goes again.
_NAMED_AGAIN: Final = """UPDATE batch_members SET pinned_json = json_remove(pinned_json, '$._stay')
  WHERE id IN (SELECT value FROM json_each(?)) AND pinned_json -> '$._stay' IS NOT NULL"""
_SETTLE: Final = "UPDATE source_rows SET is_pending = 0 WHERE id IN (SELECT value FROM json_each(?))"


@dataclass(slots=True)
class PendingRow:
    """A row that batches have not followed yet."""

    id: int
    key: str
    since: str


@dataclass(slots=True)
class Living:
    """Where a key lives: its member, in an open batch."""

    member_id: int
    batch_id: int
    batch_status: str
    kind: str
    source_time: Instant | None
    t0: Instant | None
    is_pinned: bool


@dataclass(slots=True)
class Past:
    """A member row of a key that does not live any more."""

    member_id: int
    batch_id: int
    status: str
    ended_at: str


def next_time(tx: Tx, name: str, after: str) -> Instant | None:
    """Return the next time that pending rows name."""
    row = tx.one(NEXT_TIME, (name, after))
    return None if row is None or row[0] is None else Instant(text(row[0]))


def page(tx: Tx, name: str, time: Instant | None, after: int) -> list[PendingRow]:
    """Return the next pending rows of a time."""
    return [
        PendingRow(number(i), text(key), text(since)) for i, key, since in tx.all(NEXT_PAGE, (name, time, after, PAGE))
    ]


def living(tx: Tx, name: str, keys: Sequence[str]) -> dict[str, Living]:
    """Return where these keys live, in open batches of this runbook's name."""
    return {text(row[0]): _living(row) for row in tx.all(LIVING, (orjson.dumps(list(keys)).decode(), name))}


def _living(row: tuple[Value, ...]) -> Living:
    source_time, t0 = maybe(row[5]), maybe(row[6])
    return Living(
        number(row[1]),
        number(row[2]),
        text(row[3]),
        text(row[4]),
        None if source_time is None else Instant(source_time),
        None if t0 is None else Instant(t0),
        BATCH_PIN in orjson.loads(text(row[7])),
    )


def past(tx: Tx, name: str, keys: Sequence[str]) -> dict[str, list[Past]]:
    """Return what became of these keys in batches of this runbook's name, oldest first."""
    found: dict[str, list[Past]] = defaultdict(list)
    if keys:
        for key, i, batch_id, status, ended_at in tx.all(PAST, (orjson.dumps(list(keys)).decode(), name)):
            found[text(key)].append(Past(number(i), number(batch_id), text(status), text(ended_at)))
    return found


def data_of(tx: Tx, row_ids: Sequence[int]) -> dict[int, str]:
    """Return what these rows say."""
    return {number(i): text(data) for i, data in tx.all(_DATA, (orjson.dumps(list(row_ids)).decode(),))}


def refresh(tx: Tx, pairs: Sequence[tuple[int, int]]) -> None:
    """Give members (first) the data of their rows (second); an own edit wins over them where it is used."""
    if pairs:
        data = data_of(tx, [row_id for _, row_id in pairs])
        tx.many(_FRESHEN, [(data[row_id], member_id, data[row_id]) for member_id, row_id in pairs])
        tx.run(_NAMED_AGAIN, (orjson.dumps([member_id for member_id, _ in pairs]).decode(),))


def settle(tx: Tx, row_ids: Sequence[int]) -> None:
    """Take the marks off rows that have been followed."""
    if row_ids:
        tx.run(_SETTLE, (orjson.dumps(list(row_ids)).decode(),))
