"""Lanes: what a final failure means in each kind, who goes first, and what waits for a job that is still running."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.progression.stage import (
    Keys,
    answer,
    book,
    calls,
    cancel,
    fail_late,
    in_turn,
    lane_statuses,
    leave,
    open_holds,
    phase,
    play,
    retry,
    retry_cleanup,
    retry_init,
    roll_back,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import World, fails, ok, silent

TWO_STEPS: Final = [step("first"), step("second")]


def undoing(*steps: Keys, **keys: object) -> str:
    """Write a runbook whose only step names a rollback of these steps."""
    return book(phase("prepare", step("prepare", on_failure="undo")), rollbacks={"undo": list(steps)}, **keys)


# -- what a final failure means ----------------------------------------------------------------------------------------


def test_a_phase_lane_stops_and_fails_its_member() -> None:
    world = play(book(phase("prepare", step("first"), step("second"))), first=fails())
    assert world.steps("ann") == {"first": "failed", "second": "cancelled"}
    assert lane_statuses(world, "phase", "ann") == ["failed"]
    assert world.member_status("ann") == "failed"
    assert calls(world) == "first"


def test_an_init_lane_stops_and_fails_its_batch() -> None:
    world = play(book(phase("prepare"), init=[step("init"), step("more")]), init=fails())
    assert world.batch_status() == "failed"
    assert world.member_status("ann") == "cancelled"
    assert world.phase_status("prepare") == "cancelled"
    assert calls(world) == "init"


def test_the_init_of_a_later_version_only_holds_its_batch() -> None:
    world = play(book(phase("prepare"), phase("care", offset="T+1d")))
    world.behaviours["init"] = fails()
    world.publish(book(phase("prepare"), phase("care", offset="T+1d"), init=[step("init")]), rerun_init=True)
    world.run()
    assert world.batch_status() == "active"
    assert open_holds(world) == ["rerun_init"]
    assert answer(world, "lift") == "retry the init"
    world.behaviours["init"] = ok()
    assert retry_init(world) == "done"
    world.run()
    assert not open_holds(world)
    assert world.phase_status("prepare", version=2) == "completed"


def test_the_init_of_a_batch_is_rolled_back_too() -> None:
    text = book(phase("prepare"), init=[step("init", on_failure="undo")], rollbacks={"undo": [step("undo")]})
    world = play(text, init=fails())
    assert calls(world) == "init undo"
    assert lane_statuses(world, "rollback") == ["succeeded"]
    assert world.batch_status() == "failed"


def test_a_rollback_goes_on_after_a_failure_and_asks_when_it_was_not_clean() -> None:
    world = play(undoing(*TWO_STEPS), prepare=fails(), first=fails())
    assert calls(world) == "prepare first second"
    assert lane_statuses(world, "rollback", "ann") == ["failed"]
    assert open_holds(world) == ["rollback"]
    assert world.steps("ann") == {"prepare": "failed"}


def test_a_clean_rollback_marks_what_it_undid() -> None:
    world = play(undoing(*TWO_STEPS), prepare=fails())
    assert world.steps("ann") == {"prepare": "rolled_back"}
    assert not open_holds(world)


def test_a_rollback_that_is_clean_at_the_second_try_withdraws_its_question() -> None:
    world = play(undoing(*TWO_STEPS), prepare=fails(), first=in_turn(fails(), ok()))
    assert retry_cleanup(world, "rollback") == "done"
    world.run()
    assert calls(world) == "prepare first second first"
    assert not open_holds(world)
    assert world.steps("ann") == {"prepare": "rolled_back"}


def test_removal_steps_go_on_and_ask_and_withdraw_their_question_when_retried() -> None:
    world = play(book(phase("prepare", offset="T+1d"), on_member_removed=TWO_STEPS), first=in_turn(fails(), ok()))
    leave(world)
    assert calls(world) == "first second"
    assert lane_statuses(world, "removal", "ann") == ["failed"]
    assert open_holds(world) == ["removal"]
    assert retry_cleanup(world, "removal") == "done"
    world.run()
    assert lane_statuses(world, "removal", "ann") == ["succeeded"]
    assert not open_holds(world)


@pytest.mark.parametrize(
    ("hook", "kind", "key"), [("on_member_failed", "member_failed", "ann"), ("on_batch_finished", "finish", None)]
)
def test_a_hook_goes_on_and_changes_no_outcome(hook: str, kind: str, key: str | None) -> None:
    text = book(phase("prepare", step("prepare", params={"upn": "{{upn}}"})), **{hook: TWO_STEPS})
    world = play(text, "ann", "bob", prepare=in_turn(fails(), ok()), first=fails())
    assert world.called("second") != []
    assert lane_statuses(world, kind, key) == ["failed"]
    assert world.batch_status() == "completed"
    assert world.member_status("bob") == "done"
    assert not open_holds(world)


def test_only_what_cleans_up_and_failed_can_be_cleaned_up_again() -> None:
    world = play(undoing(*TWO_STEPS), prepare=fails())
    assert retry_cleanup(world, "rollback") == "no rollback, removal or hook lane that failed"
    assert retry_cleanup(world, "phase") == "no rollback, removal or hook lane that failed"


# -- who goes first ----------------------------------------------------------------------------------------------------


def test_a_member_is_rolled_back_before_its_hook() -> None:
    world = play(undoing(*TWO_STEPS, on_member_failed=[step("tell")]), prepare=fails())
    assert calls(world) == "prepare first second tell"


def test_a_member_that_fails_cancels_its_other_open_work_with_the_cause() -> None:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=fails())
    sql = "SELECT sequence, status, cancelled_by FROM lanes ORDER BY id"
    assert world.rows(sql) == [("prepare", "failed", None), ("cutover", "cancelled", "step prepare failed")]
    assert world.phase_status("cutover") == "cancelled"


def test_no_phase_runs_before_init_and_phases_run_in_the_order_of_their_times() -> None:
    text = book(phase("cutover"), phase("prepare", offset="T-5d"), init=[step("init")])
    assert calls(play(text)) == "init prepare cutover"


def test_phases_of_one_time_run_in_the_order_of_the_runbook() -> None:
    text = book(phase("beta", step("b1"), step("b2")), phase("alpha", step("a1"), step("a2")))
    assert calls(play(text)) == "b1 b2 a1 a2"


def test_members_do_not_wait_for_each_other() -> None:
    text = book(phase("prepare", step("prepare", params={"upn": "{{upn}}"}), offset="T-1h"), phase("cutover"))
    world = play(text, "ann", "bob", prepare=in_turn(silent(), ok()))
    assert world.steps("bob") == {"prepare": "succeeded", "cutover": "succeeded"}
    assert world.steps("ann") == {"prepare": "dispatched", "cutover": "pending"}


@pytest.mark.parametrize("end", ["leaving", "cancel"])
def test_what_cleans_up_is_never_cancelled(end: str) -> None:
    world = play(undoing(*TWO_STEPS, on_batch_finished=[step("tell")]), prepare=fails(), first=silent())
    if end == "leaving":
        leave(world)
    else:
        cancel(world)
    world.run()
    assert lane_statuses(world, "rollback", "ann") == ["running"]
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    world.run()
    assert lane_statuses(world, "rollback", "ann") == ["succeeded"]
    assert calls(world) == "prepare first second tell"


# -- draining ----------------------------------------------------------------------------------------------------------

CLEANED: Final = book(
    phase("prepare", step("prepare", on_failure="undo", timeout="20s")),
    rollbacks={"undo": [step("undo")]},
    on_member_removed=[step("clean")],
)


def out() -> World:
    """Leave ann's job at a worker."""
    return play(CLEANED, prepare=silent())


