"""Every reason why a lane does not move is said in a sentence, from the rows, with the instant of what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.asked import Scenes, behind, check, of_batch, of_phase, why
from tests.unit.progression.stage import (
    HOUR,
    POLL,
    RETRY_TWICE,
    UPN,
    answer,
    book,
    cancel,
    in_turn,
    lane_of,
    leave,
    only,
    pause,
    phase,
    play,
    put_hold,
    step,
    view_of,
)
from tminus.domain.instant import Instant
from tminus.progression.reasons import Reason, reason
from tminus.testing.world import World, fails, ok, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.domain.status import HoldKind, HoldScope

SCENES: Final = Scenes()


# -- holds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["all", "runbook", "batch", "member"])
def test_a_pause_of_any_level_is_named_with_who_and_why(scope: HoldScope) -> None:
    world = behind()
    pause(world, scope)
    assert why(world) == Reason("pause", "held: pause by ann - tenant down")


def held_by(kind: HoldKind, scope: HoldScope = "batch") -> Callable[[], Reason]:
    """Make a scene in which a hold of this kind stands before cutover."""

    def make() -> Reason:
        world = behind()
        put_hold(world, kind, scope, phase_id=2)
        return why(world)

    return make


SCENES.extend(
    [
        ("pause", "held: pause by tminus - a pause", None, held_by("pause")),
        ("freeze", "held: freeze calendar - a freeze", None, held_by("freeze", "runbook")),
        ("old_t0", "held: old T-0 - a old_t0", None, held_by("old_t0")),
        ("over_cost", "held: cost - a over_cost", None, held_by("over_cost")),
        ("one_way", "held: one-way step - a one_way", None, held_by("one_way", "member")),
        ("brake", "held: brake - a brake", None, held_by("brake", "phase")),
        ("gate", "waits for the a gate", None, held_by("gate", "phase")),
    ]
)

GATED: Final = book(phase("prepare", gate={"expires": "2h"}), phase("cutover", offset="T+1d"))


@SCENES.add("gate", "waits for the go/no-go before prepare", "02:00:00")
def _gate() -> Reason:
    return of_phase(play(GATED), "prepare")


@SCENES.add("gate_rejected", "held: the go/no-go before prepare was rejected by boss - decided")
def _gate_rejected() -> Reason:
    world = play(GATED)
    answer(world, "reject")
    return of_phase(world, "prepare")


@SCENES.add("gate_expired", "held: the go/no-go before prepare expired unanswered")
def _gate_expired() -> Reason:
    world = play(GATED)
    world.pass_time(3 * HOUR)
    return of_batch(world)


@SCENES.add(
    "brake", "held: brake - 1 of 1 failed in prepare: the brake holds what has not started; 1 of 3 lanes have ended"
)
def _brake() -> Reason:
    text = book(phase("prepare", step("prepare", params=UPN), rings=[1, "100%"], brake="10%"))
    return of_phase(play(text, "ann", "bob", "eve", prepare=only("ann", fails())), "prepare")


@SCENES.add("rerun_init", "held: failed init - init of version 2 failed: step init failed")
def _rerun_init() -> Reason:
    world = behind()
    world.behaviours["init"] = fails()
    world.publish(book(phase("prepare", offset="T-1h"), phase("cutover"), init=[step("init")]), rerun_init=True)
    world.run()
    return of_batch(world)


# -- turns -------------------------------------------------------------------------------------------------------------


@SCENES.add("phase", "waits for phase prepare")
def _phase() -> Reason:
    return why(behind())


@SCENES.add("init", "waits for init of version 2")
def _init() -> Reason:
    two = book(phase("prepare", offset="T-1h"), phase("cutover"), init=[step("init")])
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover", offset="T+1d")), init=silent())
    world.publish(two, rerun_init=True)
    world.run()
    return why(world, sequence="prepare")


@SCENES.add("init", "waits for init of version 1")
def _init_of_a_phase() -> Reason:
    return of_phase(play(book(phase("prepare"), init=[step("init")]), init=silent()), "prepare")


@SCENES.add("init", "init of version 2 failed: it waits for its retry")
def _init_failed() -> Reason:
    world = behind()
    world.behaviours["init"] = fails()
    world.publish(book(phase("prepare", offset="T-1h"), phase("cutover"), init=[step("init")]), rerun_init=True)
    world.run()
    return why(world, sequence="cutover")


@SCENES.add("ring", "waits for ring 2 of 3")
def _ring() -> Reason:
    text = book(phase("prepare", rings=[1, 1, "100%"]))
    return why(play(text, "ann", "bob", "eve", prepare=silent()), key="bob")


@SCENES.add("drain", "waits for a running job", "00:00:30")
def _drain() -> Reason:
    text = book(phase("prepare"), on_member_removed=[step("clean")])
    world = play(text, "ann", prepare=silent())
    leave(world)
    return why(world, "removal")


@SCENES.add("drain", "waits for a running job", "00:01:30")
def _drain_of_a_retry() -> Reason:
    world = play(book(phase("prepare", step("prepare", timeout="1m", retry=RETRY_TWICE))), prepare=silent())
    (call,) = world.held
    world.clock.advance(20)
    world.store.beat("worker-1", [(call.execution_id, call.job_id)])
    view, subject = view_of(world)
    row = view.executions[call.execution_id]
    subject.draining[row.id] = view.jobs[row.id]
    row.status = "pending"
    view.jobs[row.id].lease_until = Instant("2026-01-01T00:01:30.000Z")
    return reason(view, subject, lane_of(subject, "phase"))


@SCENES.add("order", "waits for the rollback steps")
def _order() -> Reason:
    text = book(
        phase("prepare", step("prepare", on_failure="undo")),
        rollbacks={"undo": [step("undo")]},
        on_member_failed=[step("tell")],
    )
    return why(play(text, prepare=fails(), undo=silent()), "member_failed")


@SCENES.add("output", "waits for output TargetId of phase prepare")
def _output() -> Reason:
    text = book(
        phase("prepare", step("prepare", output_params={"TargetId": "id"}), offset="T-1h"),
        phase("cutover", step("cutover", params={"id": "{{TargetId}}"}), overlap=True),
    )
    return why(play(text, prepare=silent()), sequence="cutover")


@SCENES.add("start", "starts at the next look", "00:00:00")
def _start() -> Reason:
    world = behind()
    hold = pause(world)
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    assert why(world, sequence="cutover").code == "pause"
    answer(world, "lift", hold_id=hold)
    return why(world, sequence="cutover")


@SCENES.add("member", "the member is cancelled: it will not start")
def _member() -> Reason:
    view, subject = view_of(behind())
    assert subject.member is not None
    subject.member.status = "cancelled"
    return reason(view, subject, lane_of(subject, "phase", "cutover"))


@SCENES.add("batch", "the batch is cancelled: it will not start")
def _batch() -> Reason:
    world = behind()
    cancel(world)
    return why(world, sequence="cutover")


@SCENES.add("batch", "the batch is cancelled: nothing more is sent")
def _batch_of_a_running_lane() -> Reason:
    world = play(book(phase("prepare", step("prepare"), step("check", retry=RETRY_TWICE))), check=fails())
    world.clock.advance(61)
    cancel(world)
    return why(world)


@SCENES.add("member", "the member is failed: nothing more is sent")
def _member_of_a_running_lane() -> Reason:
    world = play(book(phase("prepare", step("prepare", retry=RETRY_TWICE))), prepare=fails())
    world.clock.advance(61)
    view, subject = view_of(world)
    assert subject.member is not None
    subject.member.status = "failed"
    return reason(view, subject, lane_of(subject, "phase"))


# -- a step that waits to be sent --------------------------------------------------------------------------------------


@SCENES.add("retry", "retry 1 of 2 at 00:01:00Z: it broke", "00:01:00")
def _retry() -> Reason:
    return why(play(book(phase("prepare", step("prepare", retry=RETRY_TWICE))), prepare=fails()))


@SCENES.add("throttled", "throttled, next try 00:01:30Z (0 of 2 retries spent, 90 s waited): slow down", "00:01:30")
def _throttled() -> Reason:
    slow = fails("Busy", "slow down", is_throttled=True, retry_after_s=90.0)
    return why(play(book(phase("prepare", step("prepare", retry=RETRY_TWICE))), prepare=slow))


@SCENES.add("retry", "retry 1 of 2 at 00:02:30Z: it broke", "00:02:30")
def _retry_after_a_throttling() -> Reason:
    slow = fails("Busy", "slow down", is_throttled=True, retry_after_s=90.0)
    world = play(book(phase("prepare", step("prepare", retry=RETRY_TWICE))), prepare=in_turn(slow, fails()))
    world.pass_time(90)
    return why(world)


def full(**limits: object) -> World:
    """Bring bob before a worker id that ann's silent job has filled."""
    text = book(phase("prepare"), limits=limits) if limits else book(phase("prepare"))
    world = World(behaviours={"prepare": silent()}, window=1)
    world.publish(text)
    world.batch("wave", ["ann", "bob"])
    return world


