"""Members as a face shows them: those of a batch, one life over all batches, and those that a selection names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.store.insights import selection
from tminus.store.insights.records import PAGE, Record, paged, plain, record, records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.db.connection import Database, Tx, Value
    from tminus.store.insights.selection import Term

_FAILED: Final = """(SELECT {what} FROM lanes l JOIN executions e ON e.lane_id = l.id
  WHERE l.member_id = m.id AND l.kind = 'phase' AND e.status IN ('failed', 'poll_timeout', 'rolled_back')
  ORDER BY e.id DESC LIMIT 1)"""
_MEMBER: Final = (
    *plain("id", "batch_id", of="m"),
    ("runbook_name", "b.runbook_name"),
    *plain("member_key", "generation", "status", of="m"),
    ("failed_step", _FAILED.replace("{what}", "l.sequence || '/' || e.step_name")),
    ("error_message", _FAILED.replace("{what}", "e.error_message")),
    *plain("added_at", "failed_at", "removed_at", "ended_at", "moved_to", of="m"),
)
_WHOLE: Final = (*_MEMBER, *plain("data_json", "worker_data_json", "pinned_json", of="m"))
_FROM: Final = "SELECT {columns} FROM batch_members m JOIN batches b ON b.id = m.batch_id"
_OF_BATCH: Final = f"""{_FROM} WHERE m.batch_id = ? AND (m.member_key, m.generation) > (?, ?)
  ORDER BY m.member_key, m.generation LIMIT ?"""
_BY_KEY: Final = f"{_FROM} WHERE m.member_key = ? ORDER BY m.id DESC LIMIT 200"
_BY_ID: Final = f"{_FROM} WHERE m.id = ?"
_LIKE: Final = """SELECT DISTINCT member_key FROM batch_members WHERE instr(lower(member_key), lower(?)) > 0
  ORDER BY member_key LIMIT 5"""
_CANDIDATES: Final = """SELECT m.id, m.batch_id, b.status IN ('detected', 'init_dispatched', 'active', 'closing')
    AND m.moved_to IS NULL AND m.status <> 'removed'
  FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.member_key = ? AND (? IS NULL OR m.batch_id = ?) ORDER BY m.id DESC"""
_NEWEST: Final = """m.moved_to IS NULL AND NOT EXISTS (SELECT 1 FROM batch_members n
  WHERE n.batch_id = m.batch_id AND n.member_key = m.member_key AND n.generation > m.generation)"""
_SELECTED: Final = f"""SELECT m.id, m.member_key FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.id > ? AND {_NEWEST} AND {{where}} ORDER BY m.id LIMIT ?"""
_PAST_ONE_WAY: Final = """SELECT DISTINCT m.member_key FROM executions e JOIN lanes l ON l.id = e.lane_id
  JOIN batch_members m ON m.id = l.member_id
  WHERE e.batch_id = ? AND e.is_one_way AND e.dispatched_at IS NOT NULL AND m.status = 'active' ORDER BY 1"""
_KEYS: Final = "SELECT member_key FROM batch_members WHERE id IN (SELECT value FROM json_each(?))"
_LIVE: Final = "b.status IN ('detected', 'init_dispatched', 'active', 'closing')"
_MOVE: Final = (
    *plain("id", "at", "batch_id", of="v"),
    ("generation", "m.generation"),
    *plain("entity", "entity_id", of="v"),
    ("phase_name", "(SELECT l.sequence FROM lanes l WHERE l.id = coalesce(e.lane_id, n.id))"),
    ("step_name", "e.step_name"),
    *plain("from_status", "to_status", "attempt", "cause", "actor", "detail", of="v"),
)
_HISTORY: Final = """SELECT {columns} FROM batch_members m
  JOIN events v ON v.batch_id = m.batch_id AND v.member_id = m.id
  LEFT JOIN executions e ON v.entity = 'execution' AND e.id = v.entity_id
  LEFT JOIN lanes n ON v.entity = 'lane' AND n.id = v.entity_id
  WHERE m.member_key = ? AND (? IS NULL OR m.batch_id = ?) AND v.id > ? ORDER BY v.id LIMIT ?"""


def history(database: Database, key: str, batch_id: int | None = None) -> Iterator[list[Record]]:
    """Yield every move of a key by pages, over all of its batches or in one."""

    def page(after: int) -> list[Record]:
        with database.read() as tx:
            return records(tx, _MOVE, _HISTORY, (key, batch_id, batch_id, after, PAGE))

    return paged(page)


def of_batch(database: Database, batch_id: int) -> Iterator[list[Record]]:
    """Yield the members of a batch by pages, in the order of their keys."""
    after: tuple[Value, Value] = ("", 0)
    while True:
        with database.read() as tx:
            found = records(tx, _MEMBER, _OF_BATCH, (batch_id, *after, PAGE))
        if found:
            yield found
            after = (str(found[-1]["member_key"]), int(str(found[-1]["generation"])))
        if len(found) < PAGE:
            return


def by_key(tx: Tx, key: str) -> list[Record]:
    """Return every row of a key, newest first: one for each batch and generation."""
    return records(tx, _MEMBER, _BY_KEY, (key,))


def one(tx: Tx, member_id: int) -> Record | None:
    """Return a member with its data."""
    return record(tx, _WHOLE, _BY_ID, (member_id,))


def alike(tx: Tx, text: str) -> list[str]:
    """Return a few keys that hold a text."""
    return [str(key) for (key,) in tx.all(_LIKE, (text,))]


def meant(tx: Tx, key: str, batch_id: int | None = None) -> int:
    """Return the row that a key means: the one in the open batch, else the newest; two open batches are refused."""
    found = tx.all(_CANDIDATES, (key, batch_id, batch_id))
    if not found:
        where = "" if batch_id is None else f" in batch {batch_id}"
        near = alike(tx, key)
        hint = f"did you mean {', '.join(near)}?" if near else "`tminus find` looks in all batches"
        raise TminusError("E404", f"there is no such member{where}", place=key, hint=hint)
    live: dict[int, int] = {}
    for member_id, home, is_open in found:
        if is_open:
            live.setdefault(int(home or 0), int(member_id or 0))
    if len(live) > 1:
        listed = " and ".join(str(home) for home in sorted(live))
        raise TminusError("E405", f"the key lives in batches {listed}", place=key, hint="name one with --batch")
    return next(iter(live.values()), int(found[0][0] or 0))


def selected(database: Database, terms: tuple[Term, ...], batch_id: int | None = None) -> list[tuple[int, str]]:
    """Return id and key of whom a selection names: in one batch, or without one in the open batches."""
    where, params = selection.compiled(terms)
    if batch_id is not None:
        where, params = f"m.batch_id = ? AND {where}", [batch_id, *params]
    elif not selection.names(terms, "batch"):
        where = f"{_LIVE} AND {where}"
    sql = _SELECTED.replace("{where}", where)
    found: list[tuple[int, str]] = []
    after = 0
    while True:
        with database.read() as tx:
            page = [(int(i or 0), str(key)) for i, key in tx.all(sql, (after, *params, PAGE))]
        found += page
        if len(page) < PAGE:
            return found
        after = page[-1][0]


def past_one_way(tx: Tx, batch_id: int) -> list[str]:
    """Return the keys of a batch's active members for whom there is no way back."""
    return [str(key) for (key,) in tx.all(_PAST_ONE_WAY, (batch_id,))]


def keys(tx: Tx, ids: Sequence[int]) -> set[str]:
    """Return the keys of these rows."""
    return {str(key) for (key,) in tx.all(_KEYS, (str(list(ids)),))}
