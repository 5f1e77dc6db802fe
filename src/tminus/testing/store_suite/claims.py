"""Claims: each job with one worker at a time, for as long as that worker shows that it is alive."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from tminus.progression import events as ev
from tminus.progression.loss import MOST_DELIVERIES
from tminus.store.claims import LEASE_S
from tminus.testing.store_suite.stage import Feature, OnStage, Played, book, keys, phase, step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from tminus.store.claims import Claim
    from tminus.testing.store_suite.stage import Play, StoreStage

ONE: Final = book(step("a", "retry: {max_retries: 3, interval: 10s}"))
SHORT: Final = book(step("a", "timeout: 45s"))
JOBS: Final = "SELECT message_id, claimed_by, delivery FROM messages ORDER BY id"


def sent(play: Play, text: str = ONE, members: int = 3) -> Played:
    """Make a batch whose first steps are out."""
    world = play(text)
    world.batch("wave", keys(members))
    world.settle()
    return world


def ids(claims: Sequence[Claim]) -> list[str]:
    """Return the job ids of claims."""
    return [claim.job_id for claim in claims]


def named(claims: Sequence[Claim]) -> list[tuple[int, str]]:
    """Return claims as heartbeats name them."""
    return [(claim.execution_id, claim.job_id) for claim in claims]


class ClaimSuite(OnStage):
    """Who takes what."""

    features: ClassVar[frozenset[Feature]] = frozenset()

    def test_a_claim_is_what_a_worker_needs(self, play: Play) -> None:
        """Function, body, how long it may take, how often it was delivered."""
        world = sent(play, SHORT, members=1)
        (claim,) = world.take()
        assert (claim.execution_id, claim.job_id, claim.function) == (1, "step-1", "F-a")
        assert (claim.delivery, claim.timeout_s, claim.is_poll) == (1, 45.0, False)
        assert '"jobId":"step-1"' in claim.body

    def test_a_job_is_claimed_once(self, play: Play) -> None:
        """What one has taken no other gets, nor the same again."""
        world = sent(play)
        assert ids(world.take(2)) == ["step-1", "step-2"]
        assert ids(world.take(2, "worker-2")) == ["step-3"]
        assert world.take() == world.take(5, "worker-2") == []
        assert [row[1] for row in world.rows(JOBS)] == ["worker-1", "worker-1", "worker-2"]

    @pytest.mark.parametrize("most", [0, -1])
    def test_who_has_no_room_gets_nothing(self, play: Play, most: int) -> None:
        """A full worker may ask all the same."""
        assert sent(play).take(most) == []

    def test_a_worker_gets_jobs_of_its_own_worker_id_only(self, play: Play) -> None:
        """A worker id is a promise about what a worker can do."""
        world = play(book(phases=[phase("one", step("a", worker_id="v")), phase("two", step("b"), overlap=True)]))
        world.batch("wave", keys(1))
        world.settle()
        assert [claim.function for claim in world.take(worker_id="w")] == ["F-b"]
        assert world.take(worker_id="W") == world.take(worker_id="") == []
        assert [claim.function for claim in world.take(worker_id="v")] == ["F-a"]

    def test_two_stores_never_hand_out_one_job_twice(self, play: Play, stage: StoreStage) -> None:
        """However many processes claim at once."""
        if Feature.BESIDE not in self.features:
            pytest.skip("the adapter does not declare `beside`")
        world = sent(play, members=200)
        stores = [world.store, stage.beside(world.store), stage.beside(world.store)]

        def drain(number: int) -> list[str]:
            taken: list[str] = []
            while found := stores[number].claim("w", f"worker-{number}", 7):
                taken += ids(found)
            return taken

        with ThreadPoolExecutor(len(stores)) as pool:
            taken = [job for found in pool.map(drain, range(len(stores))) for job in found]
        assert sorted(taken) == sorted(world.out())

    def test_batches_take_turns(self, play: Play) -> None:
        """A batch of a thousand that came first does not keep ten waiting."""
        world = play(ONE, window=500)
        for members, prefix in ((200, "large"), (10, "small")):
            world.batch("wave", keys(members, prefix))
        world.settle()
        taken = [int(claim.body.split('"batchId":')[1].split(",")[0]) for claim in world.take(20)]
        assert taken == [1, 2] * 10

    def test_what_cleans_up_is_claimed_first(self, play: Play) -> None:
        """Rollback, removal, hooks, init, retries, first dispatches; among equals the one that was sent first."""
        world = sent(play, members=8)
        world.change("UPDATE messages SET priority = 6 - id WHERE id < 7")
        world.change("UPDATE messages SET priority = 3 WHERE id = 7")
        world.change("UPDATE messages SET priority = 0 WHERE id = 8")
        assert [claim.execution_id for claim in world.take(3)] == [6, 8, 5]
        assert [world.take(1)[0].execution_id for _ in range(5)] == [4, 3, 7, 2, 1]

    def test_what_cleans_up_is_sent_first(self, play: Play) -> None:
        """The same order decides who goes out where places are short."""
        world = play(ONE, window=1)
        world.batch("wave", keys(7))
        world.store.decide([ev.PhaseDue(1)])
        while world.store.wake():
            pass
        world.change("UPDATE executions SET priority = 6 - id WHERE id < 7")
        world.change("UPDATE executions SET priority = 3 WHERE id = 7")
        order: list[int] = []
        while world.send():
            order.append(world.take(1)[0].execution_id)
        assert order == [6, 5, 4, 3, 7, 2, 1]


class HoldSuite(OnStage):
    """A pause stops what is out and not yet taken."""

    @pytest.mark.parametrize("scope", ["all", "runbook", "batch", "member"])
    def test_a_claim_looks_at_the_holds_again(
        self, play: Play, scope: Literal["all", "runbook", "batch", "member"]
    ) -> None:
        """A pause acts on the next claim, not on the next dispatch; other batches and members go on."""
        other = ONE.replace("wave", "other")
        world = play(ONE, other)
        world.batch("wave", keys(2))
        world.batch("wave", keys(1, "same"))
        world.batch("other", keys(1, "else"))
        world.settle()
        assert len(world.out()) == 4
        pause = ev.OpenHold(
            scope=scope,
            batch_id=1 if scope in {"batch", "member"} else None,
            member_id=1 if scope == "member" else None,
            key="wave" if scope == "runbook" else None,
            actor="anna",
            reason="lunch",
        )
        assert [reply.ok for reply in world.command(pause)] == [True]
        free = {"all": [], "runbook": [4], "batch": [3, 4], "member": [2, 3, 4]}[scope]
        assert sorted(claim.execution_id for claim in world.take()) == free
        hold_id = world.numbers("SELECT id FROM holds")[0]
        lift = ev.AnswerHold(hold_id=hold_id, batch_id=pause.batch_id, answer="lift", actor="anna", reason="back")
        assert [reply.ok for reply in world.command(lift)] == [True]
        world.settle()
        assert sorted(claim.execution_id for claim in world.take()) == sorted({1, 2, 3, 4} - set(free))

    @pytest.mark.parametrize("scope", ["all", "batch", "member"])
    def test_what_cleans_up_is_claimed_under_any_pause(
        self, play: Play, scope: Literal["all", "batch", "member"]
    ) -> None:
        """A pause must not leave things half undone."""
        undo = {"undo": [{"name": "u", "worker_id": "w", "function": "F-undo"}]}
        world = play(book(step("a", "on_failure: undo"), rollbacks=undo))
        world.batch("wave", keys(2))
        world.settle()
        world.store.round([world.fail(world.take(1)[0])])
        world.command(ev.OpenHold(scope=scope, batch_id=1, member_id=1, actor="anna", reason="lunch"))
        assert [claim.function for claim in world.take(1)] == ["F-undo"]

    def test_a_cancelled_batch_leaves_nothing_to_claim(self, play: Play) -> None:
        """What has not been taken is voided with the fence."""
        world = sent(play)
        world.take(1)
        world.command(ev.CancelBatch(batch_id=1, actor="anna", reason="no"))
        assert world.take() == []
        assert world.out() == ["step-1"]


class LeaseSuite(OnStage):
    """How long a claim lasts."""

    def test_a_worker_that_shows_itself_keeps_its_job(self, play: Play) -> None:
        """Heartbeats move the lease on."""
        world = sent(play, members=1)
        claims = world.take()
        for _ in range(20):
            world.clock.advance(LEASE_S - 1)
            world.store.beat("worker-1", named(claims))
            world.settle()
        assert world.rows(JOBS) == [("step-1", "worker-1", 1)]

    def test_a_lease_that_ends_gives_the_job_to_another(self, play: Play) -> None:
        """The same job id again, one delivery more, no retry spent."""
        world = sent(play, members=1)
        world.take()
        world.clock.advance(LEASE_S - 1)
        world.settle()
        assert world.take(1, "worker-2") == []
        world.clock.advance(1)
        world.settle()
        (claim,) = world.take(1, "worker-2")
        assert (claim.job_id, claim.delivery) == ("step-1", 2)
        assert world.rows("SELECT status, retry_count, attempt FROM executions") == [("dispatched", 0, 0)]

    def test_a_heartbeat_counts_for_ones_own_job_only(self, play: Play) -> None:
        """A neighbour, an older job id or a job that was given away keep nothing alive."""
        world = sent(play, members=1)
        world.take()
        world.clock.advance(LEASE_S - 1)
        for other in ("worker-0", "worker-2"):
            world.store.beat(other, [(1, "step-1")])
        world.store.beat("worker-1", [(1, "step-1-retry-1"), (1, "step"), (2, "step-1"), (99, "step-99")])
        world.clock.advance(1)
        world.settle()
        world.store.beat("worker-1", [(1, "step-1")])
        assert world.rows("SELECT lease_until, delivery FROM messages") == [(None, 2)]

    def test_no_heartbeat_goes_past_the_timeout(self, play: Play) -> None:
        """The timeout runs from the claim, whoever says what."""
        world = sent(play, SHORT, members=1)
        claims = world.take()
        for _ in range(4):
            world.clock.advance(10)
            world.store.beat("worker-1", named(claims))
        assert world.rows("SELECT timeout_at = lease_until FROM messages") == [(1,)]
        world.clock.advance(4)
        world.settle()
        assert world.numbers("SELECT count(*) FROM attempts") == [0]
        world.clock.advance(1)
        world.settle()
        assert world.rows("SELECT outcome, worker FROM attempts") == [("timeout", "worker-1")]
        assert world.member_status("m00000") == "failed"

    def test_a_job_that_is_given_back_is_free_at_once(self, play: Play) -> None:
        """A worker that stops hands over what it has not begun; that is no delivery."""
        world = sent(play, members=2)
        claims = world.take()
        assert world.store.give_back("worker-0", named(claims)) == 0
        assert world.store.give_back("worker-2", named(claims)) == 0
        assert world.store.give_back("worker-1", [(1, "step-2"), (7, "step-7")]) == 0
        assert world.store.give_back("worker-1", named(claims[:1])) == 1
        assert world.store.give_back("worker-1", named(claims[:1])) == 0
        again = world.take(9, "worker-2")
        assert [(claim.job_id, claim.delivery) for claim in again] == [("step-1", 1)]

    def test_a_draining_job_is_not_given_to_another(self, play: Play) -> None:
        """Its work is over; there is nothing to hand on."""
        world = sent(play, members=1)
        claims = world.take()
        world.command(ev.CancelBatch(batch_id=1, actor="anna", reason="no"))
        world.settle()
        assert world.rows("SELECT is_draining FROM messages") == [(1,)]
        assert world.store.give_back("worker-1", named(claims)) == 0
        assert world.take(9, "worker-2") == []

    def test_the_jobs_of_a_dead_worker_are_free_at_the_next_tick(self, play: Play) -> None:
        """A restarted process does not wait for leases that nobody can keep, and never takes a living neighbour's."""
        world = sent(play, members=4)
        world.take(2, "worker-2")
        world.take(1, "worker-3")
        world.take(1, "worker-1")
        assert world.store.release("worker-2") == 2
        assert world.store.release("worker-2") == 0
        world.settle()
        rest = [("step-3", "worker-3", 1), ("step-4", "worker-1", 1)]
        assert world.rows(JOBS) == [("step-1", None, 2), ("step-2", None, 2), *rest]

    def test_a_job_that_is_lost_again_and_again_ends_its_attempt(self, play: Play) -> None:
        """A job that kills its workers must not kill them all."""
        world = sent(play, members=1)
        deliveries: list[int] = []
        while "step-1" in world.out():
            deliveries += [claim.delivery for claim in world.take()]
            world.clock.advance(LEASE_S)
            world.settle()
        assert deliveries == list(range(1, MOST_DELIVERIES + 1))
        assert world.rows("SELECT outcome, delivery FROM attempts") == [("lost", MOST_DELIVERIES)]
        assert world.rows("SELECT status, retry_count FROM executions") == [("pending", 1)]

    def test_a_lost_one_way_job_is_not_delivered_again(self, play: Play) -> None:
        """Nobody knows whether it was done, and it must not be done twice."""
        world = sent(play, ONE.replace("F-a", "F-a, one_way: true"), members=1)
        world.take()
        world.clock.advance(LEASE_S)
        world.settle()
        assert world.out() == []
        assert world.rows("SELECT outcome FROM attempts") == [("lost",)]
        assert world.member_status("m00000") == "failed"

    def test_leases_end_by_the_stores_clock(self, play: Play) -> None:
        """Claim by claim, in the order in which they were taken."""
        world = sent(play, members=3)
        for _ in range(3):
            world.take(1)
            world.clock.advance(1)
        ends = [str(row[0]) for row in world.rows("SELECT lease_until FROM messages ORDER BY id")]
        assert all(first < second for first, second in pairwise(ends))
        assert world.store.next_due() == ends[0]
