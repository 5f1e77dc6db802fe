"""How a batch went, as one record: what stands above the rows of its members.

It is read from one snapshot, because a report whose counts do not add up is believed by nobody. Lists are cut where a
reader stops reading; how many there are in all always stands beside them.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, cast

from tminus.domain.instant import Instant, between_s
from tminus.runbook.masking import masked
from tminus.store.insights import batches, failures
from tminus.store.insights.records import Record, plain, records
from tminus.store.insights.report import acts, passage
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.runbook.model import Runbook
    from tminus.store.applying import Context

NAMED: Final = 200
OPEN: Final = frozenset({"detected", "init_dispatched", "active", "closing"})

_TROUBLE: Final = """SELECT l.phase_id, a.outcome, count(*) FROM batch_members m
  JOIN lanes l ON l.member_id = m.id AND l.kind = 'phase' JOIN executions e ON e.lane_id = l.id
  JOIN attempt_rows a ON a.execution_id = e.id WHERE m.batch_id = ? AND a.outcome <> 'succeeded' GROUP BY 1, 2"""
# A phase that somebody joins later is completed once more; how long it took is told by the first time.
_FIRST: Final = """SELECT v.entity_id, min(v.at) FROM events v WHERE v.batch_id = ? AND v.member_id IS NULL
  AND v.entity = 'phase' AND v.to_status IN ('completed', 'failed') GROUP BY 1"""
_VERSIONS: Final = """SELECT {columns} FROM runbooks r WHERE r.name = ? AND r.version IN
  (SELECT runbook_version FROM phase_executions WHERE batch_id = ? UNION SELECT ?) ORDER BY r.version"""
_CLEANING: Final = """SELECT l.kind, l.sequence, l.status, count(DISTINCT m.id) FROM batch_members m
  JOIN lanes l ON l.member_id = m.id AND l.kind IN ('rollback', 'removal', 'member_failed')
  WHERE m.batch_id = ? GROUP BY 1, 2, 3"""
_CLEANED: Final = f"""SELECT m.member_key FROM batch_members m JOIN lanes l ON l.member_id = m.id
  WHERE m.batch_id = ? AND l.kind = ? AND l.sequence = ? AND l.status = ? ORDER BY m.member_key LIMIT {NAMED}"""
# Of those that failed, whose rollback ended well; of all, whom it was done for.
_ROLLED_BACK: Final = """SELECT count(*), coalesce(sum(m.status = 'failed'), 0) FROM batch_members m
  WHERE m.batch_id = ?1 AND m.id IN (SELECT l.member_id FROM batch_members n
    JOIN lanes l ON l.member_id = n.id AND l.kind = 'rollback' AND l.status = 'succeeded' WHERE n.batch_id = ?1)"""
_OWN: Final = """SELECT {columns} FROM lanes l WHERE l.batch_id = ? AND l.member_id IS NULL ORDER BY l.id LIMIT 100"""
_LANE: Final = (
    *plain("kind", "sequence", "runbook_version", "round", "status", "started_at", "closed_at", of="l"),
    (
        "error_message",
        "(SELECT e.error_message FROM executions e WHERE e.lane_id = l.id AND e.error_message IS NOT NULL LIMIT 1)",
    ),
)
_STATE: Final = {"succeeded": "clean", "failed": "not clean", "cancelled": "cancelled"}


def report(tx: Tx, context: Context, batch_id: int) -> Record | None:
    """Return how a batch went, None where there is no such batch."""
    batch = batches.one(tx, batch_id)
    if batch is None:
        return None
    book = context.book(str(batch["runbook_name"]), int(str(batch["runbook_version"])))
    counts = cast("dict[str, int]", batch["counts"])
    cleaning = _cleaning(tx, batch_id)
    rolled_back = tx.one(_ROLLED_BACK, (batch_id,)) or (0, 0)
    held = acts.holds(tx, batch, context.now)
    found: Record = {
        "as_of": context.now,
        "batch_id": batch_id,
        "runbook_name": batch["runbook_name"],
        "description": masked(book.description),
        "status": batch["status"],
        "kind": batch["kind"],
        "created_by": batch["created_by"],
        "detected_at": batch["detected_at"],
        "completed_at": batch["completed_at"],
        "t0": batch["batch_start_time"],
        "first_t0": batch["source_time"],
        "zone": book.timezone,
        "round": batch["round"],
        "versions": _versions(tx, batch),
        "members": counts,
        "members_total": sum(counts.values()),
        **passage.counts(tx, batch_id),
        "rolled_back": number(rolled_back[0]),
        "failed_rolled_back": number(rolled_back[1]),
        "not_clean": sum(int(str(one["count"])) for one in cleaning if one["state"] == "not clean"),
        "phases": _phases(tx, batch_id, book),
        "own_lanes": [_masked(one) for one in records(tx, _LANE, _OWN, (batch_id,))],
        "failures": _failures(tx, batch_id, counts.get("failed", 0)),
        "clean_up": cleaning,
        "arrivals": passage.arrivals(tx, batch_id),
        "departures": passage.departures(tx, batch_id),
        "holds": held,
        "acts": acts.acts(tx, batch, context.now, held),
    }
    return found | {"sentence": sentence(found)}


def sentence(found: Record) -> str:
    """Say in one sentence how it went."""
    counts, total = cast("dict[str, int]", found["members"]), int(str(found["members_total"]))
    done, failed, active = counts.get("done", 0), counts.get("failed", 0), counts.get("active", 0)
    if not total:
        return "Nobody is in this batch."
    parts = [f"{done:,} of {total - counts.get('removed', 0):,} members are through"]
    if active:
        parts.append(f"{active:,} {'are on their way' if found['status'] in OPEN else 'were not finished'}")
    if failed:
        undone = int(str(found["failed_rolled_back"]))
        back = "" if not undone else " and rolled back" if undone == failed else f", {undone:,} of them rolled back"
        parts.append(f"{failed:,} failed{back}")
    for name, words in (("left", "left"), ("moved_on", "moved to another batch"), ("joined_late", "joined late")):
        if found[name]:
            parts.append(f"{found[name]:,} {words}")
    if counts.get("cancelled", 0):
        parts.append(f"{counts['cancelled']:,} cancelled")
    if found["not_clean"]:
        parts.append(f"{found['not_clean']:,} not cleaned up")
    return "; ".join(parts) + "."


def _versions(tx: Tx, batch: Record) -> list[Record]:
    columns = plain("version", "created_at", "created_by", of="r")
    return records(tx, columns, _VERSIONS, (str(batch["runbook_name"]), _id(batch), int(str(batch["runbook_version"]))))


def _phases(tx: Tx, batch_id: int, book: Runbook) -> list[Record]:
    """Return the phases in the order of the countdown, each with how late it opened and how long it took."""
    trouble: dict[int, dict[str, int]] = {}
    for phase_id, came, count in tx.all(_TROUBLE, (batch_id,)):
        trouble.setdefault(number(phase_id), {})[text(came)] = number(count)
    first = {number(phase_id): text(at) for phase_id, at in tx.all(_FIRST, (batch_id,))}
    found = [one for one in batches.phases(tx, batch_id) if one["status"] != "superseded"]
    found.sort(key=lambda one: (-int(str(one["offset_minutes"])), int(str(one["phase_index"]))))
    return [
        _phase(one | {"first_at": first.get(_id(one), one["completed_at"])}, book, trouble.get(_id(one), {}))
        for one in found
    ]


def _phase(row: Record, book: Runbook, trouble: dict[str, int]) -> Record:
    spec = book.phases_by_name.get(str(row["phase_name"]))
    return {
        "phase_name": row["phase_name"],
        "runbook_version": row["runbook_version"],
        "offset": "" if spec is None else str(spec.offset),
        "has_gate": spec is not None and spec.gate is not None,
        "due_at": row["due_at"],
        "dispatched_at": row["dispatched_at"],
        "first_completed_at": row["first_at"],
        "completed_at": row["completed_at"],
        "late_s": _apart(row["due_at"], row["dispatched_at"]),
        "took_s": _apart(row["dispatched_at"], row["first_at"]),
        "status": row["status"],
        "reason": row["reason"],
        "total": row["lanes_total"],
        "succeeded": row["lanes_succeeded"],
        "failed": row["lanes_failed"],
        "cancelled": row["lanes_cancelled"],
        "open": row["open_lanes"],
        "trouble": trouble,
    }


def _failures(tx: Tx, batch_id: int, failed: int) -> list[Record]:
    """Return the causes, the most frequent first; who failed elsewhere is counted apart."""
    groups = failures.grouped(lambda: nullcontext(tx), batch_id, samples=NAMED)
    found = [one.record() | {"message": masked(one.message)} for one in groups]
    rest = failed - sum(one.count for one in groups)
    if rest > 0:
        message = "failed before they came here, or were rolled back by hand"
        found.append(failures.Group("", "", "", message, rest).record())
    return found


def _cleaning(tx: Tx, batch_id: int) -> list[Record]:
    """Return what was cleaned up after members, by what it was and how it ended, with whom it was for."""
    found: list[Record] = []
    for kind, sequence, status, count in tx.all(_CLEANING, (batch_id,)):
        keys = [text(key) for (key,) in tx.all(_CLEANED, (batch_id, kind, sequence, status))]
        state = _STATE.get(text(status), "running" if status == "running" else "waiting")
        found.append({"kind": kind, "sequence": sequence, "state": state, "count": count, "members": keys})
    order = ("rollback", "removal", "member_failed")
    return sorted(found, key=lambda one: (order.index(str(one["kind"])), one["state"] == "clean", str(one["sequence"])))


def _masked(lane: Record) -> Record:
    return lane if lane["error_message"] is None else lane | {"error_message": masked(str(lane["error_message"]))}


def _apart(start: object, end: object) -> float | None:
    return None if start is None or end is None else between_s(Instant(str(start)), Instant(str(end)))


def _id(row: Record) -> int:
    return int(str(row["id"]))
