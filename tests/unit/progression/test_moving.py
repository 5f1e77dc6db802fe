"""A member that moves past a step of no return: the step does not run again without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import answer, book, calls, late, open_holds, phase, play, retry, step
from tminus.testing.world import DAY, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

CUT: Final = book(
    phase("cutover", step("cut", one_way=True), step("after")), phase("care", step("care"), offset="T+1d")
)


@pytest.mark.parametrize(("after", "status"), [(silent(), "active"), (fails(), "failed")])
def test_a_phase_that_would_run_again_over_a_one_way_step_is_asked_about(after: Behaviour, status: str) -> None:
    world = play(CUT, after=after)
    world.batch("wave", ["bob"], t0_in_s=2 * DAY)
    assert world.store.move(1, 2) is not None
    assert world.member_status("ann") == status
    assert world.rows("SELECT kind, member_id, reason FROM holds WHERE is_open") == [
        ("one_way", 3, "cutover would run again over a one_way step that was sent in batch 1")
    ]
    for call in world.held:
        late(world, call, ok()(call))
    if status == "failed":
        retry(world)
    world.pass_time(2 * DAY)
    assert calls(world).split().count("cut") == 2  # Hers in batch 1 and bob's in batch 2.
    assert answer(world, "lift", "one_way") == "done"
    world.run()
    assert calls(world).split().count("cut") == 3


def test_a_phase_that_was_passed_is_inherited_and_nothing_is_asked() -> None:
    world = play(CUT)
    world.batch("wave", ["bob"], t0_in_s=2 * DAY)
    assert world.store.move(1, 2) is not None
    assert open_holds(world) == []
    world.pass_time(2 * DAY)
    assert calls(world).split().count("cut") == 2
