"""L01-L08, L12: a process died between what it recorded and what should have followed from it.

The origin committed a status, and only then looked for the next step, the retry, the rollback or the end. Here one
transaction holds all of it, so that each scenario is played once for every point at which the process can die.
"""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.simulation.origin.stage import Stage, die_everywhere, first_fails, staged
from tminus.domain.errors import TminusError
from tminus.progression.events import WorkError
from tminus.testing.world import DAY, Says, fails, ok

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.origin.conftest import Play

TWO_STEPS = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: make, worker_id: w, function: Make, output_params: {TargetId: id}}
      - {name: move, worker_id: w, function: Move, params: {Target: "{{TargetId}}"}}
"""
RETRIED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: make, worker_id: w, function: Make, retry: {max_retries: 1, interval: 10m}}
      - {name: move, worker_id: w, function: Move}
"""
UNDONE = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-1h
    steps:
      - {name: make, worker_id: w, function: Make, on_failure: undo, poll: {interval: 5m, timeout: 30m}}
  - name: cutover
    offset: T-0
    steps: [{name: move, worker_id: w, function: Move}]
on_member_failed: [{name: tell, worker_id: w, function: Tell}]
rollbacks:
  undo:
    - {name: unmake, worker_id: w, function: Unmake}
    - {name: sweep, worker_id: w, function: Sweep}
