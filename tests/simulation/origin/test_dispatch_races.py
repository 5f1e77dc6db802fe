"""D01-D10: what was sent before it was recorded, and what was sent twice.

The origin sent a job and then wrote that it had. Here the job is a row of the same commit, named by its execution and
attempt: it cannot be seen before its status can, and sending it again is the same row.
"""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.origin.stage import Stage, die_everywhere, first_fails, staged
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.store.store import Asking
from tminus.testing.world import DAY, Says, fails, ok

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.origin.conftest import Play

ONE = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
RETRIED = """
name: move
data_source: {type: manual, primary_key: upn}
retry: {max_retries: 1, interval: 10m, jitter: false}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init:
  - {name: lock, worker_id: w, function: LockOne}
  - {name: warn, worker_id: w, function: WarnOne}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
UNDONE_INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init: [{name: lock, worker_id: w, function: Lock, on_failure: undo}]
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
rollbacks: {undo: [{name: unlock, worker_id: w, function: Unlock}]}
"""
POLLED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps: [{name: sync, worker_id: w, function: Sync, poll: {interval: 5m, timeout: 1h}}]
"""
UNFINISHED = Says({"complete": False})


def test_D01_a_fast_worker_answers_before_the_dispatch_is_recorded(play: Play) -> None:
    """Origin: a result that was faster than the row was dropped; here nobody sees the job before the row says so."""
    stage = play(ONE, shared=True)
    stage.batch("move", ["ann"])
    stage.tick()
    worker = stage.another()
    seen: list[tuple[object, object]] = []

    def look(point: str) -> None:
        with worker.database.read() as tx:
            job = tx.one("SELECT message_id FROM messages")
            status = tx.all("SELECT status FROM executions")[0][0]
        seen.append((job and job[0], status))
        if point == "after COMMIT":
            claim = worker.claim("w", "fast", 1)[0]
            worker.round([ev.ResultArrived(claim.execution_id, claim.job_id, result_json="{}")])
        else:
            with pytest.raises(TminusError, match="E505"):
                worker.claim("w", "fast", 1)

    stage.database.watcher = look
    stage.give()
    worker.database.close()
    stage.database.rewind()
    assert seen[:-1] == [(None, "pending")] * (len(seen) - 1)
    assert seen[-1] == ("step-1", "dispatched")
    assert stage.steps("ann") == {"move": "succeeded"}
    stage.run()
    assert stage.batch_status() == "completed"


def test_D02_a_crash_after_the_send_sends_twice() -> None:
    """Origin: the repeated handler sent the job again; here dying anywhere between due and claimed sends it once."""

    def act(stage: Stage) -> Callable[[], object]:
        def due_and_out() -> None:
            stage.tick()
            stage.give()

        return due_and_out

    facts = die_everywhere(lambda: staged(ONE), act, Stage.run)
    assert facts["calls"] == [("Move", "step-1"), ("Move", "step-2")]


def test_D03_a_duplicate_phase_due_picks_up_a_step_that_waits(play: Play) -> None:
    """Origin: a duplicate ignored the wait and reused the first job's id; here it waits, under an id of its own."""
    stage = play(RETRIED, Move=first_fails())
    stage.batch("move", ["ann"])
    stage.run()
    stage.give(ev.PhaseDue(1), ev.PhaseOpening(1), ev.ExecutionReady(1), ev.Wake(1, stage.member_id("ann")))
    stage.run()
    stage.pass_time(599)
    assert stage.called("Move") == ["step-1"]
    stage.pass_time(1)
    assert stage.called("Move") == ["step-1", "step-1-retry-1"]
    assert stage.batch_status() == "completed"


def test_D04_a_duplicate_batch_init_sends_the_second_step(play: Play) -> None:
    """Origin: the duplicate took the next pending init while the first was out; here the lane has one job out."""
    stage = play(INIT)
    stage.batch("move", ["ann"])
    call = stage.take_next("LockOne")
    for _ in range(2):
        stage.give(ev.BatchStart(1), ev.Wake(1), ev.ExecutionReady(2))
        assert stage.take() == []
    assert stage.names("SELECT status FROM init_executions ORDER BY id") == ["dispatched", "pending"]
    stage.says(call, Says({}))
    stage.run()
    assert stage.called() == ["LockOne", "WarnOne", "Move"]


def test_D05_old_and_new_init_run_mixed(play: Play) -> None:
    """Origin: init steps of two versions ran as one list; here the old ends, then the batch moves."""
    stage = play(INIT)
    stage.batch("move", ["ann"], t0_in_s=3600)
    call = stage.take_next("LockOne")
    stage.publish(INIT.replace("One", "Two"), rerun_init=True)
    stage.tick()
    assert stage.take() == []
    assert stage.names("SELECT function_name FROM init_executions") == ["LockOne", "WarnOne"]
    stage.says(call, Says({}))
    stage.pass_time(DAY)
    assert stage.called() == ["LockOne", "WarnOne", "LockTwo", "WarnTwo", "Move"]
    assert stage.batch_status() == "completed"


