"""Absence: counting rows that an answer does not hold, and how far that may be believed.

Only a complete answer counts. One that is empty, or lacks half of the rows that were there, puts its absences in doubt.
The doubt stays with the row until it is back, so that a second look at the same wrong answer proves nothing. While
doubted rows wait for a human, further ones are doubted as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.store.discovery.intake import Seen

PAGE: Final = 2_000
LOOKED_AT: Final = 10_000
INCOMPLETE: Final = "the answers were not complete: absence from them proves nothing"

DOUBTED: Final = """SELECT doubt FROM source_rows WHERE runbook_name = ? AND is_pending AND missed_count > 0
  AND doubt IS NOT NULL LIMIT 1"""
THERE: Final = "SELECT count(*) FROM source_rows WHERE runbook_name = ? AND is_current AND missed_count = 0"
NOT_MISSED: Final = """SELECT id FROM source_rows WHERE runbook_name = ? AND is_current AND missed_count = 0 AND id > ?
  ORDER BY id LIMIT ?"""
MISSED: Final = """SELECT id FROM source_rows WHERE runbook_name = ? AND is_pending AND missed_count > 0
  AND {count} < ? AND id > ? ORDER BY id LIMIT ?"""
_COUNT_COMPLETE: Final = """UPDATE source_rows SET missed_count = missed_count + 1, absent_count = absent_count + 1,
  is_pending = 1, doubt = coalesce(doubt, ?1), last_seen_at = CASE WHEN is_current THEN coalesce(?2, last_seen_at)
  ELSE last_seen_at END, is_current = 0 WHERE id IN (SELECT value FROM json_each(?3))"""
_COUNT_PARTIAL: Final = """UPDATE source_rows SET missed_count = missed_count + 1, is_pending = 1
  WHERE id IN (SELECT value FROM json_each(?))"""


def doubt(tx: Tx, name: str, seen: Seen, present: int) -> str | None:
    """Return why absence from a complete answer with `present` rows is not believed, None when it is."""
    if not present:
        return "the answer was empty"
    lost = seen.before - seen.kept
    # One row less is no halving, or a table of two could never lose one.
    if lost > 1 and lost * 2 >= seen.before:
        return f"{lost:,} of {seen.before:,} rows were gone from one answer"
    row = tx.one(DOUBTED, (name,))
    return None if row is None else text(row[0])


def anyone_missing(tx: Tx, name: str, seen: Seen) -> bool:
    """Tell whether there are rows that the answer did not hold."""
    row = tx.one(THERE, (name,))
    return number(row[0] if row else 0) != len(seen.ids) + seen.new


def next_current(tx: Tx, name: str, after: int) -> list[int]:
    """Return the next rows that were there so far."""
    return [number(i) for (i,) in tx.all(NOT_MISSED, (name, after, LOOKED_AT))]


def next_missed(tx: Tx, name: str, after: int, grace: int, *, complete: bool) -> list[int]:
    """Return the next rows that were missed before and are to be counted once more."""
    sql = MISSED.format(count="absent_count" if complete else "missed_count")
    return [number(i) for (i,) in tx.all(sql, (name, grace, after, PAGE))]


def count(tx: Tx, ids: list[int], *, complete: bool, why: str | None, answered_at: Instant | None) -> None:
    """Count one more answer without these rows."""
    if not ids:
        return
    listed = orjson.dumps(ids).decode()
    if complete:
        tx.run(_COUNT_COMPLETE, (why, answered_at, listed))
    else:
        tx.run(_COUNT_PARTIAL, (listed,))
