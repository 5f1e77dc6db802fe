"""The grid of a batch: its head, and exactly the page of members with their steps that a screen shows.

Trouble comes first: failed members, those that are tried again, those at work, then the ended ones; inside each by key.
The batch's own counters say how many there are of each, so that a page of fifty thousand members reads only its own
rows. What a state looks like is told by who draws it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, cast

from tminus.domain.instant import Instant
from tminus.domain.rows import Hold
from tminus.domain.status import PRIORITY_RETRY
from tminus.progression.holds import strength
from tminus.progression.phrases import hold_sentence
from tminus.store import reading
from tminus.store.insights import batches, selection
from tminus.store.reading import fetch, maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx, Value
    from tminus.runbook.model import Runbook
    from tminus.store.applying import Context
    from tminus.store.insights.records import Record
    from tminus.store.insights.selection import Term

State = Literal[
    "none", "waiting", "ready", "sent", "running", "polling", "retry", "throttled", "done", "skipped", "inherited",
    "failed", "undone", "cancelled",
]  # fmt: skip
Undone = Literal["", "running", "clean", "failed"]


@dataclass(frozen=True, slots=True)
class Column:
    """One step of one phase."""

    phase: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One phase: where it stands on the countdown, and how many members have come through it."""

    name: str
    offset: str
    due_at: Instant | None
    status: str
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a member stands in a step; `tries` of `most` retries are spent."""

    state: State
    tries: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One member: a cell for each column, and what there is to say about it."""

    member_id: int
    key: str
    status: str
    cells: tuple[Cell, ...]
    step: str = ""
    error: str = ""
    next_at: Instant | None = None
    undone: Undone = ""
    has_left: bool = False
    has_moved: bool = False
    late: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The batch above its grid; `t0` is shown in `zone`."""

    batch_id: int
    runbook: str
    version: int
    status: str
    t0: Instant | None
    zone: str
    counts: dict[str, int]
    bars: tuple[Bar, ...]
    columns: tuple[Column, ...]
    held: tuple[str, ...] = ()
    is_paused: bool = False
    phase_starts: tuple[tuple[str, Instant], ...] = ()
    workers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some rows out of `total`, beginning with row number `first` (from 0)."""

    head: Head
    rows: tuple[Row, ...]
    first: int
    total: int


@dataclass(slots=True)
class _Found:
    """What the rows of one member say, gathered."""

    cells: dict[tuple[str, str], Cell] = field(default_factory=dict[tuple[str, str], Cell])
    lanes: dict[str, str] = field(default_factory=dict[str, str])
    inherited: set[str] = field(default_factory=set[str])
    step: str = ""
    error: str = ""
    next_at: Instant | None = None
    undone: Undone = ""


_MAY_COME: Final = ("active", "done", "failed")
_NOTHING: Final = Cell("none")
_WAITING: Final = Cell("waiting")
_INHERITED: Final = Cell("inherited")
_ENDED: Final[dict[str, State]] = {
    "succeeded": "done", "skipped": "skipped", "failed": "failed", "poll_timeout": "failed", "rolled_back": "undone",
    "cancelled": "cancelled", "polling": "polling",
}  # fmt: skip
_HOLDS: Final = """SELECT id FROM holds WHERE is_open AND scope <> 'member' AND (batch_id = ?
  OR (batch_id IS NULL AND (scope = 'all' OR runbook_name = ?))) ORDER BY id"""
_UNDONE: Final[dict[str, Undone]] = {"waiting": "running", "running": "running", "succeeded": "clean"}

_TROUBLED: Final = """SELECT DISTINCT l.member_id FROM executions e JOIN lanes l ON l.id = e.lane_id
  WHERE e.status = 'pending' AND e.ready_at IS NOT NULL AND e.worker_id = ? AND e.priority = ? AND e.batch_id = ?
    AND l.kind = 'phase' LIMIT 500"""
_FROM: Final = "FROM batch_members m JOIN batches b ON b.id = m.batch_id WHERE m.batch_id = ?"
_COUNT: Final = f"SELECT m.status, count(*) {_FROM} AND {{where}} GROUP BY m.status"
_COUNT_TROUBLED: Final = f"SELECT count(*) {_FROM} AND m.id IN {reading.IDS} AND m.status = 'active' AND {{where}}"
_ROWS: Final = f"""SELECT m.id, m.member_key, m.status, m.added_at, m.has_left, m.moved_to {_FROM} AND m.status = ?
  AND {{which}} AND {{where}} ORDER BY m.member_key, m.generation LIMIT ? OFFSET ?"""
