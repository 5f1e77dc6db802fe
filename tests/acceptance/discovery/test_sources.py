"""Asking: whose turn it is, what a failure does and does not do, and what happens while an answer is on its way."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.discovery.stage import INTERVAL_S, LATER, NEAR, Scene, book, keys
from tminus.domain.errors import TminusError
from tminus.domain.instant import plus
from tminus.engine.discovery import LOOK_S, POLL_S, Discovery
from tminus.ports.source import Answer, Question, Unchanged
from tminus.runbook.model import DataSource

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tminus.ports.discovery import Asked
    from tminus.ports.source import Source


class Slow:
    """A source that answers when it is told to."""

    def __init__(self, source: Source) -> None:
        """Stand before this source."""
        self.go = threading.Event()
        self.asked = 0
        self.source = source

    def ask(self, question: Question) -> Answer | Unchanged:
        self.asked += 1
        if not self.go.wait(20):
            raise TimeoutError
        return self.source.ask(question)


class Keeping:
    """A source that remembers its answers."""

    def __init__(self, source: Source) -> None:
        """Stand before this source."""
        self.source = source
        self.given: list[Answer] = []

    def ask(self, question: Question) -> Answer | Unchanged:
        reply = self.source.ask(question)
        assert isinstance(reply, Answer)
        self.given.append(reply)
        return reply


class Broken:
    """A source that breaks its contract."""

    def ask(self, question: Question) -> Answer | Unchanged:
        raise OSError(f"password=hunter2 {question.timezone}")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def next_at(scene: Scene, name: str = "wave") -> object:
    return scene.world.value("SELECT source_next_at FROM runbooks WHERE name = ? AND is_active", name)


def test_a_new_runbook_is_not_asked_until_it_is_switched_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path, enabled=False)
    scene.told(keys(2))
    assert (scene.questions, scene.batches()) == (0, [])
    scene.switch(on=True)
    scene.take_all()
    assert scene.members() == {"m000": "active", "m001": "active"}


def test_switched_off_the_source_is_not_asked_and_live_batches_go_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(2))
    scene.switch(on=False)
    scene.say(keys(3))
    scene.until(NEAR)
    assert (scene.questions, scene.members()) == (1, {"m000": "done", "m001": "done"})
    actions = "SELECT action FROM audit WHERE action LIKE '%Automation' ORDER BY id"
    assert [str(a) for (a,) in scene.world.rows(actions)] == ["EnableAutomation", "DisableAutomation"]


def test_switching_on_asks_at_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(1))
    scene.switch(on=True)
    scene.take_all()
    assert scene.questions == 2


def test_an_answer_that_cannot_be_written_is_that_runbooks_failure_and_is_closed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    source = Keeping(scene.open_source(DataSource(type="csv", primary_key="Key")))
    scene.discovery = Discovery(scene.store, lambda _source: source)
    with scene.world.store.database.write() as tx:
        tx.run("CREATE TRIGGER no_rows BEFORE INSERT ON source_rows BEGIN SELECT RAISE(ABORT, 'no'); END")
    scene.told(keys(3))
    assert "E508" in str(scene.error())
    with scene.world.store.database.write() as tx:
        tx.run("DROP TRIGGER no_rows")
    scene.look()
    assert (scene.error(), len(scene.members())) == (None, 3)
    assert [len(answer.rows) for answer in source.given] == [0, 0]


def test_a_row_that_somebody_spoilt_is_that_runbooks_failure_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3), {}, {})
    assert [kind for kind, _ in scene.holds()] == ["vanished"]
    with scene.world.store.database.write() as tx:
        tx.run("UPDATE holds SET evidence_json = '{'")
    scene.look()
    assert str(scene.error()).startswith("E361 the answer could not be written: ")


def test_the_source_is_asked_once_an_interval(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(1))
    scene.clock.advance(INTERVAL_S - 1)
    scene.take_all()
    assert scene.questions == 1
    scene.clock.advance(1)
    scene.take_all()
    assert scene.questions == 2
    assert scene.discovery.tick(scene.clock.now) == LOOK_S
    scene.clock.advance(INTERVAL_S - 2)
    assert scene.discovery.tick(scene.clock.now) == 2.0


def test_a_failure_is_shown_is_asked_again_later_each_time_and_is_cleared(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.look()
    assert "E302" in str(scene.error())
    assert next_at(scene) == plus(scene.clock.now, INTERVAL_S)
    waits: list[float] = []
    for wait in (1, 2, 4, 8, 12, 12):
        scene.clock.advance(wait * INTERVAL_S - 1)
        scene.take_all()
        asked = scene.questions
        scene.clock.advance(1)
        scene.take_all()
        waits.append(scene.questions - asked)
    assert waits == [1] * 6
    assert scene.world.value("SELECT source_failures FROM runbooks") == 7
    scene.say(keys(1))
    scene.clock.advance(12 * INTERVAL_S)
    scene.take_all()
    assert (scene.error(), scene.members()) == (None, {"m000": "active"})
    assert scene.world.rows("SELECT source_failures, last_error_at FROM runbooks") == [(0, None)]
    assert next_at(scene) == plus(scene.clock.now, INTERVAL_S)


def test_a_source_that_is_asked_every_second_is_looked_at_again_within_a_minute(tmp_path: Path) -> None:
    scene = Scene(tmp_path, book().replace("interval: 5m", "interval: 1s"))
    for _ in range(12):
        scene.look()
    assert scene.world.value("SELECT source_failures FROM runbooks") == 12
    assert next_at(scene) == plus(scene.clock.now, 60)


def test_a_failure_changes_nobody(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    scene.write("Key,Name\nm000,x\n")
    scene.look(9)
    assert "E319" in str(scene.error())
    assert (scene.members(), scene.holds()) == (dict.fromkeys(keys(3), "active"), [])
    assert scene.problems() == [("E319", "None")]


def test_one_runbook_that_fails_or_hangs_stops_no_other(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    sources: dict[str, Source] = {}
    plain = scene.open_source
    scene.discovery = Discovery(scene.store, lambda source: sources.get(str(source.connection)) or plain(source))
    slow = Slow(plain(DataSource(type="csv", primary_key="Key")))
    sources |= {"SLOW": slow, "BROKEN": Broken()}
    for name in sources:
        scene.publish(book().replace("MEMBERS", name).replace("name: wave", f"name: {name.lower()}"))
        scene.switch(on=True, name=name.lower())
    scene.say(keys(1))
    scene.clock.advance(INTERVAL_S)
    until(lambda: scene.discovery.tick(scene.clock.now) is not None and bool(scene.members()))
    until(lambda: scene.discovery.tick(scene.clock.now) is not None and bool(errors(scene, "broken")))
    assert errors(scene, "broken") == "E360 the source failed with OSError"
    for _ in range(3):
        scene.clock.advance(INTERVAL_S)
        scene.discovery.tick(scene.clock.now)
    assert slow.asked == 1
    assert scene.discovery.tick(scene.clock.now) == POLL_S
    scene.discovery.close()
    slow.go.set()


def errors(scene: Scene, name: str) -> str:
    found = scene.world.value("SELECT last_error FROM runbooks WHERE name = ?", name)
    return "" if found is None else str(found)


def test_manual_runbooks_are_never_asked(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "name: wave\ndata_source: {type: manual, primary_key: Key}\nphases:\n"
                  "  - {name: go, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n")  # fmt: skip
    scene.look(3)
    assert (scene.questions, scene.error()) == (0, None)
    assert scene.store.next_due() is None


def test_a_definition_that_cannot_be_read_is_that_runbooks_failure(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.publish(book().replace("name: wave", "name: other"))
    scene.switch(on=True, name="other")
    with scene.world.store.database.write() as tx:
        tx.run("UPDATE runbooks SET yaml_content = 'name: [' WHERE name = 'other'")
    scene.say(keys(1))
    scene.clock.advance(INTERVAL_S)
    until(lambda: scene.discovery.tick(scene.clock.now) is not None and scene.discovery.is_idle)
    assert errors(scene, "other") != ""
    assert scene.members() == {"m000": "active"}


@pytest.mark.parametrize("change", ["publish", "off", "newer question"])
def test_an_answer_that_was_overtaken_changes_nothing_more(tmp_path: Path, change: str) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    due = scene.store.due_runbooks(scene.clock.advance(INTERVAL_S))[0]
    asked = scene.store.claim(due, scene.clock.now)
    assert asked is not None
    scene.say({**keys(3), "late": NEAR})
    answer = scene.open_source(asked.question.data_source).ask(asked.question)
    if change == "publish":
        scene.publish(book() + "description: two\n")
    elif change == "off":
        scene.switch(on=False)
    else:
        later = scene.clock.advance(INTERVAL_S)
        assert scene.store.claim(scene.store.due_runbooks(later)[0], later) is not None
    before = scene.world.rows("SELECT * FROM source_rows"), scene.world.rows("SELECT * FROM runbooks")
    assert list(scene.store.take(asked, answer)) == []
    assert (scene.world.rows("SELECT * FROM source_rows"), scene.world.rows("SELECT * FROM runbooks")) == before
    if change != "off":
        scene.look(2)
        assert "late" in scene.members()


def test_an_overtaken_failure_says_nothing_either(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.say(keys(1))
    due = scene.store.due_runbooks(scene.clock.now)[0]
    asked = scene.store.claim(due, scene.clock.now)
    assert asked is not None
    scene.look()
    scene.store.fail(asked, TminusError("E302", "gone"))
    assert scene.error() is None


def test_of_two_that_claim_one_question_one_has_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    due = scene.store.due_runbooks(scene.clock.now)[0]
    assert scene.store.claim(due, scene.clock.now) is not None
    assert scene.store.claim(due, scene.clock.now) is None


def test_two_that_take_answers_at_once_do_no_harm(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({**keys(30), **keys(5, LATER, start=50)})
    takes: list[Generator[None]] = []
    for rows in ({**keys(28), **keys(7, LATER, start=50)}, {**keys(29), "m000": LATER, **keys(5, LATER, start=50)}):
        scene.say(rows)
        scene.clock.advance(INTERVAL_S)
        asked = scene.store.claim(scene.store.due_runbooks(scene.clock.now)[0], scene.clock.now)
        assert asked is not None
        reply = scene.open_source(asked.question.data_source).ask(asked.question)
        takes.append(scene.store.take(asked, reply))
        next(takes[-1])
    for _ in range(100):
        for take in takes:
            next(take, None)
    scene.look(2)
    assert scene.violations() == []
    living = scene.world.value("SELECT count(*) FROM batch_members WHERE status = 'active' AND moved_to IS NULL")
    assert living == 34
    assert scene.world.value("SELECT source_failures FROM runbooks") == 0


def test_what_is_known_is_told_to_the_source_only_when_it_was_taken_whole(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    first = claimed(scene)
    assert first.question.known is not None
    scene.say(keys(4))
    steps = scene.store.take(first, scene.open_source(first.question.data_source).ask(first.question))
    next(steps)
    steps.close()
    assert claimed(scene).question.known is None


def test_what_is_known_is_forgotten_by_a_new_version_and_by_a_switch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    assert claimed(scene).question.known is not None
    scene.look(2)
    scene.switch(on=False)
    scene.clock.advance(1)
    scene.switch(on=True)
    assert claimed(scene).question.known is None
    scene.look(2)
    assert claimed(scene).question.known is not None
    scene.publish(book() + "description: two\n")
    assert claimed(scene).question.known is None


def test_what_is_known_is_forgotten_also_when_others_have_switched(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    with scene.world.store.database.write() as tx:
        tx.run("UPDATE runbook_automation_settings SET enabled_at = ?", (scene.clock.advance(1),))
    assert claimed(scene).question.known is None


def test_what_an_older_version_knew_is_not_believed_after_a_newer_one_wrote(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(3))
    scene.publish(book() + "description: two\n")
    scene.look()
    with scene.world.store.database.write() as tx:
        tx.run("UPDATE runbooks SET is_active = (version = 1) WHERE version = 2")
        tx.run("UPDATE runbooks SET is_active = (version = 1)")
    assert claimed(scene).question.known is None


def claimed(scene: Scene) -> Asked:
    """Claim the next question and return it."""
    scene.clock.advance(INTERVAL_S * 2)
    asked = scene.store.claim(scene.store.due_runbooks(scene.clock.now)[0], scene.clock.now)
    assert asked is not None
    return asked


def test_closing_while_a_source_works_closes_its_answer(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.say(keys(3))
    keeping = Keeping(scene.open_source(DataSource(type="csv", primary_key="Key")))
    slow = Slow(keeping)
    discovery = Discovery(scene.store, lambda _source: slow)
    discovery.tick(scene.clock.now)
    until(lambda: slow.asked == 1)
    discovery.close()
    slow.go.set()
    until(lambda: bool(keeping.given) and len(keeping.given[0].rows) == 0)
    assert scene.world.value("SELECT count(*) FROM source_rows") == 0
