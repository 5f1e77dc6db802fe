"""Sources that are slow, silent or asked by several processes, and what is asked when a process begins."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.discovery.stage import INTERVAL_S, Scene, book, keys
from tminus.engine.discovery import THREADS, Discovery

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tminus.ports.source import Answer, Question, Unchanged
    from tminus.runbook.model import DataSource


class Sleepers:
    """Sources that answer when they are told to, but for those of one name."""

    def __init__(self, scene: Scene, awake: str = "") -> None:
        """Stand before the scene's file."""
        self.scene = scene
        self.awake = awake
        self.go = threading.Event()
        self.asked: list[str] = []

    def open(self, source: DataSource) -> Sleeper:
        return Sleeper(self, source)


class Sleeper:
    """One source."""

    def __init__(self, home: Sleepers, source: DataSource) -> None:
        """Stand before the scene's file."""
        self.home = home
        self.source = source

    def ask(self, question: Question) -> Answer | Unchanged:
        name = str(question.data_source.connection)
        self.home.asked.append(name)
        if name != self.home.awake and not self.home.go.wait(20):
            raise TimeoutError
        return self.home.scene.open_source(self.source).ask(question)


@pytest.fixture(name="scene")
def a_scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture(name="sleepers")
def all_asleep(scene: Scene) -> Generator[Sleepers]:
    found = Sleepers(scene)
    yield found
    found.go.set()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait(scene: Scene, seconds: float, *loops: Discovery) -> None:
    """Let time pass, with each loop at work every ten seconds."""
    for _ in range(int(seconds // 10)):
        scene.clock.advance(10)
        for loop in loops:
            loop.tick(scene.clock.now)


def test_a_source_that_is_slower_than_a_claim_is_overtaken_by_nobody(scene: Scene, sleepers: Sleepers) -> None:
    """Two processes that take each other's questions over would never let an answer count."""
    scene.say(keys(3))
    first, second = (Discovery(scene.store, sleepers.open) for _ in range(2))
    wait(scene, 600, first, second)
    assert sleepers.asked == ["MEMBERS"]
    sleepers.go.set()
    until(lambda: first.tick(scene.clock.now) is not None and first.is_idle)
    assert scene.members() == dict.fromkeys(keys(3), "active")


def test_an_answer_that_takes_long_to_be_taken_keeps_its_claim(scene: Scene) -> None:
    scene.say(keys(250))
    first, second = scene.fresh(), scene.fresh()
    scene.clock.advance(INTERVAL_S)
    first.tick(scene.clock.now)
    until(lambda: first.tick(scene.clock.now) == 0.0)
    for _ in range(1_000):
        if first.is_idle:
            break
        scene.clock.advance(10)
        first.tick(scene.clock.now)
        if not first.is_idle:
            second.tick(scene.clock.now)
            assert second.is_idle
    assert len(scene.members()) == 250


def test_who_dies_while_it_asks_costs_seconds(scene: Scene, sleepers: Sleepers) -> None:
    scene.say(keys(1))
    dead, living = Discovery(scene.store, sleepers.open), scene.fresh()
    scene.clock.advance(INTERVAL_S)
    dead.tick(scene.clock.now)
    assert not dead.is_idle
    wait(scene, 10, living)
    assert living.is_idle
    wait(scene, 10, living)
    assert not living.is_idle


def test_a_source_that_does_not_answer_is_told_and_its_late_answer_counts(scene: Scene, sleepers: Sleepers) -> None:
    scene.say(keys(1))
    scene.discovery = Discovery(scene.store, sleepers.open)
    wait(scene, 110, scene.discovery)
    assert scene.error() is None
    wait(scene, 40, scene.discovery)
    assert str(scene.error()).startswith("E366 no answer to the question of 2026-")
    sleepers.go.set()
    until(lambda: scene.discovery.tick(scene.clock.now) is not None and bool(scene.members()))
    scene.take_all()
    assert (scene.error(), scene.members()) == (None, {"m000": "active"})


def test_sources_that_hang_together_stop_no_other(scene: Scene, sleepers: Sleepers) -> None:
    for number in range(THREADS):
        name = f"a{number}"
        scene.publish(book().replace("MEMBERS", name).replace("name: wave", f"name: {name}"))
        scene.switch(on=True, name=name)
    scene.say(keys(1))
    sleepers.awake = "MEMBERS"
    scene.discovery = Discovery(scene.store, sleepers.open)
    scene.discovery.tick(scene.clock.now)
    assert (len(sleepers.asked), scene.members()) == (THREADS, {})
    wait(scene, 60, scene.discovery)
    until(lambda: scene.discovery.tick(scene.clock.now) is not None and bool(scene.members()))
    scene.discovery.close()


def test_a_process_that_begins_asks_what_had_failed(scene: Scene) -> None:
    scene.look(5)
    asked = scene.questions
    scene.say(keys(1))
    scene.store.ask_soon(failed_only=True)
    scene.take_all()
    assert (scene.questions, scene.error(), scene.members()) == (asked + 1, None, {"m000": "active"})


@pytest.mark.parametrize("failed_only", [True, False])
def test_a_process_that_waits_for_answers_asks_at_once(scene: Scene, *, failed_only: bool) -> None:
    scene.told(keys(1))
    scene.store.ask_soon(failed_only=failed_only)
    scene.take_all()
    assert scene.questions == (1 if failed_only else 2)


def test_a_question_that_somebody_has_out_is_left_to_him(scene: Scene, sleepers: Sleepers) -> None:
    scene.say(keys(1))
    other = Discovery(scene.store, sleepers.open)
    scene.clock.advance(INTERVAL_S)
    other.tick(scene.clock.now)
    scene.clock.advance(1)
    scene.store.ask_soon(failed_only=False)
    scene.take_all()
    assert scene.questions == 0
    sleepers.go.set()
    until(lambda: other.tick(scene.clock.now) is not None and other.is_idle)
    assert scene.members() == {"m000": "active"}
