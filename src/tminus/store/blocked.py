"""Which batches may not send init and phase jobs now: what turns, claims and windows ask alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.rows import Batch
from tminus.progression import holds
from tminus.store import reading
from tminus.store.reading import fetch, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx

_ANY: Final = "SELECT EXISTS (SELECT 1 FROM holds WHERE is_open AND kind IN ('pause', 'gate', 'old_t0', 'rerun_init'))"
_HOME: Final = "SELECT DISTINCT batch_id FROM messages WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL"
_STUCK: Final = """SELECT count(*) FROM messages
  WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL AND priority >= 3 AND NOT is_poll
    AND (batch_id IN (SELECT value FROM json_each(?)) OR EXISTS (SELECT 1 FROM holds h WHERE h.is_open
      AND h.scope = 'member' AND h.kind = 'pause' AND h.member_id = messages.member_id))"""


def stuck_jobs(tx: Tx, worker_id: str) -> int:
    """Count the unclaimed jobs of a worker id that no worker may take now; most of the time no hold is open."""
    row = tx.one(_ANY)
    if row is None or not row[0]:
        return 0
    homes = [number(batch_id) for (batch_id,) in tx.all(_HOME, (worker_id,))]
    found = tx.one(_STUCK, (worker_id, reading.ids(blocked_batches(tx, homes))))
    return number(found[0] if found else 0)


def blocked_batches(tx: Tx, batch_ids: Sequence[int]) -> set[int]:
    """Return the batches whose init and phase jobs may not go out: not open, fenced, or held."""
    found = {batch.id: batch for batch in fetch(tx, Batch, reading.BATCHES, batch_ids)}
    standing = [reading.hold(values) for values in tx.all(reading.HOLDS, (reading.ids(batch_ids),))]
    stopping = [hold for hold in standing if holds.strength(hold) == "dispatch" and hold.scope != "member"]
    return {
        batch_id
        for batch_id in batch_ids
        if batch_id not in found
        or found[batch_id].status not in {"detected", "init_dispatched", "active"}
        or holds.is_fenced(found[batch_id])
        or any(holds.covers(hold, found[batch_id], None, None) for hold in stopping)
    }