def test_D06_a_phase_fails_between_two_chunks() -> None:
    """Origin: members of chunks already sent ran twice; here each chunk and its cursor are one commit."""

    def act(stage: Stage) -> Callable[[], object]:
        def due_and_out() -> None:
            for _ in range(4):
                stage.tick()
                stage.give()

        return due_and_out

    def make() -> Stage:
        stage = Stage(chunk=2, window=2)
        stage.publish(ONE)
        stage.batch("move", ["ann", "bob", "cyd", "dan", "eve"])
        return stage

    facts = die_everywhere(make, act, Stage.run)
    assert facts["calls"] == [("Move", f"step-{number}") for number in range(1, 6)]
    assert facts["phases"] == [(1, "cutover", 1, "completed", 5, 5)]


def test_D07_nothing_has_an_id_by_which_a_duplicate_is_known(play: Play) -> None:
    """Origin: messages had no id, so duplicates counted twice; here a result counts once, in one round or in many."""
    stage = play(RETRIED)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    failure = stage.result(call, fails()(call))
    stage.give(failure, failure)
    stage.give(failure)
    assert stage.rows("SELECT status, retry_count FROM executions") == [("pending", 1)]
    assert stage.rows("SELECT job_id, is_success, seen FROM late_results") == [("step-1", 0, 2)]
    stage.pass_time(DAY)
    assert stage.called("Move") == ["step-1", "step-1-retry-1"]
    assert stage.rows("SELECT attempt, outcome FROM attempts ORDER BY id") == [(0, "failed"), (1, "succeeded")]


def test_D08_a_second_rollback_under_the_first_ones_id(play: Play) -> None:
    """Origin: a legitimate second rollback was swallowed as a duplicate; here it is a lane with ids of its own."""
    stage = play(UNDONE_INIT, Lock=fails())
    stage.batch("move", ["ann"])
    stage.run()
    for _ in range(2):
        replies = stage.command(ev.RetryInit(actor="olga", reason="again", batch_id=1))
        assert [reply.ok for reply in replies] == [True]
        stage.run()
    undone = stage.called("Unlock")
    assert len(undone) == len(set(undone)) == 3
    assert stage.called("Lock") == ["init-1", "init-1-retry-1", "init-1-retry-2"]


def test_D08_a_rollback_is_delivered_again_after_ten_minutes(play: Play) -> None:
    """Origin: past the window of the broker's memory a redelivered rollback ran as new; here it is known by its job."""
    stage = play(UNDONE_INIT, Lock=fails())
    stage.batch("move", ["ann"])
    call = stage.take_next("Unlock")
    stage.says(call, Says({}))
    stage.clock.advance(1200)
    stage.says(call, Says({}))
    stage.run()
    assert stage.called("Unlock") == [call.job_id]
    assert stage.value("SELECT count(*) FROM lanes WHERE kind = 'rollback'") == 1


def test_D09_polls_count_double(play: Play) -> None:
    """Origin: two counters and two clocks made polls double; here a due poll goes out once, whoever finds it."""
    stage = play(POLLED, shared=True)
    stage.batch("move", ["ann"])
    stage.says(stage.take_next("Sync"), UNFINISHED)
    stage.clock.advance(300)
    other = stage.another()
    found = [look(("", 0)) for store in (stage.store, other) for look in store.looks()]
    for page in found:
        stage.store.decide(page.events)
        other.decide(page.events)
    other.database.close()
    assert sum(len(page.events) for page in found) == 2
    assert stage.rows("SELECT poll_count, last_polled_at FROM executions")[0][0] == 1
    assert stage.names("SELECT message_id FROM messages") == ["step-1-poll-1"]
    poll = stage.take_next("Sync")
    stage.clock.advance(60)
    stage.says(poll, UNFINISHED)
    stage.give(ev.PollDue(1))
    stage.clock.advance(299)
    stage.tick()
    assert stage.value("SELECT poll_count FROM executions") == 1
    stage.clock.advance(1)
    stage.tick()
    assert stage.value("SELECT poll_count FROM executions") == 2


def test_D10_a_step_is_polled_that_polls_no_more(play: Play) -> None:
    """Origin: a member cancelled between look and send was polled still; here the look is only a hint."""
    stage = play(POLLED, shared=True)
    stage.batch("move", ["ann"])
    stage.says(stage.take_next("Sync"), UNFINISHED)
    stage.clock.advance(300)
    other = stage.another()
    found = [event for look in other.looks() for event in look(("", 0)).events]
    assert found == [ev.PollDue(1)]
    stage.give(ev.Leaving(stage.member_id("ann"), actor="olga"))
    other.round(found, [Asking("w", "late", 9)])
    other.database.close()
    assert stage.value("SELECT count(*) FROM messages") == 0
    stage.pass_time(DAY)
    assert stage.called() == ["Sync"]
    assert stage.member_status("ann") == "removed"


def test_D02_a_claim_whose_answer_is_lost(play: Play) -> None:
    """Origin: a job that ran could be unknown to its row; here a claim that dies is delivered again."""
    stage = play(ONE, Move=ok())
    stage.batch("move", ["ann"])
    stage.tick()
    lost = stage.take()
    stage.restart()
    stage.pass_time(31)
    assert [call.job_id for call in lost] == stage.called("Move") == ["step-1"]
    assert [call.claim.delivery for call in stage.calls] == [2]
    assert stage.batch_status() == "completed"
