"""Batches, their phases, steps and history as a face shows them.

Steps are found by member, not by batch: there is an index from a member to its lanes and from a lane to its steps, and
none over all steps of a batch, which every write would have to pay for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.insights.records import PAGE, Record, paged, plain, record, records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.db.connection import Database, Tx, Value

_BATCH: Final = plain(
    "id", "runbook_name", "runbook_version", "kind", "status", "batch_start_time", "current_phase", "round", "outcome",
    "open_phases", "open_lanes", "is_cancelling", "created_by", "detected_at", "completed_at",
)  # fmt: skip
_COUNTS: Final = (("counts_json", "counts"),)
_WHOLE: Final = (
    *_BATCH,
    *_COUNTS,
    *plain("source_time", "advanced_at", "idempotency_key", "data_json", "outputs_json"),
)
_LIST: Final = """SELECT {columns} FROM batches WHERE id > ? AND (? IS NULL OR runbook_name = ?)
  AND (? IS NULL OR status = ?) AND (? IS NULL OR is_manual = ?) ORDER BY id LIMIT ?"""
_ONE: Final = "SELECT {columns} FROM batches WHERE id = ?"
_OPEN: Final = """SELECT {columns} FROM batches WHERE status IN ('detected', 'init_dispatched', 'active', 'closing')
  ORDER BY batch_start_time IS NULL, batch_start_time, id LIMIT 200"""

_PHASE: Final = plain(
    "id", "batch_id", "phase_name", "phase_index", "runbook_version", "offset_minutes", "due_at", "status", "reason",
    "members_at_opening", "lanes_total", "open_lanes", "lanes_succeeded", "lanes_failed", "lanes_cancelled", "ring",
    "dispatched_at", "completed_at",
)  # fmt: skip
_PHASES: Final = """SELECT {columns} FROM phase_executions WHERE batch_id = ? ORDER BY runbook_version, phase_index"""
_DUE: Final = """SELECT {columns} FROM phase_executions WHERE status = 'pending' AND due_at IS NOT NULL AND due_at <= ?
  ORDER BY due_at, id LIMIT 50"""

_STEP: Final = (
    ("id", "e.id"),
    ("member_key", "m.member_key"),
    ("kind", "l.kind"),
    ("phase_name", "CASE WHEN l.kind = 'phase' THEN l.sequence END"),
    *plain("step_name", "step_index", "status", "worker_id", "function_name", "attempt", "retry_count", of="e"),
    *plain("max_retries", "job_id", "retry_after", "dispatched_at", "completed_at", of="e"),
    *plain("error_message", "error_type", of="e"),
)
_FAILED: Final = "AND e.status IN ('failed', 'poll_timeout', 'rolled_back')"
_OWN_STEPS: Final = """SELECT {columns} FROM lanes l JOIN executions e ON e.lane_id = l.id
  LEFT JOIN batch_members m ON m.id = l.member_id
  WHERE l.batch_id = ? AND l.member_id IS NULL {failed} ORDER BY l.id, e.step_index"""
_MEMBER_STEPS: Final = """SELECT {columns} FROM batch_members m JOIN lanes l ON l.member_id = m.id
  JOIN executions e ON e.lane_id = l.id WHERE m.id IN (SELECT value FROM json_each(?)) {failed}
  ORDER BY m.id, l.id, e.step_index"""
_MEMBER_IDS: Final = """SELECT id FROM batch_members WHERE batch_id = ? AND (member_key, generation) > (?, ?)
  ORDER BY member_key, generation LIMIT 200"""
_LAST: Final = "SELECT member_key, generation FROM batch_members WHERE id = ?"

_EVENT: Final = (
    *plain("id", "at", "batch_id", "member_id", "entity", "entity_id", "from_status", "to_status", "attempt", of="v"),
    *plain("cause", "actor", "detail", of="v"),
    ("member_key", "(SELECT m.member_key FROM batch_members m WHERE m.id = v.member_id)"),
)
# The plus keeps the planner on the row ids: a page then reads on where the last one ended.
_EVENTS: Final = "SELECT {columns} FROM events v WHERE v.id > ? AND +v.batch_id = ? ORDER BY v.id LIMIT ?"
_ALL_EVENTS: Final = "SELECT {columns} FROM events v WHERE v.id > ? ORDER BY v.id LIMIT ?"


def listed(
    database: Database, *, runbook: str | None = None, status: str | None = None, manual: bool | None = None
) -> Iterator[list[Record]]:
    """Yield batches by pages, oldest first."""
    is_manual = None if manual is None else int(manual)

    def page(after: int) -> list[Record]:
        with database.read() as tx:
            wanted = (after, runbook, runbook, status, status, is_manual, is_manual, PAGE)
            return records(tx, (*_BATCH, *_COUNTS), _LIST, wanted)

    return paged(page)


def one(tx: Tx, batch_id: int) -> Record | None:
    """Return a batch with its data and outputs."""
    return record(tx, _WHOLE, _ONE, (batch_id,))


def open_ones(tx: Tx) -> list[Record]:
    """Return the batches that live, the one with the earliest T-0 first (at most 200)."""
    return records(tx, (*_BATCH, *_COUNTS), _OPEN)


def phases(tx: Tx, batch_id: int) -> list[Record]:
    """Return the phases of a batch, of all its versions."""
    return records(tx, _PHASE, _PHASES, (batch_id,))


def due_before(tx: Tx, until: str) -> list[Record]:
    """Return the phases that fall due before an instant (at most 50)."""
    return records(tx, _PHASE, _DUE, (until,))


def steps(database: Database, batch_id: int, *, failed: bool = False) -> Iterator[list[Record]]:
    """Yield the steps of a batch: its own first (init, finish), then those of its members by key."""
    narrowed = _FAILED if failed else ""
    with database.read() as tx:
        own = records(tx, _STEP, _OWN_STEPS.replace("{failed}", narrowed), (batch_id,))
    if own:
        yield own
    after: tuple[Value, ...] = ("", 0)
    while True:
        with database.read() as tx:
            ids = [int(i or 0) for (i,) in tx.all(_MEMBER_IDS, (batch_id, *after))]
            if not ids:
                return
            found = records(tx, _STEP, _MEMBER_STEPS.replace("{failed}", narrowed), (str(ids),))
            after = tx.one(_LAST, (ids[-1],)) or after
        if found:
            yield found


def steps_of(tx: Tx, member_id: int) -> list[Record]:
    """Return every step of one member, lane by lane."""
    return records(tx, _STEP, _MEMBER_STEPS.replace("{failed}", ""), (f"[{member_id}]",))


def events(tx: Tx, after: int, batch_id: int | None = None, most: int = PAGE) -> list[Record]:
    """Return the next moves of a batch (of all batches without one) behind an id."""
    if batch_id is None:
        return records(tx, _EVENT, _ALL_EVENTS, (after, most))
    return records(tx, _EVENT, _EVENTS, (after, batch_id, most))


def all_events(database: Database, batch_id: int) -> Iterator[list[Record]]:
    """Yield the history of a batch by pages."""

    def page(after: int) -> list[Record]:
        with database.read() as tx:
            return events(tx, after, batch_id)

    return paged(page)


def newest_event(tx: Tx) -> int:
    """Return the id of the newest move."""
    row = tx.one("SELECT coalesce(max(id), 0) FROM events")
    return int(row[0] or 0) if row else 0
