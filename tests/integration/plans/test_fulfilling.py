"""What makes a plan stale is looked at once more under the lock that writes: somebody may have been faster."""

from __future__ import annotations

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, plus
from tminus.runbook import load
from tminus.runbook.plan import PlannedBatch, SavedPlan
from tminus.store import fulfilling, plans
from tminus.store.cohort import NewBatch
from tminus.store.fulfilling import Fulfilled, Order
from tminus.store.store import Store
from tminus.testing.clock import ManualClock

NOW = Instant("2031-11-01T10:00:00.000Z")
T0 = Instant("2031-12-04T21:00:00.000Z")
TEXT = """\
name: wave
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: move, worker_id: w, function: Move}
"""
BOOK = load(TEXT)


@pytest.fixture(name="clock")
def standing() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture(name="store")
def with_plan(clock: ManualClock) -> Store:
    store = Store.open(Database(open_sqlite(":memory:")), clock=clock)
    plan = SavedPlan(
        runbook_name="wave",
        runbook_text=TEXT,
        batches=(PlannedBatch(t0=T0, members=(("anna", "{}"), ("ben", "{}"))),),
        made_at=NOW,
    )
    with store.database.write() as tx:
        plans.save(tx, plan, name="one", step_runs=2, now=NOW, actor="anna")
    return store


def fulfil(store: Store, *, at_once: bool = False) -> Fulfilled:
    return fulfilling.fulfil(store, "one", BOOK, Order(actor="anna", reason="go", at_once=at_once))


def made(store: Store) -> tuple[int, int]:
    with store.database.read() as tx:
        return len(tx.all("SELECT 1 FROM runbooks")), len(tx.all("SELECT 1 FROM batches"))


def test_whoever_comes_second_finds_it_done(store: Store) -> None:
    first, second = fulfil(store), fulfil(store)
    assert (first.already, first.published, first.version) == (False, True, 1)
    assert (second.already, [one.id for one in second.batches]) == (True, [one.id for one in first.batches])
    assert made(store) == (1, 1)


def test_what_has_changed_meanwhile_is_met_under_the_lock(store: Store) -> None:
    store.publish(BOOK, TEXT)
    store.create_batch(NewBatch("wave", [("ben", "{}")], t0=T0, kind="manual"))
    with pytest.raises(TminusError) as caught:
        fulfil(store)
    assert caught.value.code == "E450"
    assert "another version of wave is published" in caught.value.message
    assert "ben is in batch 1 by now" in caught.value.message
    assert made(store) == (1, 1)


def test_time_passes_between_the_question_and_the_answer(store: Store, clock: ManualClock) -> None:
    clock.set(plus(NOW, 8 * 86_400.0))
    with pytest.raises(TminusError) as caught:
        fulfil(store)
    assert caught.value.code == "E450"
    assert made(store) == (0, 0)


def test_t0_now_is_the_moment_of_applying(store: Store) -> None:
    fulfil(store, at_once=True)
    with store.database.read() as tx:
        row = tx.one("SELECT batch_start_time FROM batches")
        kept = plans.read(tx, "one")
    assert row == (NOW,)
    assert (kept.applied_version, len(kept.applied_batches)) == (1, 1)
