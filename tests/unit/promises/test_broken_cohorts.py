"""Holds, leavers, versions, polls and identities: damage that needs a scene of its own."""

from __future__ import annotations

import pytest

from tests.unit.promises.test_broken import ended, flagged, middle
from tests.unit.promises.test_well import begin, of_bob, polls
from tests.unit.promises.watched import HOUR, RUNBOOK, Watched
from tminus.progression import events as ev
from tminus.testing.world import fails, silent


def left(after_s: float) -> Watched:
    """Let ann be dropped by the source, in the scene that damage can make too late or too many of."""
    world = begin()
    world.pass_time(after_s)
    world.store.round([ev.Leaving(1)])
    world.rest()
    return world


def pause(world: Watched, scope: str, member_id: int, place: int) -> None:
    """Pretend that a pause was opened at a place in the history, and never closed."""
    world.corrupt(
        "INSERT INTO holds (scope, kind, state, is_open, batch_id, member_id, reason, opened_at, opened_by) VALUES"
        " (?1, 'pause', 'waiting', 1, iif(?1 = 'all', NULL, 1), iif(?1 = 'member', ?2, NULL), '', ?3, 'ada')",
        scope,
        member_id,
        world.clock.now,
    )
    world.corrupt(
        "INSERT INTO events (id, at, batch_id, member_id, entity, entity_id, to_status, cause)"
        " SELECT ?, opened_at, batch_id, member_id, 'hold', id, 'waiting', 'pause' FROM holds",
        place,
    )


@pytest.mark.parametrize("scope", ["all", "batch", "member"])
def test_a_dispatch_under_a_pause(scope: str) -> None:
    world = ended()
    pause(world, scope, 1, -1)
    assert flagged(world, "P08 while pause hold 1 was open")


def test_a_dispatch_under_a_pause_of_somebody_else_or_before_it() -> None:
    world = ended()
    pause(world, "member", 99, -1)
    assert not flagged(world, "P08")
    world = ended()
    pause(world, "all", 0, 9999)
    assert not flagged(world, "P08")


def test_a_dispatch_after_a_gate_was_rejected() -> None:
    world = begin(RUNBOOK.replace("T-0\n", "T-0\n    gate: {}\n"))
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(3 * HOUR)
    world.command(ev.AnswerHold(hold_id=1, batch_id=1, answer="reject", actor="eve", reason="no"))
    world.corrupt("UPDATE events SET id = id - 9999 WHERE entity = 'hold'")
    assert flagged(world, "P08 while gate hold 1 was open")


def test_a_removal_after_t0_that_nobody_asked_for() -> None:
    world = left(1.5 * HOUR)
    world.corrupt("UPDATE batches SET batch_start_time = '2026-01-01T01:20:00.000Z'")
    assert flagged(world, "P15 after T-0")
    world.corrupt(
        "INSERT INTO audit (at, actor, action, scope, subject, reason, outcome)"
        " VALUES ('', 'ada', 'Reschedule', 'batch 1', '', '', 'done')"
    )
    assert not flagged(world, "P15 after T-0")


def test_more_removals_in_a_day_than_the_brake_lets_go() -> None:
    world = left(1.5 * HOUR)
    world.corrupt("UPDATE batch_members SET status = 'removed' WHERE id = 2")
    world.corrupt(
        "INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, cause)"
        " SELECT at, 1, 2, 'member', 2, 'active', 'removed', 'left the source' FROM events"
        " WHERE cause = 'left the source' AND entity = 'member'"
    )
    assert flagged(world, "P15 more than 1 of 3")


def test_a_key_that_lives_twice() -> None:
    world = begin()
    world.batch("wave", ["eve"], t0_in_s=4 * HOUR)
    world.corrupt("UPDATE batch_members SET member_key = 'ann' WHERE member_key = 'eve'")
    assert flagged(world, "P14 the key ann lives 2 times")


def test_a_batch_that_was_made_twice() -> None:
    world = begin()
    world.batch("wave", ["eve"], t0_in_s=4 * HOUR)
    world.corrupt("UPDATE batches SET source_time = '2026-01-01T02:00:00.000Z' WHERE id = 1")
    with world.store.database.write() as tx:
        tx.run("DROP INDEX batches_identity")
    world.corrupt("UPDATE batches SET source_time = '2026-01-01T02:00:00.000Z' WHERE id = 2")
    assert flagged(world, "P24 has 2 batches")


def test_a_member_with_two_lanes_in_one_phase() -> None:
    world = ended()
    with world.store.database.write() as tx:
        tx.run("DROP INDEX lanes_phase")
    world.corrupt("UPDATE lanes SET member_id = 1 WHERE member_id = 2 AND sequence = 'prepare'")
    assert flagged(world, "P24 two lanes of one kind")


def test_a_member_that_is_done_without_all_of_its_phases() -> None:
    world = ended()
    world.corrupt("UPDATE lanes SET status = 'cancelled' WHERE member_id = 1 AND sequence = 'cutover'")
    assert flagged(world, "P11 is done, but")


def test_a_failed_batch_with_a_completed_phase() -> None:
    world = ended()
    world.corrupt("UPDATE batches SET status = 'failed'")
    assert flagged(world, "P11 is failed, but")


