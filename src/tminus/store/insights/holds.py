"""Holds as a face shows them: everything that waits for a human, gates among it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.insights.records import Record, plain, record, records

if TYPE_CHECKING:
    from tminus.db.connection import Tx

MOST: Final = 1_000

_HOLD: Final = (
    *plain("id", "kind", "scope", "state", "is_open", "batch_id", of="h"),
    ("runbook_name", "coalesce(h.runbook_name, b.runbook_name)"),
    ("member_id", "h.member_id"),
    ("member_key", "m.member_key"),
    ("phase_name", "p.phase_name"),
    *plain("reason", "opened_at", "opened_by", "expires_at", "closed_at", "closed_by", "note", of="h"),
    ("evidence_json", "h.evidence_json"),
)
_JOINED: Final = """holds h LEFT JOIN batches b ON b.id = h.batch_id LEFT JOIN batch_members m ON m.id = h.member_id
  LEFT JOIN phase_executions p ON p.id = h.phase_id"""
_LIST: Final = f"""SELECT {{columns}} FROM {_JOINED} WHERE (h.is_open OR ?) AND (? IS NULL OR h.kind = ?)
  AND (? IS NULL OR h.batch_id = ?) ORDER BY h.id DESC LIMIT {MOST}"""
_WIDE: Final = f"""SELECT {{columns}} FROM {_JOINED} WHERE h.scope IN ('all', 'runbook') AND h.batch_id IS NULL
  AND (h.runbook_name IS NULL OR h.runbook_name = ?) AND h.opened_at <= ? AND coalesce(h.closed_at, '9') >= ?
  ORDER BY h.id DESC LIMIT {MOST}"""
_ONE: Final = f"SELECT {{columns}} FROM {_JOINED} WHERE h.id = ?"
_PAUSES: Final = """SELECT id, batch_id FROM holds WHERE is_open AND kind = 'pause' AND scope = ?
  AND runbook_name IS ? AND batch_id IS ? AND member_id IS ? ORDER BY id"""
_GATE: Final = """SELECT h.id FROM holds h JOIN phase_executions p ON p.id = h.phase_id
  WHERE h.kind = 'gate' AND h.is_open AND h.batch_id = ? AND p.phase_name = ? ORDER BY h.id DESC LIMIT 1"""
_PHASE: Final = """SELECT p.id FROM phase_executions p JOIN batches b ON b.id = p.batch_id
  WHERE p.batch_id = ? AND p.phase_name = ? ORDER BY p.runbook_version DESC LIMIT 1"""


def listed(tx: Tx, *, kind: str | None = None, batch_id: int | None = None, closed: bool = False) -> list[Record]:
    """Return the newest holds, open ones only unless `closed`."""
    return records(tx, _HOLD, _LIST, (int(closed), kind, kind, batch_id, batch_id))


def wide(tx: Tx, runbook: str, since: str, until: str) -> list[Record]:
    """Return the newest holds over a whole runbook, or over everything, that fell between two instants."""
    return records(tx, _HOLD, _WIDE, (runbook, until, since))


def one(tx: Tx, hold_id: int) -> Record | None:
    """Return one hold, open or not."""
    return record(tx, _HOLD, _ONE, (hold_id,))


def pauses(
    tx: Tx, scope: str, *, runbook: str | None = None, batch_id: int | None = None, member_id: int | None = None
) -> list[tuple[int, int | None]]:
    """Return id and batch of the open pauses of exactly this scope."""
    found = tx.all(_PAUSES, (scope, runbook, batch_id, member_id))
    return [(int(i or 0), None if batch is None else int(batch)) for i, batch in found]


def gate_of(tx: Tx, batch_id: int, phase: str) -> int | None:
    """Return the open gate before a phase."""
    row = tx.one(_GATE, (batch_id, phase))
    return None if row is None else int(row[0] or 0)


def phase_of(tx: Tx, batch_id: int, phase: str) -> int | None:
    """Return the id of a batch's phase, of its newest version."""
    row = tx.one(_PHASE, (batch_id, phase))
    return None if row is None else int(row[0] or 0)
