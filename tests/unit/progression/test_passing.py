"""An operator's word about one step: skip, mark done, roll back, edit data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.progression.stage import (
    POLL,
    RETRY_TWICE,
    UPN,
    answer,
    book,
    calls,
    execution,
    fail_late,
    in_turn,
    lane_statuses,
    late,
    mark_done,
    open_holds,
    outcomes,
    path,
    pause,
    phase,
    play,
    retry,
    roll_back,
    skip,
    step,
)
from tminus.progression import events as ev
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.testing.world import Behaviour

ABC: Final = book(phase("prepare", step("a"), step("b"), step("c"), offset="T-1h"), phase("care", offset="T+1d"))
NOT_YET: Final = ok({"complete": False})


# -- skip and mark done ------------------------------------------------------------------------------------------------


def test_a_failed_step_is_skipped_and_its_lane_goes_on() -> None:
    world = play(ABC, b=fails())
    assert skip(world, "b") == "done"
    world.run()
    assert calls(world) == "a b c"
    assert world.steps("ann") == {"a": "succeeded", "b": "skipped", "c": "succeeded"}
    assert path(world, "execution", 2) == ["pending", "dispatched", "failed", "pending", "skipped"]
    assert world.member_status("ann") == "active"


def test_a_failed_step_is_marked_done_with_outputs() -> None:
    text = book(phase("prepare", step("a"), step("b", params={"id": "{{Id}}"}), offset="T-1h"))
    world = play(text, a=fails())
    assert mark_done(world, "a", Id=7) == "done"
    world.run()
    assert world.steps("ann") == {"a": "succeeded", "b": "succeeded"}
    assert world.calls[-1].params == {"id": 7}
    assert outcomes(world) == ["failed", "marked_done"]
    assert world.batch_status() == "completed"


@pytest.mark.parametrize("how", [skip, mark_done])
def test_what_was_passed_has_no_error_any_more(how: Callable[[World, str], str]) -> None:
    world = play(ABC, b=fails())
    how(world, "b")
    assert (execution(world, "b", "error"), execution(world, "b", "type")) == (None, None)


@pytest.mark.parametrize("how", ["skip", "mark"])
def test_the_last_step_ends_its_lane(how: str) -> None:
    world = play(ABC, c=fails())
    assert (skip(world, "c") if how == "skip" else mark_done(world, "c")) == "done"
    world.run()
    assert lane_statuses(world, "phase", "ann") == ["succeeded"]
    assert world.phase_status("prepare") == "completed"
    world.pass_time(DAY)
    assert world.batch_status() == "completed"


def test_the_last_step_of_a_paused_member_ends_its_lane_when_the_pause_ends() -> None:
    world = play(ABC, c=fails())
    hold = pause(world, "member")
    skip(world, "c")
    world.run()
    assert lane_statuses(world, "phase", "ann") == ["waiting"]
    answer(world, "lift", hold_id=hold)
    world.run()
    assert lane_statuses(world, "phase", "ann") == ["succeeded"]


def test_a_step_that_waits_for_its_retry_is_skipped() -> None:
    world = play(book(phase("prepare", step("a", retry=RETRY_TWICE), step("b"))), a=fails())
    assert skip(world, "a") == "done"
    world.pass_time(600)
    assert calls(world) == "a b"


def test_a_step_that_is_to_come_is_skipped_ahead() -> None:
    world = play(ABC, a=silent())
    assert skip(world, "b") == "done"
    late(world, world.held[0], ok()(world.held[0]))
    assert calls(world) == "a c"


def test_a_step_that_is_polled_is_skipped_or_marked_done_between_polls() -> None:
    text = book(phase("prepare", step("a", poll=POLL), step("b")))
    world = play(text, a=NOT_YET)
    assert skip(world, "a") == "done"
    assert path(world, "execution", 1)[-3:] == ["cancelled", "pending", "skipped"]
    world.pass_time(600)
    assert calls(world) == "a b"
    other = play(text, a=NOT_YET)
    assert mark_done(other, "a") == "done"
    other.pass_time(600)
    assert other.steps("ann") == {"a": "succeeded", "b": "succeeded"}


def test_a_step_of_another_phase_is_named_with_its_phase() -> None:
    text = book(phase("one", step("same"), offset="T-1h"), phase("two", step("same"), offset="T+1d"))
    world = play(text, same=fails())
    assert skip(world, "two/same") == "the member has no such step to pass (there are: one/same)"
    assert skip(world, "one/same") == "done"


def test_a_rolled_back_step_is_marked_done_in_a_lane_that_starts_anew() -> None:
    text = book(phase("prepare", step("a"), step("b", on_failure="undo"), step("c")), rollbacks={"undo": [step("u")]})
    world = play(text, b=fails())
    assert mark_done(world, "b") == "done"
    world.run()
    assert calls(world) == "a b u a c"


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (ok(), "the step is succeeded already"),
        (silent(), "its job is out at a worker"),
    ],
)
def test_what_is_out_or_over_cannot_be_passed(says: Behaviour, why: str) -> None:
    world = play(ABC, a=says, b=silent())
    assert skip(world, "a") == why
    assert world.steps("ann")["a"] in {"succeeded", "dispatched"}


@pytest.mark.parametrize("how", [skip, mark_done])
def test_a_job_that_nobody_has_claimed_is_taken_back(how: Callable[[World, str], str]) -> None:
    world = World()
    world.publish(ABC)
    world.batch("wave", ["ann"])
    world.step(most=0)
    assert world.steps("ann")["a"] == "dispatched"
    assert how(world, "a") == "done"
    world.run()
    assert calls(world) == "b c"
    assert outcomes(world) == (["cancelled"] if how is skip else ["marked_done"])


def test_a_poll_that_is_out_is_waited_for() -> None:
    world = play(book(phase("prepare", step("a", poll=POLL))), a=in_turn(NOT_YET, silent()))
    world.pass_time(300)
    assert skip(world, "a") == "a poll of it is out at a worker"


def test_a_step_that_is_not_there_cannot_be_passed_nor_one_of_nobody() -> None:
    world = play(ABC, b=fails())
    assert skip(world, "z") == "the member has no such step to pass (there are: prepare/b, prepare/c)"
    (reply,) = world.command(ev.PassStep(member_id=9, step="b", done=False, actor="ops", reason="no"))
    assert reply.message == "no such member"


def test_passing_is_refused_where_a_retry_is() -> None:
    text = book(phase("prepare", step("a", on_failure="undo")), rollbacks={"undo": [step("undo")]})
    world = play(text, a=fails(), undo=silent())
    assert skip(world, "a") == "a rollback is still open"
    assert mark_done(world, "a") == "a rollback is still open"


def test_a_one_way_step_that_is_marked_done_counts_as_passed() -> None:
    text = book(phase("prepare", step("a", one_way=True), step("b"), offset="T-1h"), phase("care", offset="T+1d"))
    world = play(text, a=fails(), b=in_turn(fails(), ok()))
    mark_done(world, "a")
    world.run()
    assert world.member_status("ann") == "failed"
    assert retry(world, from_step="a") == "done"
    assert open_holds(world) == ["one_way"]


def done_by_hand() -> World:
    """Mark ann's one_way step done before it was ever sent, and let her go on."""
    text = book(
        phase("prepare", step("a"), step("cut", one_way=True), step("c", on_failure="undo"), offset="T-1h"),
        phase("care", offset="T+1d"),
        rollbacks={"undo": [step("undo")]},
    )
    world = play(text, a=silent())
    assert mark_done(world, "cut") == "done"
    late(world, world.held[0], ok()(world.held[0]))
    assert calls(world) == "a c"
    return world


