"""Holds: what each kind stops, and what goes on under it.

The table stands as the rule is written: pauses, old T-0, failed init and a gate that was not approved stop init and
phase jobs; a waiting gate, freeze, brake and one-way rerun stop openings and starts; the others only ask. Results,
polls and all that cleans up go on under every one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import pytest

from tests.unit.progression.stage import (
    POLL,
    UPN,
    answer,
    book,
    calls,
    in_turn,
    lane_statuses,
    open_holds,
    pause,
    phase,
    play,
    put_hold,
    step,
)
from tminus.domain.instant import plus
from tminus.domain.status import HoldKind
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.domain.status import HoldScope

DISPATCH: Final = frozenset({"pause", "old_t0", "rerun_init"})
START: Final = frozenset({"gate", "freeze", "brake", "one_way", "over_cost"})
KINDS: Final[tuple[HoldKind, ...]] = get_args(HoldKind)
STATES: Final = [*KINDS, "gate rejected", "gate expired"]
NOT_YET: Final = ok({"complete": False})


def strength(what: str) -> str:
    """Tell what a hold stops, as it is written."""
    if what in DISPATCH or what in {"gate rejected", "gate expired"}:
        return "dispatch"
    return "start" if what in START else "none"


def put(world: World, what: str) -> None:
    """Open a hold on the batch, in the state that `what` names."""
    kind, _, state = what.partition(" ")
    put_hold(world, next(known for known in KINDS if known == kind))
    if state:
        with world.store.database.write() as tx:
            tx.run("UPDATE holds SET state = ?", (state,))


def one_step_behind() -> World:
    """Bring ann to where her second step is next: the first is at a worker and has an answer ready."""
    return play(book(phase("prepare", step("first"), step("second")), phase("care", offset="T+1d")), first=silent())


def finish_held(world: World) -> None:
    """Answer what was held back."""
    world.round([world.result(call, ok()(call)) for call in world.held])
    world.held.clear()
    world.run()


@pytest.mark.parametrize("what", STATES)
def test_the_next_job_of_a_running_lane(what: str) -> None:
    world = one_step_behind()
    put(world, what)
    finish_held(world)
    assert world.steps("ann")["first"] == "succeeded"
    assert ("second" in calls(world)) == (strength(what) != "dispatch")


@pytest.mark.parametrize("what", STATES)
def test_the_start_of_a_lane(what: str) -> None:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=silent())
    put(world, what)
    finish_held(world)
    assert ("cutover" in calls(world)) == (strength(what) == "none")
    assert lane_statuses(world, "phase", "ann")[1] == ("succeeded" if strength(what) == "none" else "waiting")


@pytest.mark.parametrize("what", STATES)
def test_the_opening_of_a_phase(what: str) -> None:
    world = play(book(phase("prepare")), t0_in_s=60.0)
    put(world, what)
    world.pass_time(60)
    assert world.phase_status("prepare") == ("completed" if strength(what) == "none" else "pending")


@pytest.mark.parametrize("what", STATES)
def test_the_next_job_of_init(what: str) -> None:
    world = play(book(phase("prepare"), init=[step("first"), step("second")]), first=silent())
    put(world, what)
    finish_held(world)
    assert ("second" in calls(world)) == (strength(what) != "dispatch")


@pytest.mark.parametrize("what", STATES)
def test_a_job_that_nobody_has_claimed(what: str) -> None:
    world = World()
    world.publish(book(phase("prepare")))
    world.batch("wave", ["ann"])
    world.step(most=0)
    put(world, what)
    assert len(world.store.claim("cloud", "worker-1", 1)) == (strength(what) != "dispatch")


@pytest.mark.parametrize("what", STATES)
def test_a_poll_goes_on(what: str) -> None:
    text = book(phase("prepare", step("prepare", poll=POLL)))
    world = play(text, prepare=in_turn(NOT_YET, ok({"complete": True})))
    put(world, what)
    world.pass_time(300)
    assert world.steps("ann") == {"prepare": "succeeded"}


@pytest.mark.parametrize("what", STATES)
def test_a_timeout_a_rollback_and_its_hook_go_on(what: str) -> None:
    text = book(
        phase("prepare", step("prepare", on_failure="undo", timeout="10s")),
        rollbacks={"undo": [step("undo"), step("check")]},
        on_member_failed=[step("tell")],
    )
    world = play(text, prepare=silent())
    put(world, what)
    world.pass_time(10)
    assert calls(world) == "prepare undo check tell"
    assert world.steps("ann") == {"prepare": "rolled_back"}


@pytest.mark.parametrize("what", STATES)
def test_removal_and_finish_go_on(what: str) -> None:
    text = book(phase("prepare", offset="T+1d"), on_member_removed=[step("clean")], on_batch_finished=[step("tell")])
    world = play(text)
    put(world, what)
    world.round([ev.Leaving(1)])
    world.run()
    assert calls(world) == "clean"
    world.command(ev.CancelBatch(batch_id=1, actor="ops", reason="stop"))
    world.run()
    assert calls(world) == "clean tell"


# -- four levels of pause ----------------------------------------------------------------------------------------------


def two_batches() -> World:
    """Make a batch of this runbook with two members and one of another, each with its second phase to come."""
    steps = [step("prepare", params=UPN)]
    world = World(behaviours={"prepare": silent()})
    for name in ("wave", "tide"):
        text = book(phase("prepare", *steps, offset="T-1h"), phase("cutover", step("cutover", params=UPN)))
        world.publish(text.replace('"wave"', f'"{name}"'))
    world.batch("wave", ["ann", "bob"])
    world.batch("wave", ["cid"])
    world.batch("tide", ["dan"])
    world.run()
    return world


@pytest.mark.parametrize(
    ("scope", "stopped"),
    [("all", "ann bob cid dan"), ("runbook", "ann bob cid"), ("batch", "ann bob"), ("member", "ann")],
)
def test_a_pause_stops_its_scope_and_a_resume_lets_it_go(scope: HoldScope, stopped: str) -> None:
    world = two_batches()
    hold = pause(world, scope)
    finish_held(world)
    went = {str(call.params["upn"]) for call in world.calls if call.function == "cutover"}
    assert went == {"ann", "bob", "cid", "dan"} - set(stopped.split())
    assert answer(world, "lift", hold_id=hold) == "done"
    world.run()
    assert [world.batch_status(i) for i in (1, 2, 3)] == ["completed"] * 3


def test_a_pause_of_what_does_not_exist_is_refused() -> None:
    world = World()
    event = ev.OpenHold(scope="batch", batch_id=9, actor="ops", reason="tenant down")
    (reply,) = world.command(event)
    assert (reply.ok, reply.message, reply.code) == (False, "no such batch", "E410")


def test_pausing_twice_opens_one_hold() -> None:
    world = two_batches()
    assert pause(world) == pause(world)
    assert open_holds(world) == ["pause"]


def test_a_pause_of_a_member_ends_with_its_leaving() -> None:
    world = two_batches()
    pause(world, "member")
    world.round([ev.Leaving(world.member_id("ann"))])
    assert not open_holds(world)


@pytest.mark.parametrize("scope", ["all", "runbook", "batch", "member"])
def test_a_phase_that_came_due_under_a_pause_opens_when_it_ends(scope: HoldScope) -> None:
    world = play(book(phase("prepare")), t0_in_s=60.0)
    hold = pause(world, scope)
    world.pass_time(60)
    assert calls(world) == ""
    answer(world, "lift", hold_id=hold)
    world.run()
    assert calls(world) == "prepare"


@pytest.mark.parametrize("scope", ["all", "runbook", "batch"])
def test_a_freeze_ends_with_its_window_and_what_came_due_under_it_opens(scope: HoldScope) -> None:
    world = play(book(phase("prepare")), t0_in_s=60.0)
    put_hold(world, "freeze", scope)
    ends = plus(world.clock.now, 600)
    with world.store.database.write() as tx:
        tx.run("UPDATE holds SET expires_at = ?, batch_id = iif(scope = 'batch', 1, NULL)", (ends,))
    world.pass_time(599)
    assert (calls(world), open_holds(world)) == ("", ["freeze"])
    world.pass_time(1)
    assert (calls(world), open_holds(world)) == ("prepare", [])


def test_a_freeze_keeps_members_waiting_whose_phase_has_opened() -> None:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=silent())
    put_hold(world, "freeze", "all")
    finish_held(world)
    assert calls(world) == "prepare"
    assert answer(world, "lift", "freeze") == "done"
    world.run()
    assert calls(world) == "prepare cutover"


def test_members_that_a_freeze_kept_waiting_go_when_its_window_ends() -> None:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=silent())
    put_hold(world, "freeze", "all")
    with world.store.database.write() as tx:
        tx.run("UPDATE holds SET expires_at = ?", (plus(world.clock.now, 600),))
    finish_held(world)
    assert calls(world) == "prepare"
    world.pass_time(600)
    assert calls(world) == "prepare cutover"


def test_a_pause_goes_along_with_a_member_that_moves() -> None:
    world = play(book(phase("prepare", offset="T+1d")))
    pause(world, "member")
    world.batch("wave", ["bob"])
    assert world.store.move(1, 2) is not None
    assert world.rows("SELECT member_id, opened_by, reason FROM holds WHERE is_open") == [(3, "ann", "tenant down")]
    world.pass_time(DAY)
    assert calls(world) == "prepare"
    answer(world, "lift", "pause")
    world.run()
    assert calls(world) == "prepare prepare"


# -- what ends with its batch ------------------------------------------------------------------------------------------

ENDS: Final = [kind for kind in KINDS if kind not in {"rollback", "removal", "late_success"}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_batch_asks_nothing_but_what_was_not_clean(kind: HoldKind) -> None:
    world = play(book(phase("prepare", offset="T+1d")))
    put_hold(world, kind)
    put_hold(world, kind, "member")
    world.command(ev.CancelBatch(batch_id=1, actor="ops", reason="stop"))
    world.run()
    assert open_holds(world) == ([] if kind in ENDS else [kind, kind])


@pytest.mark.parametrize("kind", ["leavers", "vanished", "move", "rerun_init", "one_way"])
def test_a_batch_that_is_over_asks_nothing_that_nobody_can_answer(kind: HoldKind) -> None:
    world = play(book(phase("prepare")), prepare=silent())
    put_hold(world, kind)
    finish_held(world)
    assert (world.batch_status(), open_holds(world)) == ("completed", [])


def test_a_pause_of_a_batch_that_a_retry_may_reopen_stands() -> None:
    world = play(book(phase("prepare")), prepare=silent())
    pause(world)
    finish_held(world)
    assert (world.batch_status(), open_holds(world)) == ("completed", ["pause"])


def test_a_question_about_a_member_that_has_left_is_gone() -> None:
    world = play(book(phase("prepare", offset="T+1d")))
    put_hold(world, "one_way", "member")
    world.round([ev.Leaving(1)])
    assert open_holds(world) == []


def test_a_new_version_with_an_init_of_its_own_answers_the_init_that_failed() -> None:
    first, second = (book(phase("p", offset="T+1d"), init=[step(name)]) for name in ("lock", "lock2"))
    world = play(first)
    world.behaviours["lock"] = fails()
    world.publish(first, rerun_init=True)
    world.run()
    assert open_holds(world) == ["rerun_init"]
    world.publish(second, rerun_init=True)
    world.run()
    assert (open_holds(world), calls(world)) == ([], "lock lock lock2")
    world.pass_time(DAY)
    assert world.batch_status() == "completed"


def test_a_hold_that_only_asks_is_lifted_without_any_effect() -> None:
    world = play(book(phase("prepare", step("prepare", on_failure="undo")), rollbacks={"undo": [step("undo")]}),
                 prepare=fails(), undo=fails())  # fmt: skip
    assert open_holds(world) == ["rollback"]
    assert answer(world, "lift") == "done"
    assert not open_holds(world)
    assert world.member_status("ann") == "failed"
