"""Members come late, leave, move and return, and the batch goes on around them."""

from __future__ import annotations

from typing import Final

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
    leave,
    open_holds,
    phase,
    play,
    retry,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

LATER: Final = phase("care", step("care", params=UPN), offset="T+2d")
FIRST: Final = phase("prepare", step("prepare", params=UPN), offset="T-1h")
TWO: Final = book(FIRST, LATER)
CLEANED: Final = book(FIRST, LATER, on_member_removed=[step("clean", params=UPN)])


def called(world: World, key: str) -> list[str]:
    """Return what was called for a member."""
    return [call.function for call in world.calls if call.params.get("upn") == key]


# -- joiners -----------------------------------------------------------------------------------------------------------


def test_a_joiner_catches_up_with_a_phase_that_is_open() -> None:
    world = play(TWO, prepare=silent())
    join(world, "bob")
    assert called(world, "bob") == ["prepare"]
    assert world.rows("SELECT lanes_total, open_lanes FROM phase_executions WHERE id = 1") == [(2, 2)]


def test_a_joiner_reopens_a_phase_that_has_completed() -> None:
    world = play(TWO)
    assert world.phase_status("prepare") == "completed"
    join(world, "bob")
    assert called(world, "bob") == ["prepare"]
    assert world.phase_status("prepare") == "completed"
    assert called(world, "ann") == ["prepare"]


def test_a_joiner_reopens_a_phase_that_has_failed() -> None:
    world = play(TWO, prepare=fails())
    assert (world.phase_status("prepare"), world.batch_status()) == ("failed", "active")
    world.behaviours["prepare"] = ok()
    join(world, "bob")
    assert world.phase_status("prepare") == "completed"


def test_a_joiner_opens_a_phase_that_had_no_members_when_it_came_due() -> None:
    world = play(TWO, t0_in_s=7200.0)
    leave(world)
    world.pass_time(3600)
    assert world.phase_status("prepare") == "skipped"
    join(world, "bob")
    assert world.phase_status("prepare") == "completed"


def test_a_joiner_catches_up_with_a_phase_whose_members_have_all_left() -> None:
    world = play(TWO, prepare=silent())
    leave(world)
    assert world.phase_status("prepare") == "cancelled"
    world.behaviours["prepare"] = ok()
    join(world, "bob")
    assert called(world, "bob") == ["prepare"]
    assert world.phase_status("prepare") == "completed"


def test_later_phases_include_a_joiner_by_themselves() -> None:
    world = play(TWO, t0_in_s=7200.0)
    join(world, "bob")
    assert calls(world) == ""
    world.pass_time(3 * DAY)
    assert called(world, "bob") == ["prepare", "care"]


def test_a_joiner_has_a_deadline_of_its_own() -> None:
    world = play(book({**FIRST, "deadline": {"after": "1m", "from": "due"}}, LATER))
    world.pass_time(300)
    world.behaviours["prepare"] = silent()
    join(world, "bob")
    world.pass_time(59)
    assert world.member_status("bob") == "active"
    world.pass_time(1)
    assert world.member_status("bob") == "failed"


def test_an_approved_gate_stays_approved_for_a_joiner() -> None:
    world = play(book({**FIRST, "gate": {}}, LATER))
    answer(world, "approve")
    world.run()
    join(world, "bob")
    assert called(world, "bob") == ["prepare"]


def test_a_key_that_is_in_an_open_batch_does_not_join_again() -> None:
    world = play(TWO)
    assert join(world, "ann") == []
    world.batch("wave", ["bob"])
    assert join(world, "bob") == []


@pytest.mark.parametrize("end", ["completed", "cancelled"])
def test_nobody_joins_a_batch_that_has_ended(end: str) -> None:
    world = play(book(FIRST), prepare=ok() if end == "completed" else silent())
    if end == "cancelled":
        cancel(world)
        world.run()
    assert world.batch_status() == end
    assert join(world, "bob") == []


def test_a_joiner_of_a_moved_batch_runs_the_phases_of_the_current_version_only() -> None:
    world = play(TWO)
    world.publish(book({**phase("ready", step("ready", params=UPN), offset="T-1h")}, LATER))
    world.run()
    join(world, "bob")
    assert called(world, "bob") == ["ready"]


# -- leavers -----------------------------------------------------------------------------------------------------------


def test_a_leaver_is_cleaned_up_after() -> None:
    world = play(CLEANED)
    leave(world)
    assert world.member_status("ann") == "removed"
    assert called(world, "ann") == ["prepare", "clean"]
    world.pass_time(3 * DAY)
    assert called(world, "ann") == ["prepare", "clean"]