def moved() -> Watched:
    """Bob failed and was tried again under a second version; the rest of his lane is of that version."""
    world = begin()
    world.behaviours["Sync"] = fails()
    world.pass_time(HOUR + 300)
    world.publish(RUNBOOK)
    world.run()
    world.behaviours["Sync"] = silent()
    world.command(ev.Retry(member_id=2, actor="ada", reason="because"))
    world.step()
    assert not world.violations()
    return world


MIXED = "(SELECT lane_id FROM executions WHERE runbook_version = 2 AND step_name = 'sync' AND step_index = 1 LIMIT 1)"


@pytest.mark.parametrize(
    ("wanted", "sql"),
    [
        ("P17 does not define", "UPDATE executions SET step_name = 'other' WHERE lane_id = {} AND step_index = 1"),
        ("P11 ends before", "UPDATE executions SET step_name = 'create' WHERE lane_id = {} AND step_index = 1"),
        ("P17 has moved to a newer", "UPDATE phase_executions SET status = 'pending' WHERE id = 2"),
        ("P17 has not the phases", "UPDATE phase_executions SET phase_name = 'other' WHERE id = 3"),
        ("P17 has not the phases", "DELETE FROM phase_executions WHERE runbook_version = 2 AND lanes_total = 0"),
    ],
)
def test_versions_that_are_mixed_wrongly(wanted: str, sql: str) -> None:
    world = moved()
    assert world.value(f"SELECT count(*) FROM lanes WHERE id = {MIXED} AND runbook_version = 1") == 1  # noqa: S608 - a constant.
    world.corrupt(sql.format(MIXED))
    assert flagged(world, wanted)


def test_a_lane_that_leaves_out_a_step_of_its_newer_version() -> None:
    longer = RUNBOOK.replace(
        "      - {name: sync", "      - {name: look, worker_id: w, function: Look}\n      - {name: sync"
    )
    world = begin(longer)
    world.behaviours["Look"] = fails()
    world.pass_time(HOUR + 300)
    world.publish(longer)
    world.run()
    world.behaviours["Look"] = silent()
    world.command(ev.Retry(member_id=2, actor="ada", reason="because"))
    assert not world.violations()
    world.corrupt("UPDATE executions SET step_name = 'verify' WHERE lane_id = 3 AND step_index = 0")
    assert flagged(world, "P17")
    world.corrupt("UPDATE executions SET step_name = 'create' WHERE lane_id = 3 AND step_index = 1")
    world.corrupt("UPDATE executions SET step_name = 'create' WHERE lane_id = 3 AND step_index = 0")
    assert flagged(world, "P11 leaves out")


def test_a_first_poll_before_its_interval() -> None:
    world = begin()
    world.behaviours["Sync"] = polls(9)
    world.pass_time(HOUR + 299)
    world.clock.advance(1)
    for look in world.store.looks():
        world.store.decide(look(("", 0)).events)
    assert world.value("SELECT count(*) FROM messages WHERE is_poll") == 3
    world.corrupt("UPDATE messages SET created_at = '2026-01-01T01:00:01.000Z' WHERE is_poll")
    assert flagged(world, "P16 was first polled at")


def test_polling_that_was_given_up_too_early() -> None:
    world = begin()
    world.behaviours["Sync"] = polls(1000)
    world.rest()
    world.corrupt("UPDATE executions SET poll_timeout_sec = 3601 WHERE status = 'poll_timeout'")
    assert flagged(world, "P16 was timed out at")


def test_an_attempt_that_was_given_up_too_early() -> None:
    world = begin(RUNBOOK.replace("function: Verify", "function: Verify, timeout: 10s"))
    world.behaviours["Verify"] = silent()
    world.rest()
    assert not world.violations(at_rest=True)
    world.corrupt("UPDATE attempt_rows SET ended_at = claimed_at WHERE outcome = 'timeout'")
    assert flagged(world, "P30 was timed out at")


def test_a_one_way_job_that_was_delivered_again() -> None:
    world = middle()
    world.corrupt("UPDATE executions SET is_one_way = 1 WHERE id = 2")
    world.corrupt("UPDATE messages SET delivery = 2 WHERE claimed_at IS NOT NULL")
    assert flagged(world, "P07 one_way job")


def test_a_pause_of_everything_that_lifted_itself() -> None:
    world = begin()
    world.command(ev.OpenHold(scope="all", actor="ada", reason="wait"))
    world.command(ev.AnswerHold(hold_id=1, batch_id=None, answer="lift", actor="ada", reason="go"))
    world.rest()
    world.corrupt("UPDATE holds SET state = 'waiting', is_open = 1")
    assert flagged(world, "P25 hold 1 is waiting")
    world.corrupt("UPDATE audit SET at = ''")
    assert flagged(world, "P29 hold 1")


def test_a_gate_that_nobody_approved() -> None:
    world = begin(RUNBOOK.replace("T-1h\n", "T-1h\n    gate: {}\n"))
    world.pass_time(1.5 * HOUR)
    world.command(ev.AnswerHold(hold_id=1, batch_id=1, answer="approve", actor="eve", reason="go"))
    world.rest()
    world.corrupt("UPDATE events SET actor = NULL WHERE entity = 'hold'")
    assert flagged(world, "P09 hold 1 was approved by nobody")
