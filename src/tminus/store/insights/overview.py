"""The one screen: what lives, what waits for a human, what falls due, which sources fail, who is at work.

A handful of short reads over rows that are few by nature; nothing here grows with the members of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import plus
from tminus.store.insights import batches, holds, workers
from tminus.store.insights.records import plain, records
from tminus.store.insights.sources import LEFT_OUT

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.store.applying import Context
    from tminus.store.insights.records import Record

AHEAD_S: Final = 86_400.0

_OPEN: Final = frozenset({"pending", "dispatched"})
# Worst first: what is half done, what failed, what stops everything, what only asks.
_WORST: Final = (
    "rollback", "removal", "rerun_init", "brake", "one_way", "gate", "vanished", "leavers", "move", "late_success",
    "old_t0", "over_cost", "freeze",
)  # fmt: skip
_SOURCES: Final = """SELECT {columns} FROM runbooks r
  JOIN runbook_automation_settings a ON a.runbook_name = r.name
  WHERE r.is_active AND a.automation_enabled AND (r.last_error IS NOT NULL OR r.source_problem_count > 0
    OR NOT coalesce(r.source_is_complete, 1)
    OR EXISTS (SELECT 1 FROM source_problems p WHERE p.runbook_name = r.name AND p.kind = 'left_out'))
  ORDER BY r.name"""
_SOURCE: Final = (
    *plain("name", "last_error", "last_error_at", "source_failures", "source_problem_count", of="r"),
    *plain("source_answered_at", "source_next_at", of="r"),
    ("left_out_count", LEFT_OUT),
    ("is_complete", "coalesce(r.source_is_complete, 1)"),
)
_WORKERS: Final = """SELECT {columns} FROM messages WHERE topic = 'worker-jobs' AND claimed_at IS NOT NULL
  GROUP BY claimed_by, route ORDER BY claimed_by, route LIMIT 200"""
_WORKER: Final = (
    ("worker", "claimed_by"),
    ("worker_id", "route"),
    ("jobs", "count(*)"),
    ("lease_until", "max(lease_until)"),
)
_QUEUES: Final = """SELECT {columns} FROM messages WHERE topic = 'worker-jobs' AND claimed_at IS NULL
  GROUP BY route ORDER BY route"""
_QUEUE: Final = (("worker_id", "route"), ("waiting", "count(*)"), ("oldest_at", "min(created_at)"))


def now(tx: Tx, context: Context) -> Record:
    """Return everything that the screen shows."""
    zones: dict[object, str] = {}
    found = [_batch(tx, context, row, zones) for row in batches.open_ones(tx)]
    waiting = holds.listed(tx)
    due = batches.due_before(tx, plus(context.now, AHEAD_S))
    return {
        "now": context.now,
        "batches": found,
        "holds": sorted((one for one in waiting if one["kind"] != "pause"), key=_rank),
        "pauses": [one for one in waiting if one["kind"] == "pause"],
        "due": [one | {"zone": zones.get(one["batch_id"], "UTC")} for one in due],
        "sources": records(tx, _SOURCE, _SOURCES),
        "workers": [one | {"is_alive": _is_alive(one, context.now)} for one in records(tx, _WORKER, _WORKERS)],
        "queues": records(tx, _QUEUE, _QUEUES),
        "is_anybody_at_work": workers.is_anybody(tx, context.now),
    }


def _batch(tx: Tx, context: Context, row: Record, zones: dict[object, str]) -> Record:
    book = context.book(str(row["runbook_name"]), int(str(row["runbook_version"])))
    zones[row["id"]] = book.timezone
    phases = [one for one in batches.phases(tx, int(str(row["id"]))) if one["status"] in _OPEN]
    phases.sort(key=lambda one: (str(one["due_at"] or "9"), int(str(one["phase_index"]))))
    running = next((one for one in phases if one["status"] == "dispatched"), None)
    following = next((one for one in phases if one["status"] == "pending"), None)
    return row | {
        "zone": book.timezone,
        "running_phase": None if running is None else _short(running),
        "next_phase": None if following is None else _short(following),
    }


def _short(phase: Record) -> Record:
    return {key: phase[key] for key in ("phase_name", "due_at", "lanes_total", "lanes_succeeded", "lanes_failed")}


def _rank(hold: Record) -> tuple[int, str, int]:
    kind = str(hold["kind"])
    place = _WORST.index(kind) if kind in _WORST else len(_WORST)
    return (place, str(hold["expires_at"] or "9"), int(str(hold["id"])))


def _is_alive(worker: Record, at: Instant) -> bool:
    return worker["lease_until"] is None or str(worker["lease_until"]) > at
