"""Facts that some events need and most do not: each is read only when its event is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.progression import events as ev
from tminus.store import reading
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.rows import Batch
    from tminus.progression.view import View

_RING_OPEN: Final = """SELECT EXISTS (SELECT 1 FROM lanes WHERE phase_id = ? AND ring >= 0 AND ring <= ?
  AND status IN ('waiting', 'running'))"""
_ONE_WAY_OF_MEMBERS: Final = """SELECT DISTINCT l.member_id FROM lanes l JOIN executions e ON e.lane_id = l.id
  WHERE l.member_id IN (SELECT value FROM json_each(?)) AND e.is_one_way AND e.dispatched_at IS NOT NULL"""
_ONE_WAY_OF_BATCH: Final = """SELECT l.member_id FROM executions e JOIN lanes l ON l.id = e.lane_id
  JOIN batch_members m ON m.id = l.member_id
  WHERE e.batch_id = ? AND e.is_one_way AND e.dispatched_at IS NOT NULL AND m.status = 'active' LIMIT 1"""
_TAKEN: Final = """SELECT DISTINCT mine.id FROM batch_members mine JOIN batches home ON home.id = mine.batch_id
  JOIN batch_members other ON other.member_key = mine.member_key AND other.id <> mine.id
  JOIN batches away ON away.id = other.batch_id AND away.runbook_name = home.runbook_name
  WHERE mine.id IN (SELECT value FROM json_each(?)) AND other.status IN ('active', 'failed')
    AND other.moved_to IS NULL AND (away.id <> home.id OR other.generation > mine.generation)
    AND away.status IN ('detected', 'init_dispatched', 'active', 'closing')"""
_INVOLVED: Final = """SELECT r.created_by FROM runbooks r WHERE r.name = ? AND r.version = ?
  UNION SELECT a.actor FROM audit a WHERE a.action = 'Advance' AND a.scope = ? AND a.outcome = 'done'"""
_ENDED: Final = """SELECT m.member_key, m.status, m.worker_data_json,
  (SELECT e.error_message FROM lanes l JOIN executions e ON e.lane_id = l.id WHERE l.member_id = m.id
   AND e.status IN ('failed', 'poll_timeout', 'rolled_back') ORDER BY e.id DESC LIMIT 1)
  FROM batch_members m WHERE m.batch_id = ? AND m.moved_to IS NULL ORDER BY m.id"""
_RETRIED: Final = """SELECT actor FROM audit WHERE action = 'RetryInit' AND scope = ? AND outcome = 'done'
  ORDER BY id DESC LIMIT 1"""
_ASKING: Final = frozenset(
    {
        ev.PhaseSettled, ev.BatchSettled, ev.MemberEnding, ev.CancelBatch, ev.Retry, ev.PassStep, ev.AnswerHold,
        ev.ApproveEarly,
    }
)  # fmt: skip
FINISH_MOST_BYTES: Final = 200_000


def load(tx: Tx, view: View, happened: Sequence[ev.Event]) -> None:
    """Load the facts that these events ask for."""
    if _ASKING.isdisjoint(map(type, happened)):
        return
    _rings(tx, view, happened)
    _one_way(tx, view, happened)
    follows = [e.member_id for e in happened if isinstance(e, (ev.Retry, ev.PassStep, ev.MemberEnding))]
    if follows:
        view.taken = {number(i) for (i,) in tx.all(_TAKEN, (reading.ids(follows),))}
    if any(isinstance(e, ev.MemberEnding) for e in happened):
        for batch in view.batches.values():
            row = tx.one(_RETRIED, (f"batch {batch.id}",)) if batch.status in {"init_dispatched", "active"} else None
            view.facts[f"retried:{batch.id}"] = "" if row is None else text(row[0])
    for event in happened:
        if isinstance(event, (ev.AnswerHold, ev.ApproveEarly)):
            _involved(tx, view)
        elif isinstance(event, ev.BatchSettled) and event.batch_id in view.batches:
            _finish(tx, view, view.batches[event.batch_id])


def _rings(tx: Tx, view: View, happened: Sequence[ev.Event]) -> None:
    for event in happened:
        if isinstance(event, ev.PhaseSettled) and event.phase_id in view.phases:
            row = tx.one(_RING_OPEN, (event.phase_id, view.phases[event.phase_id].ring))
            if row is not None and row[0]:
                view.ring_open.add(event.phase_id)


def _one_way(tx: Tx, view: View, happened: Sequence[ev.Event]) -> None:
    members = [e.member_id for e in happened if isinstance(e, ev.MemberEnding)]
    if members and any(batch.is_cancelling for batch in view.batches.values()):
        view.one_way_sent |= {number(i) for (i,) in tx.all(_ONE_WAY_OF_MEMBERS, (reading.ids(members),))}
    for event in happened:
        if isinstance(event, ev.CancelBatch):
            view.one_way_sent |= {number(i) for (i,) in tx.all(_ONE_WAY_OF_BATCH, (event.batch_id,))}


def one_way_members(tx: Tx, member_ids: Sequence[int]) -> frozenset[int]:
    """Return which of these members have had a one_way step sent."""
    return frozenset(number(i) for (i,) in tx.all(_ONE_WAY_OF_MEMBERS, (reading.ids(member_ids),)))


def _involved(tx: Tx, view: View) -> None:
    for batch in view.batches.values():
        params = (batch.runbook_name, batch.runbook_version, f"batch {batch.id}")
        view.facts[f"involved:{batch.id}"] = "\n".join(text(name) for (name,) in tx.all(_INVOLVED, params))


def _finish(tx: Tx, view: View, batch: Batch) -> None:
    """Gather what the finish steps may name, once the members have ended."""
    own = view.subject(batch.id, None).lanes
    has_one = any(lane.kind == "finish" and lane.round == batch.round for lane in own)
    if batch.status == "active" or batch.ending_after is not None or has_one:
        return
    if not view.runbook(batch, batch.runbook_version).on_batch_finished:
        return
    members = [
        {"key": text(k), "status": text(s), "error": reading.maybe(e), "outputs": orjson.loads(text(o))}
        for k, s, o, e in tx.all(_ENDED, (batch.id,))
    ]
    failed = [m["key"] for m in members if m["status"] == "failed"]
    listed = orjson.dumps(members)
    if len(listed) > FINISH_MOST_BYTES:
        listed = orjson.dumps({"count": len(members), "failed": failed[:5000]})
    context: dict[str, object] = {
        "_outcome": batch.outcome if batch.status == "closing" else batch.status,
        "_succeeded": sum(m["status"] == "done" for m in members),
        "_failed": len(failed),
        "_round": batch.round,
        "_members": orjson.loads(listed),
    }
    view.facts[f"finish:{batch.id}"] = orjson.dumps(context).decode()
