"""What a phase and a batch wait for is said in a sentence, and no code is without a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.asked import Scenes, check, of_batch, of_phase
from tests.unit.progression.stage import (
    UPN,
    advance,
    book,
    cancel,
    join,
    leave,
    only,
    phase,
    play,
    reschedule,
    step,
    view_of,
)
from tests.unit.progression.test_reasons import SCENES as LANES
from tminus.domain.instant import Instant
from tminus.progression.reasons import CODES, Reason, phase_reason
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from collections.abc import Callable

SCENES: Final = Scenes()


# -- phases and batches ------------------------------------------------------------------------------------------------


@SCENES.add("due", "due at 2026-01-02 00:00:00Z", "next day")
def _due() -> Reason:
    return of_phase(play(book(phase("prepare")), t0_in_s=DAY), "prepare")


@SCENES.add("advance", "waits for the batch to be advanced")
def _phase_advance() -> Reason:
    return of_phase(play(book(phase("prepare")), t0_in_s=None), "prepare")


@SCENES.add("advance", "waits for its first advance")
def _batch_advance() -> Reason:
    return of_batch(play(book(phase("prepare")), t0_in_s=None))


@SCENES.add("advance", "phase cutover: waits for the batch to be advanced")
def _second_advance() -> Reason:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), t0_in_s=None)
    advance(world)
    world.run()
    return of_batch(world)


@SCENES.add("start", "opens at the next look", "00:00:00")
def _phase_start() -> Reason:
    world = play(book(phase("prepare")), t0_in_s=DAY)
    reschedule(world, 0)
    return of_phase(world, "prepare")


@SCENES.add("batch", "the batch is closing: it will not open")
def _phase_of_a_batch_that_ends() -> Reason:
    world = play(book(phase("prepare")), t0_in_s=0.0, prepare=silent())
    view, _ = view_of(world, None)
    view.batches[1].status = "closing"
    view.phases[1].status = "pending"
    return phase_reason(view, view.phases[1])


@SCENES.add("opening", "opening: 2 of 3 members", "00:00:00")
def _opening() -> Reason:
    world = World(chunk=2)
    world.publish(book(phase("prepare")))
    world.batch("wave", ["ann", "bob", "eve"])
    world.store.decide([event for look in world.store.looks() for event in look(("", 0)).events])
    return of_phase(world, "prepare")


@SCENES.add("progress", "ring 1 of 2: 1 of 4 lanes have ended")
def _ring_progress() -> Reason:
    text = book(phase("prepare", step("prepare", params=UPN), rings=["50%", "100%"]))
    return of_phase(play(text, "ann", "bob", "cid", "dan", prepare=only("bob", silent())), "prepare")


@SCENES.add("progress", "phase prepare: 1 of 2 lanes have ended")
def _batch_progress() -> Reason:
    text = book(phase("prepare", step("prepare", params=UPN)))
    return of_batch(play(text, "ann", "bob", prepare=only("bob", silent())))


@SCENES.add(
    "running", "init of version 1: running since 00:00:00Z at a worker, for 0 s, times out at 01:00:00Z", "01:00:00"
)
def _batch_init() -> Reason:
    return of_batch(play(book(phase("prepare"), init=[step("init")]), init=silent()))


@SCENES.add("old_t0", "held: old T-0 - T-0 was more than 7 days ago at detection")
def _batch_old_t0() -> Reason:
    return of_batch(play(book(phase("prepare")), t0_in_s=-8 * DAY))


@SCENES.add("closing", "its members are ended one by one", "00:00:00")
def _batch_closing() -> Reason:
    world = play(book(phase("prepare")), prepare=silent())
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    return of_batch(world)


@SCENES.add("running", "finish: running since 00:00:00Z at a worker, for 0 s, times out at 01:00:00Z", "01:00:00")
def _batch_finish() -> Reason:
    return of_batch(play(book(phase("prepare"), on_batch_finished=[step("tell")]), tell=silent()))


@SCENES.add("closing", "cancelled at 00:00:00Z; its members are ended one by one", "00:00:00")
def _batch_cancelled() -> Reason:
    world = play(book(phase("prepare")), prepare=silent())
    cancel(world)
    return of_batch(world)


@SCENES.add("closing", "cancelled at 00:00:00Z; 1 lanes that clean up are open")
def _batch_cleaning_up() -> Reason:
    text = book(phase("prepare", step("prepare", on_failure="undo")), rollbacks={"undo": [step("undo")]})
    world = play(text, prepare=fails(), undo=silent())
    cancel(world)
    world.run()
    return of_batch(world)


@SCENES.add("closing", "closes when its last lanes have ended", "00:00:00")
def _batch_waits_for_cleaning_up() -> Reason:
    text = book(phase("prepare", step("prepare", on_failure="undo")), rollbacks={"undo": [step("undo")]})
    return of_batch(play(text, prepare=fails(), undo=silent()))


@SCENES.add(
    "cancelling", "phase prepare: 1 of 2 lanes have ended; it is being cancelled: members past a one_way step go on"
)
def _cancelling() -> Reason:
    text = book(phase("prepare", step("check", params=UPN), step("prepare", one_way=True)))
    world = play(text, "ann", "bob", check=only("bob", silent()), prepare=silent())
    cancel(world)
    world.run()
    return of_batch(world)


@SCENES.add("ended", "completed at 00:00:00Z")
def _batch_ended() -> Reason:
    return of_batch(play(book(phase("prepare"))))


@SCENES.add("ended", "skipped at 00:00:00Z: no members at its due time")
def _phase_ended() -> Reason:
    world = play(book(phase("prepare"), phase("care", offset="T+1d")), t0_in_s=10.0)
    leave(world)
    world.pass_time(10)
    join(world, "bob")
    view, _ = view_of(world, None)
    view.phases[1].status, view.phases[1].reason = "skipped", "no members at its due time"
    view.phases[1].completed_at = Instant("2026-01-01T00:00:00.000Z")
    return phase_reason(view, view.phases[1])


@pytest.mark.parametrize(("code", "sentence", "next_at", "make"), SCENES, ids=SCENES.names)
def test_a_reason_is_said(code: str, sentence: str, next_at: str | None, make: Callable[[], Reason]) -> None:
    check(code, sentence, next_at, make)


def test_every_code_has_a_scene() -> None:
    assert {code for code, *_ in [*SCENES, *LANES]} == set(CODES)