_CELLS: Final = f"""SELECT l.member_id, l.kind, l.sequence, l.status, l.reason, l.is_inherited, e.step_name, e.status,
    e.retry_count, e.max_retries, e.retry_after, e.poll_due_at, e.error_message, e.ready_at, j.claimed_at
  FROM lanes l LEFT JOIN executions e ON e.lane_id = l.id
  LEFT JOIN messages j ON j.id = e.id AND j.topic = 'worker-jobs'
  WHERE l.member_id IN {reading.IDS} AND l.kind IN ('phase', 'rollback') ORDER BY l.id, e.step_index"""
_SECTIONS: Final = (
    ("failed", "1"), ("active", f"m.id IN {reading.IDS}"), ("active", f"m.id NOT IN {reading.IDS}"), ("done", "1"),
    ("cancelled", "1"), ("removed", "1"),
)  # fmt: skip


def head(tx: Tx, context: Context, batch_id: int) -> Head | None:
    """Return what stands above the grid of a batch, None where there is no such batch."""
    row = batches.one(tx, batch_id)
    if row is None:
        return None
    version = int(str(row["runbook_version"]))
    book = context.book(str(row["runbook_name"]), version)
    counts = cast("dict[str, int]", row["counts"])
    phases = [one for one in batches.phases(tx, batch_id) if one["runbook_version"] == version]
    stopping = [hold for hold in fetch(tx, Hold, reading.HOLDS_BY_ID, _hold_ids(tx, row)) if strength(hold) != "none"]
    return Head(
        batch_id=batch_id,
        runbook=str(row["runbook_name"]),
        version=version,
        status="cancelling" if row["is_cancelling"] and row["status"] != "cancelled" else str(row["status"]),
        t0=_instant(row["batch_start_time"]),
        zone=book.timezone,
        counts=counts,
        bars=tuple(_bar(one, book, counts) for one in phases),
        columns=tuple(Column(phase.name, step.name) for phase in book.phases for step in phase.steps),
        held=tuple(hold_sentence(hold) for hold in stopping),
        is_paused=any(hold.kind == "pause" and hold.scope == "batch" for hold in stopping),
        phase_starts=tuple(
            (str(o["phase_name"]), Instant(str(o["dispatched_at"]))) for o in phases if o["dispatched_at"]
        ),
        workers=tuple(sorted({step.worker_id for phase in book.phases for step in phase.steps})),
    )


def body(tx: Tx, context: Context, head: Head, *, first: int = 0, most: int = 50, terms: Sequence[Term] = ()) -> Page:
    """Return `most` rows from row number `first` on; past the end, the last ones."""
    where, params = selection.compiled(tuple(terms)) if terms else ("1", [])
    ids = reading.ids(_troubled(tx, head))
    counts = head.counts
    if terms:
        found = tx.all(_COUNT.replace("{where}", where), (head.batch_id, *params))
        counts = {text(status): number(count) for status, count in found}
    row = None if ids == "[]" else tx.one(_COUNT_TROUBLED.replace("{where}", where), (head.batch_id, ids, *params))
    sizes = [counts.get(status, 0) for status, _ in _SECTIONS]
    sizes[1] = 0 if row is None else number(row[0])
    sizes[2] -= sizes[1]
    total = sum(sizes)
    first = max(0, min(first, total - most))
    rows: list[tuple[Value, ...]] = []
    skip = first
    for size, (status, which) in zip(sizes, _SECTIONS, strict=True):
        if skip < size and len(rows) < most:
            sql = _ROWS.replace("{which}", which).replace("{where}", where)
            own: list[Value] = [ids] if which != "1" else []
            rows += tx.all(sql, (head.batch_id, status, *own, *params, most - len(rows), skip))
        skip = max(0, skip - size)
    return Page(head=head, rows=_rows(tx, context, head, rows), first=first, total=total)


def page(
    tx: Tx, context: Context, batch_id: int, *, first: int = 0, most: int = 50, terms: Sequence[Term] = ()
) -> Page | None:
    """Return head and rows together, None where there is no such batch."""
    found = head(tx, context, batch_id)
    return None if found is None else body(tx, context, found, first=first, most=most, terms=terms)


