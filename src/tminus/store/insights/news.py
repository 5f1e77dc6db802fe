"""What has happened that somebody who watches would want to hear: little, however much has happened.

Batches made and ended, members that failed, came or went, holds that opened, sources that fail. What comes in floods is
counted where it lies, and only the first few of it are read. A look reads on from the marks of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tminus.store.insights import sources
from tminus.store.insights.records import Record, plain, records
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.store.insights.sources import Untaken

MOST: Final = 20
FEW: Final = 3

_BATCH: Final = (
    *plain("id", "runbook_name", "status", "batch_start_time", "detected_at"),
    ("members", "members_active + members_done + members_failed + members_removed + members_cancelled"),
)
_MADE: Final = f"SELECT {{columns}} FROM batches WHERE id > ? ORDER BY id LIMIT {MOST}"
_ENDING: Final = (
    ("at", "v.at"),
    ("batch_id", "v.batch_id"),
    ("runbook_name", "b.runbook_name"),
    ("status", "v.to_status"),
    ("counts_json", "b.counts"),
)
_ENDED: Final = f"""SELECT {{columns}} FROM events v JOIN batches b ON b.id = v.batch_id
  WHERE v.id > ? AND v.id <= ? AND v.entity = 'batch' AND (v.to_status IN ('completed', 'failed', 'cancelled')
  OR v.from_status IN ('completed', 'failed')) ORDER BY v.id LIMIT {MOST}"""
_FAILED: Final = f"""SELECT batch_id, count(*) FROM events WHERE id > ? AND id <= ? AND entity = 'member'
  AND to_status = 'failed' GROUP BY batch_id ORDER BY min(id) LIMIT {MOST}"""
_FAILURE: Final = (
    ("at", "v.at"),
    ("batch_id", "v.batch_id"),
    ("member_key", "m.member_key"),
    ("cause", "v.cause"),
    (
        "error_message",
        """(SELECT e.error_message FROM lanes l JOIN executions e ON e.lane_id = l.id WHERE l.member_id = m.id
        AND l.kind = 'phase' AND e.error_message IS NOT NULL ORDER BY e.id DESC LIMIT 1)""",
    ),
)
_FAILURES: Final = f"""SELECT {{columns}} FROM events v JOIN batch_members m ON m.id = v.member_id
  WHERE v.id > ? AND v.id <= ? AND v.batch_id = ? AND v.entity = 'member' AND v.to_status = 'failed'
  ORDER BY v.id LIMIT {FEW}"""
_HOLD: Final = (
    *plain("id", "kind", "batch_id", "reason", "opened_at", of="h"),
    ("member_key", "m.member_key"),
    ("phase_name", "p.phase_name"),
)
_OPENED: Final = f"""SELECT {{columns}} FROM holds h LEFT JOIN batch_members m ON m.id = h.member_id
  LEFT JOIN phase_executions p ON p.id = h.phase_id WHERE h.id > ? AND h.is_open ORDER BY h.id LIMIT {MOST}"""
_SOURCES: Final = f"""SELECT name, last_error, coalesce(source_next_at, '') FROM runbooks
  WHERE is_active AND last_error IS NOT NULL ORDER BY name LIMIT {MOST}"""
_NEWEST: Final = """SELECT (SELECT coalesce(max(id), 0) FROM events), (SELECT coalesce(max(id), 0) FROM batches),
  (SELECT coalesce(max(id), 0) FROM holds), (SELECT coalesce(max(id), 0) FROM batch_members)"""
# Whom a batch was made with is told with the batch, and whoever moved here with the batch that he left.
_CAME: Final = f"""SELECT batch_id, count(*), min(member_key) FROM batch_members
  WHERE id > ? AND id <= ? AND batch_id <= ? AND inherits_from IS NULL
  GROUP BY batch_id ORDER BY batch_id LIMIT {MOST}"""
_WENT: Final = f"""SELECT v.batch_id, v.cause, h.batch_id, count(*), min(m.member_key) FROM events v
  JOIN batch_members m ON m.id = v.member_id LEFT JOIN batch_members h ON h.id = m.moved_to
  WHERE v.id > ? AND v.id <= ? AND v.entity = 'member' AND v.to_status = 'removed'
  GROUP BY v.batch_id, v.cause, h.batch_id ORDER BY v.batch_id LIMIT {MOST}"""
_TOTALS: Final = "SELECT status, count(*), sum(members_failed) FROM batches GROUP BY status ORDER BY status"
_NEXT: Final = """SELECT (SELECT max(id) FROM batches WHERE members_failed > 0),
  (SELECT max(id) FROM holds WHERE is_open), (SELECT count(*) FROM holds WHERE is_open)"""


@dataclass(frozen=True, slots=True)
class Passed:
    """Members of one batch that came or went for one cause; `first` is the key of one of them."""

    batch: int
    cause: str
    count: int
    first: str
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """How far has been read, and which errors of sources have been told."""

    event: int = 0
    batch: int = 0
    hold: int = 0
    member: int = 0
    sources: tuple[tuple[str, str], ...] = ()
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """When each source has answered, as far as that has been looked at."""
    untaken: dict[str, Untaken] = field(default_factory=dict["str", "Untaken"])
    """What has been told of the rows and keys that no batch follows."""


@dataclass(slots=True)
class News:
    """What has happened between two marks."""

    made: list[Record] = field(default_factory=list[Record])
    ended: list[Record] = field(default_factory=list[Record])
    failed: list[tuple[int, int, list[Record]]] = field(default_factory=list["tuple[int, int, list[Record]]"])
    """By batch how many members failed, and the first few."""
    passed: list[Passed] = field(default_factory=list[Passed])
    """Members that joined batches which were there already, that left, and that moved."""
    holds: list[Record] = field(default_factory=list[Record])
    source_errors: list[tuple[str, str, str]] = field(default_factory=list["tuple[str, str, str]"])
    """Runbook, what its source said, and when it is asked again."""
    source_mended: list[str] = field(default_factory=list[str])
    untaken: list[Untaken] = field(default_factory=list["Untaken"])
    """Sources whose answers hold rows or keys that no batch follows, or none any more."""
    unread: int = 0
    """How many batches and holds there were beyond those."""


def newest(tx: Tx) -> Marks:
    """Return the marks behind everything that has happened."""
    row = tx.one(_NEWEST) or (0, 0, 0, 0)
    return Marks(number(row[0]), number(row[1]), number(row[2]), number(row[3]))


def since(tx: Tx, marks: Marks) -> tuple[News, Marks]:
    """Return what has happened since, and the marks behind it."""
    now = newest(tx)
    found = News()
    if now.batch > marks.batch:
        found.made = records(tx, _BATCH, _MADE, (marks.batch,))
        found.unread += max(0, now.batch - marks.batch - MOST)
    if now.event > marks.event:
        found.ended = records(tx, _ENDING, _ENDED, (marks.event, now.event))
        for batch, count in tx.all(_FAILED, (marks.event, now.event)):
            few = records(tx, _FAILURE, _FAILURES, (marks.event, now.event, batch))
            found.failed.append((number(batch), number(count), few))
        for batch, cause, to, count, first in tx.all(_WENT, (marks.event, now.event)):
            target = None if to is None else number(to)
            found.passed.append(Passed(number(batch), text(cause), number(count), text(first), target))
    if now.member > marks.member:
        for batch, count, first in tx.all(_CAME, (marks.member, now.member, marks.batch)):
            found.passed.append(Passed(number(batch), "joined", number(count), text(first)))
    if now.hold > marks.hold:
        found.holds = records(tx, _HOLD, _OPENED, (marks.hold,))
        found.unread += max(0, now.hold - marks.hold - MOST)
    errors = [(text(name), text(said), text(again)) for name, said, again in tx.all(_SOURCES)]
    told = set(marks.sources)
    found.source_errors = [one for one in errors if (one[0], one[1]) not in told]
    failing = {name for name, _, _ in errors}
    found.source_mended = sorted({name for name, _ in told} - failing)
    answers, stand = sources.answers(tx), dict(marks.untaken)
    for name, at in answers.items():
        if marks.answers.get(name) != at:
            one, before = sources.untaken(tx, name), stand.get(name)
            if one != before and (one.anything or (before is not None and before.anything)):
                found.untaken.append(one)
            stand[name] = one
    said_of = tuple((name, said) for name, said, _ in errors)
    return found, replace(now, sources=said_of, answers=answers, untaken=stand)


def newest_version(tx: Tx) -> int:
    """Return a number that grows with each version that is published."""
    row = tx.one("SELECT coalesce(max(id), 0) FROM runbooks")
    return number(row[0]) if row else 0


def totals(tx: Tx) -> Record:
    """Return how many batches there are by status, how many members failed, and what to look at next."""
    rows = tx.all(_TOTALS)
    failed_batch, hold, holds = tx.one(_NEXT) or (None, None, 0)
    return {
        "batches": {text(status): number(count) for status, count, _ in rows},
        "members_failed": sum(number(failed or 0) for _, _, failed in rows),
        "holds": number(holds),
        "failed_batch": failed_batch,
        "hold": hold,
    }
