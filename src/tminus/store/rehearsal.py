"""The store in which a runbook is rehearsed: the same rows and transactions, and a few looks more.

A rehearsal jumps from instant to instant, so that the next one must be found among everything that is planned, also
behind what is overdue and held. Jobs come with the step that they are of, and people are played. Nothing here decides
anything, and no method of the store is another one than in production.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import Instant, plus
from tminus.ports.rehearsal import Part
from tminus.store.reading import ids, maybe, number, text
from tminus.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.progression import events as ev
    from tminus.runbook.model import Runbook, Step

_NEXT: Final = """SELECT min(at) FROM (
  SELECT min(due_at) AS at FROM phase_executions WHERE status = 'pending' AND due_at IS NOT NULL AND due_at > ?1
  UNION ALL SELECT min(poll_due_at) FROM executions
    WHERE status = 'polling' AND poll_due_at IS NOT NULL AND poll_due_at > ?1
  UNION ALL SELECT min(ready_at) FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL AND ready_at > ?1
  UNION ALL SELECT min(lease_until) FROM messages WHERE lease_until IS NOT NULL AND lease_until > ?1
  UNION ALL SELECT min(deadline_at) FROM lanes
    WHERE status IN ('waiting', 'running') AND deadline_at IS NOT NULL AND deadline_at > ?1
  UNION ALL SELECT min(expires_at) FROM holds
    WHERE is_open AND state = 'waiting' AND expires_at IS NOT NULL AND expires_at > ?1)"""
_RATED: Final = """SELECT max(per_minute) FROM limits WHERE per_minute IS NOT NULL AND EXISTS (
  SELECT 1 FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL AND ready_at <= ?)"""
_PARTS: Final = """SELECT e.id, e.batch_id, e.step_name, l.kind, l.sequence, l.runbook_version, b.runbook_name,
    m.member_key FROM executions e JOIN lanes l ON l.id = e.lane_id JOIN batches b ON b.id = e.batch_id
  LEFT JOIN batch_members m ON m.id = l.member_id WHERE e.id IN (SELECT value FROM json_each(?))"""
_GATES: Final = "SELECT id, batch_id FROM holds WHERE is_open AND kind = 'gate' AND state = 'waiting' ORDER BY id"
_UNTIMED: Final = """SELECT id FROM batches WHERE batch_start_time IS NULL AND kind = 'manual'
  AND status IN ('detected', 'init_dispatched', 'active') ORDER BY id"""
_SECOND_S: Final = 1.0


class RehearsalStore(Store):
    """A store with the looks that a rehearsal needs."""

    def next_after(self, now: Instant) -> Instant | None:
        """Return the earliest instant behind `now` at which anything may happen by itself."""
        with self.database.read() as tx:
            found = [_instant(tx, _NEXT, now), _token(tx, now)]
        return min((at for at in found if at is not None), default=None)

    def parts(self, execution_ids: Sequence[int]) -> dict[int, Part]:
        """Return which steps these executions are."""
        found: dict[int, Part] = {}
        with self.database.read() as tx:
            for i, batch, step, kind, sequence, version, runbook, key in tx.all(_PARTS, (ids(execution_ids),)):
                book = self._book(tx, text(runbook), number(version))
                found[number(i)] = Part(
                    execution_id=number(i),
                    batch_id=number(batch),
                    kind=text(kind),
                    sequence=text(sequence) if kind == "phase" else text(kind),
                    member_key=maybe(key),
                    step=_step(book, text(kind), text(sequence), text(step)),
                )
        return found

    def written(self) -> int:
        """Return a number that grows whenever a row is written."""
        with self.database.read() as tx:
            row = tx.one("SELECT total_changes()")
        return number(row[0]) if row else 0

    def open_gates(self) -> Sequence[tuple[int, int | None]]:
        """Return hold and batch of every gate that waits for an answer."""
        with self.database.read() as tx:
            return [(number(i), number(batch) or None) for i, batch in tx.all(_GATES)]

    def untimed(self) -> Sequence[int]:
        """Return the open batches that have no T-0 and wait to be advanced."""
        with self.database.read() as tx:
            return [number(i) for (i,) in tx.all(_UNTIMED)]

    def command(self, command: ev.AnswerHold | ev.Advance) -> bool:
        """Give the command of a person who is played; tell whether it was done."""
        return any(reply.ok for reply in self.round([command], turn=False).replies)


def _instant(tx: Tx, sql: str, now: Instant) -> Instant | None:
    row = tx.one(sql, (now,))
    return None if row is None or row[0] is None else Instant(text(row[0]))


def _token(tx: Tx, now: Instant) -> Instant | None:
    """Return when the next job may go out that a rate holds back; never sooner than in a second."""
    row = tx.one(_RATED, (now,))
    if row is None or row[0] is None:
        return None
    return plus(now, max(_SECOND_S, 60.0 / max(1, number(row[0]))))


def _step(book: Runbook, kind: str, sequence: str, name: str) -> Step:
    """Find a step by its name in the list that its lane passes; a rollback on demand passes several."""
    lists = {
        "init": book.init,
        "removal": book.on_member_removed,
        "member_failed": book.on_member_failed,
        "finish": book.on_batch_finished,
        "rollback": tuple(step for steps in book.rollbacks.values() for step in steps),
    }
    steps = book.phases_by_name[sequence].steps if kind == "phase" else lists[kind]
    return next(step for step in steps if step.name == name)
