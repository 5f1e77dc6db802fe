"""Sweeps: due work found by index, a page at a time, as events.

A sweep only looks: it returns events with ids, and the writing transaction decides from the rows whether anything is
due. Two schedulers that find the same row do no harm; the second finds it moved. Pages are keyset pages, so that a
cohort of a hundred thousand does not hide the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.domain.instant import Instant
from tminus.progression import events as ev
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from tminus.db.connection import Tx, Value

PAGE: Final = 500

PHASES_DUE: Final = """SELECT due_at, id FROM phase_executions WHERE status = 'pending' AND due_at IS NOT NULL
  AND due_at <= ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?"""
PHASES_OPENING: Final = """SELECT '', id FROM phase_executions WHERE opening_after IS NOT NULL
  AND id > ? ORDER BY id LIMIT ?"""
POLLS_DUE: Final = """SELECT poll_due_at, id FROM executions WHERE status = 'polling' AND poll_due_at IS NOT NULL
  AND poll_due_at <= ? AND (poll_due_at, id) > (?, ?) ORDER BY poll_due_at, id LIMIT ?"""
LEASES: Final = """SELECT lease_until, id, message_id, timeout_at <= lease_until AND NOT is_draining FROM messages
  WHERE lease_until IS NOT NULL AND lease_until <= ? AND (lease_until, id) > (?, ?) ORDER BY lease_until, id LIMIT ?"""
DEADLINES: Final = """SELECT deadline_at, id FROM lanes WHERE status IN ('waiting', 'running')
  AND deadline_at IS NOT NULL AND deadline_at <= ? AND (deadline_at, id) > (?, ?) ORDER BY deadline_at, id LIMIT ?"""
EXPIRIES: Final = """SELECT expires_at, id, batch_id FROM holds WHERE is_open AND state = 'waiting'
  AND expires_at IS NOT NULL AND expires_at <= ? AND (expires_at, id) > (?, ?) ORDER BY expires_at, id LIMIT ?"""
WAKING: Final = "SELECT id, wake_after FROM batches WHERE wake_after IS NOT NULL ORDER BY id"
WAITING_LANES: Final = """SELECT id, member_id FROM lanes WHERE batch_id = ?
  AND (status = 'waiting' OR (status = 'running' AND reason IS NOT NULL)) AND id > ? ORDER BY id LIMIT ?"""
WAKE_ON: Final = "UPDATE batches SET wake_after = ? WHERE id = ? AND wake_after = ?"
ENDING: Final = "SELECT id, ending_after FROM batches WHERE ending_after IS NOT NULL ORDER BY id"
ENDING_MEMBERS: Final = "SELECT id FROM batch_members WHERE batch_id = ? AND id > ? ORDER BY id LIMIT ?"
ENDING_ON: Final = "UPDATE batches SET ending_after = ? WHERE id = ? AND ending_after = ?"
# Who goes on in a batch that is being cancelled has waited for this.
ENDING_DONE: Final = """UPDATE batches SET ending_after = NULL,
  wake_after = CASE WHEN is_cancelling AND status = 'active' THEN 0 ELSE wake_after END
  WHERE id = ? AND ending_after = ?"""
BATCHES_BEHIND: Final = """SELECT b.id, r.id, r.version, r.overdue_behavior, r.rerun_init
  FROM runbooks r CROSS JOIN batches b
  WHERE r.is_active AND b.runbook_name = r.name AND b.kind IN ('source', 'manual')
    AND b.status IN ('detected', 'init_dispatched', 'active', 'closing') AND b.status <> 'closing'
    AND b.runbook_version < r.version AND b.id > ?
    AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.batch_id = b.id AND l.member_id IS NULL AND l.kind = 'init'
      AND l.status IN ('waiting', 'running'))
  ORDER BY b.id LIMIT ?"""
ONE_WAY_PHASES: Final = """SELECT DISTINCT l.sequence FROM executions e JOIN lanes l ON l.id = e.lane_id
  WHERE e.batch_id = ? AND e.is_one_way AND e.dispatched_at IS NOT NULL AND l.kind = 'phase'"""

CURSORS: Final = """SELECT 'opening', id, opening_after FROM phase_executions WHERE opening_after IS NOT NULL
  UNION ALL SELECT 'wake', id, wake_after FROM batches WHERE wake_after IS NOT NULL
  UNION ALL SELECT 'ending', id, ending_after FROM batches WHERE ending_after IS NOT NULL"""


@dataclass(slots=True)
class Page:
    """What a sweep found, and where the next page begins (None: this was the last)."""

    events: list[ev.Event]
    after: tuple[str, int] | None


START: Final = ("", 0)


def _paged(
    tx: Tx,
    sql: str,
    now: Instant,
    after: tuple[str, int],
    make: Callable[[tuple[Value, ...]], ev.Event],
    page: int,
) -> Page:
    rows = tx.all(sql, (now, *after, page))
    last = (text(rows[-1][0]), number(rows[-1][1])) if len(rows) == page else None
    return Page([make(row) for row in rows], last)


def phases_due(tx: Tx, now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find phases whose due time has passed."""
    return _paged(tx, PHASES_DUE, now, after, lambda row: ev.PhaseDue(number(row[1])), page)