def test_a_leaver_whose_rollback_is_open_is_rolled_back_first() -> None:
    text = book(
        phase("prepare", step("prepare", params=UPN, on_failure="undo"), offset="T-1h"),
        LATER,
        rollbacks={"undo": [step("undo", params=UPN)]},
        on_member_removed=[step("clean", params=UPN)],
    )
    world = play(text, prepare=silent(), undo=silent())
    world.command(ev.RollBack(member_id=1, actor="ops", reason="undo"))
    leave(world)
    # Whoever was rolled back has failed, and a failed member that leaves is only flagged.
    fail_late(world)
    assert called(world, "ann") == ["prepare", "undo"]
    assert world.value("SELECT has_left FROM batch_members") == 1


def test_a_failed_member_that_leaves_stays_failed_and_is_not_cleaned_up() -> None:
    world = play(CLEANED, prepare=fails())
    leave(world)
    assert world.member_status("ann") == "failed"
    assert world.value("SELECT has_left FROM batch_members") == 1
    assert called(world, "ann") == ["prepare"]


def test_phases_are_looked_at_again_when_somebody_leaves() -> None:
    world = play(TWO, "ann", "bob", prepare=silent())
    world.round([world.result(world.held[1], ok()(world.held[1]))])
    world.run()
    assert world.phase_status("prepare") == "dispatched"
    leave(world)
    assert world.phase_status("prepare") == "completed"


def test_a_batch_that_everybody_has_left_is_cancelled() -> None:
    world = play(TWO)
    leave(world)
    world.pass_time(3 * DAY)
    assert (world.phase_status("prepare"), world.phase_status("care")) == ("completed", "skipped")
    assert world.batch_status() == "cancelled"


def test_leaving_twice_is_leaving_once() -> None:
    world = play(CLEANED)
    leave(world)
    leave(world)
    assert lane_statuses(world, "removal", "ann") == ["succeeded"]
    assert not world.refused


# -- absent members ----------------------------------------------------------------------------------------------------

DROPPING: Final = book(LATER, leavers={"policy": "remove"})
FIVE: Final = ["a", "b", "c", "d", "e"]


def absent(world: World, *keys: str, removed: int = 0, vanished: bool = False, doubtful: str | None = None) -> None:
    """Say that a source has stopped naming these members."""
    ids = tuple(world.member_id(key) for key in keys)
    world.round([ev.Absent(1, ids, removed, vanished=vanished, doubtful=doubtful)])
    world.run()


def statuses(world: World, *keys: str) -> list[str]:
    """Return what became of these members."""
    return [world.member_status(key) for key in keys]


def test_one_of_five_may_go() -> None:
    world = play(DROPPING, *FIVE, t0_in_s=DAY)
    absent(world, "a")
    assert statuses(world, "a", "b") == ["removed", "active"]


def test_at_least_one_may_go_however_small_the_batch() -> None:
    world = play(DROPPING, "a", "b", t0_in_s=DAY)
    absent(world, "a")
    assert statuses(world, "a", "b") == ["removed", "active"]


@pytest.mark.parametrize("removed", [0, 1])
def test_more_than_the_brake_lets_go_are_asked_about_all_together(removed: int) -> None:
    world = play(DROPPING, *FIVE, t0_in_s=DAY)
    gone = ("a", "b")[: 2 - removed]
    absent(world, *gone, removed=removed)
    assert statuses(world, *gone) == ["active"] * len(gone)
    assert open_holds(world) == ["leavers"]
    assert world.value("SELECT reason FROM holds") == "2 of 5 within 24 h are more than the brake lets go"


@pytest.mark.parametrize(
    ("why", "kind"),
    [("after T-0", "leavers"), ("vanished", "vanished"), ("doubtful", "leavers"), ("policy", "leavers")],
)
def test_what_may_be_a_mistake_is_asked_about(why: str, kind: str) -> None:
    text = book(LATER, leavers={"policy": "propose"}) if why == "policy" else DROPPING
    world = play(text, *FIVE, t0_in_s=0.0 if why == "after T-0" else DAY)
    absent(world, "a", vanished=why == "vanished", doubtful="the answer shrank" if why == "doubtful" else None)
    assert statuses(world, "a") == ["active"]
    assert open_holds(world) == [kind]


def test_leavers_are_ignored_where_the_runbook_says_so() -> None:
    world = play(book(LATER, leavers={"policy": "ignore"}), *FIVE, t0_in_s=DAY)
    absent(world, "a", vanished=True)
    assert statuses(world, "a") == ["active"]
    assert not open_holds(world)


def test_leavers_that_are_accepted_go() -> None:
    world = play(DROPPING, *FIVE, t0_in_s=DAY)
    absent(world, "a", "b")
    assert answer(world, "accept", "leavers") == "done"
    assert statuses(world, *FIVE) == ["removed", "removed", "active", "active", "active"]
    assert not open_holds(world)


def test_leavers_that_are_refused_stay_and_are_not_asked_about_again() -> None:
    world = play(DROPPING, *FIVE, t0_in_s=DAY)
    absent(world, "a", "b")
    assert answer(world, "refuse", "leavers") == "done"
    absent(world, "a", "b")
    assert statuses(world, "a", "b") == ["active", "active"]
    assert not open_holds(world)


