"""Retry: what is reopened, where it starts, and when it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import (
    RETRY_TWICE,
    UPN,
    answer,
    book,
    calls,
    cancel,
    execution,
    fail_late,
    in_turn,
    join,
    lane_statuses,
    leave,
    moves,
    only,
    open_holds,
    path,
    pause,
    phase,
    play,
    retry,
    retry_init,
    roll_back,
    skip,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

ABC: Final = [step("a"), step("b"), step("c")]
CARE: Final = phase("care", offset="T+1d")
UNDOING: Final = book(
    phase("prepare", step("a"), step("b", on_failure="undo"), step("c"), offset="T-1h"),
    CARE,
    rollbacks={"undo": [step("undo")]},
)


def failed(text: str = "", undo: Behaviour | None = None) -> World:
    """Bring ann to fail at `b`, once."""
    text = text or book(phase("prepare", *ABC, offset="T-1h"), CARE)
    return play(text, b=in_turn(fails(), ok()), undo=undo or ok())


# -- where it starts ---------------------------------------------------------------------------------------------------


def test_it_starts_at_the_failed_step() -> None:
    world = failed()
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "a b b c"
    assert world.member_status("ann") == "active"


def test_it_starts_at_the_first_step_after_a_rollback_that_succeeded() -> None:
    world = failed(UNDOING)
    retry(world)
    world.run()
    assert calls(world) == "a b undo a b c"


def test_it_starts_at_the_failed_step_after_a_rollback_that_was_not_clean() -> None:
    world = failed(UNDOING, undo=fails())
    retry(world)
    world.run()
    assert calls(world) == "a b undo b c"


def test_it_starts_at_the_first_step_after_a_rollback_on_demand() -> None:
    text = book(phase("prepare", step("a", on_failure="undo"), step("b"), step("c"), offset="T-1h"), CARE,
                rollbacks={"undo": [step("undo")]})  # fmt: skip
    world = failed(text)
    assert roll_back(world) == "done"
    world.run()
    assert calls(world) == "a b undo"
    retry(world)
    world.run()
    assert calls(world) == "a b undo a b c"


def test_a_rollback_on_demand_of_long_ago_does_not_count() -> None:
    text = book(phase("prepare", step("a", on_failure="undo"), step("b"), step("c"), offset="T-1h"), CARE,
                rollbacks={"undo": [step("undo")]})  # fmt: skip
    world = play(text, b=in_turn(fails(), fails(), ok()))
    roll_back(world)
    world.pass_time(60)
    retry(world)
    world.pass_time(60)
    retry(world)
    world.run()
    assert calls(world) == "a b undo a b b c"


@pytest.mark.parametrize(("name", "called"), [("a", "a b a b c"), ("b", "a b b c")])
def test_an_operator_chooses_an_earlier_step(name: str, called: str) -> None:
    world = failed()
    assert retry(world, from_step=name) == "done"
    world.run()
    assert calls(world) == called


def test_a_later_step_is_refused_until_the_failed_one_is_skipped() -> None:
    world = failed()
    assert retry(world, from_step="c") == '"c" comes after "b", which has not passed: skip that first'
    assert skip(world, "b") == "done"
    world.run()
    assert calls(world) == "a b c"


def test_a_step_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert retry(failed(), from_step="z") == 'no step "z" in the lanes to retry (there are: a, b, c)'


def test_what_had_succeeded_and_runs_again_is_a_new_execution() -> None:
    world = failed()
    before = execution(world, "a", "id")
    retry(world, from_step="a")
    world.run()
    assert execution(world, "a", "id") != before
    kept = world.rows(
        "SELECT execution_id, outcome FROM attempts WHERE execution_id NOT IN (SELECT id FROM executions)"
    )
    assert kept == [(before, "succeeded")]


# -- what is reopened --------------------------------------------------------------------------------------------------


def test_everything_that_was_closed_by_the_failure_is_reopened_at_once() -> None:
    world = play(book(phase("prepare", offset="T-1h"), phase("cutover")), prepare=in_turn(fails(), ok()))
    assert world.batch_status() == "failed"
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "prepare prepare cutover"
    assert path(world, "batch") == ["detected", "active", "closing", "failed", "active", "closing", "completed"]
    assert path(world, "member") == ["active", "failed", "active", "done"]
    assert path(world, "phase", 2) == ["pending", "dispatched", "cancelled", "pending", "dispatched", "completed"]
    assert lane_statuses(world, "phase", "ann") == ["succeeded", "succeeded"]


def test_each_reopening_is_a_new_round_with_finish_steps_of_its_own() -> None:
    text = book(phase("prepare"), on_batch_finished=[step("tell", params={"r": "{{_round}}", "o": "{{_outcome}}"})])
    world = play(text, prepare=in_turn(fails(), ok()))
    retry(world)
    world.run()
    told = [call.params for call in world.calls if call.function == "tell"]
    assert told == [{"r": 0, "o": "failed"}, {"r": 1, "o": "completed"}]


def test_phases_that_opened_meanwhile_are_caught_up_with() -> None:
    text = book(phase("prepare", step("prepare", params=UPN), offset="T-1h"), phase("cutover", offset="T+1h"), CARE)
    world = play(text, "ann", "bob", prepare=in_turn(fails(), ok()))
    world.pass_time(3600)
    assert world.phase_status("cutover") == "completed"
    retry(world)
    world.run()
    assert world.steps("ann") == {"prepare": "succeeded", "cutover": "succeeded"}


def test_an_attempt_has_a_new_job_id_and_fresh_retries() -> None:
    text = book(phase("prepare", step("prepare", retry=RETRY_TWICE)))
    world = play(text, prepare=fails())
    world.pass_time(300)
    assert (world.member_status("ann"), execution(world, "prepare", "retries")) == ("failed", 2)
    retry(world)
    world.pass_time(300)
    assert world.called("prepare") == ["step-1", *(f"step-1-retry-{n}" for n in range(1, 6))]


def test_outputs_stay() -> None:
    text = book(phase("prepare", step("a", output_params={"Id": "id"}), step("b", params={"id": "{{Id}}"})))
    world = play(text, a=ok({"id": 7}), b=in_turn(fails(), ok()))
    retry(world)
    world.run()
    assert world.calls[-1].params == {"id": 7}


def test_a_retry_uses_the_data_as_it_is_now() -> None:
    world = play(book(phase("prepare", step("prepare", params=UPN))), prepare=in_turn(fails(), ok()))
    world.command(ev.EditData(member_id=1, values={"upn": "anne"}, actor="ops", reason="typo"))
    retry(world)
    world.run()
    assert world.calls[-1].params == {"upn": "anne"}


def test_a_retry_under_a_pause_waits_for_its_end() -> None:
    world = failed()
    hold = pause(world)
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "a b"
    answer(world, "lift", hold_id=hold)
    world.run()
    assert calls(world) == "a b b c"


def test_a_rerun_over_a_one_way_step_that_succeeded_is_held() -> None:
    text = book(phase("prepare", step("a", one_way=True), step("b"), offset="T-1h"), CARE)
    world = play(text, b=in_turn(fails(), ok()))
    assert retry(world, from_step="a") == "done"
    world.run()
    assert open_holds(world) == ["one_way"]
    assert calls(world) == "a b"
    answer(world, "lift")
    world.run()
    assert calls(world) == "a b a b"


def test_a_retry_behind_a_one_way_step_is_not_held() -> None:
    world = play(book(phase("prepare", step("a", one_way=True), step("b"))), b=in_turn(fails(), ok()))
    retry(world)
    world.run()
    assert calls(world) == "a b b"


def test_it_is_in_the_history_with_who_asked_and_in_the_audit_with_why() -> None:
    world = failed()
    retry(world)
    sql = "SELECT DISTINCT actor FROM events WHERE entity = 'member' AND to_status = 'active'"
    assert world.rows(sql) == [("ops",)]
    sql = "SELECT actor, action, subject, reason, outcome FROM audit"
    assert world.rows(sql) == [("ops", "Retry", "ann", "again", "done")]


# -- when it is refused ------------------------------------------------------------------------------------------------


def test_only_what_failed_can_be_retried() -> None:
    world = play(book(phase("prepare"), CARE))
    assert retry(world) == "the member is active; only a failed or cancelled one can be tried again"
    world.pass_time(DAY)
    assert retry(world) == "the member is done; only a failed or cancelled one can be tried again"


def test_nobody_is_nobody() -> None:
    world = failed()
    (reply,) = world.command(ev.Retry(member_id=99, actor="ops", reason="again"))
    assert (reply.subject, reply.message, reply.code) == ("member 99", "no such member", "E410")


def test_not_while_a_rollback_is_open() -> None:
    world = failed(UNDOING, undo=silent())
    assert retry(world) == "a rollback is still open"
    fail_late(world)
    assert retry(world) == "done"


def test_not_while_the_batch_is_closing_nor_when_it_was_cancelled() -> None:
    world = play(book(phase("prepare"), on_batch_finished=[step("tell")]), prepare=fails(), tell=silent())
    assert world.batch_status() == "closing"
    assert retry(world) == "the batch is closing"
    cancel(world)
    world.run()
    assert retry(world) == "the batch is cancelled"


def test_not_while_the_key_lives_in_another_open_batch() -> None:
    world = play(book(phase("prepare", step("prepare", params=UPN))), "ann", prepare=in_turn(fails(), silent()))
    assert world.batch_status() == "failed"
    world.batch("wave", ["ann"])
    world.run()
    (reply,) = world.command(ev.Retry(member_id=1, actor="ops", reason="again"))
    assert reply.message == "the key lives in another open batch"


def test_not_one_who_has_moved() -> None:
    world = play(book(phase("prepare", step("prepare", params=UPN)), CARE), "ann", prepare=fails())
    world.batch("wave", ["bob"], t0_in_s=DAY)
    assert world.store.move(1, 2)
    (reply,) = world.command(ev.Retry(member_id=1, actor="ops", reason="again"))
    assert reply.message == "the member has moved to another batch"


def test_a_member_of_a_batch_whose_init_failed_waits_for_the_batch() -> None:
    world = play(book(phase("prepare"), init=[step("init")]), "ann", "bob", init=in_turn(fails(), ok()))
    assert retry(world) == "the batch's init failed: retry the batch"
    assert retry_init(world) == "done"
    world.run()
    assert calls(world) == "init init prepare prepare"
    assert (world.batch_status(), world.member_status("ann")) == ("completed", "done")


def test_an_init_that_has_not_failed_cannot_be_retried() -> None:
    assert retry_init(play(book(phase("prepare"), init=[step("init")]))) == "no init has failed"
    world = play(book(phase("prepare"), init=[step("init")]), init=fails())
    (reply,) = world.command(ev.RetryInit(batch_id=9, actor="ops", reason="again"))
    assert reply.message == "no init has failed"


def test_an_init_is_not_retried_while_it_is_rolled_back() -> None:
    text = book(phase("prepare"), init=[step("init", on_failure="undo")], rollbacks={"undo": [step("undo")]})
    world = play(text, init=fails(), undo=silent())
    assert retry_init(world) == "a rollback is still open"


def test_a_retried_init_starts_at_its_failed_step() -> None:
    text = book(phase("prepare"), init=[step("a"), step("b"), step("c")])
    world = play(text, b=in_turn(fails(), ok()))
    retry_init(world)
    world.run()
    assert calls(world) == "a b b c prepare"


def test_a_member_may_fail_and_be_retried_again_and_again() -> None:
    text = book(phase("prepare", step("b")), on_member_failed=[step("tell")])
    world = play(text, b=in_turn(fails(), fails(), fails(), ok()))
    for _ in range(3):
        assert retry(world) == "done"
        world.run()
    assert calls(world) == "b tell b tell b tell b"
    assert world.batch_status() == "completed"
    assert not world.refused


def test_the_others_are_not_touched() -> None:
    text = book(phase("prepare", step("prepare", params=UPN), offset="T-1h"), CARE)
    world = play(text, "ann", "bob", "cid", prepare=only("ann", in_turn(fails(), ok())))
    before = len([move for move in moves(world) if move[0] == "member"])
    retry(world)
    world.run()
    assert len([move for move in moves(world) if move[0] == "member"]) == before + 1
    assert len(world.calls) == 4


def test_one_who_joined_another_batch_meanwhile_is_found_by_key() -> None:
    world = play(book(phase("prepare", step("prepare", params=UPN)), CARE), "ann", "bob", prepare=only("ann", fails()))
    leave(world, "bob")
    assert join(world, "bob") == [3]
    assert retry(world) == "done"


def test_values_are_pinned_with_the_retry_and_not_without_it() -> None:
    world = play(book(phase("prepare", step("a", params={"dept": "{{dept}}"})), phase("care", offset="T+1d")))
    assert execution(world, "a", "status") == "failed"
    event = ev.Retry(member_id=1, values={"dept": "Sales"}, actor="ops", reason="the column was missing")
    assert world.command(event)[0].message == "done"
    world.run()
    assert world.calls[-1].params == {"dept": "Sales"}
    refused = ev.Retry(member_id=1, values={"dept": "Other"}, actor="ops", reason="again")
    assert not world.command(refused)[0].ok
    assert world.value("SELECT pinned_json FROM batch_members") == '{"dept":"Sales"}'


def test_a_retry_says_where_it_starts_and_what_it_waits_for() -> None:
    text = book(phase("prepare", step("cut", one_way=True), step("after")), phase("care", offset="T+1d"))
    world = play(text, after=fails())
    (reply,) = world.command(ev.Retry(member_id=1, from_step="cut", actor="ops", reason="again"))
    said = "held: one-way step - prepare would run again over a one_way step that succeeded"
    assert (reply.note, reply.held) == ("from prepare/cut", said)
    (refused,) = world.command(ev.Retry(member_id=1, actor="ops", reason="again"))
    assert (refused.ok, refused.note, refused.held) == (False, "", "")
