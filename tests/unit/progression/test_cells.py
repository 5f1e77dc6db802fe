"""Every present cell of the tables is reached by something that really happens, or is named with the reason why not.

A scene plays on the real core and leaves exactly the move of its cell in the history. A cell that only an operator may
use carries his name there; a joiner's carries none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

import pytest

from tests.unit.progression.stage import (
    HOUR,
    POLL,
    UPN,
    answer,
    book,
    cancel,
    in_turn,
    join,
    leave,
    mark_done,
    moves,
    pause,
    phase,
    play,
    reschedule,
    retry,
    retry_init,
    roll_back,
    step,
)
from tminus.progression.tables import ENGINE, JOINER, TABLES
from tminus.testing.world import DAY, World, fails, ok, silent

Cell = tuple[str, str, str]
Make = Callable[[], World]

UNREACHED: Final[dict[Cell, str]] = {
    ("batch", "detected", "failed"): "the first thing an init lane does is to start, which moves the batch on",
    ("hold", "approved", "lifted"): "an approval closes the hold, and what is closed is left alone",
}
CELLS: Final[dict[Cell, Make]] = {}


def cell(entity: str, *path: str) -> Callable[[Make], Make]:
    """Keep a scene for every step of a path of one entity's statuses."""

    def keep(make: Make) -> Make:
        for old, new in pairwise(path):
            CELLS[entity, old, new] = make
        return make

    return keep


UNDO: Final = {"undo": [step("undo")]}
NOT_YET: Final = ok({"complete": False})
LATER: Final = phase("cutover", offset="T+1d")
WITH_INIT: Final = book(phase("prepare"), init=[step("init")])
GATED: Final = book(phase("prepare", gate={"expires": "1h"}), LATER)
POLLED: Final = book(phase("prepare", step("prepare", poll=POLL)))


@cell("batch", "detected", "init_dispatched", "active", "closing", "completed")
@cell("member", "active", "done")
@cell("phase", "pending", "dispatched", "completed")
@cell("lane", "waiting", "running", "succeeded")
@cell("execution", "pending", "dispatched", "succeeded")
def _a_batch_that_goes_well() -> World:
    return play(WITH_INIT)


@cell("batch", "detected", "active")
def _a_batch_without_init() -> World:
    return play(book(phase("prepare")))


@cell("batch", "detected", "cancelled")
@cell("phase", "pending", "cancelled")
@cell("member", "active", "cancelled")
def _cancelled_before_it_began() -> World:
    world = play(WITH_INIT, t0_in_s=None)
    cancel(world)
    world.run()
    return world


@cell("batch", "init_dispatched", "cancelled")
@cell("lane", "running", "cancelled")
@cell("execution", "dispatched", "cancelled")
def _cancelled_during_init() -> World:
    world = play(WITH_INIT, init=silent())
    cancel(world)
    return world


@cell("batch", "init_dispatched", "failed")
@cell("batch", "failed", "init_dispatched")
@cell("phase", "cancelled", "pending")
def _a_failed_init_is_retried() -> World:
    world = play(WITH_INIT, init=in_turn(fails(), ok()))
    retry_init(world)
    world.run()
    return world


@cell("batch", "active", "cancelled")
@cell("lane", "waiting", "cancelled")
def _cancelled_on_its_way() -> World:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=silent())
    cancel(world)
    world.run()
    return world


@cell("batch", "closing", "failed")
@cell("batch", "failed", "active")
@cell("member", "active", "failed", "active")
@cell("phase", "dispatched", "failed", "dispatched")
@cell("lane", "running", "failed", "waiting")
@cell("execution", "dispatched", "failed", "pending")
def _a_failed_member_is_retried() -> World:
    world = play(book(phase("prepare")), prepare=in_turn(fails(), ok()))
    retry(world)
    world.run()
    return world


@cell("batch", "closing", "cancelled")
@cell("member", "active", "removed")
@cell("phase", "dispatched", "cancelled")
def _nobody_is_left() -> World:
    world = play(book(phase("prepare")), prepare=silent())
    leave(world)
    return world


@cell("batch", "completed", "active")
def _one_of_two_is_retried() -> World:
    text = book(phase("prepare", step("prepare", params=UPN)))
    world = play(text, "ann", "bob", prepare=in_turn(fails(), ok()))
    retry(world)
    return world


@cell("member", "cancelled", "active")
def _members_come_back_with_their_init() -> World:
    return _a_failed_init_is_retried()


@cell("phase", "pending", "skipped")
@cell("phase", "skipped", "dispatched")
def _a_phase_without_members_gets_a_joiner() -> World:
    world = play(book(phase("prepare"), LATER), t0_in_s=10.0)
    leave(world)
    world.pass_time(10)
    join(world, "bob")
    return world


@cell("phase", "completed", "dispatched")
def _a_joiner_catches_up() -> World:
    world = play(book(phase("prepare"), LATER))
    join(world, "bob")
    return world


@cell("phase", "pending", "superseded")
def _a_version_moves() -> World:
    world = play(book(phase("prepare"), LATER))
    world.publish(book(phase("prepare"), LATER))
    world.run()
    return world


@cell("lane", "cancelled", "waiting")
@cell("execution", "cancelled", "pending")
def _what_was_cancelled_is_retried_with_it() -> World:
    text = book(phase("prepare", offset="T-1h"), phase("cutover"))
    world = play(text, prepare=in_turn(silent(), ok()))
    world.round([world.result(world.held[0], fails()(world.held[0]))])
    world.run()
    retry(world)
    return world


