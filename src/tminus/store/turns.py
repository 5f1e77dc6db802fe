"""Turns: whose execution goes out next when more are ready than there is room.

By worker id, then by priority, then round the batches: each batch with work of the best priority gets an equal share of
the places, what one leaves the others take. A batch that is paused or not active is passed over in one hop, however
many of its members are ready; within a batch those are passed over who are paused or whose function is at its limit, so
that they do not stand in front of the others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

import orjson

from tminus.progression.events import ExecutionReady
from tminus.store import reading, rooms
from tminus.store.blocked import blocked_batches
from tminus.store.reading import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.progression.rooms import LimitState

_READY: Final = """SELECT id FROM executions WHERE worker_id = ? AND status = 'pending' AND ready_at IS NOT NULL
  AND priority = ? AND batch_id = ? AND ready_at <= ? ORDER BY ready_at, id LIMIT ?"""
# Where somebody must be passed over, their rows are walked: 0.06 s for a hundred thousand of them.
_READY_BUT: Final = """SELECT id FROM executions WHERE worker_id = ? AND status = 'pending' AND ready_at IS NOT NULL
  AND priority = ? AND batch_id = ? AND ready_at <= ? AND function_name NOT IN (SELECT value FROM json_each(?))
  AND coalesce((SELECT l.member_id FROM lanes l WHERE l.id = executions.lane_id), 0)
    NOT IN (SELECT value FROM json_each(?))
  ORDER BY ready_at, id LIMIT ?"""
_PAUSED: Final = """SELECT batch_id, member_id FROM holds WHERE is_open AND kind = 'pause' AND scope = 'member'
  AND batch_id IN (SELECT value FROM json_each(?))"""
_UNCLAIMED: Final = """SELECT batch_id, count(*) FROM messages
  WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL GROUP BY batch_id"""
MOST: Final = 500
ASIDE: Final = 3


@dataclass(slots=True)
class Aside:
    """Who is passed over: functions at their limit, and by batch the members that are paused."""

    functions: list[str]
    members: dict[int, list[int]]


def choose(tx: Tx, now: Instant, room: Callable[[str], int], most: int = MOST) -> list[ExecutionReady]:
    """Choose executions that may go out now, at most `most`, fairly."""
    chosen: list[int] = []
    waiting = list(rooms.waiting_workers(tx))
    short = [name for name, state in rooms.limits(tx, now).items() if _is_short(state)] if waiting else []
    for worker_id in waiting:
        places = 0 if worker_id in short else rooms.queue(tx, worker_id, now, room(worker_id)).places
        if places > 0:
            chosen += _for_worker(tx, worker_id, now, min(places, most - len(chosen)), short)
        if len(chosen) >= most:
            break
    return [ExecutionReady(i) for i in chosen]


def _is_short(state: LimitState) -> bool:
    return (state.places is not None and state.places <= 0) or (state.tokens is not None and state.tokens < 1)


def _for_worker(tx: Tx, worker_id: str, now: Instant, places: int, short: list[str]) -> list[int]:
    by_priority: dict[int, list[int]] = defaultdict(list)
    for priority, batch_id, ready_at in rooms.groups(tx, worker_id):
        if ready_at <= now:
            by_priority[priority].append(batch_id)
    waiting = sorted({b for found in by_priority.values() for b in found})
    blocked = blocked_batches(tx, waiting)
    aside = Aside(short, defaultdict(list))
    for home, member_id in tx.all(_PAUSED, (reading.ids(waiting),)):
        aside.members[number(home)].append(number(member_id))
    out = {number(b): number(jobs) for b, jobs in tx.all(_UNCLAIMED, (worker_id,))}
    chosen: list[int] = []
    for priority in sorted(by_priority):
        open_batches = [b for b in by_priority[priority] if priority < ASIDE or b not in blocked]
        # When fewer places become free than batches wait, they go to those with the fewest jobs out.
        open_batches.sort(key=lambda b: (out.get(b, 0), b))
        ready = {b: _ready(tx, (worker_id, priority, b, now), places - len(chosen), aside) for b in open_batches}
        chosen += _round_robin(ready, places - len(chosen))
        if len(chosen) >= places:
            break
    return chosen


def _ready(tx: Tx, place: tuple[str, int, int, Instant], most: int, aside: Aside) -> list[int]:
    _, priority, batch_id, _ = place
    paused = aside.members.get(batch_id, []) if priority >= ASIDE else []
    if aside.functions or paused:
        found = tx.all(_READY_BUT, (*place, orjson.dumps(aside.functions).decode(), reading.ids(paused), most))
    else:
        found = tx.all(_READY, (*place, most))
    return [number(i) for (i,) in found]


def _round_robin(waiting: dict[int, list[int]], places: int) -> list[int]:
    """Give each batch a place in turn: who goes out first may be claimed first. What one leaves the others take."""
    in_turn = (i for rank in zip_longest(*waiting.values()) for i in rank if i is not None)
    return list(islice(in_turn, max(0, places)))
