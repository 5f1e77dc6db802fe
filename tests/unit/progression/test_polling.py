"""Polling: intervals, the timeout, lost and failing polls, and what ends it."""

from __future__ import annotations

from typing import Final

import orjson
import pytest

from tests.unit.progression.stage import (
    HOUR,
    POLL,
    RETRY_TWICE,
    UPN,
    book,
    calls,
    execution,
    in_turn,
    late,
    open_holds,
    outcomes,
    phase,
    play,
    retry,
    step,
)
from tminus.testing.world import DAY, World, fails, ok, silent

NOT_YET: Final = ok({"complete": False})
END: Final = ok({"complete": True})


def polled(**keys: object) -> str:
    """Write a runbook with one step that is polled every 5 minutes for an hour."""
    return book(phase("prepare", step("a", **{"poll": POLL, **keys}), step("b")))


def times(world: World) -> list[str]:
    """Return when jobs of the first step went out, as times of the first day."""
    rows = world.rows("SELECT at FROM events WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 1")
    return [str(at)[11:19] for (at,) in rows]


def test_the_first_poll_comes_after_one_interval_and_repeats_the_attempts_call() -> None:
    world = play(polled(params=UPN), a=NOT_YET)
    assert world.called("a") == ["step-1"]
    world.pass_time(299)
    assert world.called("a") == ["step-1"]
    world.pass_time(601)
    assert world.called("a") == ["step-1", "step-1-poll-1", "step-1-poll-2", "step-1-poll-3"]
    assert {orjson.dumps(call.params) for call in world.calls} == {b'{"upn":"ann"}'}


def test_a_poll_that_says_complete_ends_it_and_the_next_step_goes() -> None:
    world = play(polled(), a=in_turn(NOT_YET, NOT_YET, END))
    world.pass_time(600)
    assert calls(world) == "a a a b"
    assert outcomes(world) == ["succeeded"]


@pytest.mark.parametrize("result", [{"complete": "no"}, {"complete": None}, {"complete": 0}, {"id": 1}, [False]])
def test_only_true_and_false_decide_anything_else_is_a_result(result: object) -> None:
    assert play(polled(), a=ok(result)).steps("ann") == {"a": "succeeded", "b": "succeeded"}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"complete": True, "data": {"id": 7}, "id": 8}, 7),
        ({"complete": True, "id": 8}, 8),
        ({"complete": True, "data": {"other": 7}, "id": 8}, None),
    ],
)
def test_outputs_come_from_the_data_of_a_completed_poll_else_from_the_result(result: object, expected: object) -> None:
    text = book(phase("p", step("a", poll=POLL, output_params={"Id": "id"}), step("b", params={"id": "{{Id}}"})))
    world = play(text, a=in_turn(NOT_YET, ok(result)))
    world.pass_time(300)
    if expected is None:
        assert execution(world, "b", "type") == "UnresolvedTemplate"
    else:
        assert world.calls[-1].params == {"id": expected}


def test_another_function_may_be_asked() -> None:
    world = play(polled(params=UPN, poll={**POLL, "function": "look_{{upn}}"}), a=NOT_YET, look_ann=END)
    world.pass_time(300)
    assert calls(world) == "a look_ann b"
    assert execution(world, "a", "params") == '{"upn":"ann"}'


def test_a_function_to_ask_with_that_has_no_name_fails_the_step_at_once_and_for_good() -> None:
    keys = {"poll": {**POLL, "function": "look_{{nope}}"}, "retry": RETRY_TWICE, "on_failure": "undo"}
    world = play(book(phase("prepare", step("a", **keys)), rollbacks={"undo": [step("undo")]}), a=NOT_YET)
    world.pass_time(301)
    assert world.steps("ann") == {"a": "rolled_back"}
    assert outcomes(world) == ["failed"]
    ((kind, message),) = world.rows("SELECT error_type, error_message FROM attempts WHERE execution_id = 1")
    assert (kind, "{{nope}}" in str(message)) == ("UnresolvedTemplate", True)


def test_the_timeout_counts_from_the_first_answer() -> None:
    world = play(polled(), a=NOT_YET)
    world.pass_time(HOUR - 1)
    assert world.steps("ann")["a"] == "polling"
    world.pass_time(1)
    assert world.steps("ann") == {"a": "poll_timeout", "b": "cancelled"}
    assert world.member_status("ann") == "failed"
    assert outcomes(world) == ["poll_timeout"]


def test_the_timeout_is_decided_with_a_poll_out_and_what_it_says_is_late() -> None:
    world = play(polled(timeout="2h"), a=in_turn(NOT_YET, silent()))
    world.pass_time(300)
    (call,) = world.held
    for _ in range(120):
        world.store.beat("worker-1", [(call.execution_id, call.job_id)])
        world.pass_time(29)
    assert world.steps("ann")["a"] == "poll_timeout"
    late(world, call, END(call))
    assert world.rows("SELECT is_success, reason FROM late_results") == [
        (1, "not the current job; the step is poll_timeout")
    ]
    assert open_holds(world) == ["late_success"]


def test_a_poll_timeout_is_not_retried_but_rolled_back() -> None:
    text = book(
        phase("prepare", step("a", poll=POLL, retry=RETRY_TWICE, on_failure="undo")), rollbacks={"undo": [step("undo")]}
    )
    world = play(text, a=NOT_YET)
    world.pass_time(DAY)
    assert calls(world).endswith("a undo")
    assert world.steps("ann") == {"a": "rolled_back"}
    assert len(times(world)) == 1


