"""Plans are kept as they were made: read back whole, one content to a name, free again when they expire."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.db.connection import Database, open_sqlite
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, plus
from tminus.runbook.plan import PlannedBatch, PlannedFile, SavedPlan, Surroundings, from_json, to_json
from tminus.store import plans
from tminus.store.store import Store

NOW = Instant("2026-11-19T10:00:00.000Z")
T0 = Instant("2026-12-04T21:00:00.000Z")
DAY = 86_400.0
PLAN = SavedPlan(
    runbook_name="wave",
    runbook_text="name: wave\n",
    batches=(PlannedBatch(t0=T0, members=(("anna", '{"upn":"anna"}'),), places=("members.csv:2",)),),
    made_at=NOW,
    data={"ticket": "CHG-1"},
)


@pytest.fixture(name="store")
def opened() -> Store:
    return Store.open(Database(open_sqlite(":memory:")))


def kept(store: Store, plan: SavedPlan = PLAN, name: str | None = None, now: Instant = NOW) -> str:
    with store.database.write() as tx:
        return plans.save(tx, plan, name=name, step_runs=7, now=now, actor="anna")


def read(store: Store, name: str) -> plans.KeptPlan:
    with store.database.read() as tx:
        return plans.read(tx, name)


def refused(store: Store, name: str, plan: SavedPlan = PLAN, now: Instant = NOW) -> str:
    with pytest.raises(TminusError) as caught:
        kept(store, plan, name, now)
    return caught.value.code


def test_a_plan_comes_back_as_it_was(store: Store) -> None:
    whole = replace(
        PLAN,
        files=(PlannedFile(path="/x/members.csv", digest="ab"),),
        columns=("upn",),
        notes=("a note",),
        around=Surroundings(
            active_version=3,
            active_digest="ef",
            moving=2,
            pauses=("paused",),
            limits={"graph": (5, None)},
            offered=("f",),
            offered_by="functions.py",
            offered_whole=False,
        ),
    )
    found = read(store, kept(store, whole))
    assert found.plan == whole
    assert (found.digest, found.made_by, found.valid_until) == (whole.digest, "anna", plus(NOW, 7 * DAY))
    assert (found.applied_at, found.applied_batches) == (None, ())


@given(
    st.lists(st.tuples(st.text(), st.text()), max_size=4),
    st.dictionaries(st.text(), st.text(), max_size=3),
    st.sampled_from([None, T0]),
)
def test_every_plan_survives_being_written_down(
    members: list[tuple[str, str]], data: dict[str, object], t0: Instant | None
) -> None:
    plan = replace(PLAN, data=data, batches=(PlannedBatch(t0=t0, source_time=t0, members=tuple(members)),))
    again = from_json(to_json(plan))
    assert again == plan
    assert again.digest == plan.digest


def test_the_digest_stands_for_runbook_members_times_and_data_and_for_nothing_else() -> None:
    batch = PLAN.batches[0]
    others = [
        replace(PLAN, runbook_text="name: wave \n"),
        replace(PLAN, data={"ticket": "CHG-2"}),
        replace(PLAN, batches=(replace(batch, t0=None),)),
        replace(PLAN, batches=(replace(batch, members=(("anna", '{"upn":"Anna"}'),)),)),
        replace(PLAN, batches=(replace(batch, members=()),)),
        replace(PLAN, batches=()),
    ]
    assert len({plan.digest for plan in [PLAN, *others]}) == 1 + len(others)
    same = replace(PLAN, made_at=plus(NOW, 60), notes=("n",), batches=(replace(batch, places=("elsewhere:1",)),))
    assert same.digest == PLAN.digest


def test_a_plan_names_itself_by_its_digest_and_keeps_one_row(store: Store) -> None:
    name = kept(store)
    assert name == f"plan-{PLAN.digest[:4]}"
    later = replace(PLAN, made_at=plus(NOW, DAY))
    assert kept(store, later, now=plus(NOW, DAY)) == name
    assert read(store, name).valid_until == plus(NOW, 8 * DAY)
    with store.database.read() as tx:
        assert [(row["name"], row["members"], row["step_runs"]) for row in plans.listed(tx, NOW)] == [(name, 1, 7)]


def test_names_of_their_own_grow_where_the_short_one_is_taken(store: Store) -> None:
    other = replace(PLAN, data={})
    assert kept(store, other, name=f"plan-{PLAN.digest[:4]}") == f"plan-{PLAN.digest[:4]}"
    assert kept(store) == f"plan-{PLAN.digest[:5]}"


def test_a_name_stands_for_one_content(store: Store) -> None:
    kept(store, name="wave-1")
    assert kept(store, name="wave-1") == "wave-1"
    other = replace(PLAN, data={})
    assert refused(store, "wave-1", other) == "E452"
    assert read(store, "wave-1").plan == PLAN
    expired = plus(NOW, 7 * DAY)
    assert kept(store, replace(other, made_at=expired), "wave-1", expired) == "wave-1"
    assert read(store, "wave-1").plan.data == {}


def test_what_was_applied_is_never_written_over(store: Store) -> None:
    name = kept(store)
    number = read(store, name).id
    with store.database.write() as tx:
        plans.mark_applied(tx, number, now=NOW, actor="ben", version=2, batches=[7])
        plans.mark_applied(tx, number, now=plus(NOW, 5), actor="cleo", version=3, batches=[8])
    found = read(store, name)
    assert (found.applied_by, found.applied_version, found.applied_batches) == ("ben", 2, (7,))
    assert refused(store, name) == "E452"
    assert kept(store) == f"plan-{PLAN.digest[:5]}"
    long_after = plus(NOW, 100 * DAY)
    assert refused(store, name, now=long_after) == "E452"
    assert read(store, name).applied_batches == (7,)


def test_a_plan_that_expired_a_month_ago_is_forgotten(store: Store) -> None:
    kept(store, name="old")
    kept(store, replace(PLAN, data={}), name="newer", now=plus(NOW, 37 * DAY))
    assert read(store, "old").name == "old"
    kept(store, replace(PLAN, data={}), name="newest", now=plus(NOW, 37 * DAY + 1))
    with pytest.raises(TminusError) as caught:
        read(store, "old")
    assert caught.value.code == "E451"


def test_an_unknown_name_is_met_with_the_near_one(store: Store) -> None:
    kept(store, name="wave-one")
    with pytest.raises(TminusError) as caught:
        read(store, "wave-onne")
    assert (caught.value.code, caught.value.hint) == ("E451", 'did you mean "wave-one"?')


@pytest.mark.parametrize("name", ["", " ", " a", "a\n", "a\x1b[2J", "n" * 81])
def test_a_name_is_text_that_can_be_seen(store: Store, name: str) -> None:
    assert refused(store, name) == "E455"


def test_a_form_that_is_not_known_is_refused() -> None:
    with pytest.raises(TminusError) as caught:
        from_json('{"form":2,"plan":{}}')
    assert caught.value.code == "E457"
