"""Who leaves when the source falls silent, and what a human is asked first: a doubtful word cleans nothing up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.discovery.stage import LATER, NEAR, Rows, Scene, book, keys
from tminus.progression import events as ev
from tminus.testing.world import fails, ok

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "Key,Name,When\n"


def cohort(folder: Path, count: int = 10, text: str | None = None) -> Scene:
    scene = Scene(folder, text)
    scene.told(keys(count))
    return scene


def without(count: int, *gone: int) -> dict[str, str]:
    return {key: when for number, (key, when) in enumerate(keys(count).items()) if number not in gone}


def removed(scene: Scene, batch_id: int = 1) -> list[str]:
    return [key for key, status in scene.members(batch_id).items() if status == "removed"]


def test_a_leaver_goes_after_two_complete_answers_and_is_cleaned_up_once(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.told(without(10, 3))
    assert removed(scene) == []
    scene.look()
    assert removed(scene) == ["m003"]
    scene.look(3)
    assert scene.world.called() == ["Clean"]
    assert scene.world.value("SELECT members_removed FROM batches") == 1
    assert scene.violations() == []


def test_the_grace_is_the_runbooks(tmp_path: Path) -> None:
    scene = cohort(tmp_path, text=book(leavers="{grace: 4}"))
    scene.told(without(10, 3))
    scene.look(2)
    assert removed(scene) == []
    scene.look()
    assert removed(scene) == ["m003"]


def test_a_row_that_comes_back_in_time_has_not_left(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.told(without(10, 3), keys(10), without(10, 3), keys(10))
    scene.look(2)
    assert removed(scene) == []


def test_a_member_that_returns_is_a_new_generation(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.told(without(10, 3))
    scene.look()
    scene.told(keys(10))
    assert scene.world.rows("SELECT generation, status FROM batch_members WHERE member_key = 'm003' ORDER BY id") == [
        (1, "removed"),
        (2, "active"),
    ]
    scene.until(NEAR)
    assert scene.world.steps("m003") == {"make": "succeeded", "switch": "succeeded"}
    assert scene.violations() == []


def test_whom_an_operator_removed_does_not_return_while_the_source_still_names_him(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.clock.advance(10)
    scene.world.round([ev.Leaving(scene.world.member_id("m003"), actor="ann")])
    scene.look()
    scene.told({**keys(10), "m003": (NEAR, "renamed")})
    assert scene.world.value("SELECT count(*) FROM batch_members WHERE member_key = 'm003'") == 1
    scene.told(without(10, 3), keys(10))
    assert scene.world.member_status("m003") == "active"


def test_more_than_the_brake_asks(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 20)
    scene.told(without(20, *range(4)))
    scene.look()
    assert removed(scene) == ["m000", "m001", "m002", "m003"]
    scene.told(without(20, *range(5)))
    scene.look()
    assert scene.listed("leavers") == ["m004"]
    assert "5 of 20 within 24 h" in scene.holds()[0][1]
    assert removed(scene) == ["m000", "m001", "m002", "m003"]


def test_a_small_batch_may_lose_one(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 2)
    scene.told(without(2, 1))
    scene.look()
    assert (removed(scene), scene.holds()) == (["m001"], [])


def test_many_leavers_go_in_chunks_under_one_brake(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 1_500)
    scene.told(without(1_500, *range(250)))
    scene.look()
    assert (len(removed(scene)), scene.holds()) == (250, [])
    scene.told(without(1_500, *range(301)))
    scene.look()
    assert (len(removed(scene)), len(scene.listed("leavers"))) == (250, 51)


def test_after_t0_a_human_decides(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Switch": fails(is_throttled=True, retry_after_s=900.0)}
    scene.told(keys(10))
    scene.until(NEAR)
    scene.told(without(10, 3))
    scene.look()
    assert (removed(scene), scene.holds()) == ([], [("leavers", "T-0 has passed")])
    assert scene.answer("leavers", "accept")
    assert removed(scene) == ["m003"]
    assert scene.world.called().count("Clean") == 1


def test_after_a_one_way_step_a_human_decides_about_those_alone(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path, book().replace("function: Make,", "function: Make, one_way: true, when: '{{Name}} == \"sent\"',")
    )
    rows: Rows = {**keys(10), "m003": (NEAR, "sent")}
    scene.told(rows)
    scene.until("2026-01-10 12:00")
    scene.told({key: cell for key, cell in rows.items() if key not in {"m003", "m004"}})
    scene.look()
    assert scene.holds() == [("leavers", "a one_way step has been sent")]
    assert (scene.listed("leavers"), removed(scene)) == (["m003"], ["m004"])
    scene.look(2)
    assert scene.listed("leavers") == ["m003"]
    scene.told({key: cell for key, cell in rows.items() if key != "m004"})
    assert scene.holds() == []


def test_a_refused_leaver_stays_and_is_not_asked_about_again(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 10, book(leavers="{policy: propose}"))
    scene.told(without(10, 3))
    scene.look()
    assert scene.listed("leavers") == ["m003"]
    assert scene.answer("leavers", "refuse")
    scene.look(3)
    assert (scene.holds(), removed(scene)) == ([], [])


def test_whom_a_human_kept_is_asked_about_again_after_the_source_has_named_him(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(4), keys(2), keys(2))
    assert scene.answer("leavers", "refuse")
    scene.look(2)
    assert scene.holds() == []
    scene.told(keys(4), keys(2), keys(2))
    assert scene.listed("leavers") == ["m002", "m003"]


def test_ignored_leavers_stay_without_a_word(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 10, book(leavers="{policy: ignore}"))
    scene.told(without(10, 3))
    scene.look(3)
    assert (scene.holds(), removed(scene)) == ([], [])


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({}, "all rows of the batch are gone from the source"),
        (keys(5), "5 of 10 rows were gone from one answer"),
        (keys(10, start=50), "10 of 10 rows were gone from one answer"),
    ],
    ids=["empty", "halved", "replaced"],
)
def test_p15_a_doubtful_answer_removes_nobody_however_often_it_is_given(
    tmp_path: Path, rows: dict[str, str], reason: str
) -> None:
    scene = cohort(tmp_path)
    scene.told(rows)
    scene.look(4)
    assert removed(scene) == []
    assert [why for _, why in scene.holds()] == [reason]
    assert scene.world.called() == []
    scene.told(keys(10))
    assert scene.holds() == []


def test_p15_the_list_follows_the_source_and_is_accepted_as_it_stands(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.told(keys(5))
    scene.look()
    assert scene.listed("leavers") == ["m005", "m006", "m007", "m008", "m009"]
    scene.told({**keys(5), "m009": NEAR})
    assert scene.listed("leavers") == ["m005", "m006", "m007", "m008"]
    assert scene.answer("leavers", "accept")
    assert removed(scene) == ["m005", "m006", "m007", "m008"]
    scene.look(2)
    assert scene.holds() == []
    assert scene.violations() == []


def test_while_a_doubt_stands_further_leavers_are_asked_about(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 30)
    scene.told(keys(15))
    scene.look()
    scene.told(keys(14))
    scene.look()
    assert removed(scene) == []
    assert len(scene.listed("leavers")) == 16


def test_a_doubt_about_one_batch_is_one_about_the_source(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    later = keys(20, LATER, start=30)
    scene.told({**keys(30), **later}, {**keys(5), **later})
    del later["m030"]
    scene.told({**keys(5), **later})
    scene.look()
    assert removed(scene, 2) == []
    assert "m030" in scene.listed("leavers")


def test_an_empty_answer_is_doubtful_whatever_else_is_in_the_batch(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 1)
    scene.world.store.join(1, [("zoe", "{}")])
    scene.told({})
    scene.look(2)
    assert (removed(scene), scene.holds()) == ([], [("leavers", "the answer was empty")])


def test_whom_a_human_kept_does_not_count_for_the_brake(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 10)
    scene.told(without(10, 1, 2, 3))
    scene.look()
    assert scene.answer("leavers", "refuse")
    scene.told(without(10, 1, 2, 3, 4))
    scene.look()
    assert (removed(scene), scene.holds()) == (["m004"], [])


def test_w02_an_incomplete_answer_proves_no_absence(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    broken = HEADER + "".join(f"{key},x,{when}\n" for key, when in without(10, 3).items()) + "one cell too few\n"
    scene.write(broken)
    scene.look(5)
    assert removed(scene) == []
    assert scene.listed("leavers") == ["m003"]
    assert "not complete" in scene.holds()[0][1]
    assert scene.world.value("SELECT absent_count FROM source_rows WHERE member_key = 'm003'") == 0
    scene.told(without(10, 3))
    assert removed(scene) == []
    scene.look()
    assert (removed(scene), scene.holds()) == (["m003"], [])


def test_a_row_that_cannot_be_read_is_there_all_the_same(tmp_path: Path) -> None:
    scene = cohort(tmp_path)
    scene.told({**keys(10), "m003": "some day"})
    scene.look(4)
    assert (removed(scene), scene.holds()) == ([], [])
    assert scene.problems() == [("E339", "m003")]
    scene.told(without(10, 3), {**keys(10), "m003": "some day"}, without(10, 3))
    assert removed(scene) == []
    scene.look()
    assert removed(scene) == ["m003"]


def test_a_whole_batch_that_vanishes_is_never_taken_for_leavers(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(3), **keys(20, LATER, start=10)})
    scene.told(keys(20, LATER, start=10))
    scene.look(3)
    assert removed(scene) == []
    assert scene.holds() == [("vanished", "all rows of the batch are gone from the source")]
    scene.told({**keys(20, LATER, start=10), "m000": NEAR})
    assert [kind for kind, _ in scene.holds()] == ["leavers"]
    assert removed(scene) == []


def test_a_failed_member_that_leaves_stays_failed_and_is_flagged_until_it_returns(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Make": lambda call: (fails() if call.params["name"] == "bad" else ok())(call)}
    rows: Rows = {**keys(10), "m003": (NEAR, "bad")}
    scene.told(rows)
    scene.until("2026-01-10 12:00")
    sql = "SELECT status, has_left FROM batch_members WHERE member_key = 'm003'"
    scene.told(without(10, 3))
    scene.look(2)
    assert (scene.world.rows(sql), scene.world.called("Clean"), scene.holds()) == ([("failed", 1)], [], [])
    scene.told(rows)
    assert scene.world.rows(sql) == [("failed", 0)]


def test_moves_count_for_the_brake(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 10)
    scene.told({**keys(10), "m000": LATER, "m001": LATER})
    assert removed(scene) == ["m000", "m001"]
    scene.told({key: when for key, when in {**keys(10), "m000": LATER, "m001": LATER}.items() if key != "m002"})
    scene.look()
    assert scene.listed("leavers") == ["m002"]


def test_silence_about_members_of_other_kinds_of_batches_means_nothing(tmp_path: Path) -> None:
    scene = cohort(tmp_path, 5)
    scene.world.batch("wave", ["zoe"], t0_in_s=None)
    scene.world.store.join(1, [("yan", "{}")])
    scene.look(3)
    assert (scene.world.member_status("zoe"), scene.world.member_status("yan")) == ("active", "active")
    assert scene.holds() == []


def test_two_batches_are_judged_apart(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(10), **keys(10, LATER, start=10)})
    scene.told({**without(10, 0), **keys(6, LATER, start=10)})
    scene.look()
    assert removed(scene, 1) == ["m000"]
    assert removed(scene, 2) == []
    assert len(scene.listed("leavers")) == 4
