"""What a step gets to see when it is sent, when it is passed over, and when it can never go."""

from __future__ import annotations

from typing import Final

import orjson
import pytest

from tests.unit.progression.stage import (
    RETRY_TWICE,
    Keys,
    book,
    calls,
    execution,
    in_turn,
    lane_statuses,
    phase,
    play,
    step,
)
from tminus.progression import events as ev
from tminus.store.cohort import NewBatch
from tminus.testing.world import World, fails, ok

ALL: Final = (
    "_batch_id", "_batch_start_time", "_member_key", "_runbook", "_runbook_version", "_phase", "_step", "_attempt",
)  # fmt: skip


def asks(*names: str) -> Keys:
    """Make parameters that ask for these names."""
    return {name: "{{" + name + "}}" for name in names}


def run(text: str, members: dict[str, dict[str, object]], **data: object) -> World:
    """Run a batch of members with their columns, and with batch data."""
    world = World()
    world.publish(text)
    pairs = [(key, orjson.dumps(columns).decode()) for key, columns in members.items()]
    world.store.create_batch(NewBatch("wave", pairs, t0=world.clock.now, kind="manual", data=data))
    world.run()
    return world


# -- names -------------------------------------------------------------------------------------------------------------


def test_the_specials_of_a_member() -> None:
    world = play(book(phase("prepare", step("a", params=asks(*ALL), retry=RETRY_TWICE))), a=in_turn(fails(), ok()))
    world.pass_time(60)
    first, second = (call.params for call in world.calls)
    assert first == {
        "_batch_id": 1,
        "_batch_start_time": "2026-01-01T00:00:00.000Z",
        "_member_key": "ann",
        "_runbook": "wave",
        "_runbook_version": 1,
        "_phase": "prepare",
        "_step": "a",
        "_attempt": 0,
    }
    assert second == {**first, "_attempt": 1}


def test_a_batch_without_t0_starts_with_its_first_advance() -> None:
    world = play(book(phase("prepare", step("a", params=asks("_batch_start_time")))), t0_in_s=None)
    world.pass_time(50)
    world.command(ev.Advance(batch_id=1, actor="ops", reason="go"))
    world.pass_time(50)
    assert world.calls[0].params == {"_batch_start_time": "2026-01-01T00:00:50.000Z"}


def test_pins_win_over_outputs_and_those_over_columns_and_those_over_the_batch() -> None:
    text = book(
        phase(
            "prepare",
            step("a", output_params={"Two": "x", "Three": "x"}),
            step("b", params=asks("One", "Two", "Three", "Four", "Five")),
        ),
        init=[step("init", output_params={"One": "x", "Four": "x"})],
    )
    world = World(behaviours={"init": ok({"x": "init"}), "a": ok({"x": "output"})})
    world.publish(text)
    columns = orjson.dumps({"One": "column", "Two": "column", "Three": "column"}).decode()
    data: dict[str, object] = {"One": "data", "Four": "data", "Five": "data"}
    world.store.create_batch(NewBatch("wave", [("ann", columns)], t0=world.clock.now, kind="manual", data=data))
    world.command(ev.EditData(member_id=1, values={"Three": "pin"}, actor="ops", reason="so"))
    world.run()
    assert world.calls[-1].params == {
        "One": "column", "Two": "output", "Three": "pin", "Four": "init", "Five": "data",
    }  # fmt: skip


def test_types_are_kept_and_null_is_empty_text() -> None:
    columns: dict[str, object] = {"Flag": True, "Count": 3, "List": ["a", "b"], "Nothing": None, "Braces": "{{Count}}"}
    params: Keys = {**asks(*columns), "Text": "{{List}}/{{Count}}/{{Nothing}}/{{Braces}}"}
    world = run(book(phase("prepare", step("a", params=params))), {"ann": columns})
    assert world.calls[0].params == {**columns, "Nothing": "", "Text": '["a","b"]/3//{{Count}}'}


def test_names_are_found_in_any_letter_case_and_functions_may_be_named_by_them() -> None:
    text = book(phase("prepare", step("a", function="New-{{objecttype}}", params={"x": "{{UPN}}"})))
    world = run(text, {"ann": {"upn": "ann", "ObjectType": "User"}})
    assert (calls(world), world.calls[0].params) == ("New-User", {"x": "ann"})


@pytest.mark.parametrize("where", ["init", "on_batch_finished"])
def test_init_and_finish_steps_see_no_member(where: str) -> None:
    extra: dict[str, object] = {where: [step("x", params={"who": "{{upn}}"})]}
    world = play(book(phase("prepare"), **extra))
    assert "x" not in world.called()
    assert lane_statuses(world, {"init": "init"}.get(where, "finish")) == ["failed"]