def test_there_is_no_way_back_across_a_one_way_step_that_was_done_by_hand() -> None:
    assert roll_back(done_by_hand()) == "a one_way step has been sent: there is no way back across it"


def test_a_cancel_leaves_those_running_whose_one_way_step_was_done_by_hand() -> None:
    world = done_by_hand()
    world.command(ev.CancelBatch(batch_id=1, actor="ops", reason="stop"))
    world.run()
    assert (world.batch_status(), world.member_status("ann")) == ("active", "active")


# -- roll back on demand -----------------------------------------------------------------------------------------------

LADDER: Final = book(
    phase("one", step("a", on_failure="un_a"), step("b", on_failure="un_b"), offset="T-2h"),
    phase("two", step("c", on_failure="un_a"), step("d"), offset="T-1h"),
    phase("three", step("e", on_failure="un_e")),
    phase("care", offset="T+1d"),
    rollbacks={name: [step(name)] for name in ("un_a", "un_b", "un_e")},
    on_member_failed=[step("tell")],
)


def test_the_distinct_sequences_of_what_was_sent_run_newest_first_as_one_lane() -> None:
    world = play(LADDER)
    assert roll_back(world) == "done"
    world.run()
    assert calls(world) == "a b c d e un_e un_a un_b tell"
    assert lane_statuses(world, "rollback", "ann") == ["succeeded"]
    assert world.member_status("ann") == "failed"


