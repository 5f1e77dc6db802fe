"""Every check can fail: a row changed by hand behind the core's back, and the promise that this breaks."""

from __future__ import annotations

import pytest

from tests.unit.promises.test_well import begin, of_bob, polls
from tests.unit.promises.watched import DAY, HOUR, RUNBOOK, Watched
from tminus.progression import events as ev
from tminus.store.store import Asking
from tminus.testing.world import Call, Says, fails, ok, silent


def middle() -> Watched:
    """Ann's create is claimed, bob polls, cid waits for his retry; dan's create is out and unclaimed."""
    world = begin()
    world.store.join(1, [("dan", '{"upn":"dan"}')])
    behaviours = {"ann": silent(), "bob": ok(), "cid": fails(), "dan": ok()}
    world.behaviours |= {"Create": lambda call: behaviours[str(call.params["User"])](call), "Sync": polls(99)}
    world.pass_time(HOUR - 1)
    world.clock.advance(1)
    world.store.decide([ev.PhaseDue(1)])
    world.store.wake()
    world.answer([world.call_of(claim) for claim in world.round((), [Asking("w", "w1", 3)])])
    world.answer([world.call_of(claim) for claim in world.round((), [Asking("w", "w1", 1)])])
    return world


def ended() -> Watched:
    """Ann succeeded, bob failed and was rolled back, cid left and was cleaned up after; the batch is completed."""
    world = begin()
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(1.5 * HOUR)
    world.store.round([ev.Leaving(3)])
    world.rest()
    return world


def retried() -> Watched:
    """Ann was paused and resumed, bob failed and was tried again by hand; everybody is done."""
    world = begin()
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(1.2 * HOUR)
    world.command(ev.OpenHold(scope="member", batch_id=1, member_id=1, actor="ada", reason="wait"))
    world.command(ev.AnswerHold(hold_id=1, batch_id=1, answer="lift", actor="ada", reason="go"))
    world.behaviours["Create"] = ok()
    world.command(ev.Retry(member_id=2, actor="ada", reason="again"))
    world.rest()
    return world


def flagged(world: Watched, wanted: str, *, at_rest: bool = False) -> bool:
    """Tell whether this promise is found broken in these words; reading in pages finds the same promises."""
    promise, _, words = wanted.partition(" ")
    found = world.violations(at_rest=at_rest)
    paged = world.violations(at_rest=at_rest, small_events=0)
    assert {one.promise for one in found} == {one.promise for one in paged}
    return any(one.promise == promise and words in one.message for one in found)


ANN = "(SELECT id FROM executions WHERE step_name = 'create' AND lane_id = 2)"
BOB_POLLS = "(SELECT id FROM executions WHERE status = 'polling')"
CID_WAITS = "(SELECT id FROM executions WHERE status = 'pending' AND attempt = 0 AND retry_count = 1)"
SENT_LANE = "(SELECT lane_id FROM messages WHERE claimed_at IS NULL)"
FAR, LATER = "'2099-01-01T00:00:00.000Z'", "'2026-01-02T00:00:00.000Z'"
DISPATCH = "entity = 'execution' AND to_status = 'dispatched'"
EVENT = """INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause)"""
SENT = "(SELECT id FROM messages WHERE claimed_at IS NULL)"