def test_a_hold_without_leavers_has_none_to_accept() -> None:
    world = play(book({**FIRST, "gate": {}}))
    assert answer(world, "accept") == "a gate hold lists no leavers and no moves"
    assert answer(world, "refuse") == "a gate hold lists no leavers and no moves"


# -- moves and returns -------------------------------------------------------------------------------------------------

OUTPUT: Final = book(
    phase("prepare", step("prepare", params=UPN, output_params={"Id": "id"}), offset="T-1h"),
    phase("cutover", step("cutover", params={**UPN, "id": "{{Id}}"})),
    on_member_removed=[step("clean", params=UPN)],
)


def moving(world: World, key: str = "ann", to: int = 2) -> int | None:
    """Move a member to another batch."""
    moved = world.store.move(world.member_id(key), to)
    world.run()
    return moved


def half_way() -> World:
    """Bring ann through prepare in one batch, with another batch an hour later."""
    world = World(behaviours={"prepare": ok({"id": 7})})
    world.publish(OUTPUT)
    world.batch("wave", ["ann"], t0_in_s=1800)
    world.batch("wave", ["bob"], t0_in_s=5400)
    world.run()
    assert called(world, "ann") == ["prepare"]
    return world


def test_a_member_that_moves_keeps_its_outputs_and_what_it_has_passed() -> None:
    world = half_way()
    assert moving(world) == 3
    assert world.rows("SELECT status, moved_to FROM batch_members WHERE id = 1") == [("removed", 3)]
    world.pass_time(2 * 3600)
    assert called(world, "ann") == ["prepare", "cutover"]
    assert next(call.params["id"] for call in world.calls if call.function == "cutover") == 7
    sql = "SELECT sequence, status, is_inherited FROM lanes WHERE member_id = 3 ORDER BY id"
    assert world.rows(sql) == [("prepare", "succeeded", 1), ("cutover", "succeeded", 0)]


def test_one_who_moves_is_not_cleaned_up_after() -> None:
    world = half_way()
    moving(world)
    assert lane_statuses(world, "removal", "ann") == []
    assert world.batch_status(1) in {"active", "cancelled"}


def test_one_who_moves_into_a_batch_that_has_opened_the_phase_inherits_it_there() -> None:
    world = World(behaviours={"prepare": ok({"id": 7})})
    world.publish(OUTPUT)
    world.batch("wave", ["ann"], t0_in_s=1800)
    world.batch("wave", ["bob"], t0_in_s=3000)
    world.run()
    moving(world)
    assert called(world, "ann") == ["prepare"]
    assert lane_statuses(world, "phase", "ann") == ["succeeded"]


def test_what_a_move_leaves_at_a_worker_is_waited_for_in_the_new_batch() -> None:
    world = World(behaviours={"prepare": silent()})
    world.publish(OUTPUT)
    world.batch("wave", ["ann"], t0_in_s=1800)
    world.batch("wave", ["bob"], t0_in_s=3000)
    world.run()
    world.behaviours["prepare"] = ok({"id": 8})
    moving(world)
    assert called(world, "ann") == ["prepare"]
    fail_late(world)
    assert called(world, "ann") == ["prepare", "prepare"]


def test_a_failed_member_moves_as_failed_and_may_be_retried_there() -> None:
    world = half_way()
    world.behaviours["cutover"] = fails()
    world.pass_time(1800)
    assert world.member_status("ann") == "failed"
    moving(world)
    assert world.rows("SELECT status FROM batch_members WHERE member_key = 'ann'") == [("failed",), ("failed",)]
    world.behaviours["cutover"] = ok()
    assert retry(world) == "done"
    world.pass_time(2 * 3600)
    assert (world.member_status("ann"), world.batch_status(2)) == ("done", "completed")


@pytest.mark.parametrize("case", ["same batch", "ended batch", "twice", "nobody"])
def test_a_move_that_cannot_be_is_none(case: str) -> None:
    world = half_way()
    if case == "same batch":
        assert moving(world, to=1) is None
    elif case == "nobody":
        assert world.store.move(99, 2) is None
    elif case == "twice":
        assert moving(world) == 3
        assert world.store.move(1, 2) is None
    else:
        cancel(world, 2)
        world.run()
        assert moving(world) is None
    assert not world.refused


def test_a_removed_member_that_returns_is_a_new_generation_and_runs_what_is_due_again() -> None:
    world = play(CLEANED)
    leave(world)
    (back,) = join(world, "ann")
    assert world.rows("SELECT generation, status FROM batch_members WHERE id = ?", back) == [(2, "active")]
    assert called(world, "ann") == ["prepare", "clean", "prepare"]


def test_a_failed_member_does_not_return_by_itself() -> None:
    world = play(CLEANED, prepare=fails())
    assert join(world, "ann") == []


def test_a_manual_batch_gives_a_joiner_the_phases_it_was_advanced_through() -> None:
    world = play(TWO, t0_in_s=None)
    advance(world)
    world.run()
    join(world, "bob")
    assert called(world, "bob") == ["prepare"]
