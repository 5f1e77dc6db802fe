"""Cohorts: a batch is made once, a key lives in one place, and versions are numbered without a gap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from tminus.domain.errors import TminusError
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.store import runbooks
from tminus.store.cohort import NewBatch
from tminus.testing.store_suite.stage import Feature, OnStage, Played, book, keys, phase, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.domain.status import BatchKind
    from tminus.store.cohort import Made
    from tminus.store.store import Store
    from tminus.testing.store_suite.stage import Play, StoreStage

ONE: Final = book(step("a"))
PHASES: Final = book(
    phases=[phase("early", step("a"), offset="T-2d"), phase("late", step("b", 'params: {x: "{{x}}"}'))],
)
MEMBERS: Final = "SELECT member_key, generation, status FROM batch_members WHERE batch_id = ? ORDER BY id"


def made(world: Played, members: Sequence[str] = ("x", "y"), *, digest: str = "d", key: str | None = None,
         at_s: float | None = None, name: str = "wave") -> Made:  # fmt: skip
    """Ask for a batch: by key, by source time, or by neither."""
    time = None if at_s is None else plus(world.clock.now, at_s)
    return world.store.create_batch(
        NewBatch(
            name,
            [(member, "{}") for member in members],
            t0=time or world.clock.now,
            kind="event" if key else "source" if time else "manual",
            source_time=time,
            idempotency_key=key,
            body_digest=digest,
        )
    )


class BatchSuite(OnStage):
    """Batches come into being."""

    features: ClassVar[frozenset[Feature]] = frozenset()

    def test_a_batch_is_made_whole(self, play: Play) -> None:
        """Batch, members and phases with their due times, in one transaction."""
        world = play(PHASES)
        found = world.batch("wave", ["x", "y"], t0_in_s=5 * 86_400.0, kind="source")
        assert (found.is_new, found.left_out, found.conflict) == (True, [], False)
        assert world.rows(MEMBERS, found.batch_id) == [("x", 1, "active"), ("y", 1, "active")]
        assert world.rows("SELECT phase_name, status, due_at FROM phase_executions ORDER BY id") == [
            ("early", "pending", plus(world.clock.now, 3 * 86_400.0)),
            ("late", "pending", plus(world.clock.now, 5 * 86_400.0)),
        ]
        assert world.rows("SELECT status, members_active, open_phases FROM batches") == [("active", 2, 2)]

    def test_the_same_time_is_the_same_batch(self, play: Play) -> None:
        """A source is asked every few minutes; the answer makes a batch once."""
        world = play(ONE)
        first = made(world, at_s=60)
        again = made(world, ["x", "z"], at_s=60)
        assert (again.batch_id, again.is_new) == (first.batch_id, False)
        assert made(world, ["q"], at_s=61).is_new
        assert world.rows(MEMBERS, first.batch_id) == [("x", 1, "active"), ("y", 1, "active")]

    def test_the_identity_survives_a_new_version(self, play: Play) -> None:
        """It is the runbook's name, not its row."""
        world = play(ONE)
        first = made(world, at_s=60)
        world.publish(ONE)
        assert made(world, at_s=60).batch_id == first.batch_id

    def test_a_batch_without_time_or_key_is_always_a_new_one(self, play: Play) -> None:
        """Two people may hand in two files."""
        world = play(ONE)
        assert made(world, ["x"]).batch_id != made(world, ["y"]).batch_id

    def test_the_same_key_is_the_same_batch(self, play: Play) -> None:
        """A caller that heard no answer asks again."""
        world = play(ONE)
        first = made(world, key="k")
        before = world.dump()
        again = made(world, key="k")
        assert (again.batch_id, again.is_new, again.conflict) == (first.batch_id, False, False)
        assert world.dump() == before

    def test_the_same_key_with_another_body_is_a_conflict_that_names_the_batch(self, play: Play) -> None:
        """Nobody's second request is swallowed."""
        world = play(ONE)
        first = made(world, key="k")
        before = world.dump()
        again = made(world, ["other"], key="k", digest="e")
        assert (again.batch_id, again.is_new, again.conflict) == (first.batch_id, False, True)
        assert world.dump() == before

    def test_a_key_belongs_to_its_runbook(self, play: Play) -> None:
        """Two runbooks may count their requests alike."""
        world = play(ONE, ONE.replace("wave", "other"))
        assert made(world, key="k").is_new
        assert made(world, key="k", name="other").is_new

    def test_keys_outlive_their_batches(self, play: Play) -> None:
        """A request that comes again after a year is still the same request."""
        world = play(ONE)
        first = made(world, key="k")
        world.run()
        for table in ("batches", "batch_members", "phase_executions", "lanes", "executions"):
            world.change(f"DELETE FROM {table}")
        again = made(world, key="k")
        assert (again.batch_id, again.is_new) == (first.batch_id, False)
        assert world.numbers("SELECT count(*) FROM batches") == [0]

    def test_of_a_key_that_is_named_twice_the_first_counts(self, play: Play) -> None:
        """The others keep their order."""
        world = play(ONE)
        wanted = NewBatch("wave", [("b", '{"n": 1}'), ("a", "{}"), ("b", '{"n": 2}'), ("c", "{}")], t0=None)
        found = world.store.create_batch(wanted)
        rows = world.rows("SELECT member_key, data_json FROM batch_members ORDER BY id")
        assert rows == [("b", '{"n": 1}'), ("a", "{}"), ("c", "{}")]
        assert found.left_out == []
        assert world.numbers("SELECT members_active FROM batches") == [3]

    def test_an_unknown_runbook_is_refused(self, play: Play) -> None:
        """With a code, and nothing is written."""
        world = play(ONE)
        before = world.dump()
        with pytest.raises(TminusError) as caught:
            made(world, name="Wave")
        assert caught.value.code == "E521"
        assert world.dump() == before

    def test_a_t0_long_past_begins_held(self, play: Play) -> None:
        """Nobody starts last year's wave by uploading its file."""
        world = play(ONE)
        world.batch("wave", ["x"], t0_in_s=-8 * 86_400.0)
        world.settle()
        assert world.rows("SELECT kind, scope, is_open FROM holds") == [("old_t0", "batch", 1)]
        assert world.out() == []
        world.batch("wave", ["y"], t0_in_s=-6 * 86_400.0)
        world.settle()
        assert len(world.out()) == 1

    def test_processes_that_make_one_batch_at_once_make_it_once(self, play: Play, stage: StoreStage) -> None:
        """Whoever comes second finds it."""
        if Feature.BESIDE not in self.features:
            pytest.skip("the adapter does not declare `beside`")
        world = play(ONE)
        stores = [world.store, stage.beside(world.store), stage.beside(world.store)]
        wanted = NewBatch("wave", [("x", "{}")], t0=world.clock.now, kind="source", source_time=world.clock.now)

        def ask(store: Store) -> Made:
            return store.create_batch(wanted)

        with ThreadPoolExecutor(len(stores)) as pool:
            found = list(pool.map(ask, stores * 5))
        assert sum(one.is_new for one in found) == 1
        assert len({one.batch_id for one in found}) == 1


