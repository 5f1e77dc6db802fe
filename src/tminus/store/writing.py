"""Writing: one Decision becomes rows, in one transaction, with every status compared with what was loaded.

A row that is not as it was when it was decided about is a defect or a foreign hand: `StaleRowError` rolls the whole
micro-batch back. Order matters: attempts read the claim from the message row before it goes, and old jobs go before new
ones come, because an execution has at most one job out.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.rows import Batch, Execution, Hold, Lane, Member, PhaseRow, columns
from tminus.store import payloads
from tminus.store.handover import UNCLAIMED
from tminus.store.reading import IDS, ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tminus.db.connection import Tx, Value
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Row
    from tminus.progression.decision import Decision, Job
    from tminus.progression.view import View
    from tminus.store.handover import Handover

_COUNTERS: Final = frozenset(
    {
        "open_lanes", "open_phases", "members_active", "members_done", "members_failed", "members_removed",
        "members_cancelled", "lanes_total", "lanes_succeeded", "lanes_failed", "lanes_cancelled", "lanes_started",
    }
)  # fmt: skip
# What never changes is not written again: an UPDATE that names an indexed column rewrites its index entry.
_SKIP: Final[dict[str, frozenset[str]]] = {
    "batches": _COUNTERS | {"runbook_name", "kind", "source_time", "created_by", "data_json"},
    "phase_executions": _COUNTERS | {"batch_id", "phase_name", "phase_index", "runbook_version", "offset_minutes"},
    "batch_members": frozenset({"batch_id", "member_key", "generation", "data_json", "inherits_from", "added_at"}),
    "lanes": frozenset({"batch_id", "member_id", "phase_id", "kind", "sequence", "cause_execution_id"}),
    "executions": frozenset({"lane_id", "batch_id", "step_index", "step_name", "worker_id", "is_one_way"}),
    "holds": frozenset({"scope", "kind", "batch_id", "member_id", "phase_id", "runbook_name"}),
}


class StaleRowError(Exception):
    """A row was not as it had been loaded: the micro-batch is rolled back and replayed event by event."""


def _update(table: str, row: type[Row], status: str = "status") -> tuple[str, attrgetter[tuple[Value, ...]]]:
    names = [name for name in columns(row) if name != "id" and name not in _SKIP[table]]
    sets = ", ".join(f"{name} = ?" for name in names)
    getter: attrgetter[tuple[Value, ...]] = attrgetter(*names, "id", "was")
    return f"UPDATE {table} SET {sets} WHERE id = ? AND {status} = ?", getter


def _insert(table: str, row: type[Row], extra: Sequence[str] = ()) -> tuple[str, attrgetter[tuple[Value, ...]]]:
    names = [name for name in columns(row) if name != "id"]
    marks = ", ".join("?" for _ in (*names, *extra))
    getter: attrgetter[tuple[Value, ...]] = attrgetter(*names)
    return f"INSERT INTO {table} ({', '.join((*names, *extra))}) VALUES ({marks})", getter


# Most writing to a member is one more output; it changes no status, so the row's lock is guard enough.
_OUTPUTS: Final = "UPDATE batch_members SET worker_data_json = ? WHERE id = ? AND status = ?"
_BATCH = _update("batches", Batch)
_PHASE = _update("phase_executions", PhaseRow)
_MEMBER = _update("batch_members", Member)
_LANE = _update("lanes", Lane)
_EXECUTION = _update("executions", Execution)
_HOLD = _update("holds", Hold, "state")
_NEW_PHASE = _insert("phase_executions", PhaseRow)
_NEW_LANE = _insert("lanes", Lane)
_NEW_EXECUTION = _insert("executions", Execution)
_NEW_HOLD = _insert("holds", Hold)

# The two moves of the success path have statements of their own: fewer columns, and most of all writing.
_SENT: Final = """UPDATE executions SET status = 'dispatched', job_id = ?, attempt = ?, function_name = ?,
  params_json = ?, dispatched_at = ?, first_dispatched_at = ?, ready_at = NULL, retry_after = NULL,
  error_message = NULL, error_type = NULL, completed_at = NULL, priority = ? WHERE id = ? AND status = 'pending'"""
_DONE: Final = """UPDATE executions SET status = 'succeeded', job_id = NULL, completed_at = ?, result_json = ?
  WHERE id = ? AND status = 'dispatched'"""
_RESULT: Final = "UPDATE executions SET result_json = ? WHERE id = ?"
_ATTEMPT: Final = """INSERT INTO attempt_rows (execution_id, attempt, job_id, outcome, worker, delivery, claimed_at,
  dispatched_at, ended_at, poll_count, function_name, params_json, result_json, error_message, error_type, duration_ms,
  log) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CLAIMS: Final = f"SELECT id, claimed_by, delivery, claimed_at FROM messages WHERE id IN {IDS}"
