"""Asking: which runbook's turn it is, who asks, and what becomes of a question without an answer.

A claim numbers the question. Whatever an answer writes is fenced by that number, so that of two processes that ask at
once the later one wins whole. A claim lasts some seconds and is renewed while its question is out or its answer is
taken: a process that dies while it asks costs those seconds, and however long a source takes nobody overtakes who waits
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import FIRST, LAST, Instant, between_s, plus
from tminus.ports.discovery import Asked, Due
from tminus.ports.source import Question, SourceError
from tminus.store.discovery import problems
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.errors import TminusError
    from tminus.runbook.model import Runbook

CLAIM_S: Final = 15.0
SILENT_S: Final = 120.0
BACKOFF_S_MAX: Final = 3600.0
BACKOFF_INTERVALS_MAX: Final = 60.0

_FROM_ENABLED: Final = """FROM runbooks r JOIN runbook_automation_settings a ON a.runbook_name = r.name
  WHERE r.is_active AND a.automation_enabled"""
DUE: Final = f"SELECT r.id, r.name, r.version {_FROM_ENABLED} AND coalesce(r.source_next_at, '') <= ? ORDER BY r.name"
NEXT_DUE: Final = f"SELECT min(coalesce(r.source_next_at, '{FIRST}')) {_FROM_ENABLED}"
_STANDS: Final = f"SELECT r.source_asks {_FROM_ENABLED} AND r.id = ?"
# What is known counts only when no other version has touched the rows since, and automation was not switched on since.
_KNOWN: Final = f"""SELECT r.source_fingerprint {_FROM_ENABLED} AND r.id = ?
  AND (a.enabled_at IS NULL OR a.enabled_at <= r.source_answered_at) AND NOT EXISTS (SELECT 1 FROM runbooks o
    WHERE o.name = r.name AND o.id <> r.id AND o.source_asked_at >= r.source_answered_at)"""
_CLAIM: Final = """UPDATE runbooks SET source_asks = source_asks + 1, source_asked_at = ?, source_next_at = ?
  WHERE id = ? AND is_active AND coalesce(source_next_at, '') <= ?"""
_RENEW: Final = "UPDATE runbooks SET source_next_at = ? WHERE id = ? AND source_asks = ? AND is_active"
_SILENT: Final = """UPDATE runbooks SET last_error = ?, last_error_at = ?
  WHERE id = ? AND source_asks = ? AND is_active AND last_error IS NOT ?"""
# A question that somebody has out is left to him; it is told from one that was answered or failed by its times.
_SOON: Final = f"""UPDATE runbooks SET source_next_at = NULL WHERE id IN (SELECT r.id {_FROM_ENABLED}
  AND r.source_next_at > ?1 AND r.source_next_at < '{LAST}' AND (?2 OR r.last_error IS NOT NULL)
  AND (r.source_asked_at <= r.source_answered_at OR r.source_asked_at <= r.last_error_at))"""
_FAIL: Final = """UPDATE runbooks SET last_error = ?, last_error_at = ?, source_failures = source_failures + 1,
  source_next_at = ? WHERE id = ? AND source_asks = ? AND is_active"""


class OvertakenError(Exception):
    """A newer question, another version or a switch has made this answer void; not an error for anybody."""


def due_runbooks(tx: Tx, now: Instant) -> list[Due]:
    """Return the runbooks whose sources may be asked now."""
    return [
        Due(runbook_id=number(i), name=text(name), version=number(version))
        for i, name, version in tx.all(DUE, (now,))
    ]  # fmt: skip


def next_due(tx: Tx) -> Instant | None:
    """Return when the next source is to be asked; what never is counts as never."""
    row = tx.one(NEXT_DUE)
    return None if row is None or row[0] in {None, LAST} else Instant(text(row[0]))


def claim(tx: Tx, due: Due, runbook: Runbook, now: Instant) -> Asked | None:
    """Claim the question about a runbook's source, None when somebody else has it or there is none to ask."""
    source = runbook.data_source
    nobody = source.type in {"manual", "event"}
    known = tx.one(_KNOWN, (due.runbook_id,))
    next_at = LAST if nobody else plus(now, CLAIM_S)
    if tx.run(_CLAIM, (now, next_at, due.runbook_id, now)) != 1 or nobody:
        return None
    row = tx.one(_STANDS, (due.runbook_id,))
    if row is None:
        return None
    return Asked(
        runbook_id=due.runbook_id,
        name=due.name,
        version=due.version,
        ask=number(row[0]),
        at=now,
        interval_s=source.interval_s,
        question=Question(data_source=source, timezone=runbook.timezone, known=maybe(known[0]) if known else None),
    )


def guard(tx: Tx, asked: Asked) -> None:
    """Raise `OvertakenError` unless this question still is the newest one about an active, enabled runbook."""
    row = tx.one(_STANDS, (asked.runbook_id,))
    if row is None or row[0] != asked.ask:
        raise OvertakenError


def renew(tx: Tx, asked: Asked, now: Instant, *, is_out: bool) -> None:
    """Keep a claim; where the question has been out for long, say on the runbook that there is no answer yet."""
    tx.run(_RENEW, (plus(now, CLAIM_S), asked.runbook_id, asked.ask))
    if is_out and between_s(asked.at, now) >= SILENT_S:
        error = str(SourceError("E366", f"no answer to the question of {asked.at}", hint="it is still waited for"))
        tx.run(_SILENT, (error, now, asked.runbook_id, asked.ask, error))


def ask_soon(tx: Tx, now: Instant, *, failed_only: bool) -> None:
    """Let sources be asked now and not when their time has come: those that failed, or all."""
    tx.run(_SOON, (now, not failed_only))


def fail(tx: Tx, due: Due | Asked, error: TminusError, now: Instant, interval_s: float) -> None:
    """Keep an error on the runbook and ask later: after an interval, then twice as long each time.

    The longest pause is sixty intervals, or an hour: who wants to be asked every second is not left alone for an hour.
    """
    row = tx.one("SELECT source_failures, source_asks FROM runbooks WHERE id = ?", (due.runbook_id,))
    failures, ask = (number(value) for value in row) if row else (0, 0)
    most_s = max(interval_s, min(BACKOFF_S_MAX, interval_s * BACKOFF_INTERVALS_MAX))
    delay_s = min(interval_s * 2.0 ** min(failures, 30), most_s)
    mine = due.ask if isinstance(due, Asked) else ask
    changed = tx.run(_FAIL, (str(error), now, plus(now, delay_s), due.runbook_id, mine))
    if changed and isinstance(error, SourceError):
        problems.replace_rows(tx, due.name, error.problems, (), now)