"""
WITH_INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init:
  - {name: lock, worker_id: w, function: Lock}
  - {name: warn, worker_id: w, function: Warn}
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
BROKEN = Says(error=WorkError("it broke", "Boom"))


def answered(function: str, says: Says) -> Callable[[Stage], Callable[[], object]]:
    """Prepare the delivery of one answer to one job."""

    def act(stage: Stage) -> Callable[[], object]:
        call = stage.take_next(function)
        return lambda: stage.says(call, says)

    return act


def a_day(stage: Stage) -> None:
    stage.pass_time(DAY)


def test_L01_result_commits_but_progression_is_lost() -> None:
    """Origin: a success was recorded, the next step never sent; here both commit, or neither and the result returns."""
    facts = die_everywhere(lambda: staged(TWO_STEPS, Make=ok({"id": 7})), answered("Make", Says({"id": 7})), Stage.run)
    assert facts["batches"] == [(1, "completed", 1)]
    assert [function for function, _ in facts["calls"]] == ["Make", "Make", "Move", "Move"]


def test_L02_failure_commits_but_what_it_causes_is_lost() -> None:
    """Origin: a failure was recorded, its retry never planned; here the failure and the retry are one commit."""
    facts = die_everywhere(lambda: staged(RETRIED, ["ann"]), answered("Make", BROKEN), a_day)
    assert facts["calls"] == [("Make", "step-1"), ("Make", "step-1-retry-1"), ("Move", "step-2")]
    assert facts["batches"] == [(1, "completed", 1)]


def test_L03_a_retry_that_was_never_scheduled(play: Play) -> None:
    """Origin: a retry lived in a message that could be lost; here it is a time in the row, and no message at all."""
    stage = play(RETRIED, Make=first_fails())
    stage.batch("move", ["ann"])
    stage.run()
    assert stage.value("SELECT count(*) FROM messages") == 0
    stage.restart()
    stage.pass_time(479)  # Ten minutes, less the largest jitter, less a second.
    assert stage.called("Make") == ["step-1"]
    stage.pass_time(242)
    assert stage.called("Make") == ["step-1", "step-1-retry-1"]
    assert stage.batch_status() == "completed"


def test_L04_outputs_fail_after_the_result_was_recorded(play: Play) -> None:
    """Origin: outputs were saved after the success, so an error there lost both; here neither is recorded."""
    stage = play(TWO_STEPS)
    stage.batch("move", ["ann"])
    call = stage.take_next("Make")
    stage.database.faulty = "UPDATE batch_members SET worker_data_json"
    with pytest.raises(TminusError, match="E504"):
        stage.says(call, Says({"id": 7}))
    assert stage.steps("ann") == {"make": "dispatched", "move": "pending"}
    stage.says(call, Says({"id": 7}))
    stage.run()
    assert [c.params for c in stage.calls if c.function == "Move"] == [{"Target": 7}]
    assert stage.batch_status() == "completed"


def test_L05_init_result_commits_but_the_next_init_is_lost() -> None:
    """Origin: the second init step was never sent and the batch stayed in init; here it goes out with the result."""
    facts = die_everywhere(lambda: staged(WITH_INIT), answered("Lock", Says({})), Stage.run)
    assert [function for function, _ in facts["calls"]] == ["Lock", "Move", "Move", "Warn"]
    facts = die_everywhere(lambda: staged(WITH_INIT), answered("Warn", Says({})), Stage.run)
    assert facts["batches"] == [(1, "completed", 1)]


def test_L06_rollback_is_sent_but_the_member_never_fails() -> None:
    """Origin: rollback, member failure and poll timeout were three commits; here they are one, and happen once."""

    def timing_out(stage: Stage) -> Callable[[], object]:
        stage.says(stage.take_next("Make"), Says({"complete": False}))
        stage.clock.advance(1800)
        return stage.tick

    for act in (answered("Make", BROKEN), timing_out):
        facts = die_everywhere(lambda: staged(UNDONE, ["ann"], t0_in_s=7200, Tell=ok()), _later(act), a_day)
        assert [function for function, _ in facts["calls"]] == ["Make", "Sweep", "Tell", "Unmake"]
        assert [row[3] for row in facts["members"]] == ["failed"]
        assert facts["batches"] == [(1, "failed", 1)]
        assert ("make", "phase", 1, "rolled_back", 0, 0) in [row[:6] for row in facts["steps"]]


def _later(act: Callable[[Stage], Callable[[], object]]) -> Callable[[Stage], Callable[[], object]]:
    def prepared(stage: Stage) -> Callable[[], object]:
        stage.clock.advance(3600)
        return act(stage)

    return prepared


def test_L07_the_batch_commits_but_its_init_is_never_sent() -> None:
    """Origin: a crash after detection skipped init while phases ran; here the batch is born with its init lane."""
    facts = die_everywhere(_published(WITH_INIT), _detected, a_day)
    assert facts["batches"] == [(1, "completed", 1)]
    assert facts["calls"] == [("Lock", "init-1"), ("Move", "step-3"), ("Move", "step-4"), ("Warn", "init-2")]


def test_L08_a_batch_without_init_is_detected_for_ever() -> None:
    """Origin: the move to active was a second commit; here a batch without init is active when it is there at all."""
    facts = die_everywhere(_published(TWO_STEPS), _detected, a_day)
    assert facts["batches"] == [(1, "completed", 1)]
    assert [function for function, _ in facts["calls"]] == ["Make", "Make", "Move", "Move"]


def _published(text: str) -> Callable[[], Stage]:
    def make() -> Stage:
        stage = Stage(behaviours={"Make": ok({"id": 7})})
        stage.publish(text)
        return stage

    return make


def _detected(stage: Stage) -> Callable[[], object]:
    return lambda: stage.batch("move", ["ann", "bob"], t0_in_s=3600, kind="source")


def test_L12_the_last_step_ends_but_its_phase_does_not() -> None:
    """Origin: a crash before the completion check left the phase open; here step, lane, phase and batch end at once."""
    one = TWO_STEPS.replace("Make,", "Make, when: \"'a' == 'b'\",").replace(', params: {Target: "{{TargetId}}"}', "")
    for members in (["ann"], ["ann", "bob"]):
        for says in (Says({}), BROKEN):
            facts = die_everywhere(partial(staged, one, members), answered("Move", says), a_day)
            expected = "failed" if says is BROKEN and len(members) == 1 else "completed"
            assert facts["batches"] == [(1, expected, 1)]


def test_L02_and_L12_with_the_last_retry_spent() -> None:
    """Origin: as above, when the second failure is the last; here the member fails and the batch ends."""
    facts = die_everywhere(lambda: staged(RETRIED, ["ann"], Make=fails()), _second_failure, a_day)
    assert facts["batches"] == [(1, "failed", 1)]


def _second_failure(stage: Stage) -> Callable[[], object]:
    stage.says(stage.take_next("Make"), BROKEN)
    stage.clock.advance(900)
    call = stage.take_next("Make")
    return lambda: stage.says(call, BROKEN)
