"""What must follow from a move: outputs, conditions, rings, brakes, questions, leavers, versions.

The other half of the watch: not whether something was allowed to happen, but whether what it brings with it has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.promises import Violation
from tminus.testing.simulate import sight

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.domain.instant import Instant
    from tminus.testing.simulate.sight import Ask, Move, Sight
    from tminus.testing.simulate.workload import Spec

BRAKE_PERCENT: Final = 40
LEAVERS_PERCENT: Final = 60
PUBLISHER: Final = "publisher"


def check_ends(
    ask: Ask, spec: Spec, before: Sight, after: Sight, moves: Sequence[Move], now: Instant
) -> list[Violation]:
    """Judge what the moves of one act have brought with them."""
    found = [*_steps(ask, spec, moves), *_asked(ask, spec, moves), *_gates(ask, moves), *_told_by_whom(ask, moves)]
    found += [*_no_way_back(ask, moves), *_leavers(before, moves, now), *_versions(ask, before, after, now)]
    found += [*_brakes(spec, after), *_advanced(before, after), *_rows(ask)]
    if not any(move.actor for move in moves):
        found += _rings(ask, before, after)
    return found


def _steps(ask: Ask, spec: Spec, moves: Sequence[Move]) -> Iterator[Violation]:
    """Check conditions and outputs."""
    wanted = [m for m in moves if m.entity == "execution" and m.actor is None and m.member_id is not None]
    if not wanted or not (spec.when or spec.outputs):
        return
    rows = sight.work(ask, {m.entity_id for m in wanted})
    for move in wanted:
        row = rows.get(move.entity_id)
        if row is None or row.kind != "phase":
            continue
        data, pinned, kept = ask(
            f"SELECT data_json, pinned_json, worker_data_json FROM batch_members WHERE id = {move.member_id}"
        )[0]
        if spec.when and row.step_name == "s1":
            holds = sight.flag(str(data), str(pinned)) == "yes"
            if (move.to_status == "skipped" and move.cause == "when" and holds) or (
                move.to_status == "dispatched" and not holds
            ):
                yield Violation("P03", f"execution {row.id} was {move.to_status} against its condition")
        if spec.outputs and row.step_name == "s0" and move.to_status == "succeeded":
            name = f"Out{row.sequence.removeprefix('p')}"
            gave = ask(f"SELECT 1 FROM executions WHERE id = {row.id} AND instr(result_json, '\"id\"')")
            if gave and f'"{name}"' not in str(kept):
                yield Violation("P02", f"execution {row.id} succeeded, and its output {name} was not kept")


_ROWS: Final = (
    ("P05", "execution {} was throttled for more than an hour", "SELECT id FROM executions WHERE throttled_sec > 3600"),
    ("P16", "execution {} succeeded with an answer that says it is not complete", """SELECT id FROM executions
      WHERE status = 'succeeded' AND result_json LIKE '%"complete": false%'"""),
    ("P14", "lane {} runs again what the member had passed before it moved", """SELECT l.id FROM lanes l
      JOIN batch_members h ON h.id = l.member_id JOIN lanes o ON o.member_id = h.inherits_from AND o.kind = 'phase'
        AND o.sequence = l.sequence AND o.status = 'succeeded'
      WHERE l.kind = 'phase' AND NOT l.is_inherited"""),
    ("P10", "batch {} has ended before its finish steps", """SELECT l.batch_id FROM lanes l
      JOIN batches b ON b.id = l.batch_id WHERE l.kind = 'finish' AND l.status IN ('waiting', 'running')
        AND b.status = 'completed'
        AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.lane_id = l.id AND e.round > 0)"""),
)  # fmt: skip


def _rows(ask: Ask) -> Iterator[Violation]:
    """Check what may never stand in the rows of a simulation's workload."""
    for promise, words, sql in _ROWS:
        for (row_id,) in ask(sql):
            yield Violation(promise, words.format(row_id))


