"""Intake: rows of an answer become `source_rows`; what changed is marked, what did not costs one comparison.

Rows are known by their twin form, so that a key that is written in another letter case is the same member and not a
leaver and a joiner. Which rows the answer held is remembered by their ids, and by the highest id from before it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.members import twin
from tminus.store.discovery import spelling
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.ports.source import SourceRow

CURRENT: Final = "SELECT count(*) FROM source_rows WHERE runbook_name = ? AND is_current"
_TOP: Final = "SELECT coalesce(max(id), 0) FROM source_rows"
KNOWN: Final = """SELECT member_twin, id, digest, missed_count, is_current FROM source_rows
  WHERE runbook_name = ? AND member_twin IN (SELECT value FROM json_each(?))"""
_ADD: Final = """INSERT INTO source_rows (runbook_name, member_key, member_twin, batch_time, first_seen_at,
  last_seen_at, present_since, digest, data_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHANGE: Final = """UPDATE source_rows SET batch_time = ?, last_seen_at = ?, digest = ?, data_json = ?,
  present_since = CASE WHEN is_current THEN present_since ELSE ? END, is_current = 1, is_pending = 1, absent_count = 0,
  missed_count = 0, doubt = NULL WHERE id = ?"""
_BACK: Final = """UPDATE source_rows SET last_seen_at = ?1, is_pending = 1, absent_count = 0, missed_count = 0,
  doubt = NULL, present_since = CASE WHEN is_current THEN present_since ELSE ?1 END, is_current = 1
  WHERE id IN (SELECT value FROM json_each(?2))"""


@dataclass(slots=True)
class Seen:
    """Which rows an answer held: known ones by id, new ones by being above `top`. `before` is how many there were.

    `kept` counts those of them that the answer held; `spelled` are the keys that people have handed in, by their twins.
    """

    top: int
    before: int
    ids: set[int] = field(default_factory=set[int])
    new: int = 0
    kept: int = 0
    spelled: Mapping[str, str] = field(default_factory=dict[str, str])

    def held(self, row_id: int) -> bool:
        """Tell whether the answer held this row."""
        return row_id > self.top or row_id in self.ids


@dataclass(slots=True)
class Chunk:
    """What is to be written for some rows of an answer."""

    new: list[tuple[SourceRow, str, str, str]] = field(default_factory=list["tuple[SourceRow, str, str, str]"])
    """Each with its key as it is known, its twin form and its digest."""
    changed: list[tuple[int, SourceRow, str]] = field(default_factory=list["tuple[int, SourceRow, str]"])


def begin(tx: Tx, name: str) -> Seen:
    """Note what there was before an answer."""
    top, before = tx.one(_TOP), tx.one(CURRENT, (name,))
    spelled = spelling.handed_in(tx, name)
    return Seen(number(top[0] if top else 0), number(before[0] if before else 0), spelled=spelled)


def compare(tx: Tx, name: str, rows: Sequence[SourceRow], seen: Seen) -> Chunk:
    """Compare rows with what is known of them; nothing is written."""
    twins = [twin(row.key) for row in rows]
    known = {text(found[0]): found[1:] for found in tx.all(KNOWN, (name, orjson.dumps(twins).decode()))}
    chunk = Chunk()
    for folded, row in zip(twins, rows, strict=True):
        digest = digest_of(row)
        found = known.get(folded)
        if found is None:
            chunk.new.append((row, seen.spelled.get(folded, row.key), folded, digest))
            continue
        row_id = number(found[0])
        seen.ids.add(row_id)
        seen.kept += bool(found[3])
        if found[1:] != (digest, 0, 1):
            chunk.changed.append((row_id, row, digest))
    seen.new += len(chunk.new)
    return chunk


def write(tx: Tx, name: str, chunk: Chunk, now: Instant) -> None:
    """Write what changed."""
    tx.many(
        _ADD,
        [
            (name, key, folded, row.batch_time, now, now, now, digest, row.data)
            for row, key, folded, digest in chunk.new
        ],
    )  # fmt: skip
    tx.many(_CHANGE, [(row.batch_time, now, digest, row.data, now, row_id) for row_id, row, digest in chunk.changed])


def keep_failed(tx: Tx, name: str, keys: Iterable[str], seen: Seen, now: Instant) -> None:
    """Count rows that could not be read, but whose keys could, as present: their members are in the source."""
    twins = orjson.dumps(sorted({twin(key) for key in keys})).decode()
    found = tx.all(KNOWN, (name, twins))
    seen.kept += sum(bool(row[4]) for row in found if row[1] not in seen.ids)
    seen.ids |= {number(row[1]) for row in found}
    back = [number(row[1]) for row in found if row[3] or not row[4]]
    if back:
        tx.run(_BACK, (now, orjson.dumps(back).decode()))


def digest_of(row: SourceRow) -> str:
    """Return what stands for a row's content, its time included."""
    return hashlib.blake2b(f"{row.batch_time}\n{row.data}".encode(), digest_size=16).hexdigest()
