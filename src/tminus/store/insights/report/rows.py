"""The members of a batch as a report lists them: pages of rows, each with where it stands in every phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.runbook.masking import masked
from tminus.store.insights.records import PAGE, Record, plain, records
from tminus.store.reading import IDS, ids, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from tminus.db.connection import Tx, Value

# Trouble first: a reader of fifty thousand rows begins at the top.
ORDER: Final = ("failed", "active", "cancelled", "removed", "done")

_MEMBER: Final = (
    *plain("id", "member_key", "generation", "status", "added_at", "failed_at", "removed_at", "ended_at", of="m"),
    ("is_late", "m.added_at > b.detected_at AND m.inherits_from IS NULL AND m.generation = 1"),
    ("is_back", "m.generation > 1 AND m.inherits_from IS NULL"),
    ("is_missing", "m.has_left AND m.status <> 'removed'"),
    ("from_batch", "(SELECT o.batch_id FROM batch_members o WHERE o.id = m.inherits_from)"),
    ("to_batch", "(SELECT n.batch_id FROM batch_members n WHERE n.id = m.moved_to)"),
)
_MEMBERS: Final = f"""SELECT {{columns}} FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.batch_id = ? AND (m.member_key, m.generation) > (?, ?) AND (? IS NULL OR m.status = ?)
  ORDER BY m.member_key, m.generation LIMIT {PAGE}"""
_LANES: Final = f"""SELECT l.member_id, l.kind, l.sequence, l.status, l.is_inherited FROM lanes l
  WHERE l.member_id IN {IDS} ORDER BY l.id"""
_TRIES: Final = f"""SELECT l.member_id, sum(e.retry_count) FROM lanes l JOIN executions e ON e.lane_id = l.id
  WHERE l.member_id IN {IDS} AND l.kind = 'phase' AND e.retry_count > 0 GROUP BY 1"""
_FAILED: Final = f"""SELECT l.member_id, l.sequence, e.step_name, e.error_type, e.error_message
  FROM lanes l JOIN executions e ON e.lane_id = l.id AND e.status IN ('failed', 'poll_timeout', 'rolled_back')
  WHERE l.member_id IN {IDS} AND l.kind = 'phase' ORDER BY e.completed_at, e.id"""
_CLEANED: Final = {"succeeded": "clean", "failed": "not clean", "waiting": "running", "running": "running"}


def rows(
    reading: Callable[[], AbstractContextManager[Tx]], batch_id: int, statuses: Sequence[str | None] = ORDER
) -> Iterator[list[Record]]:
    """Yield the members by pages, one status after the other and by key inside each; None is every status at once."""
    for status in statuses:
        after: tuple[Value, Value] = ("", 0)
        while True:
            with reading() as tx:
                found = records(tx, _MEMBER, _MEMBERS, (batch_id, *after, status, status))
                page = _whole(tx, found)
            if page:
                yield page
                after = (str(found[-1]["member_key"]), int(str(found[-1]["generation"])))
            if len(page) < PAGE:
                break


def _whole(tx: Tx, members: Sequence[Record]) -> list[Record]:
    wanted = ids(int(str(one["id"])) for one in members)
    phases: dict[int, dict[str, str]] = {}
    cleaned: dict[int, dict[str, str]] = {}
    for member_id, kind, sequence, status, is_inherited in tx.all(_LANES, (wanted,)):
        if kind == "phase":
            state = "inherited" if is_inherited else text(status)
            phases.setdefault(number(member_id), {})[text(sequence)] = state
        elif kind in {"rollback", "removal"}:
            cleaned.setdefault(number(member_id), {})[text(kind)] = _CLEANED.get(text(status), "cancelled")
    tries = {number(member_id): number(count) for member_id, count in tx.all(_TRIES, (wanted,))}
    # The last failure is the one that counts.
    failed = {number(row[0]): row[1:] for row in tx.all(_FAILED, (wanted,))}
    return [_row(one, phases, cleaned, tries, failed) for one in members]


def _row(
    member: Record,
    phases: dict[int, dict[str, str]],
    cleaned: dict[int, dict[str, str]],
    tries: dict[int, int],
    failed: dict[int, tuple[Value, ...]],
) -> Record:
    member_id = int(str(member["id"]))
    told = {key: value for key, value in member.items() if key != "id"}
    phase, step, kind, message = failed.get(member_id, (None,) * 4) if member["status"] == "failed" else (None,) * 4
    return told | {
        "phases": phases.get(member_id, {}),
        "failed_step": None if step is None else f"{text(phase)}/{text(step)}",
        "error_type": kind,
        "error_message": None if message is None else masked(text(message)),
        "retries": tries.get(member_id, 0),
        "rollback": cleaned.get(member_id, {}).get("rollback", ""),
        "removal": cleaned.get(member_id, {}).get("removal", ""),
    }
