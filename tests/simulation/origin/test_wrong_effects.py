"""W01-W13: members lost, cleaned up, moved twice or moved in the wrong order, and jobs with holes in them."""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.origin.stage import Stage, die_everywhere, staged
from tminus.progression import events as ev
from tminus.store.store import Asking
from tminus.testing.world import DAY, Says, fails, ok

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.origin.conftest import Play

IMMEDIATE = """
name: move
data_source: {type: csv, connection: FILE, primary_key: upn, batch_time: immediate}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
on_member_removed: [{name: close, worker_id: w, function: Close}]
"""
TIMED = """
name: move
data_source: {type: csv, connection: FILE, primary_key: upn, batch_time_column: when}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
on_member_removed: [{name: close, worker_id: w, function: Close}]
"""
TWO_PHASES = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-2h
    steps:
      - {name: make, worker_id: w, function: Make}
      - {name: check, worker_id: w, function: Check}
  - {name: cutover, offset: T-1h, steps: [{name: move, worker_id: w, function: Move}]}
  - {name: care, offset: T-0, steps: [{name: care, worker_id: w, function: Care}]}
"""
INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init: [{name: lock, worker_id: w, function: Lock}]
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
TEMPLATED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: make, worker_id: w, function: Make, params: {For: "{{upn}}"}, output_params: {TargetId: id}}
      - {name: move, worker_id: w, function: "Move-{{Kind}}", params: {T: "{{TargetId}}"}, on_failure: undo}
rollbacks:
  undo:
    - {name: unlink, worker_id: w, function: Unlink, params: {T: "{{TargetId}}"}}
    - {name: unmake, worker_id: w, function: Unmake, params: {X: "{{NoSuchName}}"}}
    - {name: tell, worker_id: w, function: Tell}
"""
UNDONE = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps: [{name: move, worker_id: w, function: Move, on_failure: undo}]
rollbacks: {undo: [{name: unmove, worker_id: w, function: Unmove}, {name: tell, worker_id: w, function: Tell}]}
"""
COUNTDOWN = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
  - {name: prepare, offset: T-5d, steps: [{name: make, worker_id: w, function: Make}]}
  - {name: verify, offset: T-1d, steps: [{name: check, worker_id: w, function: Check}]}
"""
TEN = [f"user{number}" for number in range(10)]


def absent(stage: Stage, *keys: str, removed_24h: int = 0, vanished: bool = False, doubtful: str | None = None) -> None:
    """Tell the store that members were missing for as long as the grace asks."""
    ids = tuple(stage.member_id(key) for key in keys)
    stage.give(ev.Absent(1, ids, removed_24h, vanished=vanished, doubtful=doubtful))
    stage.run()


def test_W01_a_second_tick_in_one_slot_removes_everybody(play: Play) -> None:
    """Origin: members of an immediate batch were no longer "current" and were cleaned up; here they do not leave."""
    stage = play(IMMEDIATE)
    made = stage.batch("move", ["ann", "bob"], t0_in_s=3600, kind="source")
    again = stage.batch("move", ["ann", "bob"], t0_in_s=3600, kind="source")
    assert (again.batch_id, again.is_new) == (made.batch_id, False)
    assert stage.store.join(1, [("ann", "{}"), ("bob", "{}")]) == []
    absent(stage, "ann", "bob")
    absent(stage, "ann", "bob", vanished=True)
    assert stage.value("SELECT count(*) FROM holds") == 0
    stage.pass_time(DAY)
    assert (stage.member_status("ann"), stage.member_status("bob")) == ("done", "done")
    assert stage.called() == ["Move", "Move"]


