"""Results: each counts once, for the current job only; whatever else comes is kept and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tminus.progression import events as ev
from tminus.store import payloads
from tminus.testing.store_suite.stage import OnStage, Played, book, keys, step

if TYPE_CHECKING:
    from tminus.testing.store_suite.stage import Play

RETRIED: Final = book(step("a", "retry: {max_retries: 2, interval: 10s}"), step("b"))
LATE: Final = "SELECT job_id, seen, is_success, execution_id FROM late_results ORDER BY id"
LARGE: Final = payloads.MOST_BYTES + 1


def sent(play: Play, text: str = RETRIED, members: int = 2) -> Played:
    """Make a batch whose first steps are out."""
    world = play(text)
    world.batch("wave", keys(members))
    world.settle()
    return world


def forged(execution_id: int, job_id: str, digest: str = "d") -> ev.ResultArrived:
    """Make a success that nobody was asked for."""
    return ev.ResultArrived(execution_id, job_id, result_json='{"ok": 1}', digest=digest)


class ResultSuite(OnStage):
    """What a worker says is taken once."""

    def test_a_result_and_what_follows_from_it_commit_together(self, play: Play) -> None:
        """The job goes, the next one comes, the attempt and the outputs are kept: one transaction."""
        world = sent(play)
        claim = world.take(1)[0]
        world.store.round([world.say(claim, {"id": 5})], turn=False)
        assert world.out() == ["step-2", "step-3"]
        assert world.rows("SELECT status, job_id, result_json FROM executions WHERE id = 1") == [
            ("succeeded", None, '{"id":5}')
        ]
        assert world.rows("SELECT job_id, outcome, worker, delivery FROM attempts") == [
            ("step-1", "succeeded", "worker-1", 1)
        ]
        assert world.rows("SELECT execution_id, message_id FROM messages ORDER BY id") == [(2, "step-2"), (3, "step-3")]

    def test_the_same_result_again_is_counted_and_changes_nothing(self, play: Play) -> None:
        """Buses deliver twice; the second time there is nothing left to do."""
        world = sent(play)
        event = world.say(world.take(1)[0], {"id": 5})
        world.store.round([event])
        before = world.dump("late_results")
        for seen in (1, 2, 3):
            assert world.store.round([event]).refused == []
            assert world.rows(LATE) == [("step-1", seen, 1, 1)]
            assert world.dump("late_results") == before

    def test_twice_in_one_round_is_once(self, play: Play) -> None:
        """Events of one micro-batch see each other."""
        world = sent(play)
        event = world.say(world.take(1)[0], {"id": 5})
        assert world.store.round([event, event, event]).handled == 3
        assert world.rows(LATE) == [("step-1", 2, 1, 1)]
        assert world.out() == ["step-2", "step-3"]
        assert world.numbers("SELECT count(*) FROM attempts") == [1]

    def test_another_answer_to_the_same_job_is_kept_beside_the_first(self, play: Play) -> None:
        """What a worker says second is evidence, never the truth."""
        world = sent(play)
        claim = world.take(1)[0]
        world.store.round([world.say(claim, {"id": 5})])
        before = world.dump("late_results")
        world.store.round([world.say(claim, {"id": 6}, digest="other"), world.fail(claim)])
        assert world.rows(LATE) == [("step-1", 1, 1, 1), ("step-1", 1, 0, 1)]
        assert world.dump("late_results") == before

    def test_the_result_of_an_earlier_attempt_is_late(self, play: Play) -> None:
        """A retry has a job of its own; the first one's answer comes too late for it."""
        world = sent(play, members=1)
        first = world.take(1)[0]
        world.store.round([world.fail(first)])
        world.clock.advance(11)
        world.settle()
        assert world.out() == ["step-1-retry-1"]
        before = world.dump("late_results")
        world.store.round([world.say(first)])
        assert world.rows(LATE) == [("step-1", 1, 1, 1)]
        assert world.dump("late_results") == before

    @pytest.mark.parametrize(
        ("execution_id", "job_id", "kept_for"),
        [
            (999, "step-999", None),
            (2**53, "step-9007199254740992", None),
            (1, "step-3", 1),
            (1, "init-1", 1),
            (1, "step-1-retry-1", 1),
            (1, "step-1-poll-1", 1),
            (1, "", 1),
            (2, "step-2", 2),
        ],
        ids=["unknown", "far too large", "of another", "as init", "ahead", "a poll", "none", "not sent yet"],
    )
    def test_a_forged_result_changes_nothing(
        self, play: Play, execution_id: int, job_id: str, kept_for: int | None
    ) -> None:
        """Only the id of the job that is out opens a step; the next step's id can be guessed and is of no use."""
        world = sent(play)
        world.take(2)
        before = world.dump("late_results")
        event = forged(execution_id, job_id)
        assert world.store.round([event, event]).refused == []
        assert world.rows(LATE) == [(job_id, 2, 1, kept_for)]
        assert world.dump("late_results") == before

    def test_a_late_success_of_what_failed_asks_a_human(self, play: Play) -> None:
        """The work was done after all: its outputs are kept for the clean-up, and nobody overlooks it."""
        world = sent(play, book(step("a", "timeout: 20s")), members=1)
        claim = world.take(1)[0]
        world.clock.advance(21)
        world.settle()
        assert world.member_status("m00000") == "failed"
        world.store.round([world.say(claim, {"mailbox": 7})])
        assert world.rows("SELECT result_json FROM late_results") == [('{"mailbox":7}',)]
        assert world.rows("SELECT kind, scope, member_id FROM holds WHERE is_open") == [("late_success", "member", 1)]
        assert world.member_status("m00000") == "failed"

    def test_a_result_of_a_cancelled_batch_is_late(self, play: Play) -> None:
        """The fence stands, whatever is still under way."""
        world = sent(play)
        claim = world.take(1)[0]
        world.command(ev.CancelBatch(batch_id=1, actor="anna", reason="no"))
        world.settle()
        world.store.round([world.say(claim)])
        assert world.rows("SELECT job_id FROM late_results") == [("step-1",)]
        assert world.out() == []
        assert world.batch_status() == "cancelled"

    def test_a_result_that_nobody_claimed_counts(self, play: Play) -> None:
        """Where a bus gives no claims, the job's id is all there is, and it is enough."""
        world = sent(play)
        assert world.store.round([forged(1, "step-1")]).handled == 1
        assert world.rows("SELECT status FROM executions WHERE id = 1") == [("succeeded",)]
        assert world.rows(LATE) == []