def test_a_lost_poll_is_no_failure_and_the_next_goes_out_an_interval_later() -> None:
    world = play(polled(), a=in_turn(NOT_YET, silent(), END))
    world.pass_time(300)
    assert world.called("a") == ["step-1", "step-1-poll-1"]
    world.pass_time(30)
    assert (execution(world, "a", "status"), execution(world, "a", "retries")) == ("polling", 0)
    world.pass_time(300)
    assert world.called("a") == ["step-1", "step-1-poll-1", "step-1-poll-2"]
    assert world.steps("ann")["a"] == "succeeded"


def test_a_poll_that_takes_longer_than_the_steps_timeout_is_let_go() -> None:
    world = play(polled(timeout="10s"), a=in_turn(NOT_YET, silent(), END))
    world.pass_time(310)
    assert execution(world, "a", "status") == "polling"
    world.pass_time(300)
    assert world.steps("ann")["a"] == "succeeded"


def test_a_poll_that_fails_is_a_failure() -> None:
    world = play(polled(), a=in_turn(NOT_YET, fails()))
    world.pass_time(300)
    assert world.steps("ann") == {"a": "failed", "b": "cancelled"}
    assert outcomes(world) == ["failed"]


def test_a_poll_that_fails_may_be_retried_from_the_start() -> None:
    world = play(polled(retry=RETRY_TWICE), a=in_turn(NOT_YET, fails(), NOT_YET, END))
    world.pass_time(300 + 60 + 300)
    assert world.called("a") == ["step-1", "step-1-poll-1", "step-1-retry-1", "step-1-retry-1-poll-1"]
    assert world.steps("ann")["a"] == "succeeded"
    assert execution(world, "a", "retries") == 1


def test_with_a_function_of_its_own_a_failed_poll_is_asked_again_without_a_new_start() -> None:
    text = polled(retry=RETRY_TWICE, poll={**POLL, "function": "look"})
    world = play(text, a=NOT_YET, look=in_turn(fails(), fails(), END))
    world.pass_time(300)
    assert calls(world) == "a look"
    world.pass_time(60)
    assert calls(world) == "a look look"
    world.pass_time(60)
    assert calls(world) == "a look look look b"
    assert (execution(world, "a", "attempt"), execution(world, "a", "error")) == (0, None)


def test_with_a_function_of_its_own_retries_end_as_well() -> None:
    text = polled(retry=RETRY_TWICE, poll={**POLL, "function": "look"})
    world = play(text, a=NOT_YET, look=fails())
    world.pass_time(HOUR)
    assert calls(world) == "a look look look"
    assert world.member_status("ann") == "failed"


def test_a_throttled_poll_waits_and_spends_nothing() -> None:
    slow = fails("Busy", is_throttled=True, retry_after_s=700.0)
    world = play(polled(retry=RETRY_TWICE), a=in_turn(NOT_YET, slow, END))
    world.pass_time(300 + 699)
    assert world.called("a") == ["step-1", "step-1-poll-1"]
    world.pass_time(1)
    assert world.steps("ann")["a"] == "succeeded"
    assert execution(world, "a", "retries") == 0


def test_a_step_without_poll_that_answers_so_is_asked_every_five_minutes_for_a_day_with_a_warning() -> None:
    world = play(book(phase("prepare", step("a"))), a=NOT_YET)
    sql = "SELECT detail FROM events WHERE to_status = 'polling'"
    assert world.rows(sql) == [('"a" has no "poll": asked every 5 min',)]
    world.pass_time(DAY - 1)
    assert (len(world.calls), execution(world, "a", "status")) == (288, "polling")
    world.pass_time(1)
    assert execution(world, "a", "status") == "poll_timeout"


def test_outside_of_phases_it_is_asked_for_an_hour() -> None:
    text = book(phase("prepare", step("a", on_failure="undo")), rollbacks={"undo": [step("undo"), step("more")]})
    world = play(text, a=fails(), undo=NOT_YET)
    world.pass_time(HOUR)
    assert calls(world) == "a " + "undo " * 12 + "more"
    assert open_holds(world) == ["rollback"]


def test_a_retry_polls_anew() -> None:
    world = play(polled(), a=NOT_YET)
    world.pass_time(HOUR)
    assert retry(world) == "done"
    world.pass_time(300)
    assert world.called("a")[-2:] == ["step-1-retry-1", "step-1-retry-1-poll-1"]


def test_what_is_known_so_far_is_seen_while_it_polls_and_gone_when_it_starts_anew() -> None:
    seen = "SELECT result_json FROM step_executions WHERE id = 1"
    half: dict[str, object] = {"complete": False, "data": {"percent": 50}}
    again = {"max_retries": 1, "interval": "1m"}
    world = play(polled(retry=again), a=in_turn(NOT_YET, ok(half), fails(), NOT_YET, ok({"complete": True, "n": 1})))
    assert world.value(seen) == '{"complete":false}'
    world.pass_time(300)
    assert world.value(seen) == '{"complete":false,"data":{"percent":50}}'
    world.pass_time(300)
    assert world.value(seen) is None
    world.pass_time(60 + 300)
    assert world.value(seen) == '{"complete":true,"n":1}'


def test_an_operators_retry_forgets_how_far_it_was() -> None:
    world = play(polled(), a=in_turn(*[NOT_YET] * 12, silent()))
    world.pass_time(HOUR)
    seen = "SELECT result_json FROM step_executions WHERE id = 1"
    assert (world.steps("ann")["a"], world.value(seen)) == ("poll_timeout", '{"complete":false}')
    assert retry(world) == "done"
    assert (world.steps("ann")["a"], world.value(seen)) == ("dispatched", None)
