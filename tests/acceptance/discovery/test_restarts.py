"""A process that dies between any two transactions of an answer costs time, and nothing else.

Each story is played once undisturbed; then the answer that matters is cut off after each of its steps in turn, a new
process looks at the source, and the end must be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.discovery.stage import INTERVAL_S, LATER, NEAR, Rows, Scene, book, keys

if TYPE_CHECKING:
    from pathlib import Path

Story = tuple[str, tuple[Rows, ...], Rows, int]

STORIES: dict[str, Story] = {
    "first answer": (book(), (), {**keys(30), **keys(20, LATER, start=30)}, 0),
    "joiners, fresh data, moves": (
        book(),
        ({**keys(20), **keys(20, LATER, start=20)},),
        {**keys(20), "m001": (NEAR, "fresh"), "m002": LATER, **keys(25, LATER, start=20)},
        0,
    ),
    "a batch that is rescheduled": (book(), (keys(5),), {**keys(5, LATER), "new": LATER}, 0),
    "leavers": (book(), (keys(40), keys(36)), keys(36), 0),
    "leavers in doubt": (book(), (keys(40),), keys(20), 2),
    "everything at once": (
        book(),
        ({**keys(20), **keys(20, LATER, start=20)}, {**keys(18), **keys(20, LATER, start=20)}),
        {**keys(18), "m000": LATER, **keys(19, LATER, start=21), "zoe": "2026-02-01"},
        1,
    ),
    "immediate": (
        book(time="batch_time: immediate").replace("T-0", "T+2d").replace("T-1d", "T+1d"),
        (keys(5, ""),),
        {**keys(8, ""), "m001": ("", "fresh")},
        0,
    ),
}


def began(folder: Path, story: Story) -> Scene:
    text, before, last, _ = story
    scene = Scene(folder, text)
    scene.told(*before)
    scene.say(last)
    return scene


def ended(scene: Scene, more: int) -> tuple[object, ...]:
    """Look as often as the story wants, and return what there is, without instants and ids."""
    scene.look(more + 1)
    members = """SELECT b.source_time IS NULL, m.member_key, m.status, m.generation, m.data_json, m.moved_to IS NULL
      FROM batch_members m JOIN batches b ON b.id = m.batch_id ORDER BY m.member_key, m.generation, m.id"""
    assert scene.violations() == []
    return (
        sorted(times[2] for times in scene.batches()),
        scene.world.rows(members),
        scene.holds(),
        scene.listed("leavers"),
        scene.world.called(),
        scene.world.rows("SELECT member_key, is_current, is_pending FROM source_rows ORDER BY member_key"),
        scene.error(),
    )


def cut_off(scene: Scene, after: int) -> bool:
    """Take the answer for so many steps and die; tell whether it was over before that."""
    scene.clock.advance(INTERVAL_S)
    asked = scene.store.claim(scene.store.due_runbooks(scene.clock.now)[0], scene.clock.now)
    assert asked is not None
    steps = scene.store.take(asked, scene.open_source(asked.question.data_source).ask(asked.question))
    for _ in range(after):
        if next(steps, "over") == "over":
            return True
    steps.close()
    return False


@pytest.mark.parametrize("name", STORIES)
def test_dying_after_any_step_changes_nothing_in_the_end(tmp_path: Path, name: str) -> None:
    story = STORIES[name]
    plain = began(tmp_path, story)
    plain.look()
    wanted = ended(plain, story[3])
    after, over = 0, False
    while not over:
        scene = began(tmp_path, story)
        over = cut_off(scene, after)
        found = ended(scene, story[3])
        assert found == wanted, f"cut off after {after} steps"
        after += 1
    assert after > 3


def test_dying_again_and_again_gets_there(tmp_path: Path) -> None:
    story = STORIES["first answer"]
    plain = began(tmp_path, story)
    plain.look()
    wanted = ended(plain, 0)
    scene = began(tmp_path, story)
    for after in (1, 2, 3, 4, 3, 2, 1):
        cut_off(scene, after)
    assert ended(scene, 0) == wanted


def test_a_source_that_returned_to_what_was_known_is_read_again_after_a_crash(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(10))
    before = scene.path.read_text(encoding="utf-8")
    look = scene.path.stat()
    scene.say({**keys(10), "new": NEAR})
    cut_off(scene, 2)
    scene.writes -= 2
    scene.write(before)
    assert scene.path.stat().st_mtime_ns == look.st_mtime_ns
    scene.look()
    assert scene.world.value("SELECT is_current FROM source_rows WHERE member_key = 'new'") == 0
    assert "new" not in scene.members()