@SCENES.add("window", "worker queue full: cloud")
def _window() -> Reason:
    world = full()
    world.step(most=0)
    return why(world, key="bob")


@SCENES.add("limit", "limit of jobs in flight reached: cloud")
def _limit() -> Reason:
    world = full(cloud={"in_flight": 1})
    world.run()
    return why(world, key="bob")


@SCENES.add("rate", "rate limit reached: prepare")
def _rate() -> Reason:
    world = full(prepare={"per_minute": 6})
    world.run()
    return why(world, key="bob")


@SCENES.add("turn", "waits for its turn at cloud: other batches wait as well", "00:00:00")
def _turn() -> Reason:
    world = World(behaviours={"prepare": silent()}, window=2)
    world.publish(book(phase("prepare")))
    world.batch("wave", ["ann", "bob"])
    world.batch("wave", ["cid", "dan"])
    world.step(most=0)
    world.store.claim("cloud", "worker-1", 1)
    return why(world, key="bob")


@SCENES.add("ready", "goes out to cloud at the next look", "00:00:00")
def _ready() -> Reason:
    world = full()
    world.step(most=0)
    world.store.claim("cloud", "worker-1", 1)
    return why(world, key="bob")


# -- a step at a worker ------------------------------------------------------------------------------------------------


@SCENES.add("unclaimed", "waits for a worker of cloud, sent at 00:00:00Z")
def _unclaimed() -> Reason:
    world = full()
    world.step(most=0)
    return why(world)


