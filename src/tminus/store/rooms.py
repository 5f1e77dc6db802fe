"""How much room there is: unclaimed jobs per worker id, who waits, and what the limits leave.

Read in the writing transaction, so that the numbers hold until it commits. Who waits is found by hopping from group to
group in the index of ready executions: a thousand ready members of one batch cost one hop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import Instant, between_s
from tminus.progression.rooms import WINDOW, LimitState, Queue, Rooms, burst_of
from tminus.store import blocked
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tminus.db.connection import Tx
    from tminus.progression.view import View

_OUT: Final = """SELECT count(*) FROM (SELECT 1 FROM messages
  WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL LIMIT ?)"""
# Two looks and not one for `(priority, batch_id) > (?, ?)`: for that SQLite walks all that waits in the group it is at.
_NEXT_BATCH: Final = """SELECT priority, batch_id, ready_at FROM executions
  WHERE worker_id = ? AND status = 'pending' AND ready_at IS NOT NULL AND priority = ? AND batch_id > ?
  ORDER BY batch_id, ready_at LIMIT 1"""
_NEXT_PRIORITY: Final = """SELECT priority, batch_id, ready_at FROM executions
  WHERE worker_id = ? AND status = 'pending' AND ready_at IS NOT NULL AND priority > ?
  ORDER BY priority, batch_id, ready_at LIMIT 1"""
_NEXT_WORKER: Final = """SELECT worker_id FROM executions
  WHERE status = 'pending' AND ready_at IS NOT NULL AND worker_id > ? ORDER BY worker_id LIMIT 1"""
_LIMITS: Final = "SELECT scope, in_flight, per_minute, tokens, refilled_at FROM limits"
_IN_FLIGHT: Final = """SELECT count(*) FROM messages WHERE topic = 'worker-jobs' AND NOT is_draining
  AND (route = ? OR function_name = ?)"""
_REFILL: Final = "UPDATE limits SET tokens = ?, refilled_at = ? WHERE scope = ?"
_MOST_GROUPS: Final = 64


def empty() -> Rooms:
    """Return rooms that nobody has measured yet."""
    return Rooms()


def load(tx: Tx, view: View, now: Instant, room: Callable[[str], int]) -> Rooms:
    """Measure the room at every worker id that the view's executions name."""
    found = Rooms()
    for worker_id in {row.worker_id for row in view.executions.values()}:
        found.queues[worker_id] = queue(tx, worker_id, now, room(worker_id))
    if found.queues:
        found.limits = limits(tx, now)
    return found


def queue(tx: Tx, worker_id: str, now: Instant, window: int = WINDOW) -> Queue:
    """Measure one worker id."""
    # Jobs that a hold keeps from being claimed do not stand in front of everybody else's.
    stuck = blocked.stuck_jobs(tx, worker_id)
    out = tx.one(_OUT, (worker_id, window + stuck))
    first, batches = 99, set[int]()
    for hops, (priority, batch_id, ready_at) in enumerate(groups(tx, worker_id)):
        if hops >= _MOST_GROUPS:
            batches |= {0, -1}
            first = min(first, priority)
            break
        if ready_at > now:
            continue
        if priority > first:
            break
        first = priority
        batches.add(batch_id)
        if len(batches) > 1:
            break
    return Queue(window + stuck - number(out[0] if out else 0), frozenset(batches), first)


def groups(tx: Tx, worker_id: str) -> Iterator[tuple[int, int, Instant]]:
    """Yield priority, batch and earliest ready time of every group of executions that wait for a worker id."""
    at = (-1, -1)
    while True:
        row = tx.one(_NEXT_BATCH, (worker_id, *at)) or tx.one(_NEXT_PRIORITY, (worker_id, at[0]))
        if row is None:
            return
        at = (number(row[0]), number(row[1]))
        yield (*at, Instant(text(row[2])))


def waiting_workers(tx: Tx) -> Iterator[str]:
    """Yield every worker id that executions wait for."""
    at = ""
    while True:
        row = tx.one(_NEXT_WORKER, (at,))
        if row is None:
            return
        at = text(row[0])
        yield at


def limits(tx: Tx, now: Instant) -> dict[str, LimitState]:
    """Return what the cluster-wide limits leave; tokens grow with the time since the last refill."""
    found: dict[str, LimitState] = {}
    for scope, in_flight, per_minute, tokens, refilled_at in tx.all(_LIMITS):
        name = text(scope)
        state = LimitState()
        if in_flight is not None:
            out = tx.one(_IN_FLIGHT, (name, name))
            state.places = number(in_flight) - number(out[0] if out else 0)
        if per_minute is not None:
            rate = number(per_minute)
            spent_s = 60.0 if refilled_at is None else max(0.0, between_s(Instant(text(refilled_at)), now))
            burst = burst_of(rate)
            state.tokens = min(burst, float(tokens or 0) + rate * spent_s / 60) if refilled_at else burst
        found[name] = state
    return found


def store_tokens(tx: Tx, rooms: Rooms, now: Instant) -> None:
    """Write back the tokens that were taken."""
    for scope in rooms.taken:
        state = rooms.limits[scope]
        tx.run(_REFILL, (state.tokens, now, scope))
    rooms.taken.clear()