@cell("execution", "pending", "skipped")
def _a_condition_does_not_hold() -> World:
    return play(book(phase("prepare", step("prepare", when="{{upn}} == 'bob'"))))


@cell("execution", "pending", "failed")
def _a_name_has_no_value() -> World:
    return play(book(phase("prepare", step("prepare", params={"to": "{{nowhere}}"}))))


@cell("execution", "pending", "cancelled")
def _a_later_step_is_not_wanted_any_more() -> World:
    return play(book(phase("prepare", step("prepare"), step("check"))), prepare=fails())


@cell("execution", "pending", "succeeded")
def _marked_done() -> World:
    world = play(book(phase("prepare")), prepare=fails())
    mark_done(world, "prepare")
    return world


@cell("execution", "dispatched", "polling", "succeeded")
def _polled_to_its_end() -> World:
    world = play(POLLED, prepare=in_turn(NOT_YET, ok({"complete": True})))
    world.pass_time(300)
    return world


@cell("execution", "polling", "failed")
def _a_poll_fails() -> World:
    world = play(POLLED, prepare=in_turn(NOT_YET, fails()))
    world.pass_time(300)
    return world


@cell("execution", "polling", "poll_timeout", "pending")
def _polled_in_vain() -> World:
    world = play(POLLED, prepare=NOT_YET)
    world.pass_time(HOUR)
    retry(world)
    return world


@cell("execution", "polling", "cancelled")
def _left_while_it_was_polled() -> World:
    world = play(POLLED, prepare=NOT_YET)
    leave(world)
    return world


@cell("execution", "dispatched", "pending")
def _throttled() -> World:
    return play(book(phase("prepare")), prepare=fails(is_throttled=True))


@cell("execution", "failed", "rolled_back", "pending")
def _rolled_back_and_retried() -> World:
    text = book(phase("prepare", step("prepare", on_failure="undo")), rollbacks=UNDO)
    world = play(text, prepare=fails())
    retry(world)
    return world


@cell("lane", "succeeded", "waiting")
def _rolled_back_by_hand_over_a_phase_that_had_succeeded() -> World:
    text = book(phase("prepare", step("prepare", on_failure="undo")), LATER, rollbacks=UNDO)
    world = play(text)
    roll_back(world)
    world.run()
    retry(world)
    return world


@cell("execution", "poll_timeout", "rolled_back")
def _polled_in_vain_and_rolled_back() -> World:
    text = book(phase("prepare", step("prepare", poll=POLL, on_failure="undo")), rollbacks=UNDO)
    world = play(text, prepare=NOT_YET)
    world.pass_time(HOUR)
    return world


@cell("hold", "waiting", "approved")
def _a_gate_is_approved() -> World:
    world = play(GATED)
    answer(world, "approve")
    return world


@cell("hold", "waiting", "rejected", "waiting")
def _a_gate_is_rejected_and_reopened() -> World:
    world = play(GATED)
    answer(world, "reject")
    answer(world, "reopen")
    return world


@cell("hold", "waiting", "expired", "waiting")
def _a_gate_expires_and_is_reopened() -> World:
    world = play(GATED)
    world.pass_time(HOUR)
    answer(world, "reopen")
    return world


@cell("hold", "waiting", "lifted")
def _a_pause_ends() -> World:
    world = play(GATED)
    pause(world)
    answer(world, "lift", "pause")
    return world


@cell("hold", "rejected", "lifted")
def _a_rejected_gate_is_rescheduled() -> World:
    world = play(GATED)
    answer(world, "reject")
    reschedule(world, DAY)
    return world


@cell("hold", "expired", "lifted")
def _an_expired_gate_is_rescheduled() -> World:
    world = play(GATED)
    world.pass_time(HOUR)
    reschedule(world, DAY)
    return world


PRESENT: Final = {
    (e, old, new): who for e, t in TABLES.items() for old, cells in t.items() for new, who in cells.items()
}


def test_every_cell_has_a_scene_or_a_reason() -> None:
    assert CELLS.keys() | UNREACHED.keys() == PRESENT.keys()
    assert not CELLS.keys() & UNREACHED.keys()


@pytest.mark.parametrize(("entity", "old", "new"), sorted(CELLS))
def test_a_cell_is_reached(entity: str, old: str, new: str) -> None:
    world = CELLS[entity, old, new]()
    assert (entity, old, new) in moves(world)
    assert not world.refused
    sql = "SELECT actor FROM events WHERE entity = ? AND from_status = ? AND to_status = ?"
    actors = [actor for (actor,) in world.rows(sql, entity, old, new)]
    who = PRESENT[entity, old, new]
    if ENGINE not in who and JOINER not in who:
        assert all(actors)


def test_a_joiner_reopens_a_phase_in_nobodys_name() -> None:
    world = _a_joiner_catches_up()
    sql = "SELECT actor, cause FROM events WHERE entity = 'phase' AND from_status = 'completed'"
    assert world.rows(sql) == [(None, "a member catches up")]


def test_all_moves_of_all_scenes_are_cells() -> None:
    seen = {move for make in dict.fromkeys(CELLS.values()) for move in moves(make())}
    assert seen == CELLS.keys()
