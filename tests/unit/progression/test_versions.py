"""A new version reaches live batches: what runs again, what is ignored, what finishes under the old one."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.progression.stage import (
    POLL,
    UPN,
    advance,
    answer,
    book,
    calls,
    execution,
    in_turn,
    moves,
    only,
    open_holds,
    phase,
    play,
    put_hold,
    retry,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

OLD: Final = book(phase("prepare", step("old"), offset="T-1h"), phase("care", step("old-care"), offset="T+1d"))
NEW: Final = book(phase("prepare", step("new"), offset="T-1h"), phase("care", step("new-care"), offset="T+1d"))
WITH_INIT: Final = book(phase("prepare", step("new"), offset="T-1h"), init=[step("init")])


def phases(world: World) -> list[tuple[object, ...]]:
    """Return version, name and status of every phase."""
    return list(world.rows("SELECT runbook_version, phase_name, status FROM phase_executions ORDER BY id"))


def held_answers(world: World) -> None:
    """Answer what was held back."""
    held, world.held = world.held, []
    world.round([world.result(call, ok()(call)) for call in held])
    world.run()


def test_what_was_past_due_runs_again() -> None:
    world = play(OLD)
    world.publish(NEW)
    world.run()
    assert calls(world) == "old new"
    assert phases(world) == [
        (1, "prepare", "completed"),
        (1, "care", "superseded"),
        (2, "prepare", "completed"),
        (2, "care", "pending"),
    ]
    world.pass_time(DAY)
    assert calls(world) == "old new new-care"


def test_what_was_past_due_is_ignored_where_the_publisher_says_so() -> None:
    world = play(OLD)
    world.publish(NEW, overdue="ignore")
    world.run()
    assert phases(world)[2] == (2, "prepare", "skipped")
    world.pass_time(DAY)
    assert calls(world) == "old new-care"
    assert world.batch_status() == "completed"


def test_a_batch_whose_phases_were_all_ignored_completes() -> None:
    world = play(book(phase("prepare", step("old"))), t0_in_s=0.0, old=silent())
    world.publish(book(phase("prepare", step("new"))), overdue="ignore")
    world.run()
    world.round([world.result(world.held[0], ok()(world.held[0]))])
    world.run()
    assert world.batch_status() == "completed"


def test_a_phase_that_a_hold_kept_shut_is_not_ignored() -> None:
    world = play(OLD, t0_in_s=7200.0)
    put_hold(world, "freeze")
    world.pass_time(3600)
    world.publish(NEW, overdue="ignore")
    world.run()
    assert phases(world)[2] == (2, "prepare", "pending")
    answer(world, "lift", "freeze")
    world.run()
    assert calls(world) == "new"


def test_a_version_is_ignored_once_and_the_next_one_decides_anew() -> None:
    world = play(OLD)
    world.publish(NEW, overdue="ignore")
    world.run()
    world.publish(OLD, overdue="rerun")
    world.run()
    assert calls(world) == "old old"
    assert phases(world)[3][2] == "superseded"


def test_running_lanes_finish_under_their_own_version_before_the_new_ones() -> None:
    world = play(book(phase("prepare", step("old"), step("old-two"), offset="T-1h")), old=silent())
    world.publish(NEW)
    world.run()
    assert calls(world) == "old"
    held_answers(world)
    assert calls(world) == "old old-two new"


def test_polls_of_an_old_version_go_on() -> None:
    text = book(phase("prepare", step("old", poll=POLL), offset="T-1h"))
    world = play(text, old=in_turn(ok({"complete": False}), ok({"complete": True})))
    world.publish(NEW, overdue="ignore")
    world.run()
    world.pass_time(300)
    assert calls(world) == "old old"
    assert world.steps("ann")["old"] == "succeeded"


def test_a_rollback_of_an_old_version_is_the_old_one() -> None:
    def text(name: str) -> str:
        return book(
            phase("prepare", step(name, on_failure="undo"), offset="T-1h"),
            rollbacks={"undo": [step(f"undo-{name}")]},
        )

    world = play(text("old"), old=silent())
    world.publish(text("new"), overdue="ignore")
    world.run()
    world.round([world.result(world.held[0], fails()(world.held[0]))])
    world.run()
    assert calls(world) == "old undo-old"


def test_open_gates_of_the_old_version_are_void() -> None:
    gated = book({**phase("prepare", step("old")), "gate": {}})
    world = play(gated)
    world.publish(gated)
    world.run()
    assert ("hold", "waiting", "lifted") in moves(world)
    assert open_holds(world) == ["gate"]
    assert world.value("SELECT phase_id FROM holds WHERE is_open") == 2


def test_without_rerun_init_the_init_that_succeeded_is_inherited() -> None:
    world = play(book(phase("prepare", step("old"), offset="T-1h"), phase("care", offset="T+1d"), init=[step("init")]))
    world.publish(book(phase("prepare", step("new"), offset="T-1h"), phase("care", offset="T+1d"), init=[step("init")]))
    world.run()
    assert calls(world) == "init old new"


def test_a_rerun_of_init_goes_before_the_new_lanes_and_the_old_ones_finish_meanwhile() -> None:
    text = book(phase("prepare", step("old", params=UPN), step("old-two"), offset="T-1h"))
    world = play(text, "ann", "bob", old=only("ann", silent()))
    world.behaviours["init"] = silent()
    world.publish(WITH_INIT, rerun_init=True)
    world.run()
    assert calls(world) == "old old old-two init"
    old, init = world.held
    world.round([world.result(old, ok()(old))])
    world.run()
    assert calls(world) == "old old old-two init old-two"
    world.round([world.result(init, ok()(init))])
    world.run()
    assert calls(world) == "old old old-two init old-two new new"


def test_lanes_of_a_version_whose_init_failed_go_on_with_the_init_of_a_newer_one() -> None:
    text = book(phase("prepare", step("work"), offset="T-1h"), phase("care", offset="T+1d"), init=[step("init")])
    world = play(text, init=in_turn(ok(), fails(), ok()))
    world.publish(text, rerun_init=True)
    world.run()
    assert calls(world) == "init work init"
    assert open_holds(world) == ["rerun_init"]
    world.publish(text, rerun_init=True, overdue="ignore")
    world.run()
    assert calls(world) == "init work init init work"
    assert open_holds(world) == []


def test_outputs_of_a_rerun_win_over_those_before() -> None:
    text = book(
        phase("prepare", step("use", params={"id": "{{Id}}"}), offset="T-1h"),
        phase("care", offset="T+1d"),
        init=[step("init", output_params={"Id": "id"})],
    )
    world = play(text, init=in_turn(ok({"id": 1}), ok({"id": 2})))
    world.publish(text, rerun_init=True)
    world.run()
    assert [call.params["id"] for call in world.calls if call.function == "use"] == [1, 2]


def test_a_batch_does_not_move_while_its_init_is_open() -> None:
    world = play(book(phase("prepare", step("old")), init=[step("init")]), init=silent())
    world.publish(book(phase("prepare", step("new")), init=[step("init")]))
    world.run()
    assert world.value("SELECT runbook_version FROM batches") == 1
    held_answers(world)
    assert world.value("SELECT runbook_version FROM batches") == 2


def test_event_batches_never_move_and_ended_ones_neither() -> None:
    world = World(behaviours={"old": silent()})
    world.publish(OLD)
    world.batch("wave", ["ann"], kind="event")
    world.run()
    world.publish(NEW)
    world.run()
    world.pass_time(1)
    assert world.value("SELECT runbook_version FROM batches") == 1
    done = play(book(phase("prepare")))
    done.publish(NEW)
    done.run()
    assert (done.batch_status(), done.value("SELECT runbook_version FROM batches")) == ("completed", 1)


def test_a_manual_batch_runs_again_up_to_where_it_was_advanced() -> None:
    world = play(OLD, t0_in_s=None)
    assert advance(world) == "done"
    world.run()
    world.publish(NEW)
    world.run()
    assert calls(world) == "old new"
    assert phases(world)[3] == (2, "care", "pending")
    assert advance(world) == "done"
    world.run()
    assert calls(world) == "old new new-care"


def test_a_manual_batch_is_where_it_was_also_when_its_phase_has_got_another_name() -> None:
    """Without that it would count as not begun, and the next advance would do the first phase once more."""
    world = play(OLD, t0_in_s=None)
    assert advance(world) == "done"
    world.run()
    world.publish(NEW.replace("name: prepare", "name: make-ready"), overdue="rerun")
    world.run()
    assert calls(world) == "old new"
    assert advance(world) == "done"
    world.run()
    assert calls(world) == "old new new-care"


@pytest.mark.parametrize("sent", [True, False])
def test_a_rerun_over_a_one_way_step_that_was_sent_is_held(*, sent: bool) -> None:
    one_way = book(
        phase("prepare", step("old", when="{{go}} == 'yes'" if not sent else "not empty {{upn}}", one_way=True)),
        phase("care", offset="T+1d"),
    )
    world = play(one_way)
    world.publish(book(phase("prepare", step("new")), phase("care", offset="T+1d")))
    world.run()
    assert (open_holds(world) == ["one_way"]) == sent
    assert calls(world) == ("old" if sent else "new")
    if sent:
        assert answer(world, "lift") == "done"
        world.run()
        assert calls(world) == "old new"


def test_a_move_to_a_version_that_is_there_already_changes_nothing() -> None:
    world = play(OLD)
    before = moves(world)
    world.round([ev.VersionMove(1, 1, 1, "rerun", rerun_init=False)])
    assert moves(world) == before


# -- an operator's retry after a move ----------------------------------------------------------------------------------

FAILING: Final = book(phase("prepare", step("make"), step("check"), step("tell"), offset="T-1h"))
MENDED: Final = book(phase("prepare", step("make"), step("check", function="better"), step("more"), offset="T-1h"))


def after_a_move(text: str = MENDED) -> World:
    """Bring ann to fail at her second step, and her batch to the next version (bob keeps it open)."""
    world = play(FAILING.replace('"make","worker_id"', '"make","params":{"upn":"{{upn}}"},"worker_id"'), "ann", "bob",
                 make=only("bob", silent()), check=fails())  # fmt: skip
    world.publish(text, overdue="ignore")
    world.run()
    assert world.member_status("ann") == "failed"
    world.calls.clear()
    return world


def test_a_retry_takes_the_current_definition_from_the_failed_step_on() -> None:
    world = after_a_move()
    assert retry(world) == "done"
    world.run()
    assert calls(world) == "better more"
    assert world.steps("ann") == {"make": "succeeded", "check": "succeeded", "more": "succeeded"}
    assert execution(world, "check", "version") == 2
    detail = "SELECT detail FROM events WHERE detail LIKE 'replaces execution%' ORDER BY id"
    assert [text for (text,) in world.rows(detail)] == [
        "replaces execution 2 (failed)",
        "replaces execution 3 (cancelled)",
    ]


def test_a_retry_by_the_original_definition_runs_what_had_failed() -> None:
    world = after_a_move()
    world.behaviours["check"] = ok()
    assert retry(world, original=True) == "done"
    world.run()
    assert calls(world) == "check tell"


@pytest.mark.parametrize(
    "without",
    [book(phase("other", offset="T-1h")), book(phase("prepare", step("make"), step("renamed"), offset="T-1h"))],
    ids=["phase", "step"],
)
def test_a_retry_of_what_the_current_version_has_no_more_runs_the_original(without: str) -> None:
    world = after_a_move(without)
    world.behaviours["check"] = ok()
    assert retry(world) == "done"
    world.run()
    assert calls(world).split()[:2] == ["check", "tell"]


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (["make", "check"], "check"),
        (["make", "check", "a", "b", "c"], "check a b c"),
        (["check", "tell"], "check tell"),
    ],
)
def test_the_steps_that_follow_may_be_fewer_or_more(names: list[str], called: str) -> None:
    world = after_a_move(book(phase("prepare", *(step(name) for name in names), offset="T-1h")))
    world.behaviours["check"] = ok()
    retry(world)
    world.run()
    assert calls(world) == called
    assert world.member_status("ann") in {"active", "done"}
    assert not world.refused


def test_the_history_tells_what_was_replaced_from_what_is_new() -> None:
    world = after_a_move(book(phase("prepare", *(step(name) for name in ("make", "check", "a", "b")), offset="T-1h")))
    retry(world)
    sql = "SELECT detail FROM events WHERE entity = 'execution' AND from_status IS NULL AND actor = 'ops' ORDER BY id"
    assert [text for (text,) in world.rows(sql)] == [
        "replaces execution 2 (failed)",
        "replaces execution 3 (cancelled)",
        "new in version 2",
    ]


def test_a_late_result_of_what_was_replaced_finds_no_execution() -> None:
    world = after_a_move()
    retry(world)
    world.run()
    world.round([ev.ResultArrived(2, "step-2", result_json="{}")])
    assert world.rows("SELECT reason FROM late_results") == [("unknown execution",)]
    assert world.steps("ann")["check"] == "succeeded"


def test_a_rerun_of_a_rolled_back_lane_over_a_one_way_step_is_held_under_any_version() -> None:
    steps = [step("cut", one_way=True), step("check", on_failure="undo")]
    text = book(phase("prepare", *steps, offset="T-1h"), phase("care", offset="T+1d"), rollbacks={"undo": [step("u")]})
    world = play(text, "ann", "bob", check=fails())
    world.publish(text, overdue="ignore")
    world.run()
    assert world.steps("ann") == {"cut": "succeeded", "check": "rolled_back"}
    world.calls.clear()
    retry(world)
    world.run()
    assert calls(world) == ""
    assert "one_way" in open_holds(world)