def test_a_rollback_stops_at_the_phase_it_goes_back_to() -> None:
    world = play(LADDER)
    assert roll_back(world, to_phase="one") == "done"
    world.run()
    assert calls(world) == "a b c d e un_e un_a tell"


@pytest.mark.parametrize(
    ("to_phase", "why"),
    [
        ("won", 'there is no phase "won" (there are: one, two, three, care)'),
        ("care", "nothing has been sent after care that could be undone"),
        ("three", "nothing has been sent after three that could be undone"),
    ],
)
def test_a_phase_that_is_not_there_or_not_reached_undoes_nothing(to_phase: str, why: str) -> None:
    world = play(LADDER)
    assert roll_back(world, to_phase=to_phase) == why
    world.run()
    assert calls(world) == "a b c d e"


def test_a_phase_that_a_newer_version_ran_again_is_kept_with_it() -> None:
    world = play(LADDER)
    world.publish(LADDER)
    world.run()
    assert calls(world) == "a b c d e a b c d e"
    assert roll_back(world, to_phase="two") == "done"
    world.run()
    assert calls(world).endswith("e un_e tell")


def test_what_was_never_sent_is_not_undone() -> None:
    world = play(LADDER, c=silent())
    assert roll_back(world) == "done"
    fail_late(world)
    assert calls(world) == "a b c un_a un_b tell"


def test_a_failed_member_may_be_rolled_back_as_well() -> None:
    text = book(phase("prepare", step("a", on_failure="un_a"), step("b")), rollbacks={"un_a": [step("un_a")]})
    world = play(text, b=fails())
    assert roll_back(world) == "done"
    world.run()
    assert calls(world) == "a b un_a"
    assert world.member_status("ann") == "failed"


def test_what_was_undone_already_is_not_undone_again() -> None:
    text = book(
        phase("prepare", step("a", on_failure="un_a"), step("b", on_failure="un_b")),
        rollbacks={"un_a": [step("un_a")], "un_b": [step("un_b")]},
    )
    world = play(text, b=fails())
    assert calls(world) == "a b un_b"
    assert roll_back(world) == "done"
    world.run()
    assert calls(world) == "a b un_b un_a"
    assert roll_back(world) == "what was sent is undone"


def test_what_was_sent_again_after_it_was_undone_is_undone_again() -> None:
    world = play(LADDER)
    for _ in range(2):
        world.clock.advance(60)
        assert roll_back(world, to_phase="two") == "done"
        world.run()
        world.clock.advance(60)
        retry(world)
        world.run()
    assert calls(world).count("un_e") == 2