@pytest.mark.parametrize(
    ("keys", "removed_24h", "word"),
    [(TEN[:1], 0, "truncated"), (TEN[:1], 0, "vanished"), (TEN[:3], 0, ""), (TEN[:1], 2, "")],
    ids=["a truncated answer", "a vanished batch", "three of ten", "the third within a day"],
)
def test_W02_half_an_answer_cleans_up_the_other_half(play: Play, keys: list[str], removed_24h: int, word: str) -> None:
    """Origin: an answer cut off was believed and everybody else cleaned up; here nobody is, and a human is asked."""
    stage = play(TIMED)
    stage.batch("move", TEN, t0_in_s=3600, kind="source")
    doubtful = "the answer was truncated" if word == "truncated" else None
    for _ in range(3):
        absent(stage, *keys, removed_24h=removed_24h, vanished=word == "vanished", doubtful=doubtful)
    assert stage.names("SELECT DISTINCT status FROM batch_members") == ["active"]
    assert stage.rows("SELECT kind, is_open FROM holds") == [("vanished" if word == "vanished" else "leavers", 1)]
    assert stage.called() == []
    hold = int(stage.value("SELECT id FROM holds") or 0)
    stage.command(ev.AnswerHold(actor="olga", reason="they left", hold_id=hold, batch_id=1, answer="accept"))
    stage.run()
    assert [stage.member_status(key) for key in keys] == ["removed"] * len(keys)
    assert stage.called() == ["Close"] * len(keys)


def test_W02_few_leavers_before_t0_go_by_themselves(play: Play) -> None:
    """Origin: there was no brake at all; here it lets a fifth of the batch go before T-0, and nobody after it."""
    stage = play(TIMED)
    stage.batch("move", TEN, t0_in_s=3600, kind="source")
    absent(stage, *TEN[:2])
    assert stage.called() == ["Close", "Close"]
    stage.clock.advance(3600)
    absent(stage, TEN[2])
    assert stage.member_status(TEN[2]) != "removed"
    assert stage.names("SELECT reason FROM holds") == ["T-0 has passed"]


def whole(stage: Stage, phases: int, members: int) -> bool:
    """Tell whether every member has one lane with all its steps in each phase."""
    lanes = stage.rows("SELECT member_id, phase_id, steps_total FROM lanes WHERE kind = 'phase'")
    steps = stage.value(
        """SELECT count(*) FROM lanes l WHERE kind = 'phase'
        AND steps_total = (SELECT count(*) FROM executions e WHERE e.lane_id = l.id)"""
    )
    return len(lanes) == len({lane[:2] for lane in lanes}) == steps == phases * members


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_W03_one_early_joiner_keeps_the_cohort_from_its_phase(play: Play, chunk: int) -> None:
    """Origin: the first members came as joiners too, and one kept the rest from their steps; here all have theirs."""
    stage = play(TWO_PHASES, chunk=chunk)
    everybody = [(key, "{}") for key in ("ann", "bob", "cyd")]
    stage.batch("move", ["ann", "bob", "cyd"], t0_in_s=7200 + 600)
    assert stage.store.join(1, everybody) == []
    stage.clock.advance(600)
    early = stage.store.join(1, [("dan", "{}")])
    stage.give(ev.Joining(early[0]), ev.Joining(stage.member_id("ann")), ev.PhaseDue(1))
    stage.give(ev.Joining(early[0]), ev.Joining(stage.member_id("cyd")), ev.PhaseDue(1))
    stage.pass_time(DAY)
    assert whole(stage, phases=3, members=4)
    assert stage.rows("SELECT status, lanes_total, lanes_succeeded FROM phase_executions") == [("completed", 4, 4)] * 3
    assert len(stage.called()) == 16


def test_W04_a_joiner_dies_half_way() -> None:
    """Origin: a joiner's steps came one by one, and a crash left some that nobody could repair; here it is whole."""

    def make() -> Stage:
        stage = staged(TWO_PHASES, ["ann"], t0_in_s=7200)
        stage.pass_time(3700)
        return stage

    def act(stage: Stage) -> Callable[[], object]:
        return lambda: stage.store.join(1, [("bob", '{"upn":"bob"}'), ("cyd", '{"upn":"cyd"}')])

    def settle(stage: Stage) -> None:
        stage.pass_time(DAY)
        assert whole(stage, phases=3, members=3)

    facts = die_everywhere(make, act, settle)
    assert [row[3] for row in facts["members"]] == ["done"] * 3
    assert facts["batches"] == [(1, "completed", 1)]


