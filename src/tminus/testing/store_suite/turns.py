"""Turns: who goes out next when more are ready than may be out, and what limits leave."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from tminus.progression import events as ev
from tminus.store.store import Asking
from tminus.testing.store_suite.stage import OnStage, Played, book, keys, phase, step

if TYPE_CHECKING:
    from typing import Literal

    from tminus.testing.store_suite.stage import Play

ONE: Final = book(step("a"))
TWO: Final = book(step("a"), step("b"))
UNCLAIMED: Final = "SELECT count(*) FROM messages WHERE route = ? AND claimed_at IS NULL"
SMALL: Final = 10
LARGE: Final = 2_000


def opened(play: Play, text: str, *sizes: int, window: int = 500) -> Played:
    """Make batches whose lanes are ready; nothing is out."""
    world = play(text, window=window)
    for number, size in enumerate(sizes):
        world.batch("wave", keys(size, f"b{number}-"))
    world.store.decide([ev.PhaseDue(i) for i in world.numbers("SELECT id FROM phase_executions")])
    while world.store.wake():
        pass
    return world


def rounds_until_done(world: Played, batch_id: int, places: int) -> int:
    """Let one worker with so many places work, a round at a time; return how many rounds a batch takes."""
    events: list[ev.Event] = []
    open_steps = "SELECT count(*) FROM executions WHERE batch_id = ? AND status <> 'succeeded'"
    for number in range(10_000):
        done = world.store.round(events, [Asking("w", "worker-1", places)])
        events = [world.say(claim) for claim in done.claimed]
        if not world.numbers(open_steps, batch_id)[0]:
            return number
    raise AssertionError(batch_id)


class WindowSuite(OnStage):
    """What may be out unclaimed."""

    def test_no_more_is_out_unclaimed_than_the_window(self, play: Play) -> None:
        """So that a pause acts at once; the rest waits, ready."""
        world = opened(play, ONE, 30, window=7)
        assert world.send() == 7
        assert world.send() == 0
        assert world.numbers("SELECT count(*) FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL") == [
            23
        ]
        world.take(3)
        assert world.send() == 3
        assert world.numbers(UNCLAIMED, "w") == [7]

    def test_each_worker_id_has_a_window_of_its_own(self, play: Play) -> None:
        """One kind of worker that stands still keeps nobody else waiting."""
        world = play(ONE, ONE.replace("wave", "other").replace("worker_id: w", "worker_id: v"), window=4)
        world.batch("wave", keys(10))
        world.batch("other", keys(10))
        world.settle()
        assert world.numbers(UNCLAIMED, "w") == world.numbers(UNCLAIMED, "v") == [4]

    def test_steps_that_follow_keep_to_the_window_too(self, play: Play) -> None:
        """A hundred results at once would else flood a worker id."""
        world = opened(play, book(step("a"), step("b", worker_id="v")), 40, window=5)
        sent = 0
        while found := world.store.round((), [Asking("w", "worker-1", 5)]).claimed:
            sent += len(found)
            world.store.round([world.say(claim) for claim in found])
            assert world.numbers(UNCLAIMED, "v")[0] <= 5
        assert sent == 40

    def test_a_poll_takes_a_place_as_well(self, play: Play) -> None:
        """It is a job like any other."""
        world = opened(play, book(step("a", "poll: {interval: 10s, timeout: 1h}")), 6, window=2)
        for _ in range(3):
            world.send()
            world.store.round([world.say(claim, {"complete": False}) for claim in world.take()], turn=False)
        world.clock.advance(11)
        for _ in range(3):
            world.settle()
            assert world.numbers(UNCLAIMED, "w") == [2]
        assert all(claim.is_poll for claim in world.take())


class TurnSuite(OnStage):
    """Fair shares."""

    def test_a_small_batch_ends_as_if_it_were_nearly_alone(self, play: Play) -> None:
        """Ten members beside two thousand take at most twice the rounds that they take by themselves."""
        for window, places in ((500, 20), (20, 10)):
            alone = rounds_until_done(opened(play, TWO, SMALL, window=window), 1, places)
            beside = rounds_until_done(opened(play, TWO, LARGE, SMALL, window=window), 2, places)
            assert beside <= 2 * alone + 1

    def test_every_batch_gets_an_equal_share_of_the_places(self, play: Play) -> None:
        """What a small one leaves the larger ones take."""
        world = opened(play, ONE, 100, 3, 100, window=21)
        world.send()
        shares = Counter(world.numbers("SELECT batch_id FROM messages"))
        assert shares[2] == 3
        assert shares[1] + shares[3] == 18
        assert abs(shares[1] - shares[3]) <= 2

    def test_within_a_batch_the_one_that_waits_longest_goes_first(self, play: Play) -> None:
        """No member is overtaken for ever."""
        world = opened(play, ONE, 9, window=3)
        order: list[int] = []
        while world.send():
            order += [claim.execution_id for claim in world.take()]
        assert order == list(range(1, 10))

    def test_a_retry_goes_out_at_its_time_and_not_before(self, play: Play) -> None:
        """And takes no place until then."""
        world = opened(play, book(step("a", "retry: {max_retries: 1, interval: 30s, jitter: false}")), 3, window=1)
        world.send()
        world.store.round([world.fail(world.take()[0])], turn=False)
        for job_id in ("step-2", "step-3"):
            world.send()
            (claim,) = world.take()
            assert claim.job_id == job_id
            world.store.round([world.say(claim)], turn=False)
        world.clock.advance(29)
        assert world.send() == 0
        world.clock.advance(1)
        assert world.send() == 1
        assert world.out() == ["step-1-retry-1"]

    @pytest.mark.parametrize("scope", ["runbook", "batch"])
    def test_a_held_batch_takes_no_places(self, play: Play, scope: Literal["runbook", "batch"]) -> None:
        """However many of its members are ready."""
        other = ONE.replace("wave", "other")
        world = play(ONE, other, window=5)
        world.batch("wave", keys(700))
        world.batch("other", keys(4))
        world.store.decide([ev.PhaseDue(1), ev.PhaseDue(2)])
        while world.store.wake():
            pass
        pause = ev.OpenHold(scope=scope, batch_id=1, key="wave", actor="anna", reason="lunch")
        world.store.round([pause], turn=False)
        assert world.send() == 4
        assert set(world.numbers("SELECT batch_id FROM messages")) == {2}

    def test_a_cancelled_batch_takes_no_places(self, play: Play) -> None:
        """Its members end in chunks; until the last has ended, what was ready of it stays away."""
        world = opened(play, ONE, 700, 4, window=5)
        world.store.round([ev.CancelBatch(batch_id=1, actor="anna", reason="no")], turn=False)
        assert world.send() == 4
        assert set(world.numbers("SELECT batch_id FROM messages")) == {2}

    def test_paused_members_do_not_stand_before_the_others(self, play: Play) -> None:
        """However many of them there are, and in front."""
        world = opened(play, ONE, 30, window=5)
        pauses = [ev.OpenHold(scope="member", batch_id=1, member_id=i, actor="anna", reason="b") for i in range(1, 25)]
        world.store.round(pauses, turn=False)
        world.send()
        assert [claim.execution_id for claim in world.take()] == [25, 26, 27, 28, 29]
        world.send()
        assert [claim.execution_id for claim in world.take()] == [30]
        lifts = [
            ev.AnswerHold(hold_id=i, batch_id=1, answer="lift", actor="anna", reason="on")
            for i in world.numbers("SELECT id FROM holds")
        ]
        world.store.round(lifts, turn=False)
        world.send()
        assert [claim.execution_id for claim in world.take()] == [1, 2, 3, 4, 5]


class HandoverSuite(OnStage):
    """What a round sends, a worker that asks in it may take at once."""

    def test_a_worker_gets_as_many_as_it_has_room_for(self, play: Play) -> None:
        """The rest waits unclaimed, and the next round gives the next ones."""
        world = opened(play, ONE, 9)
        taken: list[int] = []
        for most in (2, 3, 9):
            found = world.store.round((), [Asking("w", "worker-1", most)]).claimed
            assert len(found) == min(most, 9 - len(taken))
            taken += [claim.execution_id for claim in found]
        assert taken == list(range(1, 10))
        assert world.numbers("SELECT count(*) FROM messages WHERE claimed_by = 'worker-1'") == [9]

    def test_workers_of_one_worker_id_share_a_round(self, play: Play) -> None:
        """No job goes to two of them."""
        world = opened(play, ONE, 9)
        done = world.store.round((), [Asking("w", "worker-1", 2), Asking("w", "worker-2", 3), Asking("x", "other", 5)])
        assert sorted(claim.execution_id for claim in done.claimed) == [1, 2, 3, 4, 5]
        found = world.rows("SELECT claimed_by, count(*) FROM messages GROUP BY claimed_by ORDER BY claimed_by")
        assert found == [("worker-1", 2), ("worker-2", 3)]

    @pytest.mark.parametrize("timeout", ["20s", "1h"])
    def test_it_is_a_claim_like_any_other(self, play: Play, timeout: str) -> None:
        """Row by row, and word by word."""
        given, asked = (opened(play, book(step("a", f"timeout: {timeout}", "params: {n: 1}")), 1) for _ in range(2))
        first = given.store.round((), [Asking("w", "worker-1", 1)]).claimed
        asked.send()
        second = asked.take()
        assert first == second
        assert given.dump() == asked.dump()

    def test_a_round_that_is_replayed_hands_out_nothing_twice(self, play: Play) -> None:
        """What the broken transaction gave away was never given."""
        world = opened(play, TWO, 6)
        events = [world.say(claim) for claim in world.store.round((), [Asking("w", "worker-1", 3)]).claimed]
        events[1].result_json = '"half a character: \ud800"'
        done = world.store.round(events, [Asking("w", "worker-1", 9)])
        taken = [claim.job_id for claim in done.claimed]
        assert len(taken) == len(set(taken))
        claimed = world.rows("SELECT message_id FROM messages WHERE claimed_by = 'worker-1' ORDER BY id")
        assert sorted([*taken, events[1].job_id]) == sorted(str(row[0]) for row in claimed)


class LimitSuite(OnStage):
    """Limits of the whole cluster, by worker id and by function."""

    def limited(self, play: Play, members: int, **limits: dict[str, int]) -> Played:
        """Make a batch whose steps are ready under these limits."""
        return opened(play, book(step("a"), limits={name.replace("_", "-"): limit for name, limit in limits.items()}),
                      members)  # fmt: skip

    @pytest.mark.parametrize("scope", ["w", "F-a"])
    def test_no_more_run_at_once_than_the_limit_says(self, play: Play, scope: str) -> None:
        """Claimed or not, a job counts until its result is there."""
        world = self.limited(play, 20, **{scope.replace("-", "_"): {"in_flight": 3}})
        most: list[int] = []
        while world.send() or world.out():
            most.append(len(world.out()))
            world.store.round([world.say(claim) for claim in world.take(2)])
            most.append(len(world.out()))
        assert max(most) == 3
        assert most.count(3) >= 17
        assert world.numbers("SELECT count(*) FROM executions WHERE status = 'succeeded'") == [20]

    @pytest.mark.parametrize("scope", ["w", "F-a"])
    def test_no_more_go_out_in_a_minute_than_the_limit_says(self, play: Play, scope: str) -> None:
        """Steadily, with a sixth of a minute's worth at the start."""
        world = self.limited(play, 200, **{scope.replace("-", "_"): {"per_minute": 60}})
        sent: list[int] = []
        for _ in range(120):
            world.store.round([world.say(claim) for claim in world.take()])
            world.send()
            sent.append(world.numbers("SELECT count(*) FROM executions WHERE dispatched_at IS NOT NULL")[0])
            world.clock.advance(1)
        assert sent[0] == 10
        assert 60 <= sent[59] <= 70
        assert all(later - earlier <= 61 for earlier, later in zip(sent, sent[60:], strict=False) if earlier > 9)
        assert sent[-1] >= 128

    def test_a_function_at_its_limit_does_not_stand_before_the_others(self, play: Play) -> None:
        """A slow interface holds back its own calls and nobody else's."""
        phases = [phase("one", step("a")), phase("two", step("b"), overlap=True)]
        world = opened(play, book(phases=phases, limits={"F-a": {"in_flight": 2}}), 300, window=50)
        for _ in range(3):
            world.send()
        sent = Counter(str(row[0]) for row in world.rows("SELECT function_name FROM messages"))
        assert sent == {"F-a": 2, "F-b": 48}

    def test_a_worker_at_its_limit_keeps_no_other_waiting(self, play: Play) -> None:
        """Each worker id is looked at by itself."""
        limited, free = book(step("a"), limits={"w": {"in_flight": 1}}), book(step("a", worker_id="x"), name="other")
        world = play(limited, free)
        world.batch("wave", keys(900))
        world.batch("other", keys(5))
        world.store.decide([ev.PhaseDue(1), ev.PhaseDue(2)])
        while world.store.wake():
            pass
        world.send()
        world.send()
        assert world.numbers(UNCLAIMED, "w") == [1]
        assert world.numbers(UNCLAIMED, "x") == [5]

    def test_a_quiet_hour_saves_nothing_up(self, play: Play) -> None:
        """What was not used in time does not come all at once."""
        world = self.limited(play, 300, w={"per_minute": 60})
        world.send()
        world.store.round([world.say(claim) for claim in world.take()], turn=False)
        world.clock.advance(3600)
        world.send()
        assert len(world.out()) == 10

    def test_both_limits_hold_at_once(self, play: Play) -> None:
        """The tighter one wins, and a place that one refuses costs the other nothing."""
        limits = {"w": {"in_flight": 4}, "F-a": {"in_flight": 2}}
        world = opened(play, book(step("a"), limits=limits), 20)
        world.settle()
        assert len(world.out()) == 2
        world.change("UPDATE limits SET in_flight = 9 WHERE scope = 'F-a'")
        world.settle()
        assert len(world.out()) == 4