class MemberSuite(OnStage):
    """Members come, return and move."""

    def test_a_key_that_lives_elsewhere_is_left_out(self, play: Play) -> None:
        """One member is worked on in one place; the answer says who was left out."""
        world = play(ONE)
        made(world, ["x", "y"], at_s=60)
        found = made(world, ["y", "z", "x"], at_s=120)
        assert found.left_out == ["x", "y"]
        assert world.rows(MEMBERS, found.batch_id) == [("z", 1, "active")]
        assert world.store.join(found.batch_id, [("x", "{}")]) == []

    def test_a_failed_member_keeps_its_key(self, play: Play) -> None:
        """It may be tried again where it is."""
        world = play(ONE)
        first = made(world, ["x", "y"])
        world.settle()
        world.store.round([world.fail(world.take(1)[0])])
        assert made(world, ["x"]).left_out == ["x"]
        assert world.store.join(first.batch_id, [("x", "{}")]) == []

    def test_a_key_is_free_when_its_batch_has_ended(self, play: Play) -> None:
        """Another wave may take it."""
        world = play(ONE)
        made(world, ["x"])
        world.run()
        assert made(world, ["x"]).left_out == []

    def test_a_key_is_taken_in_its_own_runbook_only(self, play: Play) -> None:
        """A mailbox and its owner may be moved by two runbooks."""
        world = play(ONE, ONE.replace("wave", "other"))
        made(world, ["x"])
        assert made(world, ["x"], name="other").left_out == []

    def test_a_joiner_is_added_once(self, play: Play) -> None:
        """Also when it is named twice in one answer."""
        world = play(ONE)
        first = made(world, ["x"])
        joined = world.store.join(first.batch_id, [("j", '{"a": 1}'), ("x", "{}"), ("j", '{"a": 2}')])
        assert world.rows(MEMBERS, first.batch_id) == [("x", 1, "active"), ("j", 1, "active")]
        assert world.rows("SELECT data_json FROM batch_members WHERE id = ?", joined[0]) == [('{"a": 1}',)]
        assert world.store.join(first.batch_id, [("j", "{}")]) == []
        assert world.numbers("SELECT members_active FROM batches") == [2]

    def test_who_returns_is_a_new_generation(self, play: Play) -> None:
        """With a row of its own; the old one stays as it ended."""
        world = play(ONE)
        first = made(world, ["x", "y"])
        for generation in (2, 3):
            world.store.round([ev.Leaving(world.member_id("x"))])
            world.settle()
            assert len(world.store.join(first.batch_id, [("x", "{}")])) == 1
            assert world.rows(MEMBERS, first.batch_id)[-1] == ("x", generation, "active")
        world.settle()
        removed = "SELECT count(*) FROM batch_members WHERE member_key = 'x' AND status = 'removed'"
        assert world.numbers(removed) == [2]
        assert world.numbers("SELECT members_active FROM batches") == [2]

    def test_membership_of_an_ended_batch_is_frozen(self, play: Play) -> None:
        """Nobody joins what is over, or what is not there."""
        world = play(ONE)
        first = made(world, ["x"])
        world.run()
        before = world.dump()
        assert world.store.join(first.batch_id, [("j", "{}")]) == []
        assert world.store.join(99, [("j", "{}")]) == []
        assert world.dump() == before

    def test_a_member_that_moves_takes_along_what_it_has(self, play: Play) -> None:
        """Its outputs and its passed phases; the old row says where it went, and nothing is cleaned up."""
        clean = [{"name": "c", "worker_id": "w", "function": "F-clean"}]
        one = phase("early", step("a", "output_params: {x: x}"), offset="T-2d")
        two = phase("late", step("b", 'params: {x: "{{x}}"}'))
        world = play(book(phases=[one, two], on_member_removed=clean))
        home = world.batch("wave", ["x", "y"], t0_in_s=3600).batch_id
        world.settle()
        world.store.round([world.say(claim, {"x": 7}) for claim in world.take()])
        away = world.batch("wave", ["z"], t0_in_s=7200).batch_id
        heir = world.store.move(world.member_id("x"), away)
        world.settle()
        assert world.rows(MEMBERS, home) == [("x", 1, "removed"), ("y", 1, "active")]
        assert world.numbers("SELECT moved_to FROM batch_members WHERE batch_id = ? AND member_key = 'x'", home) == [
            heir
        ]
        assert world.rows(MEMBERS, away) == [("z", 1, "active"), ("x", 1, "active")]
        found = world.rows("SELECT sequence, status, is_inherited FROM lanes WHERE member_id = ?", heir)
        assert found == [("early", "succeeded", 1)]
        world.clock.advance(7200)
        world.settle()
        bodies = [claim.body for claim in world.take() if claim.function == "F-b"]
        assert len([body for body in bodies if '"x":7' in body]) == 2
        assert "F-clean" not in world.called()
        assert world.rows("SELECT members_active, members_removed FROM batches ORDER BY id") == [(1, 1), (2, 0)]

    @pytest.mark.parametrize("why", ["home", "nowhere", "ended", "nobody", "moved", "there"])
    def test_a_move_that_cannot_be_is_refused_and_changes_nothing(self, play: Play, why: str) -> None:
        """No target, no member, a member that has gone already, a key that is there."""
        world = play(ONE)
        done = made(world, ["old"]).batch_id
        world.run()
        home = made(world, ["x"], at_s=60).batch_id
        away = made(world, ["z"], at_s=120).batch_id
        member = world.member_id("x")
        if why == "moved":
            world.store.move(member, away)
        if why == "there":
            world.change("UPDATE batch_members SET member_key = 'z' WHERE id = ?", member)
        before = world.dump()
        target = {"home": home, "nowhere": 99, "ended": done}.get(why, away)
        assert world.store.move(99 if why == "nobody" else member, target) is None
        assert world.dump() == before