def _advanced(before: Sight, after: Sight) -> Iterator[Violation]:
    """Check that a batch without T-0 is advanced only when the phase before has ended."""
    for phase in after.phases.values():
        known, batch = before.phases.get(phase.id), after.batches[phase.batch_id]
        if known is None or known.due_at is not None or phase.due_at is None or batch.batch_start_time is not None:
            continue
        for other in after.phases.values():
            was = before.phases.get(other.id)
            same = other.batch_id == batch.id and other.runbook_version == phase.runbook_version
            if same and was is not None and was.status == other.status == "dispatched":
                yield Violation("P04", f"phase {phase.id} was let go while phase {other.id} had not ended")


def _asked(ask: Ask, spec: Spec, moves: Sequence[Move]) -> Iterator[Violation]:
    """Check that a human is asked where something was not clean, and that a failed member's hook runs."""
    for move in moves:
        if spec.hooks and move.entity == "member" and move.to_status == "failed":
            sql = f"""SELECT m.failures FROM batch_members m WHERE m.id = {move.entity_id} AND m.failures >
              (SELECT count(*) FROM lanes l WHERE l.member_id = m.id AND l.kind = 'member_failed')"""
            if ask(sql):
                yield Violation("P12", f"member {move.entity_id} failed, and its hook was not opened")
        if move.entity != "lane" or move.to_status != "failed":
            continue
        kind = ask(f"SELECT kind FROM lanes WHERE id = {move.entity_id}")[0][0]
        if kind == "init":
            sql = f"""SELECT 1 FROM batches b WHERE b.id = {move.batch_id} AND b.status = 'active' AND NOT EXISTS
              (SELECT 1 FROM holds h WHERE h.batch_id = b.id AND h.kind = 'rerun_init' AND h.is_open)"""
            if ask(sql):
                yield Violation("P04", f"init lane {move.entity_id} failed, and the live batch is not held")
        if kind not in {"rollback", "removal"}:
            continue
        mine = "member_id IS NULL" if move.member_id is None else f"member_id = {move.member_id}"
        sql = f"SELECT 1 FROM holds WHERE batch_id = {move.batch_id} AND {mine} AND kind = '{kind}'"
        if not ask(sql):
            yield Violation("P12", f"{kind} lane {move.entity_id} is not clean, and nobody is asked")


def _told_by_whom(ask: Ask, moves: Sequence[Move]) -> Iterator[Violation]:
    """Check that a worker's word is recorded with the job that it was given for."""
    ids = ", ".join(str(move.entity_id) for move in moves if move.entity == "execution" and move.actor is None)
    sql = f"""SELECT a.job_id FROM attempt_rows a JOIN executions e ON e.id = a.execution_id
      JOIN batches b ON b.id = e.batch_id WHERE a.execution_id IN ({ids}) AND a.delivery IS NULL
      AND a.outcome IN ('succeeded', 'failed', 'throttled') AND b.status <> 'cancelled' AND NOT b.is_cancelling"""
    for (job_id,) in ask(sql):
        yield Violation("P02", f"nobody knows who ended job {job_id}, and when it was claimed")


def _no_way_back(ask: Ask, moves: Sequence[Move]) -> Iterator[Violation]:
    """Check that nobody was rolled back across a step of no return."""
    for move in moves:
        if move.entity == "member" and move.cause == "rolled back by operator":
            sql = f"""SELECT e.id FROM executions e JOIN lanes l ON l.id = e.lane_id AND l.kind = 'phase'
              WHERE l.member_id = {move.entity_id} AND e.is_one_way AND e.dispatched_at IS NOT NULL"""
            for (row_id,) in ask(sql):
                yield Violation("P12", f"member {move.entity_id} was rolled back across one_way execution {row_id}")


def _gates(ask: Ask, moves: Sequence[Move]) -> Iterator[Violation]:
    """Check that nobody approves what he published."""
    for move in moves:
        if move.entity == "hold" and move.to_status == "approved" and move.actor == PUBLISHER:
            sql = f"SELECT 1 FROM holds WHERE id = {move.entity_id} AND kind = 'gate'"
            if ask(sql):
                yield Violation("P29", f"gate {move.entity_id} was approved by who had published it")


