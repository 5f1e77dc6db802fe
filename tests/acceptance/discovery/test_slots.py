"""Sources without a time: what is new runs now, in five-minute batches, and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.acceptance.discovery.stage import Scene, book, minute
from tminus.domain.instant import Instant
from tminus.progression import events as ev
from tminus.testing.world import fails, ok, silent

if TYPE_CHECKING:
    from pathlib import Path

QUEUE = (
    book(time="batch_time: immediate").replace("offset: T-1d", "offset: T-0").replace("interval: 5m", "interval: 1m")
)


def queue(folder: Path, *keys: str) -> Scene:
    scene = Scene(folder, QUEUE)
    scene.world.behaviours = {"Switch": silent()}
    tell(scene, *keys)
    return scene


def tell(scene: Scene, *keys: str, name: str = "x") -> None:
    scene.told(dict.fromkeys(keys, ("", name)))


def test_t0_is_now_rounded_down_to_five_minutes(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    scene.clock.set(Instant("2026-01-01T10:03:59.999Z"))
    tell(scene, "ann")
    assert scene.batches()[0][:2] == ("2026-01-01 10:05", "2026-01-01 10:05")
    assert scene.world.called("Make") != []


def test_what_arrives_in_one_slot_runs_in_one_batch(tmp_path: Path) -> None:
    scene = queue(tmp_path, "ann")
    scene.clock.advance(-200)
    tell(scene, "ann", "bob")
    assert (len(scene.batches()), list(scene.members())) == (1, ["ann", "bob"])
    tell(scene, "ann", "bob", "cyd")
    assert (len(scene.batches()), list(scene.members(2))) == (2, ["cyd"])


def test_w01_a_second_look_in_one_slot_takes_nobody_out(tmp_path: Path) -> None:
    scene = queue(tmp_path, "ann", "bob")
    before = scene.world.rows("SELECT * FROM batch_members")
    for _ in range(3):
        scene.discovery.close()
        scene.discovery = scene.fresh()
        scene.say({"ann": ("", "x"), "bob": ("", "x")})
        scene.clock.advance(60)
        scene.take_all()
    assert (scene.questions, minute(scene.clock.now)) == (4, "2026-01-01 00:08")
    assert scene.world.rows("SELECT * FROM batch_members") == before
    assert scene.world.called("Clean") == []


def test_own_members_that_the_queue_drops_go_on(tmp_path: Path) -> None:
    scene = queue(tmp_path, "ann", "bob")
    tell(scene)
    scene.look(3)
    assert scene.members() == {"ann": "active", "bob": "active"}
    assert scene.holds() == []


def test_own_members_are_refreshed_and_never_moved(tmp_path: Path) -> None:
    scene = queue(tmp_path, "ann")
    tell(scene, "ann", "bob", name="fresh")
    assert scene.data("ann")["Name"] == "fresh"
    assert (list(scene.members(1)), list(scene.members(2))) == (["ann"], ["bob"])


def test_a_slot_whose_batch_has_closed_uses_the_next(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    tell(scene, "ann")
    assert scene.batches() == [("2026-01-01 00:05", "2026-01-01 00:05", "completed")]
    scene.clock.advance(-200)
    tell(scene, "ann", "bob")
    assert [times[0] for times in scene.batches()] == ["2026-01-01 00:05", "2026-01-01 00:10"]
    assert list(scene.members(2)) == ["bob"]


def test_a_done_key_is_taken_again_only_after_it_was_away(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    tell(scene, "ann")
    assert scene.world.member_status("ann") == "done"
    tell(scene, "ann", name="changed")
    scene.look(3)
    assert scene.world.value("SELECT count(*) FROM batch_members") == 1
    scene.write("Key,Name,When\nann,x\n")
    scene.look()
    tell(scene, "ann")
    assert scene.world.value("SELECT count(*) FROM batch_members") == 1
    tell(scene, "bob")
    tell(scene, "ann", "bob")
    assert scene.world.value("SELECT count(*) FROM batch_members WHERE member_key = 'ann'") == 2
    assert len(scene.world.called("Switch")) == 3
    assert scene.violations() == []


def test_a_failed_key_stays_failed_and_fresh_while_it_is_still_listed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    scene.world.behaviours = {"Make": fails()}
    tell(scene, "ann")
    assert (scene.world.member_status("ann"), scene.world.batch_status()) == ("failed", "failed")
    tell(scene, "ann", name="corrected")
    scene.look(2)
    assert scene.world.value("SELECT count(*) FROM batch_members") == 1
    assert scene.data("ann")["Name"] == "corrected"
    scene.world.behaviours = {"Make": ok()}
    scene.world.command(ev.Retry(actor="ann", reason="corrected", member_id=1))
    scene.world.run()
    assert scene.world.member_status("ann") == "done"


def test_a_key_of_a_manual_batch_is_left_out(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    scene.world.batch("wave", ["ann"], t0_in_s=None)
    tell(scene, "ann", "bob")
    assert list(scene.members(2)) == ["bob"]
    assert scene.problems("left_out") == [("E362", "ann")]


def test_many_come_in_one_batch(tmp_path: Path) -> None:
    scene = Scene(tmp_path, QUEUE)
    scene.world.behaviours = {"Make": silent()}
    tell(scene, *(f"m{number}" for number in range(2_500)))
    tell(scene, *(f"m{number}" for number in range(2_750)))
    counts = [count for (count,) in scene.world.rows("SELECT members_active FROM batches ORDER BY id")]
    assert counts == [2_500, 250]
