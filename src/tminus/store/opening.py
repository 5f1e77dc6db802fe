"""Opening a phase: lanes and executions for a chunk of members, by INSERT … SELECT.

No row of a member passes through Python, so a phase of fifty thousand members costs seconds and no memory. A chunk ends
with the cursor at its last member, in the same transaction; a lane that is there already (a joiner was faster) is left
alone. Lanes start when the wake cursor of their batch reaches them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import plus
from tminus.domain.status import PRIORITY_PHASE
from tminus.progression.phase import ring_ends
from tminus.store.reading import number

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.progression.decision import Opening
    from tminus.runbook.model import Phase, Runbook

CHUNK: Final = 2_000

_LAST: Final = """SELECT max(id), count(*) FROM (SELECT id FROM batch_members
  WHERE batch_id = ? AND id > ? AND status = 'active' ORDER BY id LIMIT ?)"""
_LANES: Final = """INSERT INTO lanes (batch_id, member_id, phase_id, kind, sequence, runbook_version, status,
    steps_total, lane_order, due_at, ring, is_inherited, deadline_at, deadline_from, reason, started_at, closed_at)
  SELECT m.batch_id, m.id, ?2, 'phase', ?3, ?4,
    CASE WHEN m.inherited_json LIKE ?5 ESCAPE '~' THEN 'succeeded' ELSE 'waiting' END, ?6, ?7, ?8,
    (SELECT min(value ->> 0) FROM json_each(?9) WHERE ?10 + m.turn <= value ->> 1),
    m.inherited_json LIKE ?5 ESCAPE '~', ?11, ?12, 'new',
    CASE WHEN m.inherited_json LIKE ?5 ESCAPE '~' THEN ?13 END,
    CASE WHEN m.inherited_json LIKE ?5 ESCAPE '~' THEN ?13 END
  FROM (SELECT a.id, a.batch_id, a.inherited_json, row_number() OVER (ORDER BY a.id) AS turn FROM batch_members a
    WHERE a.batch_id = ?1 AND a.id > ?14 AND a.id <= ?15 AND a.status = 'active'
      AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.phase_id = ?2 AND l.member_id = a.id AND l.kind = 'phase')) m
  ORDER BY m.id"""
_MADE: Final = """SELECT count(*), coalesce(sum(is_inherited), 0), min(id) FROM lanes
  WHERE phase_id = ? AND kind = 'phase' AND member_id > ? AND member_id <= ? AND reason = 'new'"""
_EXECUTIONS: Final = """INSERT INTO executions (lane_id, batch_id, step_name, step_index, runbook_version, worker_id,
    function_name, max_retries, retry_interval_sec, priority, timeout_sec, is_one_way, is_poll_step, poll_interval_sec,
    poll_timeout_sec)
  SELECT l.id, l.batch_id, s.value ->> 0, s.key, ?, s.value ->> 1, s.value ->> 2, s.value ->> 3, s.value ->> 4, ?,
    s.value ->> 5, s.value ->> 6, s.value ->> 7, s.value ->> 8, s.value ->> 9
  FROM lanes l CROSS JOIN json_each(?) s
  WHERE l.phase_id = ? AND l.kind = 'phase' AND l.member_id > ? AND l.member_id <= ? AND l.reason = 'new'
    AND NOT l.is_inherited
  ORDER BY l.id, s.key"""
_INHERITED: Final = """INSERT INTO events (at, batch_id, member_id, entity, entity_id, to_status, cause)
  SELECT ?, batch_id, member_id, 'lane', id, 'succeeded', 'inherited' FROM lanes
  WHERE phase_id = ? AND kind = 'phase' AND member_id > ? AND member_id <= ? AND reason = 'new' AND is_inherited"""
_SEEN: Final = """UPDATE lanes SET reason = NULL
  WHERE phase_id = ? AND kind = 'phase' AND member_id > ? AND member_id <= ? AND reason = 'new'"""
_COUNT: Final = """UPDATE phase_executions SET lanes_total = lanes_total + ?, open_lanes = open_lanes + ?,
  lanes_succeeded = lanes_succeeded + ?, opening_after = ? WHERE id = ? AND status = 'dispatched'"""
_WAKE: Final = """UPDATE batches SET open_lanes = open_lanes + ?,
  wake_after = min(coalesce(wake_after, ?), ?) WHERE id = ?"""


def open_chunk(tx: Tx, opening: Opening, runbook: Runbook, now: Instant, chunk: int = CHUNK) -> bool:
    """Open a phase for the next members; tell whether that was the last chunk."""
    phase, after = opening.phase, opening.phase.opening_after or 0
    found = tx.one(_LAST, (phase.batch_id, after, chunk))
    last, count = (number(found[0]), number(found[1])) if found else (0, 0)
    is_last = count < chunk
    made = inherited = 0
    if count:
        made, inherited, first = _lay_out(tx, opening, runbook, now, last)
        if made > inherited:
            tx.run(_WAKE, (made - inherited, first - 1, first - 1, phase.batch_id))
    cursor = None if is_last else last
    tx.run(_COUNT, (made, made - inherited, inherited, cursor, phase.id))
    return is_last


def _lay_out(tx: Tx, opening: Opening, runbook: Runbook, now: Instant, last: int) -> tuple[int, int, int]:
    phase, after = opening.phase, opening.phase.opening_after or 0
    spec = runbook.phases_by_name[phase.phase_name]
    deadline = _deadline(spec, now)
    pattern = "%" + orjson.dumps(spec.name).decode().replace("~", "~~").replace("%", "~%").replace("_", "~_") + "%"
    ends = [[ring, end] for ring, end in enumerate(ring_ends(spec, phase.members_at_opening))]
    if ends:
        ends[-1][1] = 2**62
    rings = orjson.dumps(ends or [[-1, 2**62]]).decode()
    tx.run(
        _LANES,
        (
            phase.batch_id, phase.id, spec.name, phase.runbook_version, pattern, len(spec.steps), phase.phase_index,
            phase.due_at, rings, phase.lanes_total, deadline, now if deadline else None, now, after, last,
        ),
    )  # fmt: skip
    span = (phase.id, after, last)
    row = tx.one(_MADE, span)
    made, inherited, first = (number(value) for value in row) if row else (0, 0, 0)
    tx.run(_EXECUTIONS, (phase.runbook_version, PRIORITY_PHASE, _steps(spec), *span))
    if inherited:
        tx.run(_INHERITED, (now, *span))
    tx.run(_SEEN, span)
    return made, inherited, first


def _deadline(spec: Phase, now: Instant) -> Instant | None:
    if spec.deadline is None or spec.deadline.start != "due":
        return None
    return plus(now, spec.deadline.after_s)


def _steps(spec: Phase) -> str:
    return orjson.dumps(
        [
            (
                step.name, step.worker_id, step.function.source, step.retry.max_retries if step.retry else 0,
                step.retry.interval_s if step.retry else None, step.timeout_s, int(step.one_way),
                int(step.poll is not None), step.poll.interval_s if step.poll else None,
                step.poll.timeout_s if step.poll else None,
            )
            for step in spec.steps
        ]
    ).decode()  # fmt: skip