def test_what_a_rollback_on_demand_could_not_undo_is_asked_about() -> None:
    world = play(LADDER, un_a=fails())
    roll_back(world)
    world.run()
    assert calls(world) == "a b c d e un_e un_a un_b tell"
    assert open_holds(world) == ["rollback"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (book(phase("p", step("a", one_way=True, on_failure="u")), phase("care", offset="T+1d"),
              rollbacks={"u": [step("u")]}), "a one_way step has been sent: there is no way back across it"),
        (book(phase("p", offset="T+1d")), "nothing has been sent that could be undone"),
        (book(phase("p"), phase("care", offset="T+1d")), "none of the steps that were sent names an on_failure"),
        (book(phase("p")), "the member is done"),
    ],
    ids=["one_way", "nothing", "no on_failure", "done"],
)  # fmt: skip
def test_a_rollback_is_refused(text: str, why: str) -> None:
    assert roll_back(play(text)) == why


def test_a_rollback_is_refused_while_another_is_open_and_of_nobody() -> None:
    world = play(LADDER, un_e=silent())
    roll_back(world)
    world.run()
    assert roll_back(world) == "a rollback is open already"
    (reply,) = world.command(ev.RollBack(member_id=9, actor="ops", reason="no"))
    assert reply.message == "no such member"


def test_a_rollback_may_stop_before_a_one_way_step() -> None:
    text = book(
        phase("one", step("a", one_way=True), offset="T-1h"),
        phase("two", step("b", on_failure="undo")),
        phase("care", offset="T+1d"),
        rollbacks={"undo": [step("undo")]},
    )
    world = play(text)
    assert roll_back(world, to_phase="one") == "done"
    world.run()
    assert calls(world) == "a b undo"


def test_a_retry_runs_everything_again_that_was_rolled_back() -> None:
    world = play(LADDER)
    roll_back(world, to_phase="one")
    world.run()
    world.calls.clear()
    retry(world)
    world.run()
    assert calls(world) == "c d e"
    assert lane_statuses(world, "phase", "ann") == ["succeeded"] * 3
    world.pass_time(DAY)
    assert world.batch_status() == "completed"


def test_what_was_not_rolled_back_is_not_run_again() -> None:
    world = play(LADDER, e=in_turn(fails(), ok()))
    world.calls.clear()
    retry(world)
    world.run()
    assert calls(world) == "e"


def test_a_rollback_of_long_ago_undoes_nothing_of_what_came_after() -> None:
    world = play(LADDER, e=in_turn(ok(), fails(), ok()))
    roll_back(world)
    world.run()
    retry(world)
    world.run()
    world.calls.clear()
    retry(world)
    world.run()
    assert calls(world) == "e"


def test_a_retry_names_the_step_at_which_it_would_start() -> None:
    world = play(LADDER)
    roll_back(world, to_phase="one")
    world.run()
    world.calls.clear()
    assert retry(world, from_step="d") == "done"
    world.run()
    assert calls(world) == "d e"


# -- edit data ---------------------------------------------------------------------------------------------------------

READING: Final = book(phase("prepare", step("a", params=UPN)), phase("care", step("b", params=UPN), offset="T+1d"))


def edit(world: World, **values: object) -> str:
    """Pin values of ann's."""
    (reply,) = world.command(ev.EditData(member_id=1, values=values, actor="ops", reason="typo"))
    return reply.message


def test_a_pinned_value_wins_over_the_source_and_outputs_until_it_is_released() -> None:
    world = play(READING, t0_in_s=60.0)
    assert edit(world, upn="anne") == "done"
    world.pass_time(60)
    assert world.calls[-1].params == {"upn": "anne"}
    assert edit(world, upn=None) == "done"
    world.pass_time(DAY)
    assert world.calls[-1].params == {"upn": "ann"}


def test_a_job_that_is_out_keeps_its_parameters() -> None:
    world = play(READING, a=silent())
    edit(world, upn="anne")
    assert execution(world, "a", "params") == '{"upn":"ann"}'


def test_a_member_that_has_ended_is_not_edited_nor_is_nobody() -> None:
    world = play(book(phase("prepare", step("a", params=UPN))))
    assert edit(world, upn="anne") == "the member has ended"
    (reply,) = world.command(ev.EditData(member_id=9, values={}, actor="ops", reason="no"))
    assert reply.message == "no such member"
