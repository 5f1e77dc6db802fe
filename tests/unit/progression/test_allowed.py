"""What an operator is told that he may do is what the command then does, in whatever state a batch has come to.

Histories are drawn: runbooks with something of everything, workers that fail, keep silent or poll, and commands in
between. In every state on the way each action is tried and taken back; the reason shown is the reason of the refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.progression.stage import (
    POLL,
    UPN,
    book,
    cancel,
    in_turn,
    leave,
    phase,
    play,
    retry,
    retry_init,
    roll_back,
    step,
    view_of,
)
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.progression.actions import batch_actions, member_actions
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.progression.actions import Action
    from tminus.testing.world import Behaviour

WHO: Final = "ops"
WHY: Final = "try"
RICH: Final = book(
    phase("prepare", step("a", params=UPN, on_failure="undo"), step("b", params=UPN), offset="T-1h"),
    phase("cutover", step("c", params=UPN, one_way=True), step("d", params=UPN, poll=POLL), gate={}),
    phase("care", step("e", params=UPN), offset="T+1d"),
    init=[step("init", on_failure="undo-init")],
    rollbacks={"undo": [step("u")], "undo-init": [step("v")]},
    on_member_removed=[step("clean")],
    on_batch_finished=[step("tell")],
)
BARE: Final = book(phase("prepare", step("a"), step("b"), offset="T-1h"), phase("cutover", step("c")))
ANSWERS: Final[dict[str, Callable[[], Behaviour]]] = {
    "ok": ok,
    "fails": fails,
    "silent": silent,
    "polls": lambda: ok({"complete": False}),
    "mends": lambda: in_turn(fails(), ok()),
}


def current(world: World, key: str) -> str:
    """Name the step that passing is about: the first that has failed, else the first that is open."""
    sql = """SELECT l.sequence || '/' || e.step_name FROM executions e JOIN lanes l ON l.id = e.lane_id
      WHERE l.member_id = ? AND l.kind = 'phase' AND e.status IN
        ('failed', 'poll_timeout', 'rolled_back', 'pending', 'dispatched', 'polling')
      ORDER BY e.status NOT IN ('failed', 'poll_timeout', 'rolled_back'), l.id, e.step_index LIMIT 1"""
    rows = world.rows(sql, world.member_id(key))
    return str(rows[0][0]) if rows else "prepare/nothing"


def commands(world: World, key: str) -> dict[str, ev.Event]:
    """Return the command behind each action of a member."""
    member_id, name = world.member_id(key), current(world, key)
    return {
        "retry": ev.Retry(member_id=member_id, actor=WHO, reason=WHY),
        "skip": ev.PassStep(member_id=member_id, step=name, done=False, actor=WHO, reason=WHY),
        "mark-done": ev.PassStep(member_id=member_id, step=name, done=True, actor=WHO, reason=WHY),
        "rollback": ev.RollBack(member_id=member_id, actor=WHO, reason=WHY),
        "leave": ev.Remove(member_id=member_id, actor=WHO, reason=WHY),
        "edit-data": ev.EditData(member_id=member_id, values={"upn": "x"}, actor=WHO, reason=WHY),
        "set-time": ev.SetTime(member_id=member_id, t0=plus(world.clock.now, 30 * DAY), actor=WHO, reason=WHY),
        "pause": ev.OpenHold(scope="member", batch_id=1, member_id=member_id, actor=WHO, reason=WHY),
    }


def batch_commands(world: World) -> dict[str, ev.Event]:
    """Return the command behind each action of a batch."""
    return {
        "advance": ev.Advance(batch_id=1, actor=WHO, reason=WHY),
        "cancel": ev.CancelBatch(batch_id=1, actor=WHO, reason=WHY),
        "pause": ev.OpenHold(scope="batch", batch_id=1, actor=WHO, reason=WHY),
        "reschedule": ev.Reschedule(batch_id=1, t0=plus(world.clock.now, DAY), actor=WHO, reason=WHY),
        "retry-init": ev.RetryInit(batch_id=1, actor=WHO, reason=WHY),
    }


def tried(world: World, command: ev.Event) -> str:
    """Give a command, take it back, and return the refusal, empty when it was done."""
    with world.store.undone():
        done = world.store.round([command])
    assert not done.refused
    (reply,) = done.replies
    # Which steps there are is said to who names one that is not.
    return "" if reply.ok else reply.message.partition(" (there are")[0]


def shown(actions: tuple[Action, ...]) -> dict[str, str]:
    """Return the reasons that are shown, by action."""
    assert all(action.enabled == (not action.reason) for action in actions)
    return {action.name: action.reason for action in actions}


def compare(world: World, keys: tuple[str, ...] = ("ann", "bob")) -> set[tuple[str, bool]]:
    """Compare what is shown with what would be done, and return which actions were seen in which way."""
    seen: set[tuple[str, bool]] = set()
    for key in keys:
        view, subject = view_of(world, key)
        reasons = shown(member_actions(view, subject))
        assert reasons == {name: tried(world, command) for name, command in commands(world, key).items()}
        seen |= {(name, not why) for name, why in reasons.items()}
    view, _ = view_of(world, None)
    reasons = shown(batch_actions(view, view.batches[1]))
    assert reasons == {name: tried(world, command) for name, command in batch_commands(world).items()}
    return seen | {(f"batch {name}", not why) for name, why in reasons.items()}


ACTS: Final[dict[str, Callable[[World], object]]] = {
    "a minute": lambda world: world.pass_time(60),
    "a day": lambda world: world.pass_time(DAY),
    "one round": lambda world: world.step(),
    "answer": lambda world: world.answer([world.held.pop(0)]) if world.held else None,
    "mend": lambda world: world.behaviours.clear(),
    "approve": lambda world: (
        world.rows("SELECT id FROM holds WHERE is_open AND kind = 'gate'")
        and world.command(ev.ApproveEarly(phase_id=2, actor="boss", reason="go"))
    ),
    "retry": retry,
    "retry init": retry_init,
    "roll back": roll_back,
    "leave": leave,
    "pause": lambda world: world.command(ev.OpenHold(scope="batch", batch_id=1, actor=WHO, reason=WHY)),
    "cancel": cancel,
    "advance": lambda world: world.command(ev.Advance(batch_id=1, actor=WHO, reason=WHY)),
    "publish": lambda world: world.publish(RICH, rerun_init=True),
}


@settings(max_examples=60)
@given(
    text=st.sampled_from([RICH, BARE]),
    t0_in_s=st.sampled_from([None, 0.0, 5400.0]),
    says=st.dictionaries(st.sampled_from([*"abcdeu", "init", "tell"]), st.sampled_from(sorted(ANSWERS)), max_size=3),
    acts=st.lists(st.sampled_from(sorted(ACTS)), max_size=6),
)
def test_what_is_shown_is_what_is_done(text: str, t0_in_s: float | None, says: dict[str, str], acts: list[str]) -> None:
    world = World(behaviours={name: ANSWERS[how]() for name, how in says.items()})
    world.publish(text)
    world.batch("wave", ["ann", "bob"], t0_in_s=t0_in_s)
    world.run()
    compare(world)
    for act in acts:
        ACTS[act](world)
        compare(world)
    assert not world.refused


STATES: Final[dict[str, Callable[[], World]]] = {
    "running": lambda: play(RICH, "ann", "bob", a=silent()),
    "waiting for advance": lambda: play(RICH, "ann", "bob", t0_in_s=None),
    "failed": lambda: play(BARE, "ann", "bob", b=fails()),
    "init failed": lambda: play(RICH, "ann", "bob", init=fails(), v=silent()),
    "init failed and undone": lambda: play(RICH, "ann", "bob", init=fails()),
    "done": lambda: play(BARE, "ann", "bob"),
    "sent": lambda: play(RICH, "ann", "bob"),
}


def test_every_action_is_seen_allowed_and_refused() -> None:
    seen: set[tuple[str, bool]] = set()
    for make in STATES.values():
        seen |= compare(make())
    names = {name for name, _ in seen}
    assert seen == {(name, enabled) for name in names for enabled in (True, False)}
    assert len(names) == 13


@pytest.mark.parametrize("name", ["skip", "mark-done"])
def test_a_command_that_was_tried_leaves_nothing_behind(name: str) -> None:
    world = play(BARE, "ann", "bob", b=fails())
    before = world.rows("SELECT * FROM executions") + world.rows("SELECT * FROM audit")
    assert tried(world, commands(world, "ann")[name]) == ""
    assert world.rows("SELECT * FROM executions") + world.rows("SELECT * FROM audit") == before
