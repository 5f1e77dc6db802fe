"""Batches and members come into being: one transaction each, idempotent by their identity.

A batch is known by its runbook's name and the source's time, or by an idempotency key; making it twice finds the first.
A key that lives in another open batch of the same name is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.errors import TminusError
from tminus.domain.members import twin
from tminus.progression import events as ev
from tminus.progression.holds import is_old, open_hold
from tminus.progression.version import new_phase
from tminus.store.applying import Applied, Context, apply
from tminus.store.loading import load
from tminus.store.reading import number, text
from tminus.store.writing import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.domain.status import BatchKind

CHUNK: Final = 2_000

_ACTIVE_RUNBOOK: Final = "SELECT id, version FROM runbooks WHERE name = ? AND is_active"
_KNOWN: Final = "SELECT id FROM batches WHERE runbook_name = ? AND source_time = ?"
_KNOWN_KEY: Final = "SELECT batch_id, digest FROM idempotency_keys WHERE runbook_name = ? AND idempotency_key = ?"
_ADD_KEY: Final = "INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)"
_ADD_BATCH: Final = """INSERT INTO batches (runbook_id, runbook_name, runbook_version, kind, status, batch_start_time,
  source_time, detected_at, created_by, data_json, idempotency_key) VALUES (?, ?, ?, ?, 'detected', ?, ?, ?, ?, ?, ?)"""
_ADD_MEMBERS: Final = """INSERT INTO batch_members (batch_id, member_key, generation, status, data_json, added_at)
  SELECT ?1, j.value ->> 0, ?2, 'active', j.value ->> 1, ?3 FROM json_each(?4) j ORDER BY j.key"""
_AUDIT: Final = """INSERT INTO audit (at, actor, action, scope, subject, reason, outcome)
  VALUES (?, ?, ?, ?, ?, ?, 'done')"""
_COUNT_MEMBERS: Final = "UPDATE batches SET members_active = members_active + ? WHERE id = ?"
_TAKEN: Final = """SELECT m.member_key FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.member_key IN (SELECT value FROM json_each(?)) AND b.runbook_name = ? AND m.moved_to IS NULL
    AND b.status IN ('detected', 'init_dispatched', 'active', 'closing') AND m.status IN ('active', 'failed')"""
_GENERATIONS: Final = """SELECT member_key, max(generation),
    sum(status IN ('active', 'failed', 'done') AND moved_to IS NULL)
  FROM batch_members WHERE batch_id = ? AND member_key IN (SELECT value FROM json_each(?)) GROUP BY member_key"""
_ADD_MEMBER: Final = """INSERT INTO batch_members (batch_id, member_key, generation, status, data_json, added_at,
  inherits_from, failed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_GENERATION: Final = """SELECT coalesce(max(generation), 0),
    coalesce(sum(status IN ('active', 'failed', 'done') AND moved_to IS NULL), 0)
  FROM batch_members WHERE batch_id = ? AND member_key = ?"""
# A batch that is being cancelled lets those go on who cannot stop, and takes nobody new.
_BATCH: Final = """SELECT CASE WHEN is_cancelling THEN 'closing' ELSE status END, runbook_name
  FROM batches WHERE id = ?"""


@dataclass(slots=True)
class NewBatch:
    """A batch to be made: whose, when, and with whom (key and data as JSON text)."""

    runbook_name: str
    members: Sequence[tuple[str, str]]
    t0: Instant | None
    kind: BatchKind = "source"
    source_time: Instant | None = None
    data: Mapping[str, object] = field(default_factory=dict[str, object])
    created_by: str = ""
    idempotency_key: str | None = None
    body_digest: str = ""


@dataclass(slots=True)
class Made:
    """What became of it: the batch's id, whether it is new, and the keys that were left out."""

    batch_id: int
    is_new: bool
    left_out: list[str] = field(default_factory=list[str])
    conflict: bool = False


def create(tx: Tx, wanted: NewBatch, context: Context, applied: Applied) -> Made:
    """Make a batch with its members and phases and start it, or find the one that is there."""
    known = _find(tx, wanted)
    if known is not None:
        return known
    runbook = tx.one(_ACTIVE_RUNBOOK, (wanted.runbook_name,))
    if runbook is None:
        raise TminusError("E521", f"there is no active runbook {wanted.runbook_name}", hint="publish it first")
    taken = taken_keys(tx, wanted.runbook_name, [key for key, _ in wanted.members])
    first: dict[str, str] = {}
    for key, member_data in wanted.members:
        if key not in taken:
            first.setdefault(key, member_data)
    members = list(first.items())
    data = orjson.dumps(dict(wanted.data)).decode()
    batch_id = tx.add(
        _ADD_BATCH,
        (
            runbook[0], wanted.runbook_name, runbook[1], wanted.kind, wanted.t0, wanted.source_time, context.now,
            wanted.created_by, data, wanted.idempotency_key,
        ),
    )  # fmt: skip
    if wanted.idempotency_key is not None:
        tx.run(_ADD_KEY, (wanted.runbook_name, wanted.idempotency_key, batch_id, wanted.body_digest, str(context.now)))
    for part in _chunks(members):
        tx.run(_ADD_MEMBERS, (batch_id, 1, context.now, orjson.dumps(part).decode()))
    tx.run(_COUNT_MEMBERS, (len(members), batch_id))
    if wanted.created_by:
        subject = f"{len(members)} members of {wanted.runbook_name}"
        tx.run(_AUDIT, (context.now, wanted.created_by, "CreateBatch", f"batch {batch_id}", subject, ""))
    _lay_out(tx, batch_id, context)
    if wanted.t0 is not None:
        apply(tx, [ev.BatchStart(batch_id)], context, applied)
    return Made(batch_id, is_new=True, left_out=sorted(taken))


def _chunks(members: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    """Yield members a few thousand at a time, so that no statement is handed the JSON of fifty thousand."""
    return (members[first : first + CHUNK] for first in range(0, len(members), CHUNK))


def _find(tx: Tx, wanted: NewBatch) -> Made | None:
    if wanted.idempotency_key is not None:
        row = tx.one(_KNOWN_KEY, (wanted.runbook_name, wanted.idempotency_key))
        if row is not None:
            return Made(number(row[0]), is_new=False, conflict=text(row[1]) != wanted.body_digest)
    if wanted.source_time is not None:
        row = tx.one(_KNOWN, (wanted.runbook_name, wanted.source_time))
        if row is not None:
            return Made(number(row[0]), is_new=False)
    return None


def _lay_out(tx: Tx, batch_id: int, context: Context) -> None:
    """Make the phases of a new batch; one whose T-0 is long past begins held."""
    view = load(tx, [ev.BatchStart(batch_id)], context, set())
    batch = view.batches[batch_id]
    runbook = view.runbook(batch, batch.runbook_version)
    for index in range(len(runbook.phases)):
        new_phase(view, batch, runbook, batch.runbook_version, index)
    if batch.batch_start_time is not None and is_old(batch.batch_start_time, context.now):
        open_hold(view, scope="batch", kind="old_t0", reason="T-0 was more than 7 days ago at detection", batch=batch)
    write(tx, view)


def taken_keys(tx: Tx, runbook_name: str, keys: Sequence[str]) -> set[str]:
    """Return which keys live in an open batch of this runbook's name."""
    return {text(key) for (key,) in tx.all(_TAKEN, (orjson.dumps(list(keys)).decode(), runbook_name))}


def join(  # noqa: PLR0913 - whom, whereto, and who says so why.
    tx: Tx,
    batch_id: int,
    members: Sequence[tuple[str, str]],
    context: Context,
    applied: Applied,
    *,
    actor: str = "",
    reason: str = "",
) -> list[int]:
    """Add members to a live batch; a key that was removed returns as a new generation. Return the new rows' ids."""
    row = tx.one(_BATCH, (batch_id,))
    if row is None or text(row[0]) not in {"detected", "init_dispatched", "active"}:
        return []
    keys = [key for key, _ in members]
    taken = taken_keys(tx, text(row[1]), keys)
    before = {
        text(key): (number(generation), number(living))
        for key, generation, living in tx.all(_GENERATIONS, (batch_id, orjson.dumps(keys).decode()))
    }
    made: list[int] = []
    for key, data in members:
        generation, living = before.get(key, (0, 0))
        if key in taken or living:
            continue
        before[key] = (generation + 1, 1)
        made.append(tx.add(_ADD_MEMBER, (batch_id, key, generation + 1, "active", data, context.now, None, None)))
    if actor and made:
        tx.run(_AUDIT, (context.now, actor, "AddMembers", f"batch {batch_id}", f"{len(made)} members", reason))
    tx.run(_COUNT_MEMBERS, (len(made), batch_id))
    apply(tx, [ev.Joining(member_id) for member_id in made], context, applied)
    return made


_ORIGIN: Final = """SELECT m.batch_id, m.member_key, m.status, m.data_json, m.failed_at, m.moved_to
  FROM batch_members m WHERE m.id = ?"""
_COUNT_FAILED: Final = "UPDATE batches SET members_failed = members_failed + 1 WHERE id = ?"


# Whom a person moves is away from where the source wants it: its row is to be followed once the pin is released.
_MARK: Final = "UPDATE source_rows SET is_pending = 1 WHERE runbook_name = ? AND member_twin = ?"


def move(  # noqa: PLR0913 - whom, whereto, and who says so why.
    tx: Tx,
    member_id: int,
    batch_id: int,
    context: Context,
    applied: Applied,
    *,
    actor: str | None = None,
    reason: str = "",
) -> int | None:
    """Let a member go on in another open batch; return its new row's id, None when it cannot move."""
    target = tx.one(_BATCH, (batch_id,))
    origin = tx.one(_ORIGIN, (member_id,))
    if target is None or origin is None or text(target[0]) not in {"detected", "init_dispatched", "active"}:
        return None
    home, key, status, data, failed_at, moved_to = origin
    if home == batch_id or moved_to is not None or status not in {"active", "failed"}:
        return None
    generations = tx.one(_GENERATION, (batch_id, key))
    if generations is None or generations[1]:
        return None
    heir = tx.add(
        _ADD_MEMBER, (batch_id, key, number(generations[0]) + 1, status, data, context.now, member_id, failed_at)
    )
    tx.run(
        _COUNT_MEMBERS if status == "active" else _COUNT_FAILED, (1, batch_id) if status == "active" else (batch_id,)
    )
    apply(tx, [ev.Moving(member_id, heir, actor)], context, applied)
    if actor is not None:
        tx.run(_MARK, (target[1], twin(text(key))))
        tx.run(_AUDIT, (context.now, actor, "Move", f"batch {home}", f"{key} to batch {batch_id}", reason))
    return heir