@pytest.mark.parametrize("moment", range(7))
def test_W05_a_joiner_between_the_list_and_the_phase(play: Play, moment: int) -> None:
    """Origin: who joined while the phase was being opened got no steps at all; here every moment is the right one."""
    stage = play(TWO_PHASES, chunk=1)
    stage.batch("move", ["ann", "bob", "cyd"], t0_in_s=7200)
    happened: list[ev.Event] = [ev.PhaseDue(1), *(ev.PhaseOpening(1) for _ in range(5))]
    for number, event in enumerate(happened):
        if number == moment:
            stage.store.join(1, [("dan", "{}")])
        stage.give(event)
        if number >= moment:
            stage.give(ev.Joining(stage.member_id("dan")))
    if moment == len(happened):
        stage.run()
        stage.store.join(1, [("dan", "{}")])
    stage.pass_time(DAY)
    assert whole(stage, phases=3, members=4)
    assert stage.member_status("dan") == "done"


def test_W06_a_joiner_of_a_batch_that_is_not_active_yet(play: Play) -> None:
    """Origin: a joiner during init was dropped for good; here it is a member, and its phase finds it."""
    stage = play(INIT)
    stage.batch("move", ["ann"])
    call = stage.take_next("Lock")
    stage.store.join(1, [("bob", "{}")])
    stage.give(ev.Joining(stage.member_id("bob")))
    assert stage.steps("bob") == {}
    stage.says(call, Says({}))
    stage.run()
    assert (stage.steps("bob"), stage.member_status("bob")) == ({"move": "succeeded"}, "done")


def test_W07_a_joiner_begins_all_phases_at_once(play: Play) -> None:
    """Origin: the first step of every overdue phase went out together; here a joiner takes phase after phase."""
    stage = play(TWO_PHASES)
    stage.batch("move", ["ann"], t0_in_s=7200)
    stage.pass_time(3700)
    stage.calls.clear()
    stage.store.join(1, [("bob", "{}")])
    for function in ("Make", "Check", "Move"):
        stage.tick()
        taken = stage.take()
        assert [call.function for call in taken] == [function]
        stage.answer(taken)
    stage.pass_time(DAY)
    assert stage.called() == ["Make", "Check", "Move", "Care", "Care"]


def test_W08_an_unresolved_template_is_sent_as_it_stands(play: Play) -> None:
    """Origin: workers got `{{x}}` literally; here the step fails, naming what is missing, and nothing is sent."""
    stage = play(TEMPLATED, Make=ok({"id": 7}))
    stage.batch("move", {"ann": {"upn": "ann"}, "bob": {"Kind": "Mailbox"}, "cyd": {"upn": "{{x}}", "Kind": "Mailbox"}})
    stage.run()
    assert stage.steps("ann")["move"] == stage.steps("bob")["make"] == "failed"
    errors = stage.names("SELECT error_message FROM executions WHERE error_type = 'UnresolvedTemplate' ORDER BY id")
    assert len(errors) == 3
    assert all("Kind" in error or "upn" in error or "NoSuchName" in error for error in errors)
    assert stage.member_status("cyd") == "done"
    assert [call.params for call in stage.calls if call.function == "Make"] == [{"For": "ann"}, {"For": "{{x}}"}]
    assert all("{{" not in call.function for call in stage.calls)
    assert stage.called("Move-Mailbox") == ["step-6"]


def test_W09_a_rollback_leaves_out_what_it_cannot_fill(play: Play) -> None:
    """Origin: such a step was skipped, outputs were missing, all went at once; here each is tried, told and in turn."""
    stage = play(TEMPLATED, Make=ok({"id": 7}))
    stage.behaviours["Move-X"] = fails()
    stage.batch("move", {"ann": {"upn": "ann", "Kind": "X"}})
    unlink = stage.take_next("Unlink")
    assert unlink.params == {"T": 7}
    assert stage.steps("ann", "rollback") == {"unlink": "dispatched", "unmake": "pending", "tell": "pending"}
    stage.says(unlink, Says({}))
    stage.run()
    assert stage.steps("ann", "rollback") == {"unlink": "succeeded", "unmake": "failed", "tell": "succeeded"}
    assert stage.called()[-2:] == ["Unlink", "Tell"]
    assert stage.rows("SELECT kind, scope FROM holds WHERE is_open") == [("rollback", "member")]
    assert stage.steps("ann")["move"] == "failed"


