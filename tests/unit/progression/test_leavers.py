"""A source's silence: who goes, about whom a human is asked, and how a question is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from tests.unit.progression.stage import book, open_holds, phase, play, step
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, ok

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS = tuple(f"m{number}" for number in range(10))


ONE_MOVE = orjson.dumps({"member_ids": [1], "members": ["m0"]}).decode()


def cohort() -> World:
    return play(book(phase("go", step("cut"))), *KEYS, t0_in_s=DAY, cut=ok())


def absent(world: World, keys: Sequence[str], **more: object) -> None:
    ids = tuple(world.member_id(key) for key in keys)
    event = ev.Absent(1, ids, removed_24h=0)
    for name, value in more.items():
        setattr(event, name, value)
    world.round([event])


def listed(world: World, kind: str) -> list[str]:
    sql = "SELECT evidence_json FROM holds WHERE is_open AND kind = ?"
    return [name for (text,) in world.rows(sql, kind) for name in orjson.loads(str(text))["members"]]


def test_few_may_go() -> None:
    world = cohort()
    absent(world, ["m0", "m1"])
    assert [world.member_status(key) for key in ("m0", "m1", "m2")] == ["removed", "removed", "active"]
    assert open_holds(world) == []


@pytest.mark.parametrize(
    ("size", "brake", "goes"),
    [(10, "0%", False), (10, "5%", True), (24, "2%", True), (25, "2%", False), (50, "2%", True), (10, 0, False)],
)
def test_a_small_batch_may_lose_one_unless_the_runbook_lets_nobody_go(
    size: int, brake: str | int, *, goes: bool
) -> None:
    text = book(phase("go", step("cut")), leavers={"brake": brake})
    world = play(text, *(f"m{number}" for number in range(size)), t0_in_s=DAY, cut=ok())
    absent(world, ["m0"])
    assert (world.member_status("m0") == "removed", open_holds(world)) == (goes, [] if goes else ["leavers"])


def test_a_doubt_asks_about_everybody() -> None:
    world = cohort()
    absent(world, ["m0"], doubtful="the answer was empty")
    assert world.member_status("m0") == "active"
    assert listed(world, "leavers") == ["m0"]


def test_only_those_past_a_one_way_step_are_asked_about() -> None:
    world = cohort()
    absent(world, ["m0", "m1"], one_way_member_ids=frozenset({world.member_id("m1")}))
    assert [world.member_status(key) for key in ("m0", "m1")] == ["removed", "active"]
    assert listed(world, "leavers") == ["m1"]


def test_a_question_follows_its_list_and_is_withdrawn_when_nobody_is_left_on_it() -> None:
    world = cohort()
    absent(world, KEYS, vanished=True)
    assert open_holds(world) == ["vanished"]
    absent(world, KEYS[1:])
    assert (open_holds(world), listed(world, "leavers")) == (["leavers"], list(KEYS[1:]))
    absent(world, KEYS[5:])
    assert listed(world, "leavers") == list(KEYS[5:])
    absent(world, ())
    assert open_holds(world) == []
    assert world.member_status("m9") == "active"


def test_a_move_that_is_asked_about_can_be_accepted_refused_and_taken_back() -> None:
    for answer, state in (("accept", "approved"), ("refuse", "lifted")):
        world = cohort()
        world.round([ev.MoveAsked(1, "T-0 has passed", ONE_MOVE)])
        assert open_holds(world) == ["move"]
        told = world.command(ev.AnswerHold(actor="ann", reason="so", hold_id=1, batch_id=1, answer=answer))  # type: ignore[arg-type]
        assert told[0].ok, told
        assert world.value("SELECT state FROM holds") == state
        assert world.member_status("m0") == "active"
        assert "_stay" not in str(world.value("SELECT pinned_json FROM batch_members WHERE id = 1"))
    world = cohort()
    world.round([ev.MoveAsked(1, "T-0 has passed", ONE_MOVE), ev.MoveAsked(1)])
    assert open_holds(world) == []


def test_what_cannot_go_anywhere_can_only_be_seen() -> None:
    world = cohort()
    world.round([ev.MoveAsked(1, "its batch has ended", orjson.dumps({"members": ["m0"]}).decode())])
    told = world.command(ev.AnswerHold(actor="ann", reason="so", hold_id=1, batch_id=1, answer="accept"))
    assert not told[0].ok
    assert world.command(ev.AnswerHold(actor="ann", reason="so", hold_id=1, batch_id=1, answer="lift"))[0].ok


def test_whom_an_operator_moved_is_pinned_there() -> None:
    world = cohort()
    world.batch(str(world.value("SELECT runbook_name FROM batches")), [], t0_in_s=2 * DAY)
    by_source, by_hand = world.store.move(1, 2), world.store.move(2, 2, actor="ann")
    pins = world.rows("SELECT id, pinned_json FROM batch_members WHERE batch_id = 2")
    assert pins == [(by_source, "{}"), (by_hand, '{"_batch":true}')]
