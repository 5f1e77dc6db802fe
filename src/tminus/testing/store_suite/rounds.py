"""Rounds: whole or not at all, and one bad event stops only itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pytest

from tminus.db.connection import DatabaseError
from tminus.progression import events as ev
from tminus.store.cohort import NewBatch
from tminus.store.store import Asking
from tminus.store.writing import StaleRowError
from tminus.testing.store_suite.stage import FULL, OnStage, Played, StoppedError, book, keys, phase, step

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.testing.store_suite.stage import Play

Operation = Callable[[], object]

TWO: Final = book(step("a", "output_params: {Id: id}", "on_failure: undo"), step("b"),
                  rollbacks={"undo": [{"name": "u", "worker_id": "w", "function": "F-u"}]})  # fmt: skip
RINGS: Final = book(phases=[phase("one", step("a"), rings=[1, "100%"]), phase("two", step("b"), offset="T+1h")])
UNWRITABLE: Final = '"half a character: \ud800"'


def creating(world: Played) -> Operation:
    """Make a batch of four."""
    members = [(key, "{}") for key in keys(4, "n")]
    wanted = NewBatch("wave", members, t0=world.clock.now, kind="event", idempotency_key="k", body_digest="d")
    return lambda: world.store.create_batch(wanted)


def opening(world: Played) -> Operation:
    """Open the phase that is due, in rings and in chunks."""
    world.store.chunk = 2
    return lambda: world.store.decide([ev.PhaseDue(i) for i in world.numbers("SELECT id FROM phase_executions")])


def waking(world: Played) -> Operation:
    """Start the lanes of a phase that has been opened."""
    opening(world)()
    return world.store.wake


def answering(world: Played) -> Operation:
    """Handle three results, let work go out, and claim."""
    world.settle()
    claims = world.take(3)
    events = [world.say(claims[0], {"id": 1}), world.fail(claims[1]), world.say(claims[2])]
    return lambda: world.store.round(events, [Asking("w", "worker-2", 5)])


def retrying(world: Played) -> Operation:
    """Try a failed member again."""
    world.settle()
    world.round([world.fail(world.take(1)[0])])
    world.settle()
    world.round([world.say(claim) for claim in world.take(1)])
    member = world.numbers("SELECT id FROM batch_members WHERE status = 'failed'")[0]
    return lambda: world.store.round([ev.Retry(member_id=member, actor="anna", reason="again")])


def cancelling(world: Played) -> Operation:
    """Stop a batch while some of its jobs are claimed."""
    world.settle()
    world.take(2)
    return lambda: world.store.round([ev.CancelBatch(batch_id=1, actor="anna", reason="no")])


def ending(world: Played) -> Operation:
    """Take the members of a cancelled batch along."""
    cancelling(world)()
    return world.store.end_members


def publishing(world: Played) -> Operation:
    """Publish the next version."""
    return lambda: world.publish(TWO)


def claiming(world: Played) -> Operation:
    """Take jobs."""
    world.settle()
    return world.take


class RoundSuite(OnStage):
    """One commit or none."""

    @pytest.mark.parametrize(
        "prepare",
        [creating, opening, waking, answering, retrying, cancelling, ending, publishing, claiming],
        ids=lambda prepare: prepare.__name__,
    )
    def test_what_is_stopped_at_any_statement_has_changed_nothing(
        self, play: Play, prepare: Callable[[Played], Operation]
    ) -> None:
        """Rows, jobs, history and counters come together or not at all, and the same thing can be done again."""
        world = play(RINGS if prepare in {opening, waking} else TWO)
        world.batch("wave", keys(6), t0_in_s=0.0)
        do = prepare(world)
        before = world.dump()
        meddler = world.meddle()
        stops = 0
        while True:
            meddler.stop_at(stops)
            try:
                do()
            except StoppedError:
                stops += 1
                assert world.dump() == before
            else:
                break
        assert stops > 1
        assert world.dump() != before

    def test_one_bad_event_stops_only_itself(self, play: Play) -> None:
        """The others are handled, work goes out, and workers get theirs; what is bad is handed back with its reason."""
        world = play(TWO)
        world.batch("wave", keys(4))
        world.settle()
        good, bad, other = (world.say(claim) for claim in world.take(3))
        bad.result_json = UNWRITABLE
        done = world.store.round([good, bad, other], [Asking("w", "worker-2", 9)])
        assert [event for event, _ in done.refused] == [bad]
        assert done.handled == 2
        assert [row[0] for row in world.rows("SELECT status FROM executions WHERE step_name = 'a'")] == [
            *("succeeded", "dispatched", "succeeded", "dispatched")
        ]
        assert sorted(claim.job_id for claim in done.claimed) == ["step-2", "step-6", "step-7"]
        assert world.numbers("SELECT count(*) FROM late_results") == [0]

    def test_a_bad_event_alone_does_not_keep_work_from_going_out(self, play: Play) -> None:
        """A poisoned message that comes back for ever would stop everybody."""
        world = play(TWO)
        world.batch("wave", keys(2))
        world.settle()
        (claim,) = world.take(1)
        bad = world.say(claim)
        bad.result_json = UNWRITABLE
        done = world.store.round([bad], [Asking("w", "worker-2", 9)])
        assert [event for event, _ in done.refused] == [bad]
        assert [claim.job_id for claim in done.claimed] == ["step-3"]

    def test_replies_to_commands_survive_a_replay(self, play: Play) -> None:
        """Whoever gave a command hears what came of it, once."""
        world = play(TWO)
        world.batch("wave", keys(3))
        world.settle()
        (claim,) = world.take(1)
        bad = world.say(claim)
        bad.result_json = UNWRITABLE
        command = ev.OpenHold(scope="batch", batch_id=1, actor="anna", reason="lunch")
        done = world.store.round([bad, command])
        assert [reply.ok for reply in done.replies] == [True]
        assert world.numbers("SELECT count(*) FROM audit") == [1]

    def test_a_row_changed_behind_the_view_is_seen_and_the_event_decided_anew(self, play: Play) -> None:
        """Compare and set: what was decided about another state is never written."""
        world = play(TWO)
        world.batch("wave", keys(3))
        world.settle()
        events = [world.say(claim) for claim in world.take(3)]
        meddler = world.meddle()
        changed = 0

        def once(tx: Tx, sql: str) -> None:
            nonlocal changed
            if not changed and sql.startswith("UPDATE executions"):
                changed = tx.run("UPDATE executions SET status = 'cancelled' WHERE id = 3 AND status = 'dispatched'")

        meddler.before = once
        done = world.store.round(events)
        assert changed == 1
        assert done.refused == []
        assert done.handled == 3
        statuses = world.rows("SELECT status FROM executions WHERE step_name = 'a'")
        assert statuses == [("succeeded",)] * 3

    @pytest.mark.parametrize(
        ("table", "word"), [("executions", "cancelled"), ("batch_members", "removed"), ("lanes", "cancelled")]
    )
    def test_a_row_that_is_never_as_it_was_refuses_its_event(self, play: Play, table: str, word: str) -> None:
        """Each table that carries a status is compared, members too where only their outputs are written."""
        world = play(book(step("a", "output_params: {Id: id}")))
        world.batch("wave", keys(3))
        world.settle()
        (claim,) = world.take(1)
        before = world.dump()
        meddler = world.meddle()

        def always(tx: Tx, sql: str) -> None:
            if sql.startswith(f"UPDATE {table} "):
                tx.run(f"UPDATE {table} SET status = ? WHERE id = 1", (word,))

        meddler.before = always
        done = world.store.round([world.say(claim, {"id": 7})], turn=False)
        assert [type(error) for _, error in done.refused] == [StaleRowError]
        assert world.dump() == before

    @pytest.mark.parametrize(
        ("table", "change"),
        [
            ("batches", "status = 'closing'"),
            ("phase_executions", "status = 'cancelled'"),
            ("holds", "state = 'lifted'"),
        ],
    )
    def test_what_is_written_seldom_is_compared_too(self, play: Play, table: str, change: str) -> None:
        """Batches, phases and holds."""
        world = play(book(phases=[phase("one", step("a"), gate={"expires": "1h"})]))
        world.batch("wave", keys(3))
        world.store.decide([ev.PhaseDue(1)])
        approve = ev.AnswerHold(hold_id=1, batch_id=1, answer="approve", actor="eve", reason="go")
        if table != "holds":
            world.command(approve)
        meddler = world.meddle()

        def always(tx: Tx, sql: str) -> None:
            if sql.startswith(f"UPDATE {table} SET"):
                tx.run(f"UPDATE {table} SET {change}")

        meddler.before = always
        done = world.store.round([approve if table == "holds" else ev.PhaseDue(1)], turn=False)
        assert [type(error) for _, error in done.refused] == [StaleRowError]

    def test_a_chosen_execution_that_cannot_go_stops_only_itself(self, play: Play) -> None:
        """Else one lane with a lost definition would keep a whole cluster from sending anything."""
        world = play(TWO)
        world.batch("wave", keys(5))
        world.store.decide([ev.PhaseDue(1)])
        world.store.wake()
        world.change("UPDATE executions SET runbook_version = 99 WHERE id = 3")
        done = world.store.round((), [Asking("w", "worker-1", 9)])
        assert [(event, getattr(error, "code", "")) for event, error in done.refused] == [
            (ev.ExecutionReady(3), "E520")
        ]
        assert [claim.job_id for claim in done.claimed] == ["step-1", "step-5", "step-7", "step-9"]

    def test_a_lane_that_cannot_be_woken_stops_only_itself(self, play: Play) -> None:
        """A cursor that stands still before one broken lane would stop every lane behind it."""
        world = play(TWO)
        world.batch("wave", keys(5))
        world.store.decide([ev.PhaseDue(1)])
        world.change("UPDATE lanes SET runbook_version = 99 WHERE id = 2")
        while world.store.wake():
            pass
        assert world.rows("SELECT status FROM lanes") == [("running",), ("waiting",), *[("running",)] * 3]

    def test_a_member_that_cannot_be_ended_stops_only_itself(self, play: Play) -> None:
        """A cancelled batch takes its other members along."""
        world = play(TWO)
        world.batch("wave", keys(4))
        world.settle()
        world.command(ev.CancelBatch(batch_id=1, actor="anna", reason="no"))
        world.change("UPDATE lanes SET batch_id = 77 WHERE id = 2")
        while world.store.end_members():
            pass
        found = world.rows("SELECT status FROM batch_members")
        assert found == [("cancelled",), ("active",), ("cancelled",), ("cancelled",)]

    @pytest.mark.parametrize("statement", [0, 3, 12])
    def test_a_failing_database_is_no_events_fault(self, play: Play, statement: int) -> None:
        """Nothing is refused, nothing is replayed, nothing is written: the caller keeps its events and tries again."""
        world = play(TWO)
        world.batch("wave", keys(3))
        world.settle()
        events = [world.say(claim) for claim in world.take(3)]
        before = world.dump()
        left = [*range(statement), FULL]

        def once(_tx: Tx, _sql: str) -> None:
            if left and left.pop(0) is FULL:
                raise FULL

        world.meddle().before = once
        with pytest.raises(DatabaseError):
            world.store.round(events)
        assert not left
        assert world.dump() == before
        assert world.store.round(events).handled == 3
