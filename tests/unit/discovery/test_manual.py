"""Members handed in: a batch of their own, or joiners of an open one; whole or not at all."""

from __future__ import annotations

import pytest

from tminus.domain.errors import TminusError
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.runbook.model import DataSource
from tminus.sources.manual import MemberFile, read_member_bytes
from tminus.store.discovery import add_members, create_manual
from tminus.testing.world import DAY, World

BOOK = """\
name: sites
inputs: [ticket]
data_source: {type: manual, primary_key: Key}
phases:
  - {name: prepare, offset: T-1d, steps: [{name: make, worker_id: w, function: Make, params: {t: "{{ticket}}"}}]}
  - {name: cut, offset: T-0, steps: [{name: switch, worker_id: w, function: Switch}]}
"""


def file(*keys: str) -> MemberFile:
    text = "Key,Name\n" + "".join(f"{key},x\n" for key in keys)
    return read_member_bytes(text.encode(), DataSource(type="manual", primary_key="Key"), name="sites.csv")


def world() -> World:
    found = World()
    found.store.publish(load(BOOK), BOOK)
    return found


def test_with_a_t0_it_runs_by_itself() -> None:
    scene = world()
    made = create_manual(scene.store, "sites", file("a", "b"), plus(scene.clock.now, 2 * DAY), {"ticket": "T1"}, "ann")
    scene.pass_time(2 * DAY)
    assert (made.is_new, scene.batch_status(made.batch_id)) == (True, "completed")
    assert scene.calls[0].params == {"t": "T1"}
    assert scene.rows("SELECT kind, created_by FROM batches") == [("manual", "ann")]


def test_without_a_t0_it_waits_to_be_advanced() -> None:
    scene = world()
    create_manual(scene.store, "sites", file("a"), None, {"ticket": "T1"}, "ann")
    scene.pass_time(9 * DAY)
    assert scene.called() == []
    for wanted in (["Make"], ["Make", "Switch"]):
        assert scene.command(ev.Advance(actor="bob", reason="go", batch_id=1))[0].ok
        scene.run()
        assert scene.called() == wanted


def test_keys_of_another_open_batch_are_left_out_and_named() -> None:
    scene = world()
    create_manual(scene.store, "sites", file("a", "b"), None, {"ticket": "T1"}, "ann")
    made = create_manual(scene.store, "sites", file("b", "c"), None, {"ticket": "T2"}, "ann")
    assert made.left_out == ["b"]
    assert scene.rows("SELECT member_key FROM batch_members WHERE batch_id = 2") == [("c",)]


def test_a_batch_of_nobody_is_not_made() -> None:
    """The same file once more is a slip of the hand, and no second batch."""
    scene = world()
    create_manual(scene.store, "sites", file("a", "b"), None, {"ticket": "T1"}, "ann")
    with pytest.raises(TminusError, match="every key lives in another open batch") as caught:
        create_manual(scene.store, "sites", file("B", "a"), None, {"ticket": "T1"}, "ann")
    assert (caught.value.code, scene.value("SELECT count(*) FROM batches")) == ("E362", 1)


def test_a_key_in_another_spelling_is_the_same_member() -> None:
    """A list from another system writes addresses in its own letter case: nobody is to run twice."""
    scene = world()
    create_manual(scene.store, "sites", file("ann@x", "bob@x"), None, {"ticket": "T1"}, "ann")
    assert add_members(scene.store, 1, file("ANN@X", "Cy@x")).left_out == ("ann@x",)
    made = create_manual(scene.store, "sites", file("BOB@x", "cy@X", "dan@x"), None, {"ticket": "T2"}, "ann")
    assert made.left_out == ["Cy@x", "bob@x"]
    assert scene.rows("SELECT batch_id, member_key FROM batch_members ORDER BY id") == [
        (1, "ann@x"), (1, "bob@x"), (1, "Cy@x"), (2, "dan@x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("members", "data", "code"),
    [
        (file("a", "a"), {"ticket": "T1"}, "E336"),
        (file(), {"ticket": "T1"}, "E351"),
        (file("a", "a", "a"), {"ticket": "T1"}, "E350"),
        (file("a"), {}, "E364"),
    ],
    ids=["one problem", "no members", "problems", "no data"],
)
def test_what_is_wrong_creates_nothing(members: MemberFile, data: dict[str, object], code: str) -> None:
    scene = world()
    with pytest.raises(TminusError) as caught:
        create_manual(scene.store, "sites", members, None, data, "ann")
    assert caught.value.code == code
    assert scene.value("SELECT count(*) FROM batches") == 0


def test_an_unknown_runbook_is_refused() -> None:
    with pytest.raises(TminusError, match="no active runbook other"):
        create_manual(world().store, "other", file("a"), None, {}, "ann")


def test_joiners_catch_up_and_the_others_are_named() -> None:
    scene = world()
    create_manual(scene.store, "sites", file("a"), plus(scene.clock.now, DAY), {"ticket": "T1"}, "ann")
    scene.pass_time(10)
    added = add_members(scene.store, 1, file("a", "b"))
    scene.run()
    assert (len(added.member_ids), added.left_out) == (1, ("a",))
    assert scene.steps("b") == {"make": "succeeded"}


def test_many_joiners_come_in_chunks() -> None:
    scene = world()
    create_manual(scene.store, "sites", file("a"), None, {"ticket": "T1"}, "ann")
    assert len(add_members(scene.store, 1, file(*(f"m{i}" for i in range(450)))).member_ids) == 450


@pytest.mark.parametrize("state", ["completed", "closing", "being cancelled", "not there"])
def test_a_batch_that_takes_nobody_refuses(state: str) -> None:
    scene = world()
    create_manual(scene.store, "sites", file("a"), None, {"ticket": "T1"}, "ann")
    with scene.store.database.write() as tx:
        if state == "being cancelled":
            tx.run("UPDATE batches SET is_cancelling = 1")
        elif state == "not there":
            tx.run("UPDATE batches SET id = 9")
        else:
            tx.run("UPDATE batches SET status = ?", (state,))
    with pytest.raises(TminusError, match=f"E365 batch 1 takes no members: it is {state}"):
        add_members(scene.store, 1, file("b"))
    with pytest.raises(TminusError, match="E336"):
        add_members(scene.store, 1, file("b", "b"))
