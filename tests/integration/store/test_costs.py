"""What a look costs does not grow with how much waits: counted in steps of the database's own machine, not in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import Instant
from tminus.store import rooms, sweeps
from tminus.store.store import Store
from tminus.testing.store_suite.stage import Played, book, keys, phase, step

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from tminus.db.connection import Tx

EACH: Final = 20
LATER: Final = Instant("2030-01-01T00:00:00.000Z")


class Stage:
    """One database whose connection can be counted on."""

    def __init__(self) -> None:
        """Open it."""
        self.connection: sqlite3.Connection = open_sqlite()

    def fresh(self, clock: Callable[[], Instant], window: int) -> Store:
        return Store.open(Database(self.connection), clock=clock, window=window)

    def beside(self, store: Store) -> Store:
        raise AssertionError(store)


def steps_of(look: Callable[[Tx], object], *, members: int) -> int:
    """Count the steps of a look at batches whose members are all ready and wait."""
    stage = Stage()
    world = Played(stage=stage, window=1)
    world.publish(book(phases=[phase("one", step("a"), step("b"))]))
    for number in range(3):
        world.batch("wave", keys(members, f"{number}-"), kind="source", t0_in_s=float(number))
    world.clock.advance(20)
    world.settle()
    waiting = world.numbers("SELECT count(*) FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL")
    assert waiting[0] >= 3 * members - 1
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += EACH

    with world.store.database.read() as tx:
        stage.connection.set_progress_handler(count, EACH)
        look(tx)
        stage.connection.set_progress_handler(None, 0)
    return counted


def groups(tx: Tx) -> object:
    return list(rooms.groups(tx, "w"))


def workers(tx: Tx) -> object:
    return list(rooms.waiting_workers(tx))


def queue(tx: Tx) -> object:
    return rooms.queue(tx, "w", LATER)


@pytest.mark.parametrize("look", [groups, workers, queue, sweeps.next_due, sweeps.unfinished])
def test_a_look_costs_as_much_however_many_wait(look: Callable[[Tx], object]) -> None:
    few, many = steps_of(look, members=4), steps_of(look, members=400)
    assert many <= few + 10 * EACH