def test_a_retry_resolves_anew() -> None:
    world = play(book(phase("p", step("a", params=asks("upn"), retry=RETRY_TWICE))), a=in_turn(fails(), ok()))
    world.command(ev.EditData(member_id=1, values={"upn": "anne"}, actor="ops", reason="typo"))
    world.pass_time(60)
    assert [call.params["upn"] for call in world.calls] == ["ann", "anne"]


def test_outputs_follow_dotted_paths_in_any_letter_case() -> None:
    text = book(
        phase("p", step("a", output_params={"X": "Mail.Address", "Y": "odd.name"}), step("b", params=asks("X", "Y")))
    )
    world = play(text, a=ok({"mail": {"ADDRESS": "x@y"}, "odd.name": 1}))
    assert world.calls[-1].params == {"X": "x@y", "Y": 1}


# -- names without a value ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "place"),
    [({"params": {"to": {"deep": ["{{nowhere}}"]}}}, "params.to.deep[0]"), ({"function": "x-{{nowhere}}"}, "function")],
)
def test_a_name_without_a_value_fails_finally_without_a_retry(keys: Keys, place: str) -> None:
    text = book(
        phase("prepare", step("a", **{"retry": RETRY_TWICE, "on_failure": "undo", **keys})),
        rollbacks={"undo": [step("undo")]},
    )
    world = play(text)
    assert calls(world) == "undo"
    assert execution(world, "a", "type") == "UnresolvedTemplate"
    error = str(execution(world, "a", "error"))
    assert "nowhere" in error
    assert place in error
    assert world.steps("ann") == {"a": "rolled_back"}


def test_nothing_unresolved_ever_leaves_but_for_the_others_nothing_changes() -> None:
    text = book(phase("prepare", step("a", params=asks("mail"))))
    world = run(text, {"ann": {"upn": "ann"}, "bob": {"mail": "bob@x"}})
    assert [call.params for call in world.calls] == [{"mail": "bob@x"}]
    assert [world.member_status(key) for key in ("ann", "bob")] == ["failed", "done"]


def test_a_rollback_step_that_cannot_be_resolved_is_passed_over_and_asked_about() -> None:
    text = book(
        phase("prepare", step("a", on_failure="undo")),
        rollbacks={"undo": [step("u", params=asks("nowhere")), step("v")]},
    )
    world = play(text, a=fails())
    assert calls(world) == "a v"
    assert lane_statuses(world, "rollback", "ann") == ["failed"]


# -- conditions --------------------------------------------------------------------------------------------------------

NEVER: Final = "{{nowhere}} == 'yes'"


def test_a_condition_that_does_not_hold_skips_its_step() -> None:
    world = play(book(phase("prepare", step("a"), step("b", when="{{upn}} == 'bob'"), step("c"))), "ann", "bob")
    assert world.steps("ann") == {"a": "succeeded", "b": "skipped", "c": "succeeded"}
    assert world.steps("bob") == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}


@pytest.mark.parametrize("skipped", [{"a"}, {"b"}, {"c"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}])
def test_any_steps_may_be_skipped_the_last_and_all_of_them_too(skipped: set[str]) -> None:
    steps = [step(name, **({"when": NEVER} if name in skipped else {})) for name in "abc"]
    world = play(book(phase("prepare", *steps), on_batch_finished=[step("tell")]))
    assert {name for name, status in world.steps("ann").items() if status == "skipped"} == skipped
    assert (world.batch_status(), world.member_status("ann")) == ("completed", "done")
    assert world.called()[-1] == "tell"


def test_a_name_without_a_value_is_empty_in_a_condition() -> None:
    assert calls(play(book(phase("prepare", step("a", when="empty {{nowhere}}"))))) == "a"


def test_a_condition_sees_outputs() -> None:
    text = book(phase("prepare", step("a", output_params={"N": "n"}), step("b", when="{{N}} == 2"), step("c")))
    assert calls(play(text, a=ok({"n": 2}))) == "a b c"
    assert calls(play(text, a=ok({"n": 3}))) == "a c"


@pytest.mark.parametrize("where", ["init", "on_member_removed", "on_batch_finished", "rollbacks"])
def test_lanes_of_every_kind_may_be_skipped_whole(where: str) -> None:
    steps = [step("x", when=NEVER)]
    extra: dict[str, object] = {where: {"undo": steps} if where == "rollbacks" else steps}
    first = step("a", on_failure="undo") if where == "rollbacks" else step("a")
    world = play(book(phase("prepare", first), **extra), a=fails() if where == "rollbacks" else ok())
    if where == "on_member_removed":
        assert world.batch_status() == "completed"
    elif where == "rollbacks":
        assert world.steps("ann") == {"a": "rolled_back"}
    else:
        assert world.batch_status() == "completed"
    assert "x" not in world.called()
