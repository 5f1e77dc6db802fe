"""Rings, brakes and overlap: who may start, and what stops those who have not."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.progression.stage import (
    UPN,
    Keys,
    answer,
    book,
    calls,
    fail_late,
    in_turn,
    join,
    lane_statuses,
    leave,
    moves,
    only,
    open_holds,
    phase,
    play,
    retry,
    step,
)
from tminus.testing.world import World, fails, ok, silent

TEN: Final = [f"m{i}" for i in range(10)]


def ringed(rings: list[object], **keys: object) -> str:
    """Write a runbook with one phase in rings."""
    return book({**phase("prepare", step("prepare", params=UPN)), "rings": rings, **keys})


def called(world: World) -> list[object]:
    """Return whose step was called, in order."""
    return [call.params["upn"] for call in world.calls]


def rings(world: World) -> list[object]:
    """Return the ring of every member's lane, counted from one."""
    return [ring for (ring,) in world.rows("SELECT ring + 1 FROM lanes WHERE kind = 'phase' ORDER BY member_id")]


# -- rings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([1, "10%", "100%"], [1, 2, 3, 3, 3, 3, 3, 3, 3, 3]),
        (["15%", "100%"], [1, 1, 2, 2, 2, 2, 2, 2, 2, 2]),
        ([3, 3], [1, 1, 1, 2, 2, 2, 2, 2, 2, 2]),
        ([20, "100%"], [1] * 10),
    ],
)
def test_each_entry_is_the_size_of_its_ring_and_the_last_takes_the_rest(
    shares: list[object], expected: list[int]
) -> None:
    world = play(ringed(shares), *TEN, prepare=silent())
    assert rings(world) == expected
    assert called(world) == [key for key, ring in zip(TEN, expected, strict=True) if ring == 1]


def test_rings_are_cut_the_same_when_a_phase_opens_in_chunks() -> None:
    world = World(chunk=3, behaviours={"prepare": silent()})
    world.publish(ringed([1, "30%", "100%"]))
    world.batch("wave", TEN)
    world.run()
    assert rings(world) == [1, 2, 2, 2, 3, 3, 3, 3, 3, 3]


def test_the_next_ring_opens_when_all_lanes_of_the_one_before_have_ended() -> None:
    world = play(ringed([2, "100%"]), *TEN[:4], prepare=in_turn(ok(), silent(), ok()))
    assert called(world) == ["m0", "m1"]
    fail_late(world)
    assert called(world) == TEN[:4]


def test_a_ring_that_lost_its_members_does_not_stop_those_behind_it() -> None:
    world = play(ringed([1, 1, "100%"]), *TEN[:3], prepare=in_turn(silent(), ok()))
    leave(world, "m1")
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    world.run()
    assert called(world) == ["m0", "m2"]
    assert world.batch_status() == "completed"


def test_a_joiner_goes_to_the_last_ring_that_has_opened() -> None:
    world = play(ringed([1, 1, "100%"]), *TEN[:3], prepare=in_turn(ok(), silent()))
    join(world, "late")
    assert rings(world) == [1, 2, 3, 2]
    assert called(world) == ["m0", "m1", "late"]


# -- brakes ------------------------------------------------------------------------------------------------------------


def test_more_failures_than_the_brake_hold_the_next_ring() -> None:
    world = play(ringed([4, "100%"], brake="25%"), *TEN, prepare=in_turn(fails(), fails(), ok()))
    assert called(world) == TEN[:4]
    assert open_holds(world) == ["brake"]
    (evidence,) = world.rows("SELECT evidence_json, reason FROM holds")
    assert evidence == (
        '{"failed":2,"started":4,"ring":1}',
        "2 of 4 failed in prepare: the brake holds what has not started",
    )


@pytest.mark.parametrize(("brake", "held"), [("25%", False), ("24%", True), (1, False), (0, True)])
def test_a_brake_holds_when_it_is_exceeded_not_when_it_is_reached(brake: object, *, held: bool) -> None:
    world = play(ringed([4, "100%"], brake=brake), *TEN, prepare=only("m1", fails()))
    assert (open_holds(world) == ["brake"]) == held
    assert len(called(world)) == (4 if held else 10)


def test_lifting_a_brake_acknowledges_the_failures_so_far() -> None:
    world = play(ringed([2, 4, "100%"], brake="20%"), *TEN, prepare=in_turn(fails(), ok(), ok(), fails(), ok()))
    assert called(world) == TEN[:2]
    assert answer(world, "lift", "brake") == "done"
    world.run()
    assert called(world) == TEN[:6]
    assert open_holds(world) == ["brake"]
    assert answer(world, "lift", "brake") == "done"
    world.run()
    assert called(world) == TEN
    assert world.batch_status() == "completed"


def test_a_brake_of_a_phase_without_rings_holds_lanes_that_have_not_started() -> None:
    text = book(
        phase("prepare", step("prepare", params=UPN), offset="T-1h"),
        phase("cutover", step("cutover", params=UPN), brake="20%"),
    )
    world = play(text, "ann", "bob", prepare=only("bob", silent()), cutover=fails())
    assert open_holds(world) == ["brake"]
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    world.run()
    assert world.steps("bob") == {"prepare": "succeeded", "cutover": "pending"}
    answer(world, "lift", "brake")
    world.run()
    assert world.steps("bob") == {"prepare": "succeeded", "cutover": "failed"}


