"""Claims: a worker takes jobs, keeps its leases alive, and gives back what it could not do.

Taking is fair as well: among what is unclaimed at a worker id the batches take turns, within the order of priority. A
claim looks at the holds again, so that a pause stops what is out but not taken. A lease is never renewed past the
step's timeout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import plus
from tminus.store.blocked import blocked_batches
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

LEASE_S: Final = 30.0

_WAITING: Final = """SELECT DISTINCT batch_id FROM messages
  WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL"""
_TAKE: Final = """SELECT t.id, t.execution_id, t.message_id, t.function_name, t.body, t.delivery, t.timeout_sec,
    t.is_poll, e.params_json, e.attempt, t.batch_id, m.member_key FROM (
    SELECT *, row_number() OVER (PARTITION BY priority, batch_id ORDER BY id) AS turn FROM messages
    WHERE topic = 'worker-jobs' AND route = ? AND claimed_at IS NULL
      AND (priority < 3 OR is_poll OR batch_id NOT IN (SELECT value FROM json_each(?)))
      AND (priority < 3 OR is_poll OR NOT EXISTS (SELECT 1 FROM holds h WHERE h.is_open AND h.scope = 'member'
        AND h.kind = 'pause' AND h.batch_id = messages.batch_id AND h.member_id = messages.member_id)))
  t JOIN executions e ON e.id = t.id LEFT JOIN batch_members m ON m.id = t.member_id
  ORDER BY t.priority, t.turn, t.created_at, t.id LIMIT ?"""
_CLAIM: Final = """UPDATE messages SET claimed_by = ?, claimed_at = ?, lease_until = ?, timeout_at = ?
  WHERE id = ? AND claimed_at IS NULL"""
_BEAT: Final = """UPDATE messages SET lease_until = min(?, coalesce(timeout_at, ?))
  WHERE id = ? AND message_id = ? AND claimed_by = ?"""
_RETURN: Final = """UPDATE messages SET claimed_by = NULL, claimed_at = NULL, lease_until = NULL, timeout_at = NULL
  WHERE id = ? AND message_id = ? AND claimed_by = ? AND NOT is_draining"""
_RELEASE: Final = """UPDATE messages SET lease_until = ? WHERE topic = 'worker-jobs' AND claimed_by = ?
  AND lease_until > ?"""


@dataclass(slots=True)
class Claim:
    """What a worker takes: a job with the id of its execution, its body, and how often it was delivered."""

    execution_id: int
    job_id: str
    function: str
    body: str
    delivery: int
    timeout_s: float
    is_poll: bool
    params_json: str = "{}"
    attempt: int = 0
    batch_id: int = 0
    member_key: str | None = None


def claim(tx: Tx, worker_id: str, worker: str, most: int, now: Instant, lease_s: float = LEASE_S) -> list[Claim]:
    """Take up to `most` unclaimed jobs of a worker id."""
    if most <= 0:
        return []
    waiting = [number(b) for (b,) in tx.all(_WAITING, (worker_id,))]
    if not waiting:
        return []
    blocked = orjson.dumps(sorted(blocked_batches(tx, waiting))).decode()
    found = tx.all(_TAKE, (worker_id, blocked, most))
    ends: dict[float, Instant] = {}
    params: list[tuple[str | int, ...]] = []
    taken: list[Claim] = []
    for row_id, execution_id, job_id, function, body, delivery, timeout, is_poll, sent, attempt, batch, key in found:
        timeout_s = float(timeout or 0)
        timeout_at = ends.get(timeout_s) or ends.setdefault(timeout_s, plus(now, timeout_s))
        lease = min(ends.get(-1.0) or ends.setdefault(-1.0, plus(now, lease_s)), timeout_at)
        params.append((worker, now, lease, timeout_at, number(row_id)))
        taken.append(
            Claim(
                number(execution_id),
                text(job_id),
                text(function),
                text(body),
                number(delivery),
                timeout_s,
                bool(is_poll),
                text(sent) or "{}",
                number(attempt),
                number(batch),
                maybe(key),
            )
        )
    tx.many(_CLAIM, params)
    return taken


def beat(tx: Tx, worker: str, jobs: Sequence[tuple[int, str]], now: Instant, lease_s: float = LEASE_S) -> None:
    """Keep the leases of the jobs that a worker still runs."""
    until = plus(now, lease_s)
    tx.many(_BEAT, [(until, until, execution_id, job_id, worker) for execution_id, job_id in jobs])


def give_back(tx: Tx, worker: str, jobs: Sequence[tuple[int, str]]) -> int:
    """Put jobs back that a worker has not done and is not doing; others may take them at once."""
    return tx.many(_RETURN, [(execution_id, job_id, worker) for execution_id, job_id in jobs])


def release(tx: Tx, worker: str, now: Instant) -> int:
    """End the leases of a worker that is known to be dead; the sweep does the rest."""
    return tx.run(_RELEASE, (now, worker, now))


def claimed_workers(tx: Tx) -> list[str]:
    """Return the names of all workers that hold jobs."""
    sql = "SELECT DISTINCT claimed_by FROM messages WHERE lease_until IS NOT NULL AND claimed_by IS NOT NULL"
    return [text(name) for (name,) in tx.all(sql)]


def out_ids(tx: Tx) -> list[int]:
    """Return the executions that have a job out (for tests and `doctor`)."""
    sql = "SELECT execution_id FROM messages WHERE topic = 'worker-jobs' ORDER BY execution_id"
    return [number(i) for (i,) in tx.all(sql)]
