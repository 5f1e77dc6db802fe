"""Turns: whose execution goes out next when more are ready than there is room.

By worker id, then by priority, then round the batches: each batch with work of the best priority gets an equal share of
the places, what one leaves the others take. A batch that is paused or not active is passed over in one hop, however
many of its members are ready.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from tminus.domain.rows import Batch
from tminus.progression import holds
from tminus.progression.events import ExecutionReady
from tminus.store import reading, rooms
from tminus.store.reading import fetch, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

_READY: Final = """SELECT id FROM executions WHERE worker_id = ? AND status = 'pending' AND ready_at IS NOT NULL
  AND priority = ? AND batch_id = ? AND ready_at <= ? ORDER BY ready_at, id LIMIT ?"""
MOST: Final = 500
ASIDE: Final = 3


def choose(tx: Tx, now: Instant, window: int, most: int = MOST) -> list[ExecutionReady]:
    """Choose executions that may go out now, at most `most`, fairly."""
    chosen: list[int] = []
    for worker_id in list(rooms.waiting_workers(tx)):
        places = min(rooms.queue(tx, worker_id, now, window).places, most - len(chosen))
        if places > 0:
            chosen += _for_worker(tx, worker_id, now, places)
        if len(chosen) >= most:
            break
    return [ExecutionReady(i) for i in chosen]


def _for_worker(tx: Tx, worker_id: str, now: Instant, places: int) -> list[int]:
    by_priority: dict[int, list[int]] = defaultdict(list)
    for priority, batch_id, ready_at in rooms.groups(tx, worker_id):
        if ready_at <= now:
            by_priority[priority].append(batch_id)
    blocked = blocked_batches(tx, sorted({b for found in by_priority.values() for b in found}))
    chosen: list[int] = []
    for priority in sorted(by_priority):
        open_batches = [b for b in by_priority[priority] if priority < ASIDE or b not in blocked]
        chosen += _round_robin(tx, worker_id, priority, open_batches, now, places - len(chosen))
        if len(chosen) >= places:
            break
    return chosen


def _round_robin(tx: Tx, worker_id: str, priority: int, batches: Sequence[int], now: Instant, places: int) -> list[int]:
    """Share the places among the batches; what a small batch leaves goes to the larger ones."""
    if places <= 0 or not batches:
        return []
    waiting = {b: [number(i) for (i,) in tx.all(_READY, (worker_id, priority, b, now, places))] for b in batches}
    chosen: list[int] = []
    while waiting and len(chosen) < places:
        share = max(1, (places - len(chosen)) // len(waiting))
        for batch_id in list(waiting):
            taken = waiting[batch_id][: min(share, places - len(chosen))]
            chosen += taken
            waiting[batch_id] = waiting[batch_id][len(taken) :]
            if not waiting[batch_id]:
                del waiting[batch_id]
            if len(chosen) >= places:
                break
    return chosen


def blocked_batches(tx: Tx, batch_ids: Sequence[int]) -> set[int]:
    """Return the batches whose init and phase jobs may not go out: not open, or held."""
    found = {batch.id: batch for batch in fetch(tx, Batch, reading.BATCHES, batch_ids)}
    standing = [reading.hold(values) for values in tx.all(reading.HOLDS, (reading.ids(batch_ids),))]
    stopping = [hold for hold in standing if holds.strength(hold) == "dispatch" and hold.scope != "member"]
    return {
        batch_id
        for batch_id in batch_ids
        if batch_id not in found
        or found[batch_id].status not in {"detected", "init_dispatched", "active"}
        or any(holds.covers(hold, found[batch_id], None, None) for hold in stopping)
    }
