"""A member's own T-0: its lanes wait for it, everything else goes on, and its batch stays open as long."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.progression.stage import (
    POLL,
    UPN,
    answer,
    book,
    calls,
    in_turn,
    join,
    lane_statuses,
    late,
    moves,
    only,
    pause,
    phase,
    play,
    reschedule,
    retry,
    step,
    told,
    view_of,
)
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.progression.reasons import reason
from tminus.testing.world import DAY, World, fails, ok, silent

TWO: Final = book(
    phase("prepare", step("prepare", params=UPN), offset="T-1h"), phase("cutover", step("cutover", params=UPN))
)
HOUR: Final = 3600.0


def set_time(world: World, in_s: float | None, key: str = "ann") -> str:
    """Give a member a T-0 of its own, so many seconds from now; None releases it."""
    t0 = None if in_s is None else plus(world.clock.now, in_s)
    return told(world.command(ev.SetTime(member_id=world.member_id(key), t0=t0, actor="ops", reason="travels")))


def went(world: World) -> list[str]:
    """Return what was done for whom, in order."""
    return [f"{call.function} {call.params['upn']}" for call in world.calls]


def ahead() -> World:
    """Make a batch of two whose phases are to come, with a T-0 of her own for ann, a day later."""
    world = play(TWO, "ann", "bob", t0_in_s=2 * HOUR)
    assert set_time(world, 2 * HOUR + DAY) == "done"
    return world


def test_its_phases_come_at_their_offsets_from_its_own_t0() -> None:
    world = ahead()
    world.pass_time(2 * HOUR)
    assert went(world) == ["prepare bob", "cutover bob"]
    world.pass_time(DAY - HOUR - 1)
    assert went(world) == ["prepare bob", "cutover bob"]
    world.pass_time(1)
    assert went(world)[2:] == ["prepare ann"]
    world.pass_time(HOUR)
    assert went(world)[2:] == ["prepare ann", "cutover ann"]
    assert (world.batch_status(), world.member_status("ann")) == ("completed", "done")


def test_the_lane_says_what_it_waits_for_and_when_that_is() -> None:
    world = ahead()
    world.pass_time(HOUR)
    view, subject = view_of(world)
    found = reason(view, subject, subject.lanes[0])
    assert (found.code, found.sentence) == ("due", "waits for its own T-0: due at 2026-01-02 01:00:00Z")
    assert found.next_at == plus(world.clock.now, DAY)


def test_what_has_opened_and_not_started_waits_as_well() -> None:
    world = play(TWO, "ann", "bob", prepare=silent())
    assert set_time(world, DAY) == "done"
    call = next(call for call in world.held if call.params["upn"] == "ann")
    world.round([world.result(call, ok()(call))])
    world.run()
    assert "cutover ann" not in went(world)
    world.pass_time(DAY)
    assert "cutover ann" in went(world)


@pytest.mark.parametrize("how", ["released", "changed", "released as a pin"])
def test_a_time_that_counts_no_more_is_not_waited_for(how: str) -> None:
    world = ahead()
    world.pass_time(2 * HOUR)
    if how == "released":
        assert set_time(world, None) == "done"
    elif how == "changed":
        assert set_time(world, 0) == "done"
    else:
        world.command(ev.EditData(member_id=1, values={"_t0": None}, actor="ops", reason="r"))
    world.run()
    assert went(world)[2:] == ["prepare ann", "cutover ann"]


def test_a_deadline_from_the_due_time_counts_from_its_own() -> None:
    text = book(phase("prepare", step("prepare", poll=POLL), deadline={"after": "10m", "from": "due"}))
    world = play(text, t0_in_s=HOUR, prepare=ok({"complete": False}))
    set_time(world, HOUR + DAY)
    world.pass_time(HOUR + DAY + 599)
    assert (calls(world), world.member_status("ann")) == ("prepare prepare", "active")
    world.pass_time(1)
    assert world.member_status("ann") == "failed"


def test_its_deadline_counts_whoever_looks_first() -> None:
    world = play(book(phase("prepare", deadline="10m")), t0_in_s=HOUR, prepare=silent())
    set_time(world, 2 * HOUR)
    world.pass_time(HOUR)
    world.clock.advance(HOUR + 30)
    world.round([ev.Wake(1, 1)])
    world.step()
    assert world.value("SELECT deadline_at FROM lanes") == plus(world.clock.now, 600)


def test_a_pause_at_its_time_holds_it_like_any_other() -> None:
    world = play(book(phase("prepare")), t0_in_s=HOUR)
    set_time(world, 2 * HOUR)
    world.pass_time(HOUR + 60)
    hold = pause(world)
    world.pass_time(2 * HOUR)
    assert calls(world) == ""
    answer(world, "lift", hold_id=hold)
    world.run()
    assert calls(world) == "prepare"


def test_a_retry_before_its_time_waits_for_it() -> None:
    world = play(book(phase("prepare"), phase("care", offset="T+9d")), prepare=in_turn(fails(), ok()))
    assert set_time(world, DAY) == "done"
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "prepare"
    world.pass_time(DAY)
    assert calls(world) == "prepare prepare"


def test_it_goes_along_to_another_batch() -> None:
    world = ahead()
    world.batch("wave", ["cid"], t0_in_s=3 * HOUR)
    assert world.store.move(1, 2) is not None
    world.pass_time(4 * HOUR)
    assert "cutover ann" not in went(world)
    world.pass_time(DAY)
    assert went(world)[-1] == "cutover ann"


def test_a_batch_that_is_put_behind_it_takes_it_along() -> None:
    world = ahead()
    reschedule(world, 9 * DAY)
    world.pass_time(3 * DAY)
    assert went(world) == []
    world.pass_time(9 * DAY)
    assert world.batch_status() == "completed"


def test_a_joiner_may_have_one() -> None:
    world = play(TWO, "ann", prepare=only("late", silent()), cutover=silent())
    join(world, "late")
    assert set_time(world, DAY, "late") == "done"
    late(world, world.held[-1], ok()(world.held[-1]))
    assert lane_statuses(world, "phase", "late") == ["succeeded", "waiting"]


def test_what_makes_no_sense_is_refused() -> None:
    world = play(TWO, "ann", t0_in_s=DAY)
    assert set_time(world, None) == "it has no T-0 of its own"
    assert set_time(world, HOUR).startswith("that is before the batch's T-0, 2026-01-02T00:00:00.000Z: move it")
    assert set_time(play(TWO, t0_in_s=None), DAY) == "the batch has no T-0: it is advanced by hand"
    assert set_time(play(TWO), DAY) == "the member is done"
    (reply,) = world.command(ev.SetTime(member_id=9, t0=None, actor="ops", reason="r"))
    assert reply.message == "no such member"
    (reply,) = world.command(ev.EditData(member_id=1, values={"_t0": "now"}, actor="ops", reason="r"))
    assert reply.message == "_t0 begins with an underscore: such names are tminus's own"


def test_it_is_audited_and_changes_no_status() -> None:
    world = ahead()
    assert world.rows("SELECT actor, action, subject, reason FROM audit") == [("ops", "SetTime", "ann", "travels")]
    assert moves(world, "lane") == []
