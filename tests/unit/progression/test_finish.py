"""How a batch ends: its outcome, its finish steps and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import (
    UPN,
    book,
    calls,
    cancel,
    in_turn,
    join,
    lane_statuses,
    late,
    leave,
    only,
    phase,
    play,
    retry,
    retry_cleanup,
    step,
)
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

ASKED: Final = {name: "{{" + name + "}}" for name in ("_outcome", "_succeeded", "_failed", "_round", "_members")}
TELL: Final = [step("tell", params=ASKED)]
ONE: Final = phase("prepare", step("prepare", params=UPN, output_params={"Id": "id"}))


def told(world: World) -> dict[str, object]:
    """Return what the last finish step was told."""
    return next(call.params for call in reversed(world.calls) if call.function == "tell")


def test_the_finish_steps_are_told_how_it_went() -> None:
    world = play(book(ONE, on_batch_finished=TELL), "ann", "bob", prepare=only("bob", fails()))
    assert told(world) == {
        "_outcome": "completed",
        "_succeeded": 1,
        "_failed": 1,
        "_round": 0,
        "_members": [
            {"key": "ann", "status": "done", "error": None, "outputs": {}},
            {"key": "bob", "status": "failed", "error": "it broke", "outputs": {}},
        ],
    }


def test_outputs_are_told_and_capped() -> None:
    world = play(book(ONE, on_batch_finished=TELL), "ann", "bob", prepare=ok({"id": "x" * 1000}))
    assert told(world)["_members"] == [
        {"key": key, "status": "done", "error": None, "outputs": {"Id": "x" * 1000}} for key in ("ann", "bob")
    ]
    many = [f"m{i}" for i in range(250)]
    world = play(book(ONE, on_batch_finished=TELL), *many, prepare=only("m7", fails()))
    assert len(str(told(world)["_members"])) < 200_000
    large = play(
        book(ONE, on_batch_finished=TELL), "ann", *many[:9], prepare=in_turn(fails(), ok({"id": "x" * 30_000}))
    )
    assert told(large)["_members"] == {"count": 10, "failed": ["ann"]}


@pytest.mark.parametrize(
    ("says", "outcome"), [(ok(), "completed"), (fails(), "failed")], ids=["one succeeded", "all failed"]
)
def test_one_phase_that_completed_completes_the_batch(says: Behaviour, outcome: str) -> None:
    world = play(book(ONE, on_batch_finished=TELL), prepare=says)
    assert (world.batch_status(), told(world)["_outcome"]) == (outcome, outcome)


def test_a_batch_does_not_end_while_a_lane_of_any_member_is_open() -> None:
    text = book(
        phase("prepare", step("prepare", params=UPN, on_failure="undo")),
        rollbacks={"undo": [step("undo")]},
        on_batch_finished=TELL,
    )
    world = play(text, "ann", "bob", prepare=only("bob", fails()), undo=silent())
    assert world.batch_status() == "active"
    late(world, world.held[0], ok()(world.held[0]))
    assert (world.batch_status(), told(world)["_failed"]) == ("completed", 1)


def test_membership_is_frozen_while_it_closes() -> None:
    world = play(book(ONE, on_batch_finished=TELL), tell=silent())
    assert (world.batch_status(), world.member_status("ann")) == ("closing", "done")
    assert join(world, "bob") == []
    leave(world, "ann")
    assert world.member_status("ann") == "done"
    late(world, world.held[0], ok()(world.held[0]))
    assert world.batch_status() == "completed"


def test_finish_steps_run_when_init_failed() -> None:
    world = play(book(ONE, init=[step("init")], on_batch_finished=TELL), init=fails())
    assert calls(world) == "init tell"
    assert told(world)["_outcome"] == "failed"
    assert told(world)["_members"] == [{"key": "ann", "status": "cancelled", "error": None, "outputs": {}}]


def test_finish_steps_run_on_a_cancel_once_what_cleans_up_has_ended() -> None:
    text = book(
        phase("prepare", step("prepare", on_failure="undo")), rollbacks={"undo": [step("undo")]}, on_batch_finished=TELL
    )
    world = play(text, prepare=fails(), undo=silent())
    cancel(world)
    world.run()
    assert calls(world) == "prepare undo"
    late(world, world.held[0], ok()(world.held[0]))
    assert calls(world) == "prepare undo tell"
    assert world.batch_status() == "cancelled"


def test_a_finish_step_that_fails_is_flagged_and_may_be_tried_again() -> None:
    world = play(book(ONE, on_batch_finished=TELL), tell=in_turn(fails(), ok()))
    assert (world.batch_status(), lane_statuses(world, "finish")) == ("completed", ["failed"])
    assert retry_cleanup(world, "finish") == "done"
    world.run()
    assert (world.batch_status(), lane_statuses(world, "finish")) == ("completed", ["succeeded"])


def test_each_round_has_finish_steps_of_its_own() -> None:
    world = play(book(ONE, on_batch_finished=TELL), "ann", "bob", prepare=in_turn(fails(), ok(), fails(), ok()))
    for round_number, failed in ((1, 1), (2, 0)):
        retry(world)
        world.run()
        assert (told(world)["_round"], told(world)["_failed"]) == (round_number, failed)
    assert lane_statuses(world, "finish") == ["succeeded"] * 3


def test_those_who_were_done_stay_done_through_a_round() -> None:
    world = play(book(ONE), "ann", "bob", prepare=in_turn(fails(), ok()))
    assert world.member_status("bob") == "done"
    retry(world)
    world.run()
    assert [world.member_status(key) for key in ("ann", "bob")] == ["done", "done"]
    assert len(world.calls) == 3


def test_a_batch_with_no_one_in_it_is_cancelled() -> None:
    world = World()
    world.publish(book(ONE, on_batch_finished=TELL))
    world.batch("wave", [], t0_in_s=0.0)
    world.run()
    assert (world.phase_status("prepare"), world.batch_status()) == ("skipped", "cancelled")
    assert told(world)["_members"] == []


def test_a_batch_ends_with_its_last_phase_not_before() -> None:
    world = play(book(ONE, phase("care", offset="T+1d")))
    assert world.batch_status() == "active"
    world.pass_time(DAY)
    assert world.batch_status() == "completed"


def test_a_phase_that_was_skipped_without_members_opens_for_one_who_is_retried() -> None:
    world = play(book(ONE, phase("care", offset="T+1d")), prepare=in_turn(fails(), ok()))
    world.pass_time(DAY)
    assert (world.phase_status("care"), world.batch_status()) == ("skipped", "failed")
    retry(world)
    world.run()
    assert calls(world) == "prepare prepare care"
    assert (world.phase_status("care"), world.batch_status()) == ("completed", "completed")


def test_counters_agree_with_the_rows() -> None:
    text = book(ONE, phase("care", step("care", params=UPN), offset="T+1d"))
    world = play(text, "ann", "bob", "cid", prepare=only("bob", fails()))
    leave(world, "cid")
    world.pass_time(DAY)
    sql = "SELECT members_active, members_done, members_failed, members_removed, open_lanes, open_phases FROM batches"
    assert world.rows(sql) == [(0, 1, 1, 1, 0, 0)]
    sql = "SELECT lanes_total, open_lanes, lanes_succeeded, lanes_failed, lanes_cancelled FROM phase_executions"
    assert world.rows(sql) == [(3, 0, 2, 1, 0), (1, 0, 1, 0, 0)]
