"""An operator takes a member out, and edits no data of one that has ended: both answer, and both are audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression import events as ev
from tminus.testing.world import World, fails, ok, silent

if TYPE_CHECKING:
    from tminus.progression.decision import Reply

BOOK = """
name: wave
data_source: {type: manual, primary_key: upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: a, worker_id: w, function: F-a}
  - name: care
    offset: T+1d
    steps:
      - {name: b, worker_id: w, function: F-b}
on_member_removed:
  - {name: clean, worker_id: w, function: F-clean}
"""


def world() -> World:
    made = World()
    made.publish(BOOK)
    made.batch("wave", ["anna", "ben"])
    made.run()
    return made


def remove(made: World, key: str) -> list[Reply]:
    return made.command(ev.Remove(member_id=made.member_id(key), actor="op", reason="left the firm"))


def test_a_removed_member_is_cleaned_up_after() -> None:
    made = world()
    assert [(r.subject, r.ok) for r in remove(made, "anna")] == [("anna", True)]
    made.run()
    assert made.member_status("anna") == "removed"
    assert made.called()[-1] == "F-clean"
    assert made.rows("SELECT actor, action, subject, reason, outcome FROM audit") == [
        ("op", "Remove", "anna", "left the firm", "done")
    ]


def test_one_that_is_gone_is_refused_with_its_status() -> None:
    made = world()
    remove(made, "anna")
    made.run()
    assert [(r.ok, r.message) for r in remove(made, "anna")] == [(False, "the member is removed")]
    assert made.called("F-clean") == made.called("F-clean")[:1]


def test_a_failed_member_stays_failed_and_is_cleaned_up_after_once_somebody_says_so() -> None:
    made = World()
    made.publish(BOOK)
    made.batch("wave", ["anna", "ben"], t0_in_s=0)
    made.behaviours["F-a"] = lambda call: fails()(call) if call.claim.member_key == "anna" else ok()(call)
    made.run()
    made.round([ev.Leaving(made.member_id("anna"))])
    made.run()
    assert (made.member_status("anna"), made.called("F-clean")) == ("failed", [])
    assert [r.ok for r in remove(made, "anna")] == [True]
    made.run()
    assert (made.member_status("anna"), len(made.called("F-clean"))) == ("failed", 1)
    assert [r.message for r in remove(made, "anna")] == ["its removal steps have been asked for already"]
    again = made.command(ev.Retry(member_id=made.member_id("anna"), actor="op", reason="r"))
    assert [r.message for r in again] == ["its removal steps have been asked for"]


def test_membership_of_a_batch_that_has_ended_is_frozen() -> None:
    made = world()
    made.command(ev.CancelBatch(batch_id=1, actor="op", reason="r"))
    made.run()
    assert not remove(made, "ben")[0].ok


def test_data_of_a_member_that_has_ended_is_not_edited() -> None:
    made = world()
    remove(made, "anna")
    made.run()
    edit = ev.EditData(member_id=made.member_id("anna"), values={"upn": "x"}, actor="op", reason="r")
    assert [(r.ok, r.message) for r in made.command(edit)] == [(False, "the member has ended")]
    assert made.value("SELECT pinned_json FROM batch_members WHERE member_key = 'anna'") == "{}"


def test_what_is_undone_has_answered_and_left_nothing() -> None:
    made = world()
    with made.store.undone():
        assert remove(made, "anna")[0].ok
        made.publish(BOOK.replace("care", "aftercare"))
    assert made.member_status("anna") == "active"
    assert made.rows("SELECT version FROM runbooks") == [(1,)]
    assert made.value("SELECT count(*) FROM audit") == 0
    made.publish(BOOK.replace("name: care", "name: later"))
    made.run()
    assert made.phase_status("later", version=2) == "pending"


def test_what_cleans_up_runs_one_lane_at_a_time_also_where_the_later_kind_is_under_way() -> None:
    made = World(behaviours={"F-a": fails(), "F-tell": silent()})
    made.publish(f"{BOOK}on_member_failed:\n  - {{name: tell, worker_id: w, function: F-tell}}\n")
    made.batch("wave", ["anna"])
    made.run()
    assert made.called()[-1] == "F-tell"
    remove(made, "anna")
    made.run()
    assert made.called()[-1] == "F-tell"
    assert made.value("SELECT reason FROM lanes WHERE kind = 'removal'") == "order:member_failed"
    made.round([made.result(made.held[0], ok()(made.held[0]))])
    made.run()
    assert made.called()[-1] == "F-clean"