def test_running_lanes_finish_under_a_brake() -> None:
    text = book(phase("prepare", step("prepare", params=UPN), step("check"), brake="10%"))
    world = play(text, "ann", "bob", "cid", prepare=in_turn(fails(), ok()))
    assert ("hold", "waiting", "lifted") in moves(world)  # All had started: nothing was left to be held.
    assert world.steps("cid") == {"prepare": "succeeded", "check": "succeeded"}


def test_a_brake_holds_members_whose_first_job_has_not_gone_out() -> None:
    world = World(window=2, behaviours={"prepare": fails()})
    world.publish(book(phase("prepare", brake="10%")))
    world.batch("wave", TEN)
    for _ in range(4):
        world.step(most=1)
    world.run()
    assert len(world.calls) < len(TEN)
    assert open_holds(world) == ["brake"]
    kept = len(TEN) - len(world.calls)
    assert world.rows("SELECT count(*) FROM lanes WHERE status = 'running' AND reason LIKE 'hold:%'") == [(kept,)]
    assert answer(world, "lift", "brake") == "done"
    world.run()
    assert len(world.calls) > len(TEN) - kept


def test_a_brake_counts_those_who_have_begun_and_not_those_who_wait() -> None:
    world = World(window=2, behaviours={"prepare": in_turn(ok(), ok(), fails(), ok())})
    world.publish(book(phase("prepare", brake="20%")))
    world.batch("wave", TEN)
    for _ in range(3):
        world.step(most=1)
    assert open_holds(world) == ["brake"]
    (evidence,) = world.rows("SELECT evidence_json FROM holds")[0]
    assert '"failed":1' in str(evidence)
    assert '"started":4' in str(evidence)


def test_a_joiner_of_a_phase_in_which_too_many_have_failed_is_held_by_its_brake() -> None:
    world = play(book(phase("prepare", step("prepare"), brake="10%"), phase("care", offset="T+1d")), prepare=fails())
    assert open_holds(world) == []
    join(world, "bob")
    world.run()
    assert len(world.calls) == 1
    assert open_holds(world) == ["brake"]
    answer(world, "lift", "brake")
    world.run()
    assert len(world.calls) == 2


def test_one_who_is_retried_meets_the_brake_of_a_phase_that_opened_meanwhile() -> None:
    text = book(
        phase("prepare", step("prepare"), offset="T-1h"),
        phase("cutover", step("cutover"), brake="10%"),
        phase("care", offset="T+1d"),
    )
    world = play(text, "ann", "bob", prepare=in_turn(fails(), ok()), cutover=fails())
    assert open_holds(world) == []
    assert retry(world, "ann") == "done"
    world.run()
    assert calls(world) == "prepare prepare cutover prepare"
    assert open_holds(world) == ["brake"]


def test_a_member_that_is_retried_does_not_count_as_failed_any_more() -> None:
    world = play(ringed([2, "100%"], brake="40%"), *TEN[:4], prepare=in_turn(fails(), ok()))
    assert open_holds(world) == ["brake"]
    retry(world, "m0")
    world.run()
    answer(world, "lift", "brake")
    world.run()
    assert world.batch_status() == "completed"
    assert world.value("SELECT sum(status = 'failed') FROM batch_members") == 0


# -- overlap -----------------------------------------------------------------------------------------------------------


def overlapping(*, output: bool) -> str:
    """Write a runbook whose cutover need not wait for prepare, but may want something of it."""
    first: Keys = {"output_params": {"Id": "id"}} if output else {}
    second: Keys = {"params": {"id": "{{Id}}"}} if output else {}
    return book(
        phase("prepare", step("prepare", **first), step("rest"), offset="T-1h"),
        phase("cutover", step("cutover", **second), overlap=True),
    )


def test_a_phase_with_overlap_does_not_wait_for_the_one_before() -> None:
    assert calls(play(overlapping(output=False), prepare=silent())) == "prepare cutover"


def test_but_it_waits_for_an_output_that_the_one_before_will_give() -> None:
    world = play(overlapping(output=True), prepare=silent())
    assert calls(world) == "prepare"
    world.round([world.result(world.held[0], ok({"id": 7})(world.held[0]))])
    world.run()
    assert sorted(calls(world).split()) == ["cutover", "prepare", "rest"]
    assert world.calls[-1].params == {"id": 7}


def test_it_fails_when_the_output_never_came() -> None:
    world = play(overlapping(output=True))
    assert world.steps("ann") == {"prepare": "succeeded", "rest": "succeeded", "cutover": "failed"}


@pytest.mark.parametrize("failing", ["prepare", "cutover"])
def test_the_failure_of_one_cancels_the_other(failing: str) -> None:
    world = play(overlapping(output=False), prepare=silent(), cutover=silent())
    call = next(call for call in world.held if call.function == failing)
    world.round([world.result(call, fails()(call))])
    world.run()
    other = {"prepare": "cutover", "cutover": "prepare"}[failing]
    assert world.steps("ann")[failing] == "failed"
    assert world.steps("ann")[other] == "cancelled"
    assert sorted(lane_statuses(world, "phase", "ann")) == ["cancelled", "failed"]