def test_W10_nobody_knows_how_the_rollback_ended(play: Play) -> None:
    """Origin: results of rollbacks were deleted and `rolled_back` never set; here both are known."""
    stage = play(UNDONE, Move=fails(), Unmove=fails())
    stage.batch("move", ["ann", "bob"])
    stage.run()
    assert stage.steps("ann", "rollback") == {"unmove": "failed", "tell": "succeeded"}
    assert stage.steps("ann") == {"move": "failed"}
    assert stage.names("SELECT kind FROM holds WHERE is_open") == ["rollback", "rollback"]
    lane = int(stage.value("SELECT id FROM lanes WHERE kind = 'rollback' AND member_id = 1") or 0)
    stage.behaviours["Unmove"] = ok({"undone": True})
    stage.command(ev.RetryCleanup(actor="olga", reason="fixed", lane_id=lane))
    stage.run()
    assert stage.steps("ann", "rollback") == {"unmove": "succeeded", "tell": "succeeded"}
    assert (stage.steps("ann"), stage.steps("bob")) == ({"move": "rolled_back"}, {"move": "failed"})
    assert stage.rows("SELECT member_id FROM holds WHERE is_open") == [(2,)]
    results = stage.names("SELECT result_json FROM step_executions WHERE step_name = 'unmove' AND status = 'succeeded'")
    assert results == ['{"undone":true}']


def test_W11_a_slow_job_runs_a_second_time_beside_itself(play: Play) -> None:
    """Origin: the lock was never renewed, so slow jobs ran twice at once; here a kept lease is alone."""
    stage = play(UNDONE)
    stage.batch("move", ["ann"])
    stage.tick()
    slow = stage.take()[0]
    claim = [(slow.execution_id, slow.job_id)]
    for _ in range(6):
        stage.clock.advance(20)
        stage.store.beat("worker-1", claim)
        stage.tick()
        assert stage.round((), [Asking("w", "worker-2", 9)]) == []
    stage.clock.advance(30)
    stage.tick()
    taken = stage.round((), [Asking("w", "worker-2", 9)])
    assert [(one.job_id, one.delivery) for one in taken] == [(slow.job_id, 2)]
    lease = stage.rows("SELECT claimed_by, lease_until FROM messages")
    stage.clock.advance(10)
    stage.store.beat("worker-1", claim)
    assert stage.store.give_back("worker-1", claim) == 0
    assert stage.rows("SELECT claimed_by, lease_until FROM messages") == lease
    assert lease[0][0] == "worker-2"
    stage.says(slow, Says({"by": 1}))
    stage.says(slow, Says({"by": 2}))
    stage.run()
    assert stage.rows("SELECT status, result_json FROM executions") == [("succeeded", '{"by":1}')]
    assert stage.value("SELECT count(*) FROM late_results") == 1
    assert stage.batch_status() == "completed"


def test_W12_a_member_is_in_two_batches_after_a_publish(play: Play) -> None:
    """Origin: "in an active batch" was asked per version; here a key lives in one open batch per runbook's name."""
    stage = play(TIMED)
    stage.batch("move", ["ann", "bob"], t0_in_s=3600, kind="source")
    stage.publish(TIMED.replace("function: Move", "function: NewMove"))
    made = stage.batch("move", ["ann", "cyd"], t0_in_s=7200, kind="source")
    assert made.left_out == ["ann"]
    assert stage.store.join(made.batch_id, [("bob", "{}")]) == []
    stage.pass_time(DAY)
    assert stage.called() == ["NewMove"] * 3
    assert stage.value("SELECT count(*) FROM batch_members WHERE member_key = 'ann'") == 1


def test_W13_a_manual_batch_counts_the_wrong_way(play: Play) -> None:
    """Origin: "the next phase" was the one nearest to T-0; here a batch without T-0 goes from far to near."""
    stage = play(COUNTDOWN)
    stage.batch("move", ["ann"], t0_in_s=None)
    for expected in (["Make"], ["Make", "Check"], ["Make", "Check", "Move"]):
        replies = stage.command(ev.Advance(actor="olga", reason="go", batch_id=1))
        assert [reply.ok for reply in replies] == [True]
        stage.run()
        assert stage.called() == expected
    assert stage.batch_status() == "completed"
    dated = play(COUNTDOWN)
    dated.batch("move", ["ann"], t0_in_s=6 * DAY)
    dated.pass_time(7 * DAY)
    assert dated.called() == ["Make", "Check", "Move"]