@SCENES.add("pause", "held: pause by ann - tenant down")
def _unclaimed_under_a_pause() -> Reason:
    world = full()
    world.step(most=0)
    pause(world)
    return why(world)


@SCENES.add("running", "running since 00:00:00Z at a worker, for 10 s, times out at 01:00:00Z", "01:00:00")
def _running() -> Reason:
    world = play(book(phase("prepare")), prepare=silent())
    world.clock.advance(10)
    return why(world)


@SCENES.add("running", "running since 00:00:30Z at a worker, for 0 s, times out at 01:00:30Z (delivery 2)", "01:00:30")
def _running_again() -> Reason:
    world = play(book(phase("prepare")), prepare=silent())
    world.pass_time(30)
    return why(world)


@SCENES.add("lost_track", "step-1 was sent and is nowhere: doctor mends it")
def _lost_track() -> Reason:
    view, subject = view_of(play(book(phase("prepare")), prepare=silent()))
    view.jobs.clear()
    return reason(view, subject, lane_of(subject, "phase"))


NOT_YET: Final = ok({"complete": False})
POLLING: Final = book(phase("prepare", step("prepare", poll=POLL)))


@SCENES.add("poll", "polls every 5 min, next at 00:05:00Z, times out at 01:00:00Z", "00:05:00")
def _poll() -> Reason:
    return why(play(POLLING, prepare=NOT_YET))


@SCENES.add(
    "poll",
    'polls every 5 min (the step has no "poll"), next at 00:05:00Z, times out at 2026-01-02 00:00:00Z',
    "00:05:00",
)
def _poll_of_a_step_without_one() -> Reason:
    return why(play(book(phase("prepare")), prepare=NOT_YET))


@SCENES.add("poll", "polls every 5 min, times out at 01:00:00Z", "01:00:00")
def _last_poll() -> Reason:
    world = play(POLLING, prepare=NOT_YET)
    world.pass_time(58 * 60)
    return why(world)


@SCENES.add("poll_out", "poll 1 is at a worker, times out at 01:00:00Z", "01:00:00")
def _poll_out() -> Reason:
    world = play(POLLING, prepare=in_turn(NOT_YET, silent()))
    world.pass_time(5 * 60)
    return why(world)


@SCENES.add("ended", "failed at 00:00:00Z")
def _lane_ended() -> Reason:
    return why(play(book(phase("prepare")), prepare=fails()))


@SCENES.add("ended", "cancelled at 00:00:00Z: step prepare failed")
def _lane_cancelled() -> Reason:
    text = book(phase("prepare", offset="T-1h"), phase("cutover"))
    world = play(text, prepare=silent())
    world.round([world.result(world.held[0], fails()(world.held[0]))])
    return why(world, sequence="cutover")


@pytest.mark.parametrize(("code", "sentence", "next_at", "make"), SCENES, ids=SCENES.names)
def test_a_reason_is_said(code: str, sentence: str, next_at: str | None, make: Callable[[], Reason]) -> None:
    check(code, sentence, next_at, make)