def phases_opening(tx: Tx, _now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find phases that are still being opened."""
    rows = tx.all(PHASES_OPENING, (after[1], page))
    return Page([ev.PhaseOpening(number(i)) for _, i in rows], ("", number(rows[-1][1])) if len(rows) == page else None)


def polls_due(tx: Tx, now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find polling steps to be asked or timed out."""
    return _paged(tx, POLLS_DUE, now, after, lambda row: ev.PollDue(number(row[1])), page)


def leases_ended(tx: Tx, now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find claims whose lease has ended, or whose timeout has: a lease never goes past it."""
    return _paged(tx, LEASES, now, after, _lease_event, page)


def _lease_event(row: tuple[Value, ...]) -> ev.Event:
    _, execution_id, job_id, is_timeout = row
    event = ev.JobTimedOut if is_timeout else ev.JobLost
    return event(number(execution_id), text(job_id))


def deadlines(tx: Tx, now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find lanes whose deadline has passed."""
    return _paged(tx, DEADLINES, now, after, lambda row: ev.DeadlinePassed(number(row[1])), page)


def expiries(tx: Tx, now: Instant, after: tuple[str, int] = START, page: int = PAGE) -> Page:
    """Find holds that nobody has answered in time."""
    return _paged(tx, EXPIRIES, now, after, lambda row: ev.HoldExpired(number(row[1]), number(row[2]) or None), page)


SWEEPS: Final[tuple[Callable[..., Page], ...]] = (
    leases_ended,
    deadlines,
    expiries,
    polls_due,
    phases_due,
    phases_opening,
)


def behind(tx: Tx, after: int = 0, page: int = 50) -> list[ev.VersionMove]:
    """Find live batches for which a newer version has been published."""
    found: list[ev.VersionMove] = []
    for batch_id, runbook_id, version, overdue, rerun_init in tx.all(BATCHES_BEHIND, (after, page)):
        sent = frozenset(text(name) for (name,) in tx.all(ONE_WAY_PHASES, (number(batch_id),)))
        behavior: Literal["rerun", "ignore"] = "ignore" if overdue == "ignore" else "rerun"
        found.append(
            ev.VersionMove(number(batch_id), number(runbook_id), number(version), behavior, bool(rerun_init), sent)
        )
    return found


def take_wakes(tx: Tx, page: int = PAGE) -> list[ev.Event]:
    """Take the next waiting lanes of every batch whose wake cursor is set, and move the cursor on."""
    found: list[ev.Event] = []
    going = tx.all(WAKING)
    for left, (batch_id, after) in zip(range(len(going), 0, -1), going, strict=True):
        # An equal share of what is left of the page: a large batch keeps no small one waiting.
        room = -(-(page - len(found)) // left)
        if room <= 0:
            break
        rows = tx.all(WAITING_LANES, (batch_id, after, room))
        found += _wakes(number(batch_id), rows)
        tx.run(WAKE_ON, (number(rows[-1][0]) if len(rows) == room else None, batch_id, after))
    return found


def _wakes(batch_id: int, rows: list[tuple[Value, ...]]) -> list[ev.Event]:
    members = dict.fromkeys(None if m is None else number(m) for _, m in rows)
    return [ev.Wake(batch_id, member_id) for member_id in members]


def take_endings(tx: Tx, page: int = PAGE) -> tuple[list[ev.Event], list[ev.Event]]:
    """Take the next members of every batch that ends, and move its cursor on.

    The second list settles the batches that were taken to their last member: it is decided after the first, so that it
    sees how the members have ended.
    """
    found: list[ev.Event] = []
    settled: list[ev.Event] = []
    going = tx.all(ENDING)
    for left, (batch_id, after) in zip(range(len(going), 0, -1), going, strict=True):
        room = -(-(page - len(found)) // left)
        if room <= 0:
            break
        rows = tx.all(ENDING_MEMBERS, (batch_id, after, room))
        found += [ev.MemberEnding(number(batch_id), number(i)) for (i,) in rows]
        if len(rows) < room:
            tx.run(ENDING_DONE, (batch_id, after))
            settled.append(ev.BatchSettled(number(batch_id)))
        else:
            tx.run(ENDING_ON, (number(rows[-1][0]), batch_id, after))
    return found, settled


def unfinished(tx: Tx) -> list[tuple[str, int, int]]:
    """Return every cursor that stands somewhere: its kind, its row, and its place."""
    return [(text(kind), number(row_id), number(place)) for kind, row_id, place in tx.all(CURSORS)]


def next_due(tx: Tx) -> Instant | None:
    """Return the earliest instant at which any sweep or turn will find something."""
    sql = """SELECT min(at) FROM (
      SELECT min(due_at) AS at FROM phase_executions WHERE status = 'pending' AND due_at IS NOT NULL
      UNION ALL SELECT min(poll_due_at) FROM executions WHERE status = 'polling' AND poll_due_at IS NOT NULL
      UNION ALL SELECT min(lease_until) FROM messages WHERE lease_until IS NOT NULL
      UNION ALL SELECT min(deadline_at) FROM lanes WHERE status IN ('waiting', 'running') AND deadline_at IS NOT NULL
      UNION ALL SELECT min(expires_at) FROM holds WHERE is_open AND state = 'waiting' AND expires_at IS NOT NULL)"""
    row = tx.one(sql)
    return None if row is None or row[0] is None else Instant(text(row[0]))
