"""Gates: who may say go, what a no or a silence does, and that expiry never approves."""

from __future__ import annotations

from typing import Final

import orjson

from tests.unit.progression.stage import (
    advance,
    answer,
    book,
    calls,
    cancel,
    open_holds,
    pause,
    phase,
    play,
    put_hold,
    step,
    told,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, silent

GATED: Final = book(phase("prepare", gate={"expires": "2h"}), phase("care", offset="T+1d"))


def early(world: World, actor: str = "boss", phase_id: int = 1) -> str:
    """Approve a phase's gate before it is due."""
    return told(world.command(ev.ApproveEarly(phase_id=phase_id, actor=actor, reason="all good")))


def test_a_phase_waits_for_its_gate_and_opens_when_it_is_approved() -> None:
    world = play(GATED)
    assert (calls(world), world.phase_status("prepare")) == ("", "pending")
    assert answer(world, "approve") == "done"
    world.run()
    assert calls(world) == "prepare"
    assert not open_holds(world)


def test_what_is_asked_comes_with_its_evidence() -> None:
    world = play(GATED, "ann", "bob")
    (reason, evidence, opened_by) = world.rows("SELECT reason, evidence_json, opened_by FROM holds")[0]
    assert (reason, opened_by) == ("go/no-go before prepare", "tminus")
    assert orjson.loads(str(evidence)) == {"phase": "prepare", "members": 2, "failed": 0, "expires_s": 7200.0}


def test_a_gate_is_asked_once_the_phase_is_due() -> None:
    world = play(GATED, t0_in_s=3600.0)
    assert open_holds(world) == []
    world.pass_time(3600)
    assert open_holds(world) == ["gate"]


def test_a_gate_may_be_approved_before_it_is_due() -> None:
    world = play(GATED, t0_in_s=3600.0)
    assert early(world) == "done"
    assert open_holds(world) == []
    world.pass_time(3600)
    assert calls(world) == "prepare"


def test_approving_early_is_refused_where_there_is_nothing_to_approve() -> None:
    world = play(book(phase("prepare"), phase("care", offset="T+1d"), phase("end", offset="T+2d", gate={})))
    assert early(world) == "the phase is not pending"
    assert early(world, phase_id=2) == "the phase has no gate"
    assert early(world, phase_id=9) == "the phase is not pending"
    assert early(world, phase_id=3) == "done"
    assert early(world, phase_id=3) == "the gate is approved"


def test_a_gate_that_was_rejected_is_not_approved_early() -> None:
    world = play(GATED)
    answer(world, "reject")
    assert early(world) == "the gate is rejected"


def involved(world: World) -> dict[str, str]:
    """Return what each person hears who tries to approve."""
    hold_id = int(world.value("SELECT max(id) FROM holds") or 0)
    people = ("author", "maker", "ops", "boss")
    return {who: answer(world, "approve", actor=who, hold_id=hold_id) for who in people}


def test_whoever_published_created_or_advanced_may_not_approve() -> None:
    world = World()
    world.publish(GATED, actor="author")
    world.batch("wave", ["ann"], t0_in_s=None, created_by="maker")
    advance(world, actor="ops")
    world.run()
    assert open_holds(world) == ["gate"]
    heard = involved(world)
    assert heard == {
        who: f"{who} published, created or advanced it and may not approve it" for who in ("author", "maker", "ops")
    } | {"boss": "done"}


def test_the_rule_holds_for_an_early_approval_too() -> None:
    world = World()
    world.publish(GATED, actor="author")
    world.batch("wave", ["ann"], t0_in_s=3600, created_by="maker")
    assert early(world, "maker") == "maker published, created or advanced it and may not approve it"
    assert early(world, "author") == "author published, created or advanced it and may not approve it"
    assert open_holds(world) == []


def test_an_advance_that_was_refused_involves_nobody() -> None:
    world = play(GATED)
    advance(world)
    assert answer(world, "approve", actor="ops") == "done"


def test_a_rejection_holds_the_batch() -> None:
    text = book(phase("first", step("a"), step("b"), offset="T-1h"), phase("second", gate={}))
    world = play(text, a=silent())
    answer(world, "reject")
    call = world.held[0]
    world.round([world.result(call, fails(retryable=True)(call))])
    world.run()
    assert world.member_status("ann") == "failed"
    assert open_holds(world) == ["gate"]
    assert answer(world, "approve") == "the gate is rejected: reopen it first"
    assert answer(world, "reject") == "the gate is rejected: reopen it first"


def test_a_gate_that_is_reopened_is_asked_again_with_all_its_time() -> None:
    world = play(GATED)
    world.pass_time(3600)
    assert answer(world, "reopen") == "the gate is open already"
    answer(world, "reject")
    world.pass_time(3600)
    assert answer(world, "reopen") == "done"
    world.pass_time(7100)
    assert world.value("SELECT state FROM holds") == "waiting"
    world.pass_time(100)
    assert world.value("SELECT state FROM holds") == "expired"


def test_a_gate_that_is_reopened_gets_its_time_however_long_a_pause_had_stretched_it() -> None:
    world = play(GATED)
    hold = pause(world)
    world.pass_time(DAY)
    answer(world, "lift", hold_id=hold)
    world.pass_time(60)
    answer(world, "reject", "gate")
    assert answer(world, "reopen", "gate") == "done"
    world.pass_time(7200)
    assert world.value("SELECT state FROM holds WHERE kind = 'gate'") == "expired"


def test_a_name_in_other_letters_is_the_same_person() -> None:
    world = World()
    world.publish(GATED, actor="Author")
    world.batch("wave", ["ann"])
    world.run()
    assert answer(world, "approve", actor="AUTHOR").startswith("AUTHOR published")


def test_expiry_never_approves_and_never_ends() -> None:
    world = play(GATED)
    world.pass_time(DAY)
    assert (calls(world), open_holds(world)) == ("", ["gate"])
    assert answer(world, "approve") == "the gate is expired: reopen it first"
    assert answer(world, "reopen") == "done"
    assert answer(world, "approve") == "done"
    world.run()
    assert calls(world) == "prepare care"


def test_a_gate_without_expiry_waits_for_ever() -> None:
    world = play(book(phase("prepare", gate={}), phase("care", offset="T+1d")))
    world.pass_time(30 * DAY)
    assert world.value("SELECT state FROM holds") == "waiting"


def test_its_clock_stands_still_under_a_pause() -> None:
    world = play(GATED)
    world.pass_time(3600)
    hold = pause(world)
    world.pass_time(DAY)
    assert world.value("SELECT state FROM holds WHERE kind = 'gate'") == "waiting"
    answer(world, "lift", hold_id=hold)
    world.pass_time(3590)
    assert world.value("SELECT state FROM holds WHERE kind = 'gate'") == "waiting"
    world.pass_time(70)
    assert world.value("SELECT state FROM holds WHERE kind = 'gate'") == "expired"


def test_a_gate_is_not_lifted_and_what_is_no_gate_is_not_approved() -> None:
    world = play(GATED)
    assert answer(world, "lift") == "approve or reject the gate"
    put_hold(world, "freeze")
    for said in ("approve", "reject", "reopen"):
        assert answer(world, said, "freeze") == "a freeze hold is not a gate"


def test_an_answer_to_nothing_is_refused() -> None:
    world = play(GATED)
    assert answer(world, "approve", hold_id=9) == "no such hold"
    answer(world, "approve", hold_id=1)
    assert answer(world, "approve", hold_id=1) == "the gate is approved already, by boss"


def test_a_no_keeps_the_reason_and_the_name() -> None:
    world = play(GATED)
    answer(world, "reject")
    assert world.rows("SELECT closed_by, note FROM holds") == [("boss", "decided")]


def test_a_gate_of_a_batch_that_is_cancelled_is_gone() -> None:
    world = play(GATED)
    cancel(world)
    assert answer(world, "approve", hold_id=1) == "the gate is lifted already, by ops"


TWO_GATES: Final = book(phase("one", gate={}, offset="T-1h"), phase("two", gate={}))


def test_each_phase_has_a_gate_of_its_own() -> None:
    world = play(TWO_GATES)
    assert open_holds(world) == ["gate", "gate"]
    answer(world, "approve", hold_id=1)
    world.run()
    assert calls(world) == "one"
    answer(world, "approve", hold_id=2)
    world.run()
    assert calls(world) == "one two"


def test_a_phase_does_not_run_before_an_earlier_one_that_waits_for_its_gate() -> None:
    world = play(TWO_GATES)
    answer(world, "approve", hold_id=2)
    world.run()
    assert calls(world) == ""
    assert world.value("SELECT reason FROM phase_executions WHERE phase_name = 'two'") == "phase:one"
    answer(world, "approve", hold_id=1)
    world.run()
    assert calls(world) == "one two"


def test_a_phase_that_may_overlap_does_not_wait_for_one_that_waits_for_its_gate() -> None:
    world = play(book(phase("one", gate={}, offset="T-1h"), phase("two", overlap=True)))
    assert calls(world) == "two"
