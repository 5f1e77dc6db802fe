"""Cursors that ticks move on: lanes are woken and members are ended a page at a time, each page one transaction.

A page that cannot be decided as a whole is taken member by member; the cursor goes past one that fails alone, so that
nobody stops those behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.db.connection import DatabaseError
from tminus.store import collection, sweeps
from tminus.store.applying import ONE_EVENT_FAILS, Applied, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.db.connection import Database, Tx
    from tminus.progression.events import Event
    from tminus.store.applying import Context

    Take = Callable[[Tx, int], tuple[list[Event], list[Event]]]


def go_on(database: Database, context: Callable[[Tx], Context], take: Take) -> int:
    """Move cursors on by a page; return how many events that were."""
    try:
        return _page(database, context, take, sweeps.PAGE)
    except DatabaseError:
        raise
    except ONE_EVENT_FAILS:
        return sum(_one(database, context, take) for _ in range(sweeps.PAGE))


def _one(database: Database, context: Callable[[Tx], Context], take: Take) -> int:
    try:
        return _page(database, context, take, 1)
    except DatabaseError:
        raise
    except ONE_EVENT_FAILS:
        with database.write() as tx:
            return sum(len(events) for events in take(tx, 1))


def _page(database: Database, context: Callable[[Tx], Context], take: Take, page: int) -> int:
    with collection.paused(), database.write() as tx:
        first, then = take(tx, page)
        apply(tx, first, context(tx), Applied())
        apply(tx, then, context(tx), Applied())
    return len(first) + len(then)