_NO_CLAIM: Final[tuple[Value, ...]] = (None, None, None)
_KEEP_ATTEMPT: Final = """UPDATE attempt_rows SET params_json = e.params_json, result_json = e.result_json
  FROM executions e WHERE e.id = ? AND attempt_rows.execution_id = e.id AND attempt_rows.outcome = 'succeeded'"""
_JOB: Final = """INSERT INTO messages (id, topic, route, message_id, body, priority, created_at, batch_id, member_id,
  lane_id, execution_id, function_name, timeout_sec, is_poll, claimed_by, claimed_at, lease_until, timeout_at)
  VALUES (?, 'worker-jobs', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_JOB_END: Final = f"DELETE FROM messages WHERE id IN {IDS}"
_JOB_DRAIN: Final = "UPDATE messages SET is_draining = 1 WHERE id = ?"
_JOB_RETURN: Final = """UPDATE messages SET claimed_by = NULL, claimed_at = NULL, lease_until = NULL, timeout_at = NULL,
  delivery = delivery + 1 WHERE id = ?"""
_VOID: Final = """DELETE FROM messages WHERE topic = 'worker-jobs' AND batch_id = ? AND claimed_at IS NULL
  AND priority >= 3 AND NOT EXISTS (SELECT 1 FROM batches b JOIN lanes l ON l.member_id = messages.member_id
    JOIN executions e ON e.lane_id = l.id
    WHERE b.id = messages.batch_id AND b.is_cancelling AND e.is_one_way AND e.dispatched_at IS NOT NULL)"""
_WAKE_WIDE: Final = """UPDATE batches SET wake_after = 0
  WHERE status IN ('detected', 'init_dispatched', 'active') AND (? IS NULL OR runbook_name = ?)"""
_HISTORY: Final = """INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt,
  cause, actor, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_LATE: Final = """INSERT INTO late_results (job_id, digest, execution_id, batch_id, member_id, is_success, reason,
  result_json, error_message, received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (job_id, digest) DO UPDATE SET seen = seen + 1"""
_AUDIT: Final = """INSERT INTO audit (at, actor, action, scope, subject, reason, outcome, detail_json)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


def write(tx: Tx, view: View, handover: Handover | None = None) -> None:
    """Write everything the view's decision asks for; jobs are handed over where a worker is asking."""
    decision = view.decision
    fresh = _insert_new(tx, decision)
    _write_executions(tx, decision, view.now)
    _guarded(tx, _LANE, decision.lanes.values())
    _guarded(tx, _MEMBER, (m for i, m in decision.members.items() if i not in decision.outputs_only))
    if decision.outputs_only:
        rows = [decision.members[i] for i in decision.outputs_only]
        if tx.many(_OUTPUTS, [(m.worker_data_json, m.id, m.was) for m in rows]) != len(rows):
            raise StaleRowError(_OUTPUTS)
    _guarded(tx, _PHASE, decision.phases.values())
    _guarded(tx, _BATCH, decision.batches.values())
    _guarded(tx, _HOLD, decision.holds.values())
    for name in decision.wakes:
        tx.run(_WAKE_WIDE, (name, name))
    _write_attempts(tx, decision, view.now)
    _write_jobs(tx, decision, view.now, handover)
    _write_counts(tx, decision, fresh)
    _write_records(tx, decision, view.now, fresh)