def test_removal_waits_for_the_job_that_is_out() -> None:
    world = out()
    leave(world)
    assert lane_statuses(world, "removal", "ann") == ["waiting"]
    fail_late(world)
    assert calls(world) == "prepare clean"


def test_removal_goes_at_once_when_nobody_had_taken_the_job() -> None:
    world = World()
    world.publish(CLEANED)
    world.batch("wave", ["ann"])
    world.step(most=0)
    leave(world)
    assert calls(world) == "clean"


def test_removal_waits_no_longer_than_the_lease() -> None:
    world = out()
    leave(world)
    world.pass_time(19)
    assert calls(world) == "prepare"
    world.pass_time(1)
    assert calls(world) == "prepare clean"


def test_a_forced_removal_does_not_wait() -> None:
    world = out()
    world.round([ev.Leaving(1, actor="ops", force=True)])
    world.run()
    assert calls(world) == "prepare clean"


def test_a_rollback_on_demand_waits_for_the_job_that_is_out() -> None:
    world = out()
    assert roll_back(world) == "done"
    assert world.steps("ann") == {"prepare": "cancelled"}
    assert lane_statuses(world, "rollback", "ann") == ["waiting"]
    fail_late(world)
    assert calls(world) == "prepare undo"


def test_a_retry_waits_for_the_job_that_is_out() -> None:
    text = book(phase("prepare", offset="T-1h", deadline="10s"), phase("cutover"))
    world = play(text, prepare=in_turn(silent(), ok()))
    world.pass_time(10)
    assert world.member_status("ann") == "failed"
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "prepare"
    fail_late(world)
    assert calls(world) == "prepare prepare cutover"


def test_a_job_that_drains_changes_nothing_when_it_ends() -> None:
    world = out()
    leave(world)
    fail_late(world)
    assert world.member_status("ann") == "removed"
    assert world.steps("ann") == {"prepare": "cancelled"}
    assert world.value("SELECT count(*) FROM messages") == 0
