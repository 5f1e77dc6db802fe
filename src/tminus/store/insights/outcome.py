"""How a database's batches came out, as one record: members, steps, attempts, phases and holds, counted.

A rehearsal, a demo and a test of a runbook are judged by it. Counted are whole tables, so that it is for databases that
hold one story, not for production.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.insights import holds
from tminus.store.insights.records import Record, plain, records

if TYPE_CHECKING:
    from tminus.db.connection import Tx

_NEWEST: Final = """batch_members m WHERE m.moved_to IS NULL AND NOT EXISTS (SELECT 1 FROM batch_members n
  WHERE n.batch_id = m.batch_id AND n.member_key = m.member_key AND n.generation > m.generation)"""
_MEMBERS: Final = f"SELECT m.status, count(*) FROM {_NEWEST} GROUP BY 1"
_STEPS: Final = "SELECT status, count(*) FROM executions GROUP BY 1"
_ATTEMPTS: Final = "SELECT outcome, count(*) FROM attempt_rows GROUP BY 1"
_JOINED: Final = f"""SELECT count(*) FROM {_NEWEST} AND m.generation = 1
  AND m.added_at > (SELECT b.detected_at FROM batches b WHERE b.id = m.batch_id)"""
_ROLLED_BACK: Final = """SELECT count(DISTINCT member_id) FROM lanes
  WHERE kind = 'rollback' AND status = 'succeeded' AND member_id IS NOT NULL"""
_INHERITED: Final = "SELECT count(*) FROM executions e JOIN lanes l ON l.id = e.lane_id WHERE l.is_inherited"
_BATCHES: Final = "SELECT status, count(*) FROM batches GROUP BY 1"
_PHASE: Final = (
    *plain("id", "batch_id", of="p"),
    *plain("phase_name", "runbook_version", "status", "reason", "due_at", "dispatched_at", "completed_at", of="p"),
    *plain("lanes_total", "lanes_succeeded", "lanes_failed", "lanes_cancelled", "open_lanes", of="p"),
)
_PHASES: Final = """SELECT {columns} FROM phase_executions p WHERE p.status <> 'superseded'
  ORDER BY p.batch_id, p.due_at IS NULL, p.due_at, p.phase_index, p.id LIMIT 1000"""
_TROUBLE: Final = """SELECT l.phase_id, a.outcome, count(*)
  FROM attempt_rows a JOIN executions e ON e.id = a.execution_id
  JOIN lanes l ON l.id = e.lane_id WHERE l.phase_id IS NOT NULL AND a.outcome <> 'succeeded' GROUP BY 1, 2"""
_FAILURES: Final = """SELECT l.kind, l.sequence, e.step_name, e.error_type, e.error_message, count(*)
  FROM executions e JOIN lanes l ON l.id = e.lane_id WHERE e.status IN ('failed', 'poll_timeout', 'rolled_back')
  GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3 LIMIT 50"""
_FAILURE: Final = ("kind", "sequence", "step_name", "error_type", "error_message", "count")
_WHO: Final = f"""SELECT m.member_key, m.status FROM {_NEWEST} AND m.status <> 'done'
  ORDER BY m.member_key LIMIT 200"""


def outcome(tx: Tx) -> Record:
    """Return what became of everything."""
    members = _counted(tx, _MEMBERS)
    return {
        "batches": _counted(tx, _BATCHES),
        "members": members,
        "members_total": sum(members.values()),
        "joined_late": _number(tx, _JOINED),
        "rolled_back": _number(tx, _ROLLED_BACK),
        "steps": _counted(tx, _STEPS),
        "attempts": _counted(tx, _ATTEMPTS),
        "inherited": _number(tx, _INHERITED),
        "phases": _phases(tx),
        "failures": [dict(zip(_FAILURE, row, strict=True)) for row in tx.all(_FAILURES)],
        "holds": holds.listed(tx),
        "others": [{"member_key": key, "status": status} for key, status in tx.all(_WHO)],
    }


def _phases(tx: Tx) -> list[Record]:
    """Return the phases, each with its attempts that did not succeed, counted by what came of them."""
    found = records(tx, _PHASE, _PHASES)
    trouble: dict[object, dict[str, int]] = {}
    for phase_id, came, count in tx.all(_TROUBLE):
        trouble.setdefault(phase_id, {})[str(came)] = int(count or 0)
    return [{**phase, "trouble": trouble.get(phase["id"], {})} for phase in found]


def _counted(tx: Tx, sql: str) -> dict[str, int]:
    return {str(name): int(count or 0) for name, count in tx.all(sql)}


def _number(tx: Tx, sql: str) -> int:
    row = tx.one(sql)
    return int(row[0] or 0) if row else 0