def _insert_new(tx: Tx, decision: Decision) -> dict[tuple[str, int], int]:
    """Insert new rows and return the ids that stand for the negative ones."""
    fresh: dict[tuple[str, int], int] = {}
    for phase in decision.new_phases:
        fresh["phase", phase.id] = tx.add(_NEW_PHASE[0], _NEW_PHASE[1](phase))
    for lane in decision.new_lanes:
        lane.phase_id = fresh.get(("phase", lane.phase_id or 0), lane.phase_id)
        fresh["lane", lane.id] = tx.add(_NEW_LANE[0], _NEW_LANE[1](lane))
    dropped = [(i,) for i in decision.dropped_executions if i > 0]
    if dropped:
        # They make room now and go only after the new ones came: the id of one that is gone would be given again.
        tx.many(_KEEP_ATTEMPT, dropped)
        tx.many("UPDATE executions SET lane_id = -id WHERE id = ?", dropped)
    for row in decision.new_executions:
        row.lane_id = fresh.get(("lane", row.lane_id), row.lane_id)
        fresh["execution", row.id] = tx.add(_NEW_EXECUTION[0], _NEW_EXECUTION[1](row))
    if dropped:
        tx.many("DELETE FROM executions WHERE id = ?", dropped)
    for hold in decision.new_holds:
        hold.phase_id = fresh.get(("phase", hold.phase_id or 0), hold.phase_id)
        hold.evidence_json = _real_lane(hold.evidence_json, fresh)
        fresh["hold", hold.id] = tx.add(_NEW_HOLD[0], _NEW_HOLD[1](hold))
    return fresh


def _real_lane(evidence_json: str, fresh: dict[tuple[str, int], int]) -> str:
    if '"lane_id":-' not in evidence_json:
        return evidence_json
    evidence = orjson.loads(evidence_json)
    evidence["lane_id"] = fresh.get(("lane", evidence["lane_id"]), evidence["lane_id"])
    return orjson.dumps(evidence).decode()


def _guarded(tx: Tx, statement: tuple[str, attrgetter[tuple[Value, ...]]], rows: Iterable[Row]) -> None:
    params = [statement[1](row) for row in rows]
    if params and tx.many(statement[0], params) != len(params):
        raise StaleRowError(statement[0][:40])


def _write_executions(tx: Tx, decision: Decision, now: Instant) -> None:
    sent: list[tuple[Value, ...]] = []
    done: list[tuple[Value, ...]] = []
    other: list[Execution] = []
    results = {i: payloads.fit(tx, text, now) for i, text in decision.results.items()}
    for row in decision.executions.values():
        if row.was == "pending" and row.status == "dispatched" and row.poll_started_at is None:
            sent.append(
                (
                    row.job_id, row.attempt, row.function_name, row.params_json, row.dispatched_at,
                    row.first_dispatched_at, row.priority, row.id,
                )
            )  # fmt: skip
        elif row.was == "dispatched" and row.status == "succeeded":
            done.append((row.completed_at, results.pop(row.id, None), row.id))
        else:
            other.append(row)
    for sql, params in ((_SENT, sent), (_DONE, done)):
        if params and tx.many(sql, params) != len(params):
            raise StaleRowError(sql[:40])
    _guarded(tx, _EXECUTION, other)
    if results:
        tx.many(_RESULT, [(text, i) for i, text in results.items()])


