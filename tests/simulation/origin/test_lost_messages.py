"""L09-L11, L15: several commits where one was meant, and messages that nobody sends again.

Version moves, joiners, leavers and publishing were rows first and messages afterwards. Here the rows are the messages.
"""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.origin.stage import Stage, die_everywhere, staged
from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.testing.world import DAY, Says

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.origin.conftest import Play

TWO_PHASES = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-2h
    steps:
      - {name: make, worker_id: w, function: Make}
      - {name: check, worker_id: w, function: Check}
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
on_member_removed:
  - {name: close, worker_id: w, function: Close}
  - {name: erase, worker_id: w, function: Erase}
"""
NEWER = TWO_PHASES.replace("function: Move}", "function: MoveFast}")


def a_day(stage: Stage) -> None:
    stage.pass_time(DAY)


def half_way() -> Stage:
    """Return a stage on which the first phase is over and the second is an hour away."""
    stage = staged(TWO_PHASES, t0_in_s=7200)
    stage.pass_time(3600)
    return stage


def test_L09_a_version_move_dies_half_way() -> None:
    """Origin: new phases came one by one, and a crash lost the rest; here all come, or none and the move returns."""

    def act(stage: Stage) -> Callable[[], object]:
        stage.publish(NEWER, overdue="ignore")
        return stage.move_versions

    facts = die_everywhere(half_way, act, a_day)
    assert [(row[1], row[2], row[3]) for row in facts["phases"]] == [
        ("cutover", 1, "superseded"),
        ("cutover", 2, "completed"),
        ("prepare", 1, "completed"),
        ("prepare", 2, "skipped"),
    ]
    assert [function for function, _ in facts["calls"]] == ["Check"] * 2 + ["Make"] * 2 + ["MoveFast"] * 2


def test_L10_joining_and_leaving_by_best_effort() -> None:
    """Origin: a lost message meant a member without steps, or never cleaned up; here joining and leaving do it all."""

    def joining(stage: Stage) -> Callable[[], object]:
        return lambda: stage.store.join(1, [("cyd", '{"upn":"cyd"}')])

    facts = die_everywhere(half_way, joining, a_day)
    assert [row[3] for row in facts["members"]] == ["done", "done", "done"]
    assert [function for function, _ in facts["calls"]] == ["Check"] * 3 + ["Make"] * 3 + ["Move"] * 3

    def leaving(stage: Stage) -> Callable[[], object]:
        event = ev.Leaving(stage.member_id("bob"), actor="olga")
        return lambda: stage.give(event)

    facts = die_everywhere(half_way, leaving, a_day)
    assert [row[3] for row in facts["members"]] == ["done", "removed"]
    assert [function for function, _ in facts["calls"]] == ["Check", "Check", "Close", "Erase", "Make", "Make", "Move"]


def test_L11_the_last_leaver_is_never_looked_at_again() -> None:
    """Origin: a batch gone from the source was never retried; here the leaver's lane needs no source to run."""

    def act(stage: Stage) -> Callable[[], object]:
        stage.give(ev.Leaving(stage.member_id("ann"), actor="olga"))
        event = ev.Leaving(stage.member_id("bob"), actor="olga")
        return lambda: stage.give(event)

    facts = die_everywhere(half_way, act, a_day)
    assert [row[3] for row in facts["members"]] == ["removed", "removed"]
    assert [row for row in facts["steps"] if row[3] != "succeeded"] == []
    assert facts["batches"] == [(1, "cancelled", 1)]


def test_L15_publishing_dies_half_way() -> None:
    """Origin: the old version was retired, the new one never came; here a name always has one active version."""
    stages: list[Stage] = []

    def make() -> Stage:
        stages.append(staged(TWO_PHASES, t0_in_s=7200))
        return stages[-1]

    def publish_once(stage: Stage) -> Callable[[], object]:
        def act() -> None:
            if stage.value("SELECT max(version) FROM runbooks") == 1:
                stage.publish(NEWER)

        return act

    def settle(stage: Stage) -> None:
        assert stage.rows("SELECT version FROM runbooks WHERE is_active") in ([(1,)], [(2,)])
        stage.publish(TWO_PHASES)
        stage.pass_time(DAY)
        assert stage.value("SELECT count(*) FROM runbooks WHERE is_active") == 1

    facts = die_everywhere(make, publish_once, settle)
    assert facts["batches"] == [(1, "completed", 3)]


def test_L15_two_publish_at_once(play: Play) -> None:
    """Origin: two publishers read the same highest version; here the second waits for the first."""
    stage = play(TWO_PHASES, shared=True)
    other = stage.another()
    seen: set[object] = set()

    def publish_too(point: str) -> None:
        with other.database.read() as tx:
            seen.add(tx.all("SELECT version FROM runbooks WHERE is_active")[0][0])
        if point == "after COMMIT":
            return
        with pytest.raises(TminusError, match="E505"):
            other.publish(load(NEWER), NEWER)

    stage.database.watcher = publish_too
    assert stage.publish(NEWER) == 2
    assert seen == {1, 2}
    assert other.publish(load(NEWER), NEWER) == 3
    other.database.close()
    assert stage.rows("SELECT version FROM runbooks WHERE is_active") == [(3,)]


def test_L10_a_member_leaves_while_its_job_is_out(play: Play) -> None:
    """Origin: the clean-up could be lost with its message; here it waits for the job and then runs."""
    stage = play(TWO_PHASES)
    stage.batch("move", ["ann"], t0_in_s=7200)
    call = stage.take_next("Make")
    stage.give(ev.Leaving(stage.member_id("ann"), actor="olga"))
    stage.restart()
    stage.run()
    assert stage.steps("ann", "removal") == {"close": "pending", "erase": "pending"}
    stage.says(call, Says({}))
    stage.run()
    assert stage.steps("ann", "removal") == {"close": "succeeded", "erase": "succeeded"}
