"""Steering a batch: cancel, advance, reschedule, and what becomes of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import (
    UPN,
    advance,
    answer,
    book,
    calls,
    cancel,
    fail_late,
    join,
    lane_statuses,
    late,
    only,
    open_holds,
    pause,
    phase,
    play,
    reschedule,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

PREPARE: Final = phase("prepare", step("prepare", params=UPN), offset="T-1h")
CARE: Final = phase("care", step("care", params=UPN), offset="T+1d")
TWO: Final = book(PREPARE, CARE)
ONE_WAY: Final = book(
    phase("prepare", step("check", params=UPN), step("cut", params=UPN, one_way=True), step("after", params=UPN)),
    CARE,
)


# -- cancel ------------------------------------------------------------------------------------------------------------


def test_a_cancel_stops_what_has_not_gone_out_at_once_and_ends_the_members_behind_it() -> None:
    world = World()
    world.publish(TWO)
    world.batch("wave", ["ann", "bob"])
    world.step(most=0)
    assert cancel(world) == "done"
    assert world.batch_status() == "cancelled"
    assert world.value("SELECT count(*) FROM messages") == 0
    world.run()
    assert calls(world) == ""
    assert [world.member_status(key) for key in ("ann", "bob")] == ["cancelled", "cancelled"]
    assert [world.phase_status(name) for name in ("prepare", "care")] == ["cancelled", "cancelled"]


def test_a_job_that_a_worker_has_drains_and_changes_nothing() -> None:
    world = play(TWO, prepare=silent())
    cancel(world)
    world.run()
    fail_late(world)
    assert world.steps("ann") == {"prepare": "cancelled"}
    assert world.value("SELECT count(*) FROM messages") == 0


def test_finish_steps_run_on_a_cancel_as_well() -> None:
    text = book(PREPARE, on_batch_finished=[step("tell", params={"o": "{{_outcome}}"})])
    world = play(text, prepare=silent())
    cancel(world)
    world.run()
    assert world.calls[-1].params == {"o": "cancelled"}
    assert (world.batch_status(), lane_statuses(world, "finish")) == ("cancelled", ["succeeded"])


def test_a_cancel_during_init_cancels_the_init() -> None:
    world = play(book(PREPARE, init=[step("init"), step("more")]), init=silent())
    cancel(world)
    world.run()
    assert lane_statuses(world, "init") == ["cancelled"]
    fail_late(world)
    assert calls(world) == "init"


def test_a_cancelled_batch_asks_nothing_any_more() -> None:
    world = play(book({**PREPARE, "gate": {}}))
    assert open_holds(world) == ["gate"]
    cancel(world)
    assert open_holds(world) == []


def test_ended_batches_and_no_batch_cannot_be_cancelled() -> None:
    world = play(book(PREPARE))
    assert cancel(world) == "the batch is completed"
    assert cancel(world, 9) == "no such batch"
    other = play(TWO)
    cancel(other)
    assert cancel(other) == "the batch is cancelled"


def past_one_way() -> World:
    """Bring ann past her one_way step, bob before it, and cid to a job that nobody has claimed."""
    world = play(ONE_WAY, "ann", "bob", "cid", check=only("bob", silent()), cut=only("cid", silent()), after=silent())
    assert world.steps("ann") == {"check": "succeeded", "cut": "succeeded", "after": "dispatched"}
    assert world.steps("bob")["check"] == "dispatched"
    return world


def test_members_past_a_one_way_step_go_on_and_the_others_end() -> None:
    world = past_one_way()
    assert cancel(world) == "done"
    world.run()
    assert [world.member_status(key) for key in ("ann", "bob", "cid")] == ["active", "cancelled", "active"]
    assert world.batch_status() == "active"
    world.behaviours = {}
    for call in [call for call in world.held if call.params.get("upn") != "bob"]:
        late(world, call, ok()(call))
    world.pass_time(DAY)
    assert world.steps("ann") == {"check": "succeeded", "cut": "succeeded", "after": "succeeded", "care": "succeeded"}
    assert world.steps("cid")["after"] == "succeeded"
    assert world.batch_status() == "cancelled"


def test_a_one_way_member_whose_job_nobody_had_claimed_goes_on_too() -> None:
    world = World()
    world.publish(ONE_WAY)
    world.batch("wave", ["ann"])
    for _ in range(2):
        world.step()
    world.step(most=0)
    assert world.steps("ann")["after"] == "dispatched"
    cancel(world)
    world.run()
    assert world.steps("ann")["after"] == "succeeded"


def test_until_all_are_told_nobody_gets_anything_and_then_those_go_on_who_must() -> None:
    world = World()
    world.publish(ONE_WAY)
    world.batch("wave", ["ann", *(f"m{i:03}" for i in range(600))])
    for _ in range(2):
        world.step(most=1)
    assert calls(world) == "check cut"
    cancel(world)
    before = len(world.calls)
    world.store.round([], turn=True)
    assert world.store.claim("cloud", "worker-1", 500) == []
    assert {str(s) for (s,) in world.rows("SELECT status FROM batch_members")} == {"active"}
    world.run()
    assert {call.params["upn"] for call in world.calls[before:]} <= {"ann"}
    assert world.steps("ann")["after"] == "succeeded"


def told_apart(text: str, **behaviours: Behaviour) -> World:
    """Cancel a batch in which ann is past a one_way step and bob is not, and stop before its members are told."""
    world = World(behaviours=dict(behaviours))
    world.publish(text)
    world.batch("wave", ["ann", "bob"])
    world.run()
    cancel(world)
    assert world.value("SELECT ending_after FROM batches") == 0
    return world


def answer_held(world: World, key: str) -> None:
    """Have the worker answer what it holds for a member; nobody looks further."""
    call = next(call for call in world.held if call.params["upn"] == key)
    world.round([world.result(call, ok()(call))])


def test_a_result_meanwhile_sends_no_next_step() -> None:
    world = told_apart(ONE_WAY, check=only("bob", silent()), after=silent())
    answer_held(world, "bob")
    assert world.steps("bob") == {"check": "succeeded", "cut": "pending", "after": "pending"}


def test_a_lane_that_ends_meanwhile_starts_no_other_and_who_goes_on_starts_it_then() -> None:
    second = phase("second", step("next", params=UPN), offset="T-0")
    text = book(phase("first", step("cut", params=UPN, one_way=True), offset="T-1h"), second)
    world = told_apart(text, cut=silent())
    answer_held(world, "ann")
    assert lane_statuses(world, "phase", "ann") == ["succeeded", "waiting"]
    world.run()
    assert "next" in calls(world)


def test_no_phase_opens_meanwhile() -> None:
    world = told_apart(ONE_WAY, after=silent())
    world.clock.advance(2 * DAY)
    world.round([ev.PhaseDue(2)])
    assert world.phase_status("care") == "pending"


def test_everybody_means_everybody() -> None:
    world = past_one_way()
    assert cancel(world, everyone=True) == "done"
    world.run()
    assert {world.member_status(key) for key in ("ann", "bob", "cid")} == {"cancelled"}
    assert world.batch_status() == "cancelled"


def test_nobody_joins_a_batch_that_is_being_cancelled() -> None:
    world = past_one_way()
    cancel(world)
    world.run()
    assert join(world, "late") == []
    world.batch("wave", ["eve"], t0_in_s=DAY)
    assert world.store.move(world.member_id("eve"), 1) is None


def test_a_batch_that_is_being_cancelled_may_be_cancelled_for_everybody() -> None:
    world = past_one_way()
    cancel(world)
    world.run()
    assert cancel(world, everyone=True) == "done"
    world.run()
    assert (world.batch_status(), world.member_status("ann")) == ("cancelled", "cancelled")


# -- advance -----------------------------------------------------------------------------------------------------------

THREE: Final = book(phase("late", offset="T+1d"), phase("early", offset="T-1d"), phase("middle"), init=[step("init")])


def test_a_batch_without_t0_waits_and_goes_from_the_largest_offset_to_the_smallest() -> None:
    world = play(THREE, t0_in_s=None)
    assert (calls(world), world.batch_status()) == ("", "detected")
    for expected in ("init early", "init early middle", "init early middle late"):
        assert advance(world) == "done"
        world.run()
        assert calls(world) == expected
    assert world.batch_status() == "completed"
    assert advance(world) == "the batch is completed"


def test_an_advance_is_refused_while_the_phase_before_is_open() -> None:
    world = play(THREE, t0_in_s=None, early=silent())
    advance(world)
    assert advance(world) == "phase early is still open"
    world.run()
    assert advance(world) == "phase early is still open"
    late(world, world.held[0], ok()(world.held[0]))
    assert advance(world) == "done"


def test_an_advance_is_refused_with_a_t0_and_of_no_batch() -> None:
    world = play(TWO)
    assert advance(world) == "the batch has a T-0 and runs by itself"
    assert advance(world, 9) == "no such batch"


def test_an_advance_is_refused_when_all_phases_have_run() -> None:
    world = play(book(phase("one", offset="T-1h"), on_batch_finished=[step("tell")]), t0_in_s=None, tell=silent())
    advance(world)
    world.run()
    assert advance(world) == "the batch is closing"


def test_a_member_that_failed_is_not_advanced() -> None:
    text = book(phase("one", step("one", params=UPN), offset="T-1h"), phase("two", step("two", params=UPN)))
    world = play(text, "ann", "bob", t0_in_s=None, one=only("bob", fails()))
    advance(world)
    world.run()
    advance(world)
    world.run()
    assert [call.params["upn"] for call in world.calls if call.function == "two"] == ["ann"]
    assert (world.batch_status(), world.member_status("bob")) == ("completed", "failed")


# -- reschedule --------------------------------------------------------------------------------------------------------


def due(world: World) -> list[object]:
    """Return the due times of the phases as hours of the first day."""
    rows = world.rows("SELECT substr(due_at, 6, 8) FROM phase_executions ORDER BY id")
    return [text for (text,) in rows]


def test_what_has_not_opened_gets_new_due_times() -> None:
    world = play(TWO, t0_in_s=DAY)
    assert due(world) == ["01-01T23", "01-03T00"]
    assert reschedule(world, 2 * DAY) == "done"
    assert due(world) == ["01-02T23", "01-04T00"]
    world.pass_time(DAY)
    assert calls(world) == ""
    world.pass_time(2 * DAY)
    assert calls(world) == "prepare care"


def test_what_has_opened_keeps_its_time() -> None:
    world = play(TWO)
    reschedule(world, DAY)
    assert due(world)[1] == "01-03T00"
    assert world.phase_status("prepare") == "completed"
    world.run()
    assert calls(world) == "prepare"


def test_a_batch_without_t0_gets_one_and_runs_by_itself() -> None:
    world = play(book(PREPARE, init=[step("init")]), t0_in_s=None)
    assert reschedule(world, 3600) == "done"
    world.run()
    assert calls(world) == "init prepare"


@pytest.mark.parametrize("said", ["reject", None])
def test_a_gate_that_was_rejected_or_expired_is_asked_anew(said: str | None) -> None:
    world = play(book({**PREPARE, "gate": {"expires": "1h"}}, CARE))
    if said:
        answer(world, "reject")
    else:
        world.pass_time(3600)
    reschedule(world, DAY)
    assert open_holds(world) == []
    world.pass_time(DAY - 1800)
    assert open_holds(world) == ["gate"]
    answer(world, "approve", "gate")
    world.run()
    assert calls(world) == "prepare"


def test_a_gate_that_waits_is_asked_anew_when_its_phase_is_due_again() -> None:
    world = play(book({**PREPARE, "gate": {"expires": "2h"}}, CARE))
    reschedule(world, 7 * DAY)
    assert open_holds(world) == []
    world.pass_time(7 * DAY - 3600)
    assert open_holds(world) == ["gate"]
    assert world.value("SELECT state FROM holds WHERE is_open") == "waiting"


def test_a_gate_that_waits_stays_where_its_phase_is_due_all_the_same() -> None:
    world = play(book({**PREPARE, "gate": {"expires": "2h"}}, CARE))
    reschedule(world, 1800)
    assert open_holds(world) == ["gate"]
    assert world.value("SELECT count(*) FROM holds") == 1


def test_an_old_t0_is_held_until_it_is_lifted_or_replaced() -> None:
    world = play(book(PREPARE, init=[step("init")]), t0_in_s=-8 * DAY)
    assert (open_holds(world), calls(world)) == (["old_t0"], "")
    reschedule(world, 1800)
    world.run()
    assert (open_holds(world), calls(world)) == ([], "init prepare")
    other = play(book(PREPARE, init=[step("init")]), t0_in_s=-8 * DAY)
    assert answer(other, "lift", "old_t0") == "done"
    other.run()
    assert calls(other) == "init prepare"


def test_ended_batches_and_no_batch_are_not_rescheduled() -> None:
    world = play(book(PREPARE))
    assert reschedule(world, DAY) == "the batch is completed"
    assert reschedule(world, DAY, 9) == "no such batch"


def test_a_pause_survives_a_reschedule() -> None:
    world = play(TWO, t0_in_s=DAY)
    pause(world)
    reschedule(world, 0)
    world.run()
    assert (open_holds(world), calls(world)) == (["pause"], "")


def test_every_command_is_audited_with_who_why_and_what_became_of_it() -> None:
    world = play(TWO)
    advance(world)
    cancel(world)
    world.command(ev.Reschedule(batch_id=1, t0=world.clock.now, actor="eve", reason="later"))
    sql = "SELECT actor, action, scope, reason, outcome FROM audit ORDER BY id"
    assert world.rows(sql) == [
        ("ops", "Advance", "batch 1", "go on", "refused"),
        ("ops", "CancelBatch", "batch 1", "stop", "done"),
        ("eve", "Reschedule", "batch 1", "later", "refused"),
    ]
