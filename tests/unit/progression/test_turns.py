"""Whose job goes out next: the window, the priorities, and a turn for every batch."""

from __future__ import annotations

from typing import Final

from tests.unit.progression.stage import (
    RETRY_TWICE,
    UPN,
    book,
    fail_late,
    in_turn,
    leave,
    only,
    pause,
    phase,
    play,
    put_hold,
    step,
    view_of,
)
from tminus.testing.world import World, fails, ok, silent

ONE: Final = book(phase("prepare", step("prepare", params=UPN)))


def waiting(*batches: list[str], window: int = 2, text: str = ONE) -> World:
    """Make batches whose jobs nobody has claimed yet."""
    world = World(window=window)
    world.publish(text)
    for members in batches:
        world.batch("wave", members)
    world.step(most=0)
    return world


def sent(world: World) -> list[object]:
    """Return who has a job out, in the order of members."""
    sql = """SELECT m.member_key FROM executions e JOIN lanes l ON l.id = e.lane_id
      JOIN batch_members m ON m.id = l.member_id WHERE e.status = 'dispatched' ORDER BY m.id"""
    return [key for (key,) in world.rows(sql)]


def test_the_window_bounds_what_is_out_and_unclaimed() -> None:
    world = waiting(["ann", "bob", "cid"])
    assert sent(world) == ["ann", "bob"]
    world.store.claim("cloud", "worker-1", 1)
    world.step(most=0)
    assert sent(world) == ["ann", "bob", "cid"]


def test_each_worker_id_has_a_window_of_its_own() -> None:
    text = book(phase("prepare", step("prepare")), phase("tell", {**step("tell"), "worker_id": "mail"}, overlap=True))
    world = waiting(["ann", "bob", "cid"], text=text)
    sql = "SELECT worker_id, count(*) FROM executions WHERE status = 'dispatched' GROUP BY worker_id ORDER BY 1"
    assert world.rows(sql) == [("cloud", 2), ("mail", 2)]


def test_batches_take_turns() -> None:
    world = waiting(["a1", "a2", "a3", "a4"], ["b1", "b2"], ["c1"], window=4)
    assert sorted(map(str, sent(world))) == ["a1", "a2", "b1", "c1"]


def test_a_batch_that_came_first_does_not_keep_the_places_that_become_free() -> None:
    text = book(phase("prepare", step("first", params=UPN), step("second", params=UPN)))
    world = waiting(["a1", "a2", "a3", "a4"], ["b1", "b2", "b3", "b4"], text=text)
    for _ in range(8):
        world.clock.advance(1)
        world.step(most=1)
    served = [str(call.params["upn"])[0] for call in world.calls]
    assert min(served.count("a"), served.count("b")) >= 3


def test_what_cleans_up_goes_before_retries_and_those_before_what_is_new() -> None:
    text = book(
        phase("prepare", step("prepare", params=UPN, on_failure="undo", retry=RETRY_TWICE)),
        rollbacks={"undo": [step("undo")]},
    )
    gone = fails(retryable=False)
    world = play(text, "ann", "bob", prepare=in_turn(gone, fails(), silent()), undo=silent())
    sql = "SELECT step_name, priority FROM executions ORDER BY id"
    assert world.rows(sql) == [("prepare", 5), ("prepare", 4), ("undo", 0)]


def test_a_job_that_was_claimed_leaves_its_place_to_the_next() -> None:
    world = play(ONE, "ann", "bob", "cid", prepare=silent())
    assert len(world.held) == 3
    assert world.value("SELECT count(*) FROM messages WHERE claimed_at IS NULL") == 0


def test_members_on_pause_do_not_take_the_places_of_others() -> None:
    world = waiting(["ann", "bob", "cid", "dan", "eve"], window=1)
    for key in ("bob", "cid", "dan"):
        pause(world, "member", key)
    world.behaviours["prepare"] = ok()
    world.run()
    assert [call.params["upn"] for call in world.calls] == ["ann", "eve"]


def test_a_batch_on_hold_leaves_its_turns_to_others() -> None:
    world = waiting(["a1", "a2"], ["b1"], window=1)
    put_hold(world, "old_t0")
    world.run()
    assert [call.params["upn"] for call in world.calls] == ["b1"]


def test_a_limit_bounds_jobs_in_flight_claimed_or_not() -> None:
    text = book(phase("prepare", step("prepare", params=UPN)), limits={"cloud": {"in_flight": 2}})
    world = play(text, "ann", "bob", "cid", prepare=silent())
    assert sent(world) == ["ann", "bob"]
    fail_late(world)
    assert sent(world) == ["bob", "cid"]


def test_a_draining_job_does_not_count_against_a_limit() -> None:
    text = book(phase("prepare", step("prepare", params=UPN)), limits={"cloud": {"in_flight": 1}})
    world = play(text, "ann", "bob", prepare=silent())
    leave(world, "ann")
    assert sent(world) == ["bob"]


def test_a_rate_lets_a_sixth_of_a_minute_out_at_once_and_the_rest_over_time() -> None:
    text = book(phase("prepare", step("prepare", params=UPN)), limits={"prepare": {"per_minute": 12}})
    world = play(text, "ann", "bob", "cid", "dan")
    assert len(world.calls) == 2
    world.clock.advance(5)
    world.run()
    assert len(world.calls) == 3


def test_a_window_that_is_full_keeps_what_waits_ready() -> None:
    world = waiting(["ann", "bob", "cid"])
    view, subject = view_of(world, "cid")
    (row,) = view.steps_of(subject.lanes[0])
    assert (row.status, row.ready_at) == ("pending", world.clock.now)


def test_one_who_fails_does_not_hold_up_the_others() -> None:
    world = play(ONE, "ann", "bob", "cid", prepare=only("bob", fails()))
    assert [world.member_status(key) for key in ("ann", "bob", "cid")] == ["done", "failed", "done"]
