"""How the batches stand, in a few short reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import FIRST, Instant
from tminus.store import rooms, turns
from tminus.store.blocked import blocked_batches

if TYPE_CHECKING:
    from tminus.db.connection import Tx

_OUT: Final = """SELECT EXISTS (SELECT 1 FROM messages WHERE topic = 'worker-jobs')
  OR EXISTS (SELECT 1 FROM executions WHERE status = 'polling' AND poll_due_at IS NOT NULL)
  OR EXISTS (SELECT 1 FROM batches WHERE wake_after IS NOT NULL)
  OR EXISTS (SELECT 1 FROM batches WHERE ending_after IS NOT NULL)
  OR EXISTS (SELECT 1 FROM phase_executions WHERE opening_after IS NOT NULL)
  OR EXISTS (SELECT 1 FROM phase_executions p JOIN batches b ON b.id = p.batch_id
    WHERE p.status = 'pending' AND p.due_at <= ? AND b.status = 'active' AND p.reason IS NULL)"""
_FAILED: Final = """SELECT EXISTS (SELECT 1 FROM batches WHERE status = 'failed')
  OR EXISTS (SELECT 1 FROM batches WHERE members_failed > 0)"""
_HELD: Final = "SELECT EXISTS (SELECT 1 FROM holds WHERE is_open)"
_NEWEST: Final = """SELECT at FROM events WHERE entity = 'execution' AND actor IS NULL ORDER BY id DESC LIMIT 1"""


def moving(tx: Tx, now: Instant) -> bool:
    """Tell whether something moves or will move by itself before the next due phase."""
    row = tx.one(_OUT, (now,))
    if row is not None and row[0]:
        return True
    for worker_id in list(rooms.waiting_workers(tx)):
        found = list(rooms.groups(tx, worker_id))
        blocked = blocked_batches(tx, sorted({batch for _, batch, _ in found}))
        if any(priority < turns.ASIDE or batch not in blocked for priority, batch, _ in found):
            return True
    return False


def failed(tx: Tx) -> bool:
    """Tell whether a batch ended failed or a member failed."""
    row = tx.one(_FAILED)
    return row is not None and bool(row[0])


def held(tx: Tx) -> bool:
    """Tell whether something waits for a human."""
    row = tx.one(_HELD)
    return row is not None and bool(row[0])


def newest(tx: Tx) -> Instant:
    """Return when the engine last moved a step; the first of all instants where it never has."""
    row = tx.one(_NEWEST)
    return Instant(str(row[0])) if row else FIRST