def _write_attempts(tx: Tx, decision: Decision, now: Instant) -> None:
    """Write attempts that ended, with the claim of the job that is still out (none where nobody was sent)."""
    if not decision.attempts:
        return
    out = tx.all(_CLAIMS, (ids(a.execution.id for a in decision.attempts),))
    claimed: dict[Value, tuple[Value, ...]] = {row[0]: row[1:] for row in out}
    rows: list[tuple[Value, ...]] = []
    for a in decision.attempts:
        is_kept = a.outcome == "succeeded"
        rows.append(
            (
                a.execution.id, a.attempt, a.job_id, a.outcome, *claimed.get(a.execution.id, _NO_CLAIM),
                a.dispatched_at, now, a.poll_count, a.function_name, None if is_kept else a.params_json,
                None if is_kept else payloads.fit(tx, a.result_json, now), a.error_message, a.error_type,
                a.duration_ms, a.log,
            )
        )  # fmt: skip
    tx.insert(_ATTEMPT, rows)


def _write_jobs(tx: Tx, decision: Decision, now: Instant, handover: Handover | None) -> None:
    if decision.job_ends:
        tx.run(_JOB_END, (ids(decision.job_ends),))
    for sql, ended in (
        (_JOB_DRAIN, decision.job_drains),
        (_JOB_RETURN, decision.job_returns),
        (_VOID, decision.void_batches),
    ):
        if ended:
            tx.many(sql, [(i,) for i in ended])
    if decision.jobs:
        tx.insert(_JOB, [_job_row(job, now, handover) for job in decision.jobs.values()])


def _job_row(job: Job, now: Instant, handover: Handover | None) -> tuple[Value, ...]:
    row, lane = job.execution, job.lane
    text = body(job)
    return (
        row.id, row.worker_id, job.job_id, text, row.priority, now, row.batch_id, lane.member_id, lane.id, row.id,
        job.function, row.timeout_sec, int(job.is_poll), *(handover.take(job, text) if handover else UNCLAIMED),
    )  # fmt: skip


def body(job: Job) -> str:
    """Write a job as foreign workers read it."""
    row, lane, batch = job.execution, job.lane, job.batch
    is_init = lane.kind == "init"
    return orjson.dumps(
        {
            "jobId": job.job_id,
            "batchId": row.batch_id,
            "workerId": row.worker_id,
            "functionName": job.function,
            "parameters": orjson.Fragment(job.params_json),
            "correlationData": {
                "initExecutionId" if is_init else "stepExecutionId": row.id,
                "isInitStep": is_init,
                "runbookName": batch.runbook_name,
                "runbookVersion": row.runbook_version,
                "attempt": row.attempt,
                "correlationId": f"batch-{row.batch_id}-lane-{lane.id}",
            },
        }
    ).decode()


def _write_counts(tx: Tx, decision: Decision, fresh: dict[tuple[str, int], int]) -> None:
    for table, counts, entity in (
        ("phase_executions", decision.phase_counts, "phase"),
        ("batches", decision.batch_counts, "batch"),
    ):
        for row_id, deltas in sorted(counts.items()):
            moved = {name: delta for name, delta in deltas.items() if delta}
            if moved:
                sets = ", ".join(f"{name} = {name} + ?" for name in moved)
                real = fresh.get((entity, row_id), row_id)
                tx.run(f"UPDATE {table} SET {sets} WHERE id = ?", (*moved.values(), real))


def _write_records(tx: Tx, decision: Decision, now: Instant, fresh: dict[tuple[str, int], int]) -> None:
    if decision.history:
        tx.insert(
            _HISTORY,
            [
                (
                    now, h.batch_id, h.member_id, h.entity,
                    h.entity_id if h.entity_id > 0 else fresh.get((h.entity, h.entity_id), h.entity_id),
                    h.from_status, h.to_status, h.attempt, h.cause, h.actor, h.detail,
                )
                for h in decision.history
            ],
        )  # fmt: skip
    if decision.late:
        tx.many(
            _LATE,
            [
                (
                    late.job_id, late.digest, late.execution_id, late.batch_id, late.member_id, int(late.is_success),
                    late.reason, payloads.fit(tx, late.result_json, now), late.error_message, now,
                )
                for late in decision.late
            ],
        )  # fmt: skip
    if decision.audits:
        tx.many(
            _AUDIT,
            [(now, a.actor, a.action, a.scope, a.subject, a.reason, a.outcome, a.detail_json) for a in decision.audits],
        )
