"""A member whose time changed goes to the batch of that time, a whole batch is rescheduled, and too late is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.acceptance.discovery.stage import LAST, LATER, NEAR, Rows, Scene, book, keys, minute
from tminus.domain.instant import Instant
from tminus.progression import events as ev
from tminus.progression.member import BATCH_PIN
from tminus.testing.world import fails, ok

if TYPE_CHECKING:
    from pathlib import Path

PREPARED = "2026-01-10 12:00"


def homes(scene: Scene) -> dict[str, str]:
    """Return where each key lives, by the time of its batch."""
    sql = """SELECT m.member_key, b.source_time FROM batch_members m JOIN batches b ON b.id = m.batch_id
      WHERE m.status IN ('active', 'failed') AND m.moved_to IS NULL ORDER BY m.member_key"""
    return {str(key): minute(time) for key, time in scene.world.rows(sql)}


def test_a_member_moves_with_what_it_has_and_is_not_cleaned_up(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Make": ok({"id": "x-1"})}
    scene.told({"ann": NEAR, "bob": NEAR, "cyd": LATER})
    scene.until(PREPARED)
    scene.told({"ann": (LATER, "Ann"), "bob": NEAR, "cyd": LATER})
    assert homes(scene) == {"ann": LATER, "bob": NEAR, "cyd": LATER}
    assert scene.world.value("SELECT worker_data_json FROM batch_members ORDER BY id DESC LIMIT 1") == '{"Id":"x-1"}'
    assert scene.data("ann")["Name"] == "Ann"
    scene.until(LATER)
    assert scene.world.called("Make") != []
    assert (len(scene.world.called("Make")), scene.world.called("Clean")) == (3, [])
    assert scene.violations() == []


def test_the_batch_of_the_new_time_is_made(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(5), {**keys(5), "m000": LATER, "m001": LATER})
    assert scene.batches() == [(NEAR, NEAR, "active"), (LATER, LATER, "active")]
    assert list(scene.members(2)) == ["m000", "m001"]


def test_a_failed_member_moves_as_failed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Make": lambda call: (fails() if call.params["name"] == "bad" else ok())(call)}
    scene.told({"ann": (NEAR, "bad"), "bob": NEAR})
    scene.until(PREPARED)
    scene.told({"ann": (LATER, "bad"), "bob": NEAR})
    assert scene.members(2) == {"ann": "failed"}
    assert scene.violations() == []


def test_a_batch_all_of_whose_members_move_is_rescheduled(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3), keys(3, LATER))
    assert scene.batches() == [(LATER, LATER, "active")]
    assert scene.world.value("SELECT count(*) FROM batch_members") == 3
    assert [minute(due) for (due,) in scene.world.rows("SELECT due_at FROM phase_executions ORDER BY id")] == [
        "2026-01-16 22:00",
        LATER,
    ]
    scene.told({**keys(3, LATER), "new": LATER})
    assert homes(scene)["new"] == LATER
    assert scene.violations() == []


def test_new_keys_beside_a_rescheduled_batch_come_into_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3), {**keys(3, LATER), "new": LATER})
    assert (scene.batches(), list(scene.members(1))) == ([(LATER, LATER, "active")], [*keys(3), "new"])


def test_two_batches_that_shift_by_a_week_are_both_rescheduled(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(3), **keys(3, LATER, start=3)}, {**keys(3, LATER), **keys(3, LAST, start=3)})
    assert [times[0] for times in scene.batches()] == [LATER, LAST]
    assert scene.world.value("SELECT count(*) FROM batch_members") == 6


def test_a_batch_that_has_started_is_rescheduled_when_a_human_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    scene.until(PREPARED)
    scene.told(keys(3, LATER))
    scene.look(2)
    assert scene.batches() == [(NEAR, NEAR, "active")]
    assert scene.holds() == [("move", "all of the batch is given another time, but it has started")]
    assert scene.answer("move", "accept")
    scene.look()
    assert (scene.batches(), scene.holds()) == ([(LATER, LATER, "active")], [])
    scene.until("2026-01-17 12:00")
    assert scene.world.called("Switch") == []


def test_a_refused_reschedule_is_not_asked_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    scene.until(PREPARED)
    scene.told(keys(3, LATER))
    assert scene.answer("move", "refuse")
    scene.look(2)
    assert (scene.batches(), scene.holds()) == ([(NEAR, NEAR, "active")], [])
    scene.told(keys(3, LAST))
    assert [kind for kind, _ in scene.holds()] == ["move"]


def test_a_new_time_that_has_passed_is_asked_about(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3), keys(3, "2025-12-31 22:00"))
    assert scene.batches() == [(NEAR, NEAR, "active")]
    assert "has passed" in scene.holds()[0][1]


def test_an_operators_own_t0_stays_when_the_source_shifts(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    own = Instant("2026-01-12T06:00:00.000Z")
    scene.world.command(ev.Reschedule(actor="ann", reason="ours", batch_id=1, t0=own))
    scene.told(keys(3, LATER))
    assert scene.batches() == [(LATER, "2026-01-12 06:00", "active")]
    scene.look()
    assert scene.world.value("SELECT count(*) FROM batches") == 1


def test_after_t0_a_move_waits_for_a_human(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Switch": fails(is_throttled=True, retry_after_s=900.0)}
    scene.told(keys(5))
    scene.until(NEAR)
    moved: Rows = {**keys(5), "m001": (LATER, "fresh")}
    scene.told(moved)
    assert (scene.holds(), scene.listed("move")) == ([("move", "T-0 has passed")], ["m001"])
    assert homes(scene)["m001"] == NEAR
    assert scene.data("m001")["Name"] == "fresh"
    assert scene.answer("move", "accept")
    scene.look()
    assert (homes(scene)["m001"], scene.holds()) == (LATER, [])
    assert scene.violations() == []


def test_a_refused_move_is_asked_about_again_for_another_time_only(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Switch": fails(is_throttled=True, retry_after_s=900.0)}
    scene.told(keys(5))
    scene.until(NEAR)
    scene.told({**keys(5), "m001": LATER})
    assert scene.answer("move", "refuse")
    scene.look(2)
    assert scene.holds() == []
    scene.told({**keys(5), "m001": LAST})
    assert scene.listed("move") == ["m001"]
    scene.told(keys(5))
    assert (scene.holds(), homes(scene)["m001"]) == ([], NEAR)


def test_after_a_one_way_step_a_move_waits_for_a_human(tmp_path: Path) -> None:
    scene = Scene(tmp_path, book().replace("function: Make,", "function: Make, one_way: true,"))
    scene.told(keys(5))
    scene.until(PREPARED)
    scene.told({**keys(5), "m001": LATER})
    assert scene.holds() == [("move", "a one_way step has been sent")]
    assert homes(scene)["m001"] == NEAR


def test_a_batch_that_has_ended_takes_no_movers(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR, "bob": LATER, "cyd": LATER})
    scene.until(NEAR)
    scene.told({"ann": NEAR, "bob": (NEAR, "fresh"), "cyd": LATER})
    scene.look(2)
    assert homes(scene) == {"bob": LATER, "cyd": LATER}
    assert scene.data("bob")["Name"] == "fresh"
    assert scene.listed("move") == ["bob"]


def test_whom_an_operator_moved_stays_there(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(3), **keys(3, LATER, start=3)})
    scene.world.store.move(scene.world.member_id("m000"), 2, actor="ann")
    scene.told({**keys(3), **keys(3, LATER, start=3), "m000": (NEAR, "fresh")})
    assert homes(scene)["m000"] == LATER
    assert scene.data("m000")["Name"] == "fresh"
    scene.told({**keys(3), **keys(3, LATER, start=3), "m000": LAST})
    assert homes(scene)["m000"] == LATER


def test_whom_an_operator_moved_goes_where_the_source_wants_once_the_pin_is_released(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(2), "cy": LATER})
    heir = scene.world.store.move(scene.world.member_id("m000"), 2, "ann", "with the others")
    scene.look(3)
    assert scene.members(2)["m000"] == "active"
    event = ev.EditData(actor="ann", reason="back", member_id=heir or 0, values={BATCH_PIN: None})
    assert scene.world.command(event)[0].ok
    scene.look()
    assert (scene.members(1)["m000"], scene.members(2)["m000"]) == ("active", "removed")
    assert scene.violations() == []


def test_a_value_that_is_called_like_a_pin_is_none(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(2), "cy": LATER})
    values: dict[str, object] = {"Name": BATCH_PIN, "xbatch": "y", "xstay": "y"}
    for key in ("m000", "m001"):
        member_id = scene.world.member_id(key)
        scene.world.command(ev.EditData(actor="ann", reason="so", member_id=member_id, values=values))
    scene.told({"m001": NEAR, "m000": LATER, "cy": LATER})
    assert homes(scene) == {"cy": LATER, "m000": LATER, "m001": NEAR}
    scene.told({"m000": LATER}, {"m000": LATER})
    assert [kind for kind, _ in scene.holds()] == ["vanished", "leavers"]


def test_whom_an_operator_moved_does_not_move_on_with_the_batch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR, "bob": NEAR, "cyd": LATER})
    scene.world.store.move(scene.world.member_id("ann"), 2, actor="ann")
    scene.told({"ann": LAST, "bob": NEAR, "cyd": LAST})
    assert homes(scene) == {"ann": LATER, "bob": NEAR, "cyd": LAST}


def test_a_question_that_was_withdrawn_is_no_refusal(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Switch": fails(is_throttled=True, retry_after_s=900.0)}
    scene.told(keys(5))
    scene.until(NEAR)
    for _ in range(2):
        scene.told({**keys(5), "m001": LATER})
        assert scene.listed("move") == ["m001"]
        scene.told(keys(5))
        assert scene.holds() == []


def test_swapped_members_end_where_the_source_wants_them(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(2), **keys(2, LATER, start=2)}, {**keys(2, LATER), **keys(2, start=2)})
    assert homes(scene) == {**keys(2, LATER), **keys(2, start=2)}
    assert scene.violations() == []


def test_there_and_back_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(5), {**keys(5), "m000": LATER}, keys(5), {**keys(5), "m000": LATER})
    assert homes(scene)["m000"] == LATER
    assert scene.violations() == []