# Each line: the promise and words of its message, and what is done to the rows.
MIDDLE = [
    ("P05 calls its job", f"UPDATE executions SET job_id = 'step-2-retry-7' WHERE id = {ANN}"),
    ("P05 still names", f"UPDATE executions SET job_id = 'step-9' WHERE id = {CID_WAITS}"),
    ("P05 retries of", f"UPDATE executions SET retry_count = 9 WHERE id = {CID_WAITS}"),
    ("P05 waits for step-2", "UPDATE messages SET message_id = 'step-77' WHERE claimed_at IS NOT NULL"),
    ("P05 drains, but", "UPDATE messages SET is_draining = 1 WHERE claimed_at IS NOT NULL"),
    ("P05 past its timeout", f"UPDATE messages SET lease_until = {FAR} WHERE claimed_at IS NOT NULL"),
    ("P05 or without one", "UPDATE messages SET lease_until = NULL WHERE claimed_at IS NOT NULL"),
    ("P05 is unclaimed, but", f"UPDATE messages SET claimed_by = 'ghost' WHERE id = {SENT}"),
    ("P06 nobody can take", "DELETE FROM messages WHERE claimed_at IS NOT NULL"),
    ("P06 nobody can take", "DELETE FROM messages WHERE claimed_at IS NULL"),
    ("P06 without a job", f"UPDATE executions SET job_id = NULL WHERE id = {ANN}"),
    ("P06 nobody will find it", f"UPDATE executions SET ready_at = NULL WHERE id = {CID_WAITS}"),
    ("P06 no step to run", "UPDATE executions SET status = 'cancelled', job_id = NULL WHERE lane_id = 2"),
    ("P07 delivered 11 times", "UPDATE messages SET delivery = 11 WHERE claimed_at IS NOT NULL"),
    ("P08 though lane", f"UPDATE lanes SET status = 'cancelled' WHERE id = {SENT_LANE}"),
    ("P08 waits, but a step of it is out", "UPDATE lanes SET status = 'waiting' WHERE id = 2"),
    ("P08 though member", "UPDATE batch_members SET status = 'removed' WHERE member_key = 'dan'"),
    ("P08 waits for a worker", "UPDATE batches SET status = 'cancelled'"),
    ("P10 open_lanes", "UPDATE phase_executions SET open_lanes = open_lanes - 1 WHERE id = 1"),
    ("P10 all of its lanes have ended", "UPDATE phase_executions SET open_lanes = 0 WHERE id = 1"),
    ("P10 lanes_total", "UPDATE phase_executions SET lanes_total = 9 WHERE id = 1"),
    ("P10 lanes_succeeded", "UPDATE phase_executions SET lanes_succeeded = 1 WHERE id = 1"),
    ("P10 lanes_failed", "UPDATE phase_executions SET lanes_failed = 1 WHERE id = 1"),
    ("P10 lanes_cancelled", "UPDATE phase_executions SET lanes_cancelled = 1 WHERE id = 1"),
    ("P10 lanes_started", "UPDATE phase_executions SET lanes_started = 1 WHERE id = 1"),
    ("P10 ring_started", "UPDATE phase_executions SET ring_started = 1 WHERE id = 1"),
    ("P10 ring_failed", "UPDATE phase_executions SET ring_failed = 1 WHERE id = 1"),
    ("P10 batch 1: open_lanes", "UPDATE batches SET open_lanes = 0"),
    ("P10 batch 1: open_phases", "UPDATE batches SET open_phases = 7"),
    ("P10 members_active", "UPDATE batches SET members_active = 1"),
    ("P10 is completed with 4 open lanes", "UPDATE phase_executions SET status = 'completed' WHERE id = 1"),
    ("P10 still being opened", "UPDATE phase_executions SET status = 'completed', opening_after = 1 WHERE id = 1"),
    ("P10 but a step of it is still open", "UPDATE lanes SET status = 'succeeded' WHERE id = 2"),
    ("P10 is completed with 4 open lanes", "UPDATE batches SET status = 'completed'"),
    ("P10 is completed with 2 open phases", "UPDATE batches SET status = 'completed'"),
    ("P10 is completed with 4 active", "UPDATE batches SET status = 'completed'"),
    ("P11 none of its phases", "UPDATE batches SET status = 'completed'"),
    ("P11 has no lane", "DELETE FROM lanes WHERE id = 2"),
    ("P11 has 1 of its 2 steps", "DELETE FROM executions WHERE step_name = 'sync' AND lane_id = 2"),
    ("P11 not the steps", "UPDATE executions SET step_name = 'other' WHERE step_name = 'sync' AND lane_id = 2"),
    ("P13 open phase lanes", "UPDATE batch_members SET status = 'removed' WHERE member_key = 'ann'"),
    ("P14 still active here", "UPDATE batch_members SET moved_to = 99 WHERE member_key = 'ann'"),
    ("P16 nobody will ask", f"UPDATE executions SET poll_due_at = NULL WHERE id = {BOB_POLLS}"),
    ("P16 only after", f"UPDATE executions SET poll_due_at = {FAR} WHERE id = {BOB_POLLS}"),
    ("P16 disagree", "UPDATE messages SET is_poll = 1 WHERE claimed_at IS NOT NULL"),
    ("P17 is not as version", f"UPDATE executions SET timeout_sec = 1 WHERE id = {ANN}"),
    ("P17 is not as version", f"UPDATE executions SET worker_id = 'other' WHERE id = {ANN}"),
    ("P18 ['upn'] unfilled", f"UPDATE executions SET params_json = '{{\"User\":\"{{{{ upn }}}}\"}}' WHERE id = {ANN}"),
    ("P24 has no lane", "UPDATE executions SET batch_id = 99 WHERE id = 2"),
    ("P24 has no batch, member or phase", "UPDATE lanes SET phase_id = 99 WHERE id = 2"),
    ("P24 has no batch", "UPDATE batch_members SET batch_id = 99 WHERE member_key = 'ann'"),
    ("P24 has no batch", "UPDATE phase_executions SET batch_id = 99 WHERE id = 2"),
    ("P24 which has no batch", "UPDATE events SET batch_id = NULL WHERE entity = 'phase'"),
    ("P24 has no execution", "INSERT INTO messages SELECT 99, topic, route, 'step-99', body, priority, created_at, batch_id,"
     " member_id, lane_id, 99, function_name, timeout_sec, is_poll, published_at, claimed_by, claimed_at, lease_until,"
     " timeout_at, delivery, is_draining FROM messages LIMIT 1"),
    ("P25 its history at 0", f"UPDATE executions SET attempt = 3 WHERE id = {CID_WAITS}"),
    ("P25 but its next move is from", "DELETE FROM events WHERE entity = 'execution' AND to_status = 'dispatched'"),
    ("P25 phase 2 is skipped", "UPDATE phase_executions SET status = 'skipped' WHERE id = 2"),
    ("P25 lane 2 is failed", "UPDATE lanes SET status = 'failed' WHERE id = 2"),
    ("P25 execution 2 is polling", "UPDATE executions SET status = 'polling' WHERE id = 2"),
    ("P25 batch 1 is closing", "UPDATE batches SET status = 'closing'"),
    ("P25 member 1 is failed", "UPDATE batch_members SET status = 'failed' WHERE id = 1"),
]  # fmt: skip

