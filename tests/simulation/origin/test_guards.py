"""G01-G12: guards that were missing, or whose answer nobody looked at.

Every move is decided inside the transaction that writes it, from the rows and the table of transitions. Each scenario
brings two things that exclude each other, in every order.
"""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from tminus.progression import events as ev
from tminus.testing.world import DAY, Says, fails

if TYPE_CHECKING:
    from tests.simulation.origin.conftest import Play
    from tests.simulation.origin.stage import Stage
    from tminus.testing.world import Call

POLLED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - name: sync
        worker_id: w
        function: Sync
        on_failure: undo
        poll: {interval: 10m, timeout: 1h}
        retry: {max_retries: 1, interval: 1m, jitter: false}
rollbacks: {undo: [{name: unsync, worker_id: w, function: Unsync}]}
"""
POLLED_INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init: [{name: sync, worker_id: w, function: Sync, poll: {interval: 10m, timeout: 1h}}]
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init: [{name: lock, worker_id: w, function: Lock}]
phases:
  - {name: prepare, offset: T-1h, steps: [{name: make, worker_id: w, function: Make}]}
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
on_member_removed: [{name: close, worker_id: w, function: Close}]
"""
PLAIN = INIT.replace("init: [{name: lock, worker_id: w, function: Lock}]\n", "")
CHAIN = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-1h
    steps:
      - {name: make, worker_id: w, function: Make}
      - {name: check, worker_id: w, function: Check}
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
RETRIED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - name: move
        worker_id: w
        function: Move
        timeout: 5m
        retry: {max_retries: 1, interval: 10m, jitter: false}
"""
UNFINISHED, FINISHED = Says({"complete": False}), Says({"complete": True})


def polling(stage: Stage) -> Call:
    """Return a poll that the worker holds when the step's time is over."""
    stage.says(stage.take_next("Sync"), UNFINISHED)
    stage.clock.advance(600)
    poll = stage.take_next("Sync")
    stage.clock.advance(20)
    stage.store.beat("worker-1", [(poll.execution_id, poll.job_id)])
    stage.clock.advance(2980)
    return poll


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("rounds", [1, 2])
def test_G01_a_poll_times_out_while_it_succeeds(play: Play, order: tuple[int, int], rounds: int) -> None:
    """Origin: rollback and failure went out although the success had won; here effects follow the one winner."""
    stage = play(POLLED)
    stage.batch("move", ["ann"])
    poll = polling(stage)
    events: list[ev.Event] = [stage.result(poll, FINISHED), ev.PollDue(poll.execution_id)]
    happened = [events[index] for index in order]
    for part in (happened,) if rounds == 1 else ([one] for one in happened):
        stage.give(*part)
    stage.run()
    if order == (0, 1):
        assert stage.steps("ann") == {"sync": "succeeded"}
        assert stage.member_status("ann") == "done"
        assert stage.called("Unsync") == []
        assert stage.value("SELECT count(*) FROM late_results") == 0
    else:
        assert stage.steps("ann") == {"sync": "rolled_back"}
        assert stage.member_status("ann") == "failed"
        assert len(stage.called("Unsync")) == 1
        assert stage.rows("SELECT job_id, is_success FROM late_results") == [("step-1-poll-1", 1)]
        assert stage.names("SELECT kind FROM holds WHERE is_open") == ["late_success"]


def test_G01_an_init_times_out_while_it_succeeds(play: Play) -> None:
    """Origin: the batch failed under an init that had succeeded; here whichever is decided first holds."""
    for order, status in (((0, 1), "active"), ((1, 0), "failed")):
        stage = play(POLLED_INIT)
        stage.batch("move", ["ann"], t0_in_s=DAY)
        poll = polling(stage)
        events: list[ev.Event] = [stage.result(poll, FINISHED), ev.PollDue(poll.execution_id)]
        stage.give(*(events[index] for index in order))
        stage.run()
        assert stage.batch_status() == status


