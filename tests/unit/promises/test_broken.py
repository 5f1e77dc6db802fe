"""Every check can fail: a row changed by hand behind the core's back, and the promise that this breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.promises.test_well import begin, of_bob, polls
from tests.unit.promises.watched import HOUR, Watched
from tminus.progression import events as ev
from tminus.store.store import Asking
from tminus.testing.world import fails, ok, silent


def middle() -> Watched:
    """Ann's create is claimed, bob polls, cid waits for his retry; dan's create is out and unclaimed."""
    world = begin()
    world.store.join(1, [("dan", '{"upn":"dan"}')])
    behaviours = {"ann": silent(), "bob": ok(), "cid": fails(), "dan": ok()}
    world.behaviours |= {"Create": lambda call: behaviours[str(call.params["User"])](call), "Sync": polls(99)}
    world.pass_time(HOUR - 1)
    world.clock.advance(1)
    world.store.decide([ev.PhaseDue(1)])
    world.store.wake()
    world.answer([world.call_of(claim) for claim in world.round((), [Asking("w", "w1", 3)])])
    world.answer([world.call_of(claim) for claim in world.round((), [Asking("w", "w1", 1)])])
    return world


def ended() -> Watched:
    """Ann succeeded, bob failed and was rolled back, cid left and was cleaned up after; the batch is completed."""
    world = begin()
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(1.5 * HOUR)
    world.store.round([ev.Leaving(3)])
    world.rest()
    return world


def retried() -> Watched:
    """Ann was paused and resumed, bob failed and was tried again by hand; everybody is done."""
    world = begin()
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(1.2 * HOUR)
    world.command(ev.OpenHold(scope="member", batch_id=1, member_id=1, actor="ada", reason="wait"))
    world.command(ev.AnswerHold(hold_id=1, batch_id=1, answer="lift", actor="ada", reason="go"))
    world.behaviours["Create"] = ok()
    world.command(ev.Retry(member_id=2, actor="ada", reason="again"))
    world.rest()
    return world


def flagged(world: Watched, wanted: str, *, at_rest: bool = False) -> bool:
    """Tell whether this promise is found broken in these words; reading in pages finds the same promises."""
    promise, _, words = wanted.partition(" ")
    found = world.violations(at_rest=at_rest)
    paged = world.violations(at_rest=at_rest, small_events=0)
    assert {one.promise for one in found} == {one.promise for one in paged}
    return any(one.promise == promise and words in one.message for one in found)


PARTS = {
    "{ann}": "(SELECT id FROM executions WHERE step_name = 'create' AND lane_id = 2)",
    "{bob_polls}": "(SELECT id FROM executions WHERE status = 'polling')",
    "{cid_waits}": "(SELECT id FROM executions WHERE status = 'pending' AND attempt = 0 AND retry_count = 1)",
    "{sent_lane}": "(SELECT lane_id FROM messages WHERE claimed_at IS NULL)",
    "{sent}": "(SELECT id FROM messages WHERE claimed_at IS NULL)",
}


def damage(name: str) -> list[tuple[str, str]]:
    """Read a file of damage: before each statement stands the promise and words of its message."""
    text = (Path(__file__).parent / "damage" / f"{name}.sql").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = []
    for block in text.split("\n\n")[1:]:
        wanted, _, sql = block.partition("\n")
        for word, part in PARTS.items():
            sql = sql.replace(word, part)
        found.append((wanted.removeprefix("-- "), sql))
    return found


@pytest.mark.parametrize(("wanted", "sql"), damage("middle"))
def test_a_change_in_the_middle_is_seen(wanted: str, sql: str) -> None:
    world = middle()
    assert not world.violations()
    world.corrupt(sql)
    assert flagged(world, wanted)


@pytest.mark.parametrize(("wanted", "sql"), damage("ended"))
def test_a_change_after_the_end_is_seen(wanted: str, sql: str) -> None:
    world = ended()
    world.corrupt(sql)
    world.reads_runbooks = wanted.startswith("P17")
    assert flagged(world, wanted)


@pytest.mark.parametrize(("wanted", "sql"), damage("retried"))
def test_a_change_of_what_people_did_is_seen(wanted: str, sql: str) -> None:
    world = retried()
    world.corrupt(sql)
    assert flagged(world, wanted)