class PublishSuite(OnStage):
    """Versions of a runbook."""

    features: ClassVar[frozenset[Feature]] = frozenset()

    def test_versions_are_numbered_by_name(self, play: Play) -> None:
        """From one, without a gap, each name by itself; the newest is active."""
        world = play(ONE, ONE, ONE.replace("wave", "other"), ONE)
        assert world.rows("SELECT name, version, is_active FROM runbooks ORDER BY name, version") == [
            *(("other", 1, 1), ("wave", 1, 0), ("wave", 2, 0), ("wave", 3, 1))
        ]

    def test_processes_that_publish_at_once_get_numbers_of_their_own(self, play: Play, stage: StoreStage) -> None:
        """No version is lost, none is given twice, one is active."""
        if Feature.BESIDE not in self.features:
            pytest.skip("the adapter does not declare `beside`")
        world = play(ONE)
        stores = [world.store, stage.beside(world.store), stage.beside(world.store)]

        def publish(store: Store) -> int:
            return store.publish(load(ONE), ONE)

        with ThreadPoolExecutor(len(stores)) as pool:
            versions = list(pool.map(publish, stores * 5))
        assert sorted(versions) == list(range(2, 17))
        assert world.numbers("SELECT version FROM runbooks WHERE is_active") == [16]

    def test_every_version_can_be_read_for_ever(self, play: Play) -> None:
        """Its text is kept as it was published; one that never was has a code."""
        world = play(ONE, book(step("z")))
        with world.store.database.read() as tx:
            assert [runbooks.read(tx, "wave", n).phases[0].steps[0].name for n in (1, 2)] == ["a", "z"]
            with pytest.raises(TminusError) as caught:
                runbooks.read(tx, "wave", 3)
        assert caught.value.code == "E520"
        assert world.rows("SELECT yaml_content FROM runbooks WHERE version = 1") == [(ONE,)]

    def test_limits_take_effect_with_their_version(self, play: Play) -> None:
        """The newest word about a scope counts."""
        world = play(book(step("a"), limits={"w": {"in_flight": 5}}), book(step("a"), limits={"w": {"per_minute": 7}}))
        assert world.rows("SELECT scope, in_flight, per_minute FROM limits") == [("w", None, 7)]

    def test_the_name_of_the_view_is_plain(self, play: Play) -> None:
        """Whatever a runbook is called, people can type it."""
        world = play(ONE.replace("name: wave", "name: Contoso-Mailbox.migration"))
        assert world.rows("SELECT data_table_name FROM runbooks") == [("runbook_contoso_mailbox_migration_v1",)]

    def test_live_batches_move_at_the_next_tick(self, play: Play) -> None:
        """One transaction each; ended ones and those of events stay."""
        world = play(PHASES)
        kinds: tuple[BatchKind, ...] = ("source", "manual", "event")
        for kind in kinds:
            world.batch("wave", keys(1, kind), t0_in_s=5 * 86_400.0, kind=kind)
        world.publish(PHASES)
        assert world.store.move_versions() == 2
        assert world.store.move_versions() == 0
        assert world.numbers("SELECT runbook_version FROM batches ORDER BY id") == [2, 2, 1]