def test_G02_an_ended_batch_is_active_again(play: Play) -> None:
    """Origin: an init result after a cancel revived the batch; here it is late, and ended batches stay ended."""
    stage = play(INIT)
    stage.batch("move", ["ann"], t0_in_s=7200)
    call = stage.take_next("Lock")
    stage.command(ev.CancelBatch(actor="olga", reason="wrong list", batch_id=1))
    stage.says(call, Says({}))
    stage.give(ev.BatchStart(1), ev.Wake(1), ev.BatchSettled(1))
    stage.pass_time(DAY)
    assert stage.batch_status() == "cancelled"
    assert stage.called() == ["Lock"]
    for text in (INIT, PLAIN):
        other = play(text)
        other.batch("move", ["ann"])
        other.give(ev.BatchStart(1))
        other.run()
        called = other.called()
        assert (other.batch_status(), called[-2:]) == ("completed", ["Make", "Move"])
        for event in (ev.BatchStart(1), ev.Wake(1), ev.PhaseDue(1), ev.PhaseSettled(1), ev.BatchSettled(1)):
            other.give(event)
        other.run()
        assert (other.batch_status(), other.called()) == ("completed", called)


def test_G03_init_was_faster_than_its_own_record(play: Play) -> None:
    """Origin: `init_dispatched` was written over `active`; here a late start finds the batch started."""
    stage = play(INIT)
    stage.batch("move", ["ann"], t0_in_s=7200)
    call = stage.take_next("Lock")
    stage.give(stage.result(call, Says({})), ev.BatchStart(1))
    assert stage.batch_status() == "active"
    stage.give(ev.BatchStart(1))
    assert stage.batch_status() == "active"
    stage.pass_time(DAY)
    assert stage.batch_status() == "completed"


def test_G04_removed_and_cancelled_overwrite_what_had_ended(play: Play) -> None:
    """Origin: removal overwrote `failed` and cancel `completed`; here the first end stays."""
    stage = play(PLAIN, Make=fails())
    stage.batch("move", ["ann"])
    stage.run()
    stage.give(ev.Leaving(stage.member_id("ann")))
    assert stage.member_status("ann") == "failed"
    assert stage.rows("SELECT has_left FROM batch_members") == [(1,)]
    assert stage.steps("ann", "removal") == {}


@pytest.mark.parametrize("order", ["result, cancel", "cancel, result", "cancel and result"])
def test_G04_cancel_meets_the_last_result(play: Play, order: str) -> None:
    """Origin: a cancel at the moment of completion made it `failed`; here the later one is refused or late."""
    stage = play(PLAIN)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    result, cancel = stage.result(call, Says({})), ev.CancelBatch(actor="olga", reason="stop", batch_id=1)
    if order == "result, cancel":
        stage.give(result)
        stage.run()
        assert [reply.ok for reply in stage.command(cancel)] == [False]
        assert (stage.batch_status(), stage.member_status("ann")) == ("completed", "done")
        return
    if order == "cancel and result":
        stage.give(cancel, result)
    else:
        stage.give(cancel)
        stage.tick()
        stage.give(result)
        assert stage.rows("SELECT job_id FROM late_results") == [(call.job_id,)]
    stage.run()
    assert (stage.batch_status(), stage.member_status("ann")) == ("cancelled", "cancelled")
    assert stage.phase_status("cutover") in {"completed", "cancelled"}


def test_G05_dispatch_goes_on_after_a_cancel(play: Play) -> None:
    """Origin: cancel touched the batch's row alone; here the fence stops every further job and the rows follow it."""
    stage = play(CHAIN)
    stage.store.window = 2
    stage.batch("move", ["ann", "bob", "cyd", "dan", "eve"], t0_in_s=3600)
    stage.tick()
    ann, bob = stage.take(2)
    stage.give()
    assert stage.value("SELECT count(*) FROM messages") == 4
    cancel = ev.CancelBatch(actor="olga", reason="stop", batch_id=1)
    stage.give(cancel, stage.result(ann, Says({})))
    everything = [ev.ExecutionReady(number) for number in range(1, 11)]
    stage.give(*everything, ev.PhaseDue(2), ev.Wake(1, stage.member_id("bob")))
    assert stage.names("SELECT message_id FROM messages") == [bob.job_id]
    stage.tick()
    stage.give(*everything, stage.result(bob, Says({})))
    assert stage.take() == []
    stage.pass_time(DAY)
    assert stage.called() == []
    assert stage.rows("SELECT job_id, is_success FROM late_results") == [(bob.job_id, 1)]
    assert stage.names("SELECT DISTINCT status FROM batch_members") == ["cancelled"]
    assert (stage.phase_status("prepare"), stage.phase_status("cutover")) == ("cancelled", "cancelled")
    assert sorted(set(stage.steps("ann").values())) == ["cancelled", "succeeded"]