def _leavers(before: Sight, moves: Sequence[Move], now: Instant) -> Iterator[Violation]:
    """Check that the source's silence alone takes out few, and nobody after T-0."""
    going: dict[int, int] = {}
    for move in moves:
        silent = move.entity == "member" and move.to_status == "removed" and move.cause == "left the source"
        if silent and move.actor is None and move.batch_id is not None:
            going[move.batch_id] = going.get(move.batch_id, 0) + 1
    for batch_id, count in going.items():
        batch = before.batches[batch_id]
        if batch.batch_start_time is not None and batch.batch_start_time <= now:
            yield Violation("P15", f"{count} members of batch {batch_id} were removed unasked after T-0")
        total = batch.members_active + batch.members_failed + batch.members_removed + batch.members_done
        gone = batch.members_removed + count
        if gone > max(1, total * LEAVERS_PERCENT // 100):
            yield Violation("P15", f"{gone} of {total} members of batch {batch_id} were removed unasked")


def _versions(ask: Ask, before: Sight, after: Sight, now: Instant) -> Iterator[Violation]:
    """Check what a batch that moved to another version has become."""
    for batch in after.batches.values():
        known = before.batches.get(batch.id)
        if known is None or known.runbook_version == batch.runbook_version:
            continue
        sql = f"SELECT overdue_behavior, rerun_init, yaml_content FROM runbooks WHERE id = {batch.runbook_id}"
        overdue, rerun, text = ask(sql)[0]
        mine = [phase for phase in after.phases.values() if phase.batch_id == batch.id]
        theirs = [phase for phase in before.phases.values() if phase.batch_id == batch.id]
        opened = {phase.phase_name for phase in theirs if phase.status not in {"pending", "superseded"}}
        for phase in mine:
            if phase.runbook_version != batch.runbook_version:
                if phase.status == "pending":
                    yield Violation("P17", f"phase {phase.id} of an older version is still to come")
                continue
            ignored = phase.reason == "ignored as overdue"
            if ignored and overdue != "ignore":
                yield Violation("P17", f"phase {phase.id} was ignored, the publisher wanted it to run again")
            past = phase.due_at is not None and phase.due_at <= now and batch.batch_start_time is not None
            if past and overdue == "ignore" and phase.phase_name in opened and not ignored:
                yield Violation("P17", f"phase {phase.id} is {phase.status}, the publisher wanted it ignored")
        lanes = ask(f"SELECT 1 FROM lanes WHERE batch_id = {batch.id} AND kind = 'init'"
                    f" AND runbook_version = {batch.runbook_version}")  # fmt: skip
        if known.status == "active" and "\ninit:" in str(text) and bool(lanes) != bool(rerun):
            yield Violation("P17", f"batch {batch.id} moved to a version with rerun_init = {rerun}: {len(lanes)} inits")
        gates = [
            h for h in after.holds.values() if h.kind == "gate" and h.batch_id == batch.id and h.phase_id is not None
        ]
        for hold in gates:
            phase = after.phases[hold.phase_id or 0]
            if phase.status == "superseded":
                yield Violation("P17", f"gate {hold.id} still asks about phase {phase.id}, which was superseded")


def _brakes(spec: Spec, after: Sight) -> Iterator[Violation]:
    """Check that too many failures hold a phase."""
    if not spec.brake:
        return
    for phase in after.phases.values():
        failed = phase.ring_failed - phase.ring_acknowledged
        too_many = failed > 0 and failed * 100 > BRAKE_PERCENT * phase.ring_started
        is_last = phase.phase_name == f"p{spec.phases - 1}"
        if not too_many or not is_last or phase.status != "dispatched" or not phase.open_lanes:
            continue
        if after.batches[phase.batch_id].status != "active":
            continue
        if not any(h.kind == "brake" and h.phase_id == phase.id for h in after.holds.values()):
            yield Violation(
                "P03", f"{failed} of {phase.ring_started} failed in phase {phase.id}, and nothing brakes it"
            )


def _rings(ask: Ask, before: Sight, after: Sight) -> Iterator[Violation]:
    """Check that a ring opens when the ones before it have ended."""
    for phase in after.phases.values():
        known = before.phases.get(phase.id)
        if known is None or known.ring >= phase.ring:
            continue
        sql = f"SELECT id FROM lanes WHERE phase_id = {phase.id} AND ring >= 0 AND ring <= {known.ring}"
        left = ask(f"{sql} AND status IN ('waiting', 'running')")
        if left:
            yield Violation("P03", f"ring {phase.ring + 1} of phase {phase.id} opened over {len(left)} open lanes")