def _hold_ids(tx: Tx, row: Record) -> list[int]:
    found = tx.all(_HOLDS, (int(str(row["id"])), str(row["runbook_name"])))
    return [number(hold_id) for (hold_id,) in found]


def _troubled(tx: Tx, head: Head) -> list[int]:
    """Return whose steps wait to be tried again: an index has them apart, under the priority of retries."""
    found: list[int] = []
    for worker_id in head.workers:
        found += [number(i) for (i,) in tx.all(_TROUBLED, (worker_id, PRIORITY_RETRY, head.batch_id))]
    return found


def _bar(row: Record, book: Runbook, counts: dict[str, int]) -> Bar:
    name = str(row["phase_name"])
    spec = book.phases_by_name.get(name)
    opened = row["dispatched_at"] is not None
    return Bar(
        name=name,
        offset="" if spec is None else str(spec.offset),
        due_at=_instant(row["due_at"]),
        status=str(row["status"]),
        done=int(str(row["lanes_succeeded"])),
        failed=int(str(row["lanes_failed"])),
        total=int(str(row["lanes_total"]))
        if opened
        else sum(counts.get(name, 0) for name in ("active", "done", "failed")),
    )


def _rows(tx: Tx, context: Context, head: Head, members: Sequence[tuple[Value, ...]]) -> tuple[Row, ...]:
    found: dict[int, _Found] = {number(one[0]): _Found() for one in members}
    for values in tx.all(_CELLS, (reading.ids(found),)):
        _gather(found[number(values[0])], values[1:], context.now)
    return tuple(_row(head, one, found[number(one[0])]) for one in members)


def _gather(found: _Found, values: tuple[Value, ...], now: Instant) -> None:
    kind, sequence, status, _, is_inherited, step = values[:6]
    if kind == "rollback":
        found.undone = _UNDONE.get(text(status), "failed")
        return
    found.lanes[text(sequence)] = text(status)
    if is_inherited:
        found.inherited.add(text(sequence))
    if step is None:
        return
    cell = _cell(values, now)
    found.cells[text(sequence), text(step)] = cell
    message, retry_after, poll_due_at = values[11], values[9], values[10]
    if cell.state in {"failed", "undone"}:
        found.step, found.error = f"{text(sequence)}/{text(step)}", text(message)
    elif cell.state in {"retry", "throttled"}:
        found.error, found.next_at = text(message), _instant(retry_after)
    elif cell.state == "polling":
        found.next_at = _instant(poll_due_at)


def _cell(values: tuple[Value, ...], now: Instant) -> Cell:
    lane, reason, status, tries, most = values[2], values[3], text(values[6]), number(values[7]), number(values[8])
    retry_after, ready_at, claimed_at = maybe(values[9]), values[12], values[13]
    if status in _ENDED:
        return Cell(_ENDED[status], tries, most)
    if status == "dispatched":
        return Cell("sent" if claimed_at is None else "running", tries, most)
    if lane == "running" and retry_after is not None and retry_after > now:
        return Cell("throttled" if reason == "throttled" else "retry", tries, most)
    return Cell("ready" if lane == "running" and ready_at is not None else "waiting", tries, most)


def _row(head: Head, member: tuple[Value, ...], found: _Found) -> Row:
    starts = dict(head.phase_starts)
    missed = [name for name, at in starts.items() if text(member[3]) > at]
    caught_up = sum(found.lanes.get(name) == "succeeded" for name in missed)
    status = text(member[2])
    return Row(
        member_id=number(member[0]),
        key=text(member[1]),
        status=status,
        cells=tuple(_in_column(column, found, starts, status) for column in head.columns),
        step=found.step,
        error=found.error,
        next_at=found.next_at,
        undone=found.undone,
        has_left=bool(member[4]) or status == "removed",
        has_moved=member[5] is not None,
        late=(caught_up, len(missed)) if missed else None,
    )


def _in_column(column: Column, found: _Found, starts: dict[str, Instant], status: str) -> Cell:
    known = found.cells.get((column.phase, column.step))
    if known is not None:
        return known
    if column.phase in found.inherited:
        return _INHERITED
    return _WAITING if status == "active" and column.phase not in starts else _NOTHING


def _instant(value: object) -> Instant | None:
    return None if value is None else Instant(str(value))