def test_G06_phases_run_without_init(play: Play) -> None:
    """Origin: nobody asked whether init had run; here a due phase waits for it, and never opens where it failed."""
    stage = play(INIT)
    stage.batch("move", ["ann"])
    call = stage.take_next("Lock")
    stage.clock.advance(20)
    stage.tick()
    stage.give(ev.PhaseDue(1), ev.PhaseDue(2), ev.Wake(1, stage.member_id("ann")))
    assert stage.phase_status("prepare") == "pending"
    assert stage.take() == []
    stage.says(call, Says({}))
    stage.run()
    assert stage.called() == ["Lock", "Make", "Move"]
    other = play(INIT, Lock=fails())
    other.batch("move", ["ann"])
    other.run()
    other.give(ev.PhaseDue(1), ev.PhaseDue(2))
    other.run()
    assert other.called() == ["Lock"]
    assert (other.batch_status(), other.phase_status("prepare")) == ("failed", "cancelled")


def test_G07_a_phase_is_done_before_it_is_dispatched(play: Play) -> None:
    """Origin: a phase that was over (or empty) too soon could not close; here it opens first and then is looked at."""
    nothing = PLAIN.replace("worker_id: w, function: M", "worker_id: w, when: \"'a' == 'b'\", function: M")
    stage = play(nothing)
    stage.batch("move", ["ann", "bob"])
    stage.run()
    assert (stage.phase_status("prepare"), stage.phase_status("cutover")) == ("completed", "completed")
    assert (stage.batch_status(), stage.called()) == ("completed", [])
    empty = play(PLAIN)
    empty.batch("move", ["ann"], t0_in_s=7200)
    empty.give(ev.Leaving(empty.member_id("ann")))
    empty.pass_time(DAY)
    assert (empty.phase_status("prepare"), empty.phase_status("cutover")) == ("skipped", "skipped")
    assert empty.batch_status() == "cancelled"


def test_G08_a_retry_inherits_the_clock_of_its_polls(play: Play) -> None:
    """Origin: the retried step timed out at once by the first one's clock; here each attempt has its own."""
    stage = play(POLLED)
    stage.batch("move", ["ann"])
    stage.says(stage.take_next("Sync"), UNFINISHED)
    stage.clock.advance(2400)
    stage.says(stage.take_next("Sync"), fails()(stage.calls[-1]))
    assert stage.rows("SELECT poll_started_at, poll_count, result_json FROM executions") == [(None, 0, None)]
    stage.clock.advance(60)
    stage.says(stage.take_next("Sync"), UNFINISHED)
    assert stage.called("Sync")[-1] == "step-1-retry-1"
    stage.clock.advance(2400)
    stage.says(stage.take_next("Sync"), FINISHED)
    assert stage.called("Sync")[-1] == "step-1-retry-1-poll-1"
    assert stage.steps("ann") == {"sync": "succeeded"}


def test_G09_a_retryable_step_is_failed_for_a_moment(play: Play) -> None:
    """Origin: between two commits the phase could close over a step to be retried; here nobody sees that moment."""
    stage = play(RETRIED, shared=True)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    other = stage.another()
    seen: set[tuple[object, ...]] = set()

    def look(_point: str) -> None:
        with other.database.read() as tx:
            seen.update(tx.all("SELECT e.status, p.status FROM executions e, phase_executions p"))

    stage.database.watcher = look
    stage.give(stage.result(call, fails()(call)), ev.PhaseSettled(1), ev.BatchSettled(1))
    stage.database.rewind()
    other.database.close()
    assert seen == {("dispatched", "dispatched"), ("pending", "dispatched")}
    stage.pass_time(DAY)
    assert (stage.phase_status("cutover"), stage.steps("ann")) == ("completed", {"move": "succeeded"})


