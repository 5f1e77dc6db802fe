"""Moves: what a human has said about them, whole batches that move, and questions that stand or fall.

When every living member of a batch is given one new time that has no batch yet, the batch itself is meant: it is
rescheduled, and keeps its lanes. What a human has answered is read from the holds, so that the same question is asked
once.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.domain.members import twin
from tminus.progression import events as ev
from tminus.progression.member import BATCH_PIN
from tminus.store.discovery import pending
from tminus.store.discovery.desk import MoveWanted
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.db.connection import Tx, Value
    from tminus.domain.instant import Instant
    from tminus.store.discovery.desk import Desk

ACTOR: Final = "source"
NAMES_MAX: Final = 1_000

_SAID: Final = """SELECT state, evidence_json FROM holds WHERE batch_id = ? AND kind = 'move' AND NOT is_open
  AND (state = 'approved' OR closed_by <> 'tminus') ORDER BY id"""
_ASKED: Final = """SELECT DISTINCT h.batch_id FROM holds h JOIN batches b ON b.id = h.batch_id
  WHERE h.is_open AND h.kind = 'move' AND b.runbook_name = ? AND NOT b.is_cancelling
    AND b.status IN ('detected', 'init_dispatched', 'active') ORDER BY 1"""
_STANDING: Final = "SELECT evidence_json FROM holds WHERE batch_id = ? AND kind = 'move' AND is_open"
_TOLD: Final = """SELECT h.batch_id, b.source_time, h.evidence_json FROM holds h JOIN batches b ON b.id = h.batch_id
  WHERE h.is_open AND h.kind = 'move' AND b.runbook_name = ? AND b.source_time IS NOT NULL
    AND b.status NOT IN ('detected', 'init_dispatched', 'active')"""
STILL_PUT: Final = """SELECT 1 FROM source_rows
  WHERE runbook_name = ? AND member_twin IN (SELECT value FROM json_each(?)) AND batch_time = ? AND is_current
  LIMIT 1"""
MOVERS: Final = f"""SELECT m.batch_id, m.id, m.member_key FROM source_rows s
  CROSS JOIN batch_members m ON m.member_key = s.member_key CROSS JOIN batches b ON b.id = m.batch_id
  WHERE s.runbook_name = ?1 AND s.is_pending AND s.missed_count = 0 AND s.batch_time = ?2
    AND m.status IN ('active', 'failed') AND m.moved_to IS NULL AND m.pinned_json -> '$.{BATCH_PIN}' IS NULL
    AND b.runbook_name = ?1 AND b.kind = 'source' AND b.source_time <> ?2 AND NOT b.is_cancelling
    AND b.status IN ('detected', 'init_dispatched', 'active')
    AND NOT EXISTS (SELECT 1 FROM batches x WHERE x.runbook_name = ?1 AND x.source_time = ?2)
  ORDER BY m.batch_id, m.id"""
_LIVING: Final = """SELECT count(*) FROM batch_members WHERE batch_id = ? AND status IN ('active', 'failed')
  AND moved_to IS NULL"""
_BATCH: Final = """SELECT source_time, batch_start_time, EXISTS (SELECT 1 FROM phase_executions p
  WHERE p.batch_id = b.id AND p.status IN ('dispatched', 'completed', 'failed')) FROM batches b WHERE b.id = ?"""
_RENAME: Final = "UPDATE batches SET source_time = ? WHERE id = ? AND source_time = ?"


def said(tx: Tx, batch_id: int) -> dict[int, tuple[str, str]]:
    """Return what a human has last said about each member's move, and to what time it was."""
    found: dict[int, tuple[str, str]] = {}
    for state, evidence in tx.all(_SAID, (batch_id,)):
        to = cast("dict[str, str]", orjson.loads(text(evidence)).get("to", {}))
        word = "accept" if state == "approved" else "refuse"
        found |= {int(member_id): (word, time) for member_id, time in to.items()}
    return found


def reschedule_whole(desk: Desk) -> Iterator[None]:
    """Give a new T-0 to batches all of whose members are given one; ask where that is too late."""
    again = True
    while again:
        again, after = False, ""
        while True:
            with desk.database.read() as tx:
                time = pending.next_time(tx, desk.name, after)
                movers = {} if time is None else _movers(tx, desk.name, time)
            if time is None:
                break
            for batch_id, members in movers.items():
                with desk.write() as tx:
                    moved = _whole(tx, desk, batch_id, members, time)
                if moved:
                    again = True
                    yield
                    break
            after = time