class PayloadSuite(OnStage):
    """Results that are too large for a row."""

    def stored(self, world: Played, result: object) -> str:
        """Answer the first job with a result and return what its row shows."""
        world.store.round([world.say(world.take(1)[0], result)])
        return str(world.value("SELECT result_json FROM executions WHERE id = 1"))

    def full(self, world: Played, shown: str) -> str | None:
        """Return what a row refers to."""
        with world.store.database.read() as tx:
            return payloads.full(tx, shown)

    @pytest.mark.parametrize("text", ["x" * LARGE, "ü" * (LARGE // 2)], ids=["letters", "bytes"])
    def test_a_large_result_lies_apart_and_is_found_again(self, play: Play, text: str) -> None:
        """The tables that people read stay small; what counts is bytes, in any language."""
        world = sent(play)
        shown = self.stored(world, text)
        assert len(shown) < 100
        assert self.full(world, shown) == f'"{text}"'
        assert world.rows("SELECT result_json FROM attempts") == [(shown,)]

    def test_a_small_result_stays_in_its_row(self, play: Play) -> None:
        """Up to the limit, quotes and all."""
        world = sent(play)
        text = "x" * (payloads.MOST_BYTES - 2)
        shown = self.stored(world, text)
        assert shown == f'"{text}"'
        assert self.full(world, shown) == shown
        assert world.numbers("SELECT count(*) FROM payloads") == [0]

    def test_the_same_text_is_stored_once(self, play: Play) -> None:
        """Late copies of a large result cost nothing."""
        world = sent(play)
        claims = world.take(2)
        world.store.round([world.say(claim, "x" * LARGE) for claim in claims])
        world.store.round([world.say(claims[0], "x" * LARGE)])
        assert world.numbers("SELECT count(*) FROM payloads") == [1]

    def test_a_result_that_looks_like_a_reference_is_none(self, play: Play) -> None:
        """A worker must not read another's result by answering with its number."""
        world = sent(play)
        first, second = world.take(2)
        world.store.round([world.say(first, "x" * LARGE)])
        world.store.round([ev.ResultArrived(second.execution_id, second.job_id, result_json='{"$payload":1}')])
        shown = str(world.value("SELECT result_json FROM executions WHERE id = 3"))
        assert self.full(world, shown) == '{"$payload":1}'

    def test_outputs_are_read_from_a_large_result(self, play: Play) -> None:
        """Where it is stored makes no difference to the steps that follow."""
        world = sent(play, book(step("a", "output_params: {Id: id}"), step("b", 'params: {of: "{{Id}}"}')), members=1)
        world.store.round([world.say(world.take(1)[0], {"id": 7, "log": "x" * LARGE})])
        (claim,) = world.take(1)
        assert '"parameters":{"of":7}' in claim.body.replace(" ", "")