@pytest.mark.parametrize("late", [Says({}), Says(error=ev.WorkError("too late", "Boom"))], ids=["success", "failure"])
def test_G10_the_first_attempts_answer_counts_for_the_second(play: Play, late: Says) -> None:
    """Origin: results were matched by step, not by attempt; here only the current job's answer moves anything."""
    stage = play(RETRIED)
    stage.batch("move", ["ann"])
    first = stage.take_next("Move")
    stage.clock.advance(290)
    stage.store.beat("worker-1", [(first.execution_id, first.job_id)])
    stage.clock.advance(10)
    stage.tick()
    assert stage.steps("ann") == {"move": "pending"}
    stage.clock.advance(600)
    second = stage.take_next("Move")
    assert (first.job_id, second.job_id) == ("step-1", "step-1-retry-1")
    stage.says(first, late)
    stage.says(first, late)
    assert stage.rows("SELECT status, job_id, retry_count FROM executions") == [("dispatched", second.job_id, 1)]
    assert stage.rows("SELECT job_id, seen FROM late_results") == [("step-1", 2)]
    stage.says(second, Says({"by": "second"}))
    stage.run()
    assert stage.rows("SELECT status, result_json FROM executions") == [("succeeded", '{"by":"second"}')]
    assert stage.batch_status() == "completed"


def test_G11_an_old_removal_reaches_a_member_that_returned(play: Play) -> None:
    """Origin: a stale message cancelled the work of the member added again; here it names a row that has ended."""
    stage = play(PLAIN)
    stage.batch("move", ["ann", "bob"], t0_in_s=7200)
    gone = ev.Leaving(stage.member_id("ann"))
    stage.give(gone)
    stage.store.join(1, [("ann", '{"upn":"ann"}')])
    stage.give(gone, gone)
    stage.pass_time(DAY)
    rows = stage.rows("SELECT generation, status FROM batch_members WHERE member_key = 'ann' ORDER BY 1")
    assert rows == [(1, "removed"), (2, "done")]
    assert stage.called("Close") == stage.called("Close")[:1]
    assert len(stage.called("Move")) == 2


def test_G12_overdue_is_ignored_for_the_first_batch_only(play: Play) -> None:
    """Origin: `ignore` was spent by the first batch that moved; here every batch that moves ignores by itself."""
    stage = play(INIT)
    for number, t0_in_s in enumerate((1800, 1800), start=1):
        stage.batch("move", [f"ann{number}", f"bob{number}"], t0_in_s=t0_in_s)
    slow = stage.take_next("Lock")
    stage.pass_time(0)
    assert sorted(stage.names("SELECT status FROM batches")) == ["active", "init_dispatched"]
    stage.publish(INIT.replace("function: Make", "function: MakeAgain"), overdue="ignore")
    stage.pass_time(25)
    stage.says(slow, Says({}))
    stage.pass_time(60)
    stage.publish(INIT.replace("function: Make", "function: MakeOnceMore"), overdue="ignore")
    stage.pass_time(DAY)
    assert stage.names("SELECT status FROM batches") == ["completed", "completed"]
    made = [function for function in stage.called() if function.startswith("Make")]
    assert len(made) == 4
    for key in ("ann1", "bob1", "ann2", "bob2"):
        lanes = stage.rows("SELECT sequence FROM lanes WHERE member_id = ? ORDER BY id", stage.member_id(key))
        assert lanes == [("prepare",), ("cutover",)]


def test_G01_to_G04_every_order_of_three_ends(play: Play) -> None:
    """Origin: whichever came last won; here result, poll timeout and cancel in any order give one consistent end."""
    ends: set[tuple[str, str, str]] = set()
    for order in permutations(range(3)):
        stage = play(POLLED)
        stage.batch("move", ["ann"])
        poll = polling(stage)
        events: list[ev.Event] = [
            stage.result(poll, FINISHED),
            ev.PollDue(poll.execution_id),
            ev.CancelBatch(actor="olga", reason="stop", batch_id=1),
        ]
        for index in order:
            stage.give(events[index])
            stage.store.end_members()
        stage.run()
        ends.add((stage.steps("ann")["sync"], stage.member_status("ann"), stage.batch_status()))
    assert ends <= {
        ("succeeded", "cancelled", "cancelled"),
        ("succeeded", "done", "completed"),
        ("rolled_back", "failed", "cancelled"),
        ("rolled_back", "failed", "failed"),
        ("cancelled", "cancelled", "cancelled"),
    }
    assert len(ends) >= 3