def _movers(tx: Tx, name: str, time: Instant) -> dict[int, dict[int, str]]:
    """Return by batch the members whose rows name a time that has no batch yet."""
    found: dict[int, dict[int, str]] = defaultdict(dict)
    for batch_id, member_id, key in tx.all(MOVERS, (name, time)):
        found[number(batch_id)][number(member_id)] = text(key)
    return found


def _whole(tx: Tx, desk: Desk, batch_id: int, members: dict[int, str], time: Instant) -> bool:
    """Reschedule a batch if all its members move; tell whether it was."""
    living, batch = tx.one(_LIVING, (batch_id,)), tx.one(_BATCH, (batch_id,))
    if (batch_id, time) in desk.kept or batch is None or living is None or living[0] != len(members):
        return False
    old, t0, has_started = maybe(batch[0]), maybe(batch[1]), bool(batch[2])
    now = desk.now()
    reason = ""
    if has_started or (t0 is not None and t0 <= now):
        reason = "all of the batch is given another time, but it has started"
    elif time <= now:
        reason = "all of the batch is given another time, but that has passed"
    answers = said(tx, batch_id) if reason else {}
    if reason and not all(answers.get(i) == ("accept", time) for i in members):
        desk.kept.add((batch_id, time))
        open_ones = {i: key for i, key in members.items() if answers.get(i) != ("refuse", time)}
        desk.asks.setdefault(batch_id, {}).update(
            {i: MoveWanted(key, time, reason, whole=True) for i, key in open_ones.items()}
        )
        return False
    tx.run(_RENAME, (time, batch_id, old))
    # A T-0 that an operator has given stays; the source's own time is only what the batch is known by.
    if t0 == old:
        why = f"the source gives all {len(members):,} members another time"
        desk.apply(tx, [ev.Reschedule(actor=ACTOR, reason=why, batch_id=batch_id, t0=time)])
    return True


def ask(desk: Desk) -> Iterator[None]:
    """Put the questions that this answer raises, and take back those that it does not raise any more."""
    with desk.database.read() as tx:
        standing = [number(i) for (i,) in tx.all(_ASKED, (desk.name,))]
        past = [number(i) for i, *told in tx.all(_TOLD, (desk.name,)) if not _still_put(tx, desk.name, *told)]
    for batch_id in sorted({*standing, *past, *(i for i, wanted in desk.asks.items() if wanted)}):
        with desk.write() as tx:
            desk.apply(tx, [_question(batch_id, desk.asks.get(batch_id, {}))])
        yield


def _still_put(tx: Tx, name: str, time: Value, evidence: Value) -> bool:
    """Tell whether the source still puts one of these keys into a batch that has ended."""
    listed = cast("dict[str, list[str]]", orjson.loads(text(evidence))).get("members", [])
    twins = orjson.dumps([twin(key) for key in listed]).decode()
    return tx.one(STILL_PUT, (name, twins, time)) is not None


def _question(batch_id: int, wanted: dict[int, MoveWanted]) -> ev.MoveAsked:
    if not wanted:
        return ev.MoveAsked(batch_id)
    evidence = {
        "member_ids": sorted(wanted),
        "members": [wanted[i].key for i in sorted(wanted)][:NAMES_MAX],
        "count": len(wanted),
        "to": {str(i): wanted[i].to for i in sorted(wanted)},
        "reschedule": any(one.whole for one in wanted.values()),
    }
    reasons = sorted({one.reason for one in wanted.values()})
    return ev.MoveAsked(batch_id, "; ".join(reasons), orjson.dumps(evidence).decode())


def tell(tx: Tx, desk: Desk, batch_id: int, keys: Sequence[str]) -> None:
    """Tell a human, once per batch, of keys that the source puts into a batch that has ended.

    It is a hold of kind `move`, because what these rows need is another time, and because the Inbox is the open holds.
    It lists no member ids: there is nothing to accept.
    """
    row = tx.one(_STANDING, (batch_id,))
    known = cast("dict[str, list[str]]", orjson.loads(text(row[0]))) if row else {}
    names = known.get("members", [])
    fresh = [key for key in keys if key not in set(names)]
    evidence = {
        "members": [*names, *fresh][:NAMES_MAX],
        "count": number(cast("int", known.get("count", 0))) + len(fresh),
    }
    reason = "the source puts keys here, but the batch has ended: nobody was taken"
    desk.apply(tx, [ev.MoveAsked(batch_id, reason, orjson.dumps(evidence).decode())])
