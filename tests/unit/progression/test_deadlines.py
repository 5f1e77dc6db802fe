"""Deadlines of a member's phase: from its first dispatch or its due time, stretched by pauses and by nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import (
    POLL,
    answer,
    book,
    calls,
    execution,
    fail_late,
    in_turn,
    lane_statuses,
    outcomes,
    pause,
    phase,
    play,
    put_hold,
    retry,
    step,
)
from tminus.testing.world import World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

SLOW: Final = fails("Busy", "slow down", is_throttled=True, retry_after_s=45.0)


def timed(*steps: dict[str, object], deadline: object = "60s", **more: object) -> str:
    """Write a runbook with a deadline on its first phase."""
    return book(phase("prepare", *steps, deadline=deadline, offset="T-1h"), phase("cutover"), **more)


def failed_at(world: World) -> object:
    """Return the second of the first day at which ann failed."""
    at = world.value("SELECT failed_at FROM batch_members WHERE member_key = 'ann'")
    return None if at is None else str(at)[11:19]


@pytest.mark.parametrize(
    ("what", "says"),
    [("a job is out", silent()), ("it is polled", ok({"complete": False})), ("it is throttled", SLOW)],
)
def test_the_open_step_fails_when_the_deadline_passes(what: str, says: Behaviour) -> None:
    world = play(timed(step("prepare", poll=POLL)), prepare=says)
    world.pass_time(60)
    assert (what, failed_at(world)) == (what, "00:01:00")
    assert execution(world, "prepare", "type") == "deadline"
    assert lane_statuses(world, "phase", "ann") == ["failed", "cancelled"]


def test_retries_do_not_extend_it() -> None:
    world = play(timed(step("prepare", retry={"max_retries": 9, "interval": "25s"})), prepare=fails())
    world.pass_time(120)
    assert failed_at(world) == "00:01:00"
    assert calls(world) == "prepare prepare prepare"


def test_it_counts_from_the_lanes_first_dispatch() -> None:
    text = book(phase("prepare"), phase("cutover", deadline="60s"))
    world = play(text, prepare=in_turn(silent()), cutover=silent())
    world.clock.advance(20)
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    world.run()
    world.pass_time(100)
    assert failed_at(world) == "00:01:20"


def test_from_due_it_counts_from_the_opening() -> None:
    text = book(phase("prepare", offset="T-1h"), phase("cutover", deadline={"after": "60s", "from": "due"}))
    world = play(text, prepare=silent())
    world.pass_time(60)
    assert failed_at(world) == "00:01:00"
    assert calls(world) == "prepare prepare"  # The lease of the first ended on the way.
    assert lane_statuses(world, "phase", "ann") == ["cancelled", "failed"]


def test_from_due_a_retry_starts_it_anew() -> None:
    text = book(phase("prepare", deadline={"after": "60s", "from": "due"}), phase("care", offset="T+1d"))
    world = play(text, prepare=in_turn(fails(), silent()))
    world.pass_time(30)
    assert retry(world) == "done"
    world.pass_time(59)
    assert world.member_status("ann") == "active"
    world.pass_time(1)
    assert world.member_status("ann") == "failed"
    assert execution(world, "prepare", "type") == "deadline"


def test_a_lane_that_ends_in_time_has_no_deadline_any_more() -> None:
    world = play(timed(step("prepare")))
    world.pass_time(120)
    assert world.batch_status() == "completed"


def test_a_pause_stretches_it_by_its_length() -> None:
    world = play(timed(step("prepare")), prepare=silent())
    world.pass_time(10)
    hold = pause(world)
    world.pass_time(300)
    assert failed_at(world) is None
    answer(world, "lift", hold_id=hold)
    world.pass_time(300)
    assert failed_at(world) == "00:06:00"


def test_pauses_that_overlap_count_once() -> None:
    world = play(timed(step("prepare")), prepare=silent())
    world.pass_time(10)
    wide, narrow = pause(world, "runbook"), pause(world, "member")
    world.pass_time(20)
    answer(world, "lift", hold_id=wide)
    world.pass_time(10)
    answer(world, "lift", hold_id=narrow)
    world.pass_time(300)
    assert failed_at(world) == "00:01:30"


def test_a_pause_before_it_began_is_not_counted() -> None:
    world = play(timed(step("prepare")), t0_in_s=7200.0, prepare=silent())
    hold = pause(world)
    world.pass_time(3600 + 30)
    answer(world, "lift", hold_id=hold)
    world.pass_time(100)
    assert failed_at(world) == "01:01:30"


def test_a_hold_that_is_no_pause_does_not_stretch_it() -> None:
    world = play(timed(step("prepare")), prepare=silent())
    put_hold(world, "freeze")
    world.pass_time(60)
    assert failed_at(world) == "00:01:00"


def test_its_rollback_waits_for_the_job_that_is_out() -> None:
    text = timed(step("prepare", on_failure="undo"), deadline="20s", rollbacks={"undo": [step("undo")]})
    world = play(text, prepare=silent())
    world.pass_time(20)
    assert lane_statuses(world, "rollback", "ann") == ["waiting"]
    assert outcomes(world) == ["deadline"]
    fail_late(world)
    assert calls(world) == "prepare undo"
    assert world.steps("ann")["prepare"] == "rolled_back"


def test_a_retry_starts_it_anew() -> None:
    world = play(timed(step("prepare")), prepare=silent())
    world.pass_time(100)
    assert retry(world) == "done"
    world.pass_time(59)
    assert world.member_status("ann") == "active"
    world.pass_time(1)
    assert world.member_status("ann") == "failed"
