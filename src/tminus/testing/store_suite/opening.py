"""Opening, waking, ending: work on many members goes on in chunks, and no stop between two of them loses anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
import pytest

from tminus.progression import events as ev
from tminus.testing.store_suite.stage import OnStage, Played, StoppedError, book, keys, phase, step

if TYPE_CHECKING:
    from tminus.testing.store_suite.stage import Play

TWO: Final = book(step("a"), step("b"))
PHASE: Final = (
    "SELECT status, opening_after, lanes_total, open_lanes, lanes_succeeded FROM phase_executions WHERE id = 1"
)
LANES: Final = "SELECT count(*), count(DISTINCT member_id) FROM lanes WHERE kind = 'phase' AND phase_id = 1"
RINGED: Final = "SELECT ring, count(*) FROM lanes GROUP BY ring ORDER BY ring"


def began(play: Play, members: int = 20, chunk: int = 7, text: str = TWO) -> Played:
    """Make a batch whose phase is open for the first chunk."""
    world = play(text, chunk=chunk)
    world.batch("wave", keys(members))
    world.store.decide([ev.PhaseDue(1)])
    return world


class OpeningSuite(OnStage):
    """A phase opens for its members, a chunk at a time."""

    def test_a_phase_opens_in_chunks_and_each_goes_on_where_the_last_ended(self, play: Play) -> None:
        """Also after a restart: the cursor stands in the row."""
        world = began(play)
        opened = [world.rows(PHASE)[0]]
        for _ in range(3):
            world.restart()
            world.store.decide([ev.PhaseOpening(1)])
            opened.append(world.rows(PHASE)[0])
        assert opened == [
            ("dispatched", 7, 7, 7, 0),
            ("dispatched", 14, 14, 14, 0),
            ("dispatched", None, 20, 20, 0),
            ("dispatched", None, 20, 20, 0),
        ]
        assert world.rows(LANES) == [(20, 20)]
        rows = world.rows("SELECT lane_id, step_index, step_name FROM executions ORDER BY id")
        assert rows == [(lane, index, name) for lane in range(1, 21) for index, name in enumerate("ab")]

    @pytest.mark.parametrize("chunk", [1, 19, 20, 21])
    def test_any_size_of_chunk_opens_everybody_once(self, play: Play, chunk: int) -> None:
        """At the edges too."""
        world = began(play, chunk=chunk)
        world.settle()
        assert world.rows(LANES) == [(20, 20)]
        assert world.rows(PHASE) == [("dispatched", None, 20, 20, 0)]

    def test_the_tick_finds_a_phase_that_is_being_opened(self, play: Play) -> None:
        """Nobody has to remember it."""
        world = began(play)
        world.run()
        assert world.phase_status("one") == "completed"
        assert world.batch_status() == "completed"
        assert len(world.calls) == 40

    def test_a_phase_cannot_end_while_it_is_being_opened(self, play: Play) -> None:
        """The first chunk may be through before the last is there."""
        world = began(play, text=book(step("a")))
        while world.store.wake():
            pass
        world.send()
        world.store.round([world.say(claim) for claim in world.take()])
        assert world.rows(PHASE) == [("dispatched", 7, 7, 0, 7)]
        assert world.batch_status() == "active"
        world.run()
        assert world.rows(PHASE) == [("completed", None, 20, 0, 20)]

    def test_events_that_come_again_open_nothing_twice(self, play: Play) -> None:
        """Two schedulers, a scheduler that was slow, a phase that is through."""
        world = began(play, members=10)
        again: list[ev.Event] = [ev.PhaseDue(1), ev.PhaseOpening(1), ev.PhaseDue(1)]
        world.store.decide(again)
        assert world.rows(LANES) == [(10, 10)]
        before = world.dump()
        world.store.decide(again)
        assert world.dump() == before

    def test_a_joiner_during_the_opening_gets_exactly_one_lane(self, play: Play) -> None:
        """Whether the cursor has passed its place or not, and it counts once."""
        world = began(play)
        world.store.join(1, [(key, "{}") for key in keys(3, "j")])
        world.store.decide([ev.PhaseOpening(1)])
        world.store.join(1, [("late", "{}")])
        world.settle()
        assert world.rows(LANES) == [(24, 24)]
        assert world.rows(PHASE) == [("dispatched", None, 24, 24, 0)]
        assert world.numbers("SELECT count(*) FROM executions") == [48]

    def test_who_leaves_during_the_opening_gets_no_lane(self, play: Play) -> None:
        """The next chunk looks again at who is there."""
        world = began(play)
        world.store.round([ev.Leaving(15), ev.Leaving(2)], turn=False)
        world.settle()
        assert world.numbers("SELECT count(*) FROM lanes WHERE member_id = 15 AND kind = 'phase'") == [0]
        assert world.rows(PHASE) == [("dispatched", None, 19, 18, 0)]

    def test_a_cancelled_batch_opens_no_further(self, play: Play) -> None:
        """The fence stops the opening where it stands."""
        world = began(play)
        world.command(ev.CancelBatch(batch_id=1, actor="anna", reason="no"))
        world.settle()
        assert world.rows(LANES) == [(7, 7)]
        assert world.batch_status() == "cancelled"

    @pytest.mark.parametrize("name", ["one", "100%_of~it"])
    def test_a_phase_that_was_passed_elsewhere_is_inherited(self, play: Play, name: str) -> None:
        """Its lane is there, ended, without steps; the member goes on with what follows."""
        world = play(book(phases=[phase(f"'{name}'", step("a")), phase("two", step("b"), offset="T+1h")]), chunk=3)
        world.batch("wave", ["x", "y"], t0_in_s=3600)
        world.change("UPDATE batch_members SET inherited_json = ? WHERE member_key = 'x'",
                     orjson.dumps([name, "other"]).decode())  # fmt: skip
        world.change("UPDATE batch_members SET inherited_json = ? WHERE member_key = 'y'",
                     orjson.dumps([name + "!", "1" + name]).decode())  # fmt: skip
        world.clock.advance(3600)
        world.settle()
        found = world.rows("SELECT member_id, status, is_inherited FROM lanes ORDER BY member_id")
        assert found == [(1, "succeeded", 1), (2, "running", 0)]
        assert world.rows(PHASE) == [("dispatched", None, 2, 1, 1)]
        assert world.numbers("SELECT count(*) FROM executions WHERE step_name = 'a'") == [1]
        assert world.numbers("SELECT count(*) FROM events WHERE cause = 'inherited'") == [1]

    @pytest.mark.parametrize("chunk", [1, 3, 100])
    def test_rings_are_cut_by_the_order_of_members(self, play: Play, chunk: int) -> None:
        """The same, however large the chunks are; the last ring takes the rest."""
        world = began(
            play, members=21, chunk=chunk, text=book(phases=[phase("one", step("a"), rings=[1, "10%", "100%"])])
        )
        world.settle()
        assert world.rows(RINGED) == [(0, 1), (1, 3), (2, 17)]
        assert world.numbers("SELECT ring FROM lanes ORDER BY member_id") == [0] + [1] * 3 + [2] * 17
        assert world.out() == ["step-1"]

    def test_the_last_ring_takes_whoever_else_is_there(self, play: Play) -> None:
        """Members may have come back while the phase was being opened."""
        world = play(book(phases=[phase("one", step("a"), rings=[1, "50%", "100%"])]), chunk=4)
        world.batch("wave", keys(12))
        world.change("UPDATE batches SET members_active = 6")
        world.settle()
        assert world.rows(RINGED) == [(0, 1), (1, 3), (2, 8)]

    def test_a_ring_starts_when_the_one_before_has_ended(self, play: Play) -> None:
        """To the last lane of it."""
        world = began(play, members=8, chunk=3, text=book(phases=[phase("one", step("a"), rings=[1, 3, "100%"])]))
        sizes: list[int] = []
        world.settle()
        while claims := world.take():
            sizes.append(len(claims))
            world.store.round([world.say(claim) for claim in claims[:-1]])
            world.settle()
            assert world.take() == []
            world.store.round([world.say(claims[-1])])
            world.settle()
        assert sizes == [1, 3, 4]
        assert world.batch_status() == "completed"

    def test_a_phase_without_members_is_skipped_with_its_reason(self, play: Play) -> None:
        """And opened again by who joins."""
        world = play(book(phases=[phase("one", step("a")), phase("two", step("b"), offset="T+1h")]))
        world.batch("wave", [])
        world.store.decide([ev.PhaseDue(1)])
        assert world.rows("SELECT status, reason IS NOT NULL FROM phase_executions WHERE id = 1") == [("skipped", 1)]
        world.store.join(1, [("x", "{}")])
        assert world.rows(PHASE) == [("dispatched", None, 1, 1, 0)]

    def test_fifty_thousand_members_are_opened_in_short_transactions(self, play: Play) -> None:
        """No chunk grows with the phase, and none holds more than its own members."""
        world = play(TWO, chunk=2_000)
        world.batch("wave", keys(50_000))
        world.store.decide([ev.PhaseDue(1)])
        chunks = 1
        while world.numbers("SELECT count(*) FROM phase_executions WHERE opening_after IS NOT NULL")[0]:
            world.store.decide([ev.PhaseOpening(1)])
            chunks += 1
        assert chunks == 26
        assert world.rows(LANES) == [(50_000, 50_000)]
        assert world.numbers("SELECT count(*) FROM executions") == [100_000]


class CursorSuite(OnStage):
    """Waking and ending go through a batch by a cursor in its row."""

    @pytest.fixture
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make a few members many pages."""
        monkeypatch.setattr("tminus.store.sweeps.PAGE", 3)

    @pytest.mark.usefixtures("small_pages")
    def test_waking_goes_on_after_a_stop_at_any_chunk(self, play: Play) -> None:
        """Every waiting lane is looked at, whichever process dies between."""
        for stop in range(5):
            world = began(play, members=10, chunk=100)
            for _ in range(stop):
                world.store.wake()
            assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'running'") == [min(10, 3 * stop)]
            self.stopped(world, "wake")
            world.restart()
            while world.store.wake():
                pass
            assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'running'") == [10]
            assert world.rows("SELECT wake_after FROM batches") == [(None,)]

    @pytest.mark.usefixtures("small_pages")
    def test_waking_serves_every_batch(self, play: Play) -> None:
        """A page that one batch does not fill goes on with the next."""
        world = play(TWO)
        for number in range(4):
            world.batch("wave", keys(2, f"b{number}-"))
        world.store.decide([ev.PhaseDue(i) for i in range(1, 5)])
        while world.store.wake():
            pass
        assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'running'") == [8]
        assert world.store.wake() == 0

    @pytest.mark.usefixtures("small_pages")
    def test_a_batch_that_is_woken_again_is_looked_through_again(self, play: Play) -> None:
        """From its first lane, also while a cursor is on its way."""
        world = began(play, members=10, chunk=100)
        world.command(ev.OpenHold(scope="batch", batch_id=1, actor="anna", reason="lunch"))
        while world.store.wake():
            pass
        assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'waiting'") == [10]
        lift = ev.AnswerHold(hold_id=1, batch_id=1, answer="lift", actor="anna", reason="back")
        world.command(lift)
        world.store.wake()
        assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'waiting'") == [7]
        while world.store.wake():
            pass
        assert world.numbers("SELECT count(*) FROM lanes WHERE status = 'waiting'") == [0]

    @pytest.mark.usefixtures("small_pages")
    @pytest.mark.parametrize("how", ["cancelled", "completed"])
    def test_ending_goes_on_after_a_stop_at_any_chunk(self, play: Play, how: str) -> None:
        """Each member ends once, and the batch after its last."""
        ended = "cancelled" if how == "cancelled" else "done"
        for stop in range(6):
            world = began(play, members=10, chunk=100, text=book(step("a")))
            world.settle() if how == "completed" else world.command(
                ev.CancelBatch(batch_id=1, actor="anna", reason="no")
            )
            if how == "completed":
                world.store.round([world.say(claim) for claim in world.take()])
                assert world.batch_status() == "closing"
            for _ in range(stop):
                world.store.end_members()
            assert world.numbers("SELECT count(*) FROM batch_members WHERE status = ?", ended) == [min(10, 3 * stop)]
            self.stopped(world, "end_members")
            world.restart()
            while world.store.end_members():
                pass
            assert world.numbers("SELECT count(*) FROM batch_members WHERE status = ?", ended) == [10]
            assert world.rows("SELECT ending_after, members_active, status FROM batches") == [(None, 0, how)]
            history = "SELECT count(*), count(DISTINCT entity_id) FROM events WHERE entity = 'member' AND to_status = ?"
            assert world.rows(history, ended) == [(10, 10)]

    def stopped(self, world: Played, step_name: str) -> None:
        """Take the next chunk, and stop at each of its statements in turn: nothing moves."""
        before = world.dump()
        behind, meddler = world.store.database, world.meddle()
        for statement in range(1_000):
            meddler.stop_at(statement)
            try:
                world.store.wake() if step_name == "wake" else world.store.end_members()
            except StoppedError:
                assert world.dump() == before
            else:
                break
        meddler.rest()
        world.store.database = behind
