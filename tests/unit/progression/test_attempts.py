"""Attempts: retries, throttling, timeouts, lost jobs, and results that come too late."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.unit.progression.stage import (
    HOUR,
    RETRY_TWICE,
    Keys,
    book,
    calls,
    execution,
    in_turn,
    late,
    leave,
    open_holds,
    outcomes,
    path,
    phase,
    play,
    retry,
    roll_back,
    step,
    view_of,
)
from tminus.domain.instant import between_s
from tminus.progression import events as ev
from tminus.testing.world import DAY, Says, World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.testing.world import Behaviour


def one(**keys: object) -> str:
    """Write a runbook with one step, and a phase that keeps the batch open."""
    return book(phase("prepare", step("a", **keys)), phase("care", offset="T+9d"))


def policy(**keys: object) -> Keys:
    """Make a retry policy."""
    return {"max_retries": 3, "interval": "10s", **keys}


def waits(world: World, seconds: float = HOUR) -> list[float]:
    """Let time pass and return the seconds between the attempts."""
    world.pass_time(seconds)
    sql = "SELECT at FROM events WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 1 ORDER BY id"
    at: list[Instant] = [type(world.clock.now)(str(text)) for (text,) in world.rows(sql)]
    return [between_s(a, b) for a, b in pairwise(at)]


# -- retries -----------------------------------------------------------------------------------------------------------


def test_n_retries_are_n_plus_one_attempts() -> None:
    world = play(one(retry=policy()), a=fails())
    assert waits(world) == [10, 10, 10]
    assert outcomes(world) == ["failed"] * 4
    assert world.called("a") == ["step-1", "step-1-retry-1", "step-1-retry-2", "step-1-retry-3"]
    assert world.member_status("ann") == "failed"


def test_without_a_policy_there_is_no_retry() -> None:
    assert waits(play(one(), a=fails())) == []


def test_a_steps_own_policy_replaces_the_runbooks_whole() -> None:
    text = book(
        phase("prepare", step("a", retry={"max_retries": 1, "interval": "5s"})), phase("care", offset="T+9d"),
        retry={"max_retries": 9, "interval": "10s", "backoff": 2.0},
    )  # fmt: skip
    assert waits(play(text, a=fails())) == [5]


def test_the_runbooks_policy_holds_for_steps_without_one() -> None:
    text = book(phase("prepare", step("a")), phase("care", offset="T+9d"), retry=RETRY_TWICE)
    assert waits(play(text, a=fails())) == [60, 60]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"backoff": 2.0}, [10, 20, 40]),
        ({"backoff": 3.0, "max_interval": "45s"}, [10, 30, 45]),
        ({"backoff": 1.5, "max_retries": 2}, [10, 15]),
    ],
)
def test_the_delay_grows_up_to_its_cap(keys: Keys, expected: list[float]) -> None:
    assert waits(play(one(retry=policy(**keys)), a=fails())) == expected


def test_jitter_stays_within_a_fifth_and_differs_between_members() -> None:
    world = play(one(retry=policy(jitter=True, interval="100s")), *(f"m{i}" for i in range(30)), a=fails())
    due = [type(world.clock.now)(str(at)) for (at,) in world.rows("SELECT retry_after FROM executions")]
    delays = [between_s(world.clock.now, at) for at in due]
    assert all(80 <= delay <= 120 for delay in delays)
    assert len(set(delays)) > 20
    assert min(delays) < 90
    assert max(delays) > 110


def test_a_longer_wish_of_the_worker_wins_and_a_shorter_does_not() -> None:
    says = in_turn(fails(retry_after_s=77.0), fails(retry_after_s=3.0), fails())
    assert waits(play(one(retry=policy()), a=says)) == [77, 10, 10]


@pytest.mark.parametrize(
    ("says", "attempts"),
    [(fails("NotFound"), 1), (fails("notfound"), 1), (fails("Found"), 4), (fails(retryable=False), 1)],
)
def test_what_cannot_get_better_is_not_tried_again(says: Behaviour, attempts: int) -> None:
    world = play(one(retry=policy(unless=["NotFound"])), a=says)
    waits(world)
    assert len(world.calls) == attempts


def test_the_total_ends_retries_that_would_go_beyond_it() -> None:
    assert waits(play(one(retry=policy(max_retries=99, total="35s")), a=fails())) == [10, 10, 10]


def test_a_failure_that_is_tried_again_is_seen_in_the_history_only() -> None:
    world = play(one(retry=RETRY_TWICE), a=fails())
    assert path(world, "execution") == ["pending", "dispatched", "failed", "pending"]
    assert execution(world, "a", "status") == "pending"
    assert execution(world, "a", "error") == "it broke"


def test_every_attempt_is_kept() -> None:
    world = play(one(retry=RETRY_TWICE), a=in_turn(fails(), ok({"id": 7})))
    world.pass_time(60)
    sql = "SELECT attempt, job_id, outcome, worker, error_type, result_json FROM attempts ORDER BY attempt"
    assert world.rows(sql) == [
        (0, "step-1", "failed", "worker-1", "Boom", None),
        (1, "step-1-retry-1", "succeeded", "worker-1", None, '{"id":7}'),
    ]


def test_the_policy_is_the_one_it_was_made_with() -> None:
    world = play(one(retry=policy()), a=fails())
    world.publish(one(retry=policy(max_retries=0)), overdue="ignore")
    assert len(waits(world)) == 3


# -- throttling --------------------------------------------------------------------------------------------------------


def slow(wait_s: float | None = None) -> Behaviour:
    """Answer that there is too much to do."""
    return fails("Busy", "slow down", is_throttled=True, retry_after_s=wait_s)


@pytest.mark.parametrize(
    ("keys", "wait_s", "expected"),
    [({"retry": RETRY_TWICE}, 90.0, 90), ({"retry": RETRY_TWICE}, None, 60), ({}, None, 30), ({}, 5.0, 5)],
)
def test_throttling_waits_as_the_worker_wishes_else_its_interval(
    keys: Keys, wait_s: float | None, expected: float
) -> None:
    world = play(one(**keys), a=in_turn(slow(wait_s), ok()))
    assert waits(world) == [expected]
    assert execution(world, "a", "retries") == 0
    assert outcomes(world) == ["throttled", "succeeded"]


def test_throttling_lasts_an_hour_at_most() -> None:
    world = play(one(), a=slow(900.0))
    assert waits(world, DAY) == [900] * 4
    assert world.member_status("ann") == "failed"
    assert execution(world, "a", "error") == "slow down (throttled for too long)"


def test_throttling_lasts_as_long_as_the_total_where_there_is_one() -> None:
    world = play(one(retry=policy(total="2h")), a=slow(900.0))
    assert waits(world, DAY) == [900] * 8
    assert execution(world, "a", "retries") == 0


def test_throttling_and_failures_are_counted_apart() -> None:
    world = play(one(retry=RETRY_TWICE), a=in_turn(slow(30.0), fails(), slow(30.0), fails(), slow(30.0), fails()))
    assert waits(world) == [30, 60, 30, 60, 30]
    assert execution(world, "a", "retries") == 2
    assert world.member_status("ann") == "failed"


# -- timeouts and losses -----------------------------------------------------------------------------------------------


def test_a_timeout_runs_from_the_claim_and_ends_the_attempt() -> None:
    world = World(behaviours={"a": silent()})
    world.publish(one(timeout="20s"))
    world.batch("wave", ["ann"])
    world.step(most=0)
    world.clock.advance(600)
    world.run()
    world.pass_time(19)
    assert execution(world, "a", "status") == "dispatched"
    world.pass_time(1)
    assert (execution(world, "a", "status"), execution(world, "a", "type")) == ("failed", "timeout")
    assert outcomes(world) == ["timeout"]


def test_a_timeout_may_be_retried() -> None:
    world = play(one(timeout="20s", retry=policy()), a=in_turn(silent(), ok()))
    assert waits(world) == [30]
    assert outcomes(world) == ["timeout", "succeeded"]


def test_a_lease_does_not_outlive_the_timeout() -> None:
    world = play(one(timeout="45s"), a=silent())
    (call,) = world.held
    for _ in range(5):
        world.clock.advance(10)
        world.store.beat("worker-1", [(call.execution_id, call.job_id)])
    world.run()
    assert execution(world, "a", "type") == "timeout"


def test_a_lease_that_ends_delivers_the_same_job_again_and_spends_no_retry() -> None:
    world = play(one(retry=RETRY_TWICE), a=in_turn(silent(), silent(), ok()))
    world.pass_time(60)
    assert world.called("a") == ["step-1"] * 3
    assert [call.claim.delivery for call in world.calls] == [1, 2, 3]
    assert execution(world, "a", "retries") == 0
    assert outcomes(world) == ["succeeded"]


def test_heartbeats_keep_a_lease() -> None:
    world = play(one(), a=silent())
    (call,) = world.held
    for _ in range(10):
        world.clock.advance(20)
        world.store.beat("worker-1", [(call.execution_id, call.job_id)])
        world.run()
    assert world.called("a") == ["step-1"]


def test_after_the_tenth_delivery_a_job_is_lost() -> None:
    world = play(one(), a=silent())
    world.pass_time(HOUR)
    assert world.called("a") == ["step-1"] * 10
    assert (execution(world, "a", "type"), outcomes(world)) == ("lost", ["lost"])
    assert world.member_status("ann") == "failed"


def test_a_lost_job_says_how_its_process_ended_and_keeps_its_last_words() -> None:
    world = play(one(one_way=True), a=silent())
    event = ev.JobLost(1, "step-1", returned=True, reason="the process exited with code 3", log="Fatal: line 7")
    world.round([event])
    ((message, log),) = world.rows("SELECT error_message, log FROM attempts")
    assert (message, log) == ("no result came back for step-1: the process exited with code 3", "Fatal: line 7")


def test_a_lost_job_may_be_retried() -> None:
    world = play(one(retry=policy(max_retries=1)), a=silent())
    world.pass_time(HOUR)
    assert world.called("a") == ["step-1"] * 10 + ["step-1-retry-1"] * 10


def test_a_one_way_job_is_not_delivered_again_nor_retried() -> None:
    world = play(one(one_way=True, retry=RETRY_TWICE), a=silent())
    world.pass_time(HOUR)
    assert world.called("a") == ["step-1"]
    assert (execution(world, "a", "type"), world.member_status("ann")) == ("lost", "failed")


def test_a_one_way_job_that_fails_is_a_failure_like_any_other() -> None:
    world = play(one(one_way=True, retry=RETRY_TWICE), a=in_turn(fails(), ok()))
    assert waits(world) == [60]


def test_a_job_that_its_broker_gave_up_ends_its_attempt_at_once() -> None:
    world = play(one(retry=policy()), a=in_turn(silent(), ok()))
    world.round([ev.JobLost(1, "step-1", dead=True)])
    assert outcomes(world) == ["lost"]
    assert waits(world) == [10]


@pytest.mark.parametrize("event", [ev.JobLost(1, "step-1"), ev.JobTimedOut(1, "step-1"), ev.JobLost(1, "step-9")])
def test_what_is_not_due_or_not_the_job_changes_nothing(event: ev.Event) -> None:
    world = play(one(timeout="45s"), a=silent())
    world.round([event])
    assert (execution(world, "a", "status"), execution(world, "a", "job")) == ("dispatched", "step-1")


# -- late results ------------------------------------------------------------------------------------------------------


def lates(world: World) -> list[tuple[object, ...]]:
    """Return what came too late."""
    return list(world.rows("SELECT job_id, is_success, reason, seen FROM late_results ORDER BY id"))


def test_a_result_counts_once() -> None:
    world = play(one(), a=ok({"id": 7}))
    call = world.calls[0]
    for _ in range(2):
        world.round([world.result(call, Says(result={"id": 8}))])
    assert lates(world) == [("step-1", 1, "not the current job; the step is succeeded", 2)]
    assert not open_holds(world)
    assert world.value("SELECT result_json FROM executions WHERE id = 1") == '{"id":7}'


def test_a_result_of_an_attempt_before_does_not_count() -> None:
    world = play(one(timeout="20s", retry=policy(interval="1s")), a=silent())
    world.pass_time(21)
    assert world.called("a") == ["step-1", "step-1-retry-1"]
    late(world, world.held[0], ok()(world.held[0]))
    assert (execution(world, "a", "status"), execution(world, "a", "job")) == ("dispatched", "step-1-retry-1")
    assert lates(world)[0][2] == "not the current job; the step is dispatched"


def ended(how: str) -> World:
    """End a step whose job is out."""
    text = book(
        phase("prepare", step("a", on_failure="undo", timeout="20s"), offset="T-1h"), phase("care", offset="T+9d"),
        rollbacks={"undo": [step("undo")]},
    )  # fmt: skip
    world = play(text, a=silent())
    if how == "failed":
        world.pass_time(20)
    elif how == "cancelled":
        leave(world)
    else:
        roll_back(world)
    return world


@pytest.mark.parametrize(
    ("how", "status"), [("failed", "rolled_back"), ("cancelled", "cancelled"), ("undone", "cancelled")]
)
def test_a_late_success_of_what_was_given_up_is_asked_about(how: str, status: str) -> None:
    world = ended(how)
    late(world, world.held[0], ok({"id": 7})(world.held[0]))
    assert "late_success" in open_holds(world)
    sql = "SELECT reason, evidence_json FROM holds WHERE kind = 'late_success'"
    reason, evidence = world.rows(sql)[0]
    assert str(reason).startswith('the job of step "a" succeeded after the step was ')
    assert orjson.loads(str(evidence))["job_id"] == "step-1"
    assert world.steps("ann")["a"] == status
    assert world.value("SELECT result_json FROM late_results") == '{"id":7}'


@pytest.mark.parametrize("says", [fails(), ok({"complete": False})])
def test_a_late_failure_or_half_answer_is_kept_without_a_question(says: Behaviour) -> None:
    world = ended("cancelled")
    late(world, world.held[0], says(world.held[0]))
    assert len(lates(world)) == 1
    assert "late_success" not in open_holds(world)


def test_a_result_for_nothing_we_know_is_kept() -> None:
    world = play(one())
    world.round([ev.ResultArrived(99, "step-99", result_json="{}")])
    assert lates(world) == [("step-99", 1, "unknown execution", 1)]


def test_a_late_result_changes_nothing_after_a_retry_either() -> None:
    world = play(one(timeout="20s"), a=in_turn(silent(), silent()))
    world.pass_time(20)
    retry(world)
    world.run()
    late(world, world.held[0], ok()(world.held[0]))
    assert execution(world, "a", "job") == "step-1-retry-1"
    late(world, world.held[1], ok()(world.held[1]))
    assert world.steps("ann")["a"] == "succeeded"
    assert calls(world) == "a a"


def test_the_current_job_is_known_only_while_it_is_out() -> None:
    world = play(one(), a=silent())
    view, subject = view_of(world)
    assert [row.job_id for row in view.steps_of(subject.lanes[0])] == ["step-1"]
    late(world, world.held[0], ok()(world.held[0]))
    assert execution(world, "a", "job") is None