ENDED = [
    ("P01 ended 2 times", "INSERT INTO attempt_rows (execution_id, attempt, job_id, outcome, ended_at) SELECT execution_id,"
     " attempt, job_id, outcome, ended_at FROM attempt_rows WHERE outcome = 'succeeded' LIMIT 1"),
    ("P01 ended twice", f"{EVENT} SELECT at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause"
     " FROM events WHERE entity = 'execution' AND to_status = 'succeeded' LIMIT 1"),
    ("P02 succeeded without", "DELETE FROM attempt_rows WHERE outcome = 'succeeded'"),
    ("P02 no attempt of it failed", "UPDATE attempt_rows SET outcome = 'cancelled' WHERE outcome = 'failed'"),
    ("P02 polling, but no attempt", "UPDATE executions SET status = 'poll_timeout' WHERE status = 'rolled_back'"),
    ("P03 before execution 2 had passed", f"UPDATE events SET id = -id WHERE {DISPATCH} AND entity_id = 3"),
    ("P04 before init lane 1", "UPDATE events SET id = 9999 WHERE entity = 'lane' AND entity_id = 1 AND id > 1"),
    ("P04 while batch 1 was", "UPDATE events SET id = 9999 WHERE entity = 'batch' AND to_status = 'active'"),
    ("P04 which goes first", "UPDATE events SET id = -id WHERE entity = 'lane' AND to_status = 'running' AND entity_id ="
     " (SELECT id FROM lanes WHERE member_id = 1 AND sequence = 'cutover')"),
    ("P05 is called attempt 4", f"UPDATE events SET attempt = 4 WHERE {DISPATCH} AND entity_id = 2"),
    ("P05 of its lane was out", f"UPDATE events SET id = -id WHERE {DISPATCH} AND entity_id = 3"),
    ("P05 is recorded under", "UPDATE attempt_rows SET job_id = 'step-2-retry-1' WHERE execution_id = 2"),
    ("P05 but attempt 3 has ended", "UPDATE attempt_rows SET attempt = 3 WHERE execution_id = 2"),
    ("P05 before its retry", f"UPDATE events SET at = (SELECT at FROM events e WHERE e.cause = 'retry') WHERE {DISPATCH}"
     " AND attempt = 1"),
    ("P05 was retried 1 times", "UPDATE executions SET max_retries = 0, retry_count = 0 WHERE retry_count = 1"),
    ("P08 while member 2 was failed", "UPDATE events SET id = -1 WHERE entity = 'member' AND to_status = 'failed'"),
    ("P08 while batch 1 was completed", f"UPDATE events SET id = 9999 WHERE {DISPATCH} AND entity_id = 3"),
    ("P08 was not running", f"UPDATE events SET id = 9999 WHERE {DISPATCH} AND entity_id = 3"),
    ("P08 init execution 1", f"UPDATE events SET id = 9999 WHERE {DISPATCH} AND entity_id = 1"),
    ("P09 there is no such move", f"{EVENT} VALUES ({LATER}, 1, NULL, 'batch', 1, 'completed', 'closing', NULL, 'x')"),
    ("P09 in nobody's name", f"{EVENT} VALUES ({LATER}, 1, NULL, 'batch', 1, 'completed', 'active', NULL, 'retry')"),
    ("P09 in nobody's name", f"{EVENT} VALUES ({LATER}, 1, NULL, 'phase', 1, 'completed', 'dispatched', NULL, 'due')"),
    ("P09 after lane", f"{EVENT} VALUES ({LATER}, 1, 2, 'execution', 4, 'failed', 'pending', 1, 'retry')"),
    ("P10 is still open", "UPDATE executions SET status = 'pending' WHERE id = 3"),
    ("P10 without a step", "UPDATE executions SET status = 'skipped' WHERE status = 'rolled_back'"),
    ("P10 steps that did not", "UPDATE executions SET status = 'failed' WHERE step_name = 'unlink'"),
    ("P10 steps that did not", "UPDATE executions SET status = 'failed' WHERE id = 3"),
    ("P11 but 0 of its 3 lanes", "UPDATE phase_executions SET lanes_succeeded = 0 WHERE id = 1"),
    ("P11 phase 1 is failed", "UPDATE phase_executions SET status = 'failed' WHERE id = 1"),
    ("P11 phase 1 is cancelled", "UPDATE phase_executions SET status = 'cancelled' WHERE id = 1"),
    ("P11 phase 1 is skipped", "UPDATE phase_executions SET status = 'skipped' WHERE id = 1"),
    ("P11 batch 1 is completed", "UPDATE phase_executions SET status = 'failed'"),
    ("P12 0 rollbacks of 1", "DELETE FROM lanes WHERE kind = 'rollback'"),
    ("P12 1 rollbacks of 0", "UPDATE lanes SET cause_execution_id = 2 WHERE kind = 'rollback'"),
    ("P12 has not succeeded", "UPDATE lanes SET status = 'failed' WHERE kind = 'rollback'"),
    ("P12 has succeeded", "UPDATE executions SET status = 'failed' WHERE status = 'rolled_back'"),
    ("P13 has removal steps", "UPDATE lanes SET member_id = 1 WHERE kind = 'removal'"),
    ("P13 without its removal", "DELETE FROM lanes WHERE kind = 'removal'"),
    ("P13 came back", "UPDATE batch_members SET member_key = 'ann', generation = 2, status = 'failed' WHERE id = 2"),
    ("P15 its one_way", "UPDATE executions SET is_one_way = 1 WHERE id = 6"),
    ("P17 cannot be read", "UPDATE runbooks SET version = 2"),
    ("P19 0 attempts are kept", "DELETE FROM attempt_rows WHERE execution_id = 2"),
    ("P22 it was due", "UPDATE phase_executions SET due_at = '2026-01-01T01:00:00.001Z' WHERE id = 1"),
    ("P25 in the middle", "UPDATE events SET from_status = NULL WHERE id = 9"),
]  # fmt: skip

RETRIED = [
    ("P09 in nobody's name", "UPDATE events SET actor = NULL WHERE entity = 'member' AND to_status = 'active'"),
    ("P09 is_open = 1", "UPDATE holds SET is_open = 1"),
    ("P25 hold 1 is approved", "UPDATE holds SET state = 'approved'"),
    ("P29 without an audit", "DELETE FROM audit"),
    ("P29 without an audit", "UPDATE audit SET actor = 'eve'"),
]


@pytest.mark.parametrize(("wanted", "sql"), MIDDLE)
def test_a_change_in_the_middle_is_seen(wanted: str, sql: str) -> None:
    world = middle()
    assert not world.violations()
    world.corrupt(sql)
    assert flagged(world, wanted)


@pytest.mark.parametrize(("wanted", "sql"), ENDED)
def test_a_change_after_the_end_is_seen(wanted: str, sql: str) -> None:
    world = ended()
    world.corrupt(sql)
    world.reads_runbooks = wanted.startswith("P17")
    assert flagged(world, wanted)


@pytest.mark.parametrize(("wanted", "sql"), RETRIED)
def test_a_change_of_what_people_did_is_seen(wanted: str, sql: str) -> None:
    world = retried()
    world.corrupt(sql)
    assert flagged(world, wanted)
