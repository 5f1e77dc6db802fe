"""Following rows without a time: whoever is new goes into the batch of this moment.

T-0 is now, rounded down to five minutes, so that what arrives together runs together. A slot whose batch has closed is
passed over. A member that ended is taken again only after it was away: a queue that still lists it means that the
source has not noticed yet, not that the work is to be done once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import from_datetime, plus, to_datetime
from tminus.store.discovery import pending, places
from tminus.store.discovery.timed import DEAR_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.store.discovery.desk import Desk
    from tminus.store.discovery.pending import PendingRow
    from tminus.store.discovery.places import Place

SLOT_MINUTES: Final = 5


def slot_of(now: Instant) -> Instant:
    """Return an instant rounded down to five minutes UTC."""
    moment = to_datetime(now)
    return from_datetime(moment.replace(minute=moment.minute - moment.minute % SLOT_MINUTES, second=0, microsecond=0))


def free_slot(tx: Tx, name: str, now: Instant) -> tuple[Instant, Place | None]:
    """Return the first slot whose batch takes members, or has none yet."""
    slot = slot_of(now)
    while (place := places.find(tx, name, slot)) is not None and not place.takes:
        slot = plus(slot, SLOT_MINUTES * 60)
    return slot, place


def follow_slot(desk: Desk) -> Iterator[None]:
    """Let batches follow the pending rows that name no time."""
    with desk.write() as tx:
        slot, place = free_slot(tx, desk.name, desk.now())
        made = place is None and places.open_with_new(tx, desk, slot, None)
    if made:
        yield
    after, count = 0, pending.PAGE
    while count:
        with desk.write() as tx:
            rows = pending.page(tx, desk.name, None, after)
            count = len(rows)
            if rows:
                after = _page(desk, tx, rows)
        if count:
            yield


def _page(desk: Desk, tx: Tx, rows: Sequence[PendingRow]) -> int:
    """Follow as many rows as one transaction holds; return the id of the last."""
    homes = pending.living(tx, desk.name, [row.key for row in rows])
    pasts = pending.past(tx, desk.name, [row.key for row in rows if row.key not in homes])
    slot, place = free_slot(tx, desk.name, desk.now())
    refreshed: list[tuple[int, int]] = []
    settled: list[int] = []
    joining: list[PendingRow] = []
    last = 0
    for row in rows:
        if len(joining) >= DEAR_MAX and place is not None:
            break
        last = row.id
        home = homes.get(row.key)
        newest = None if home is not None or not pasts.get(row.key) else pasts[row.key][-1]
        if home is not None:
            if home.kind != "source":
                desk.left_out.append((row.key, "E362", f"it lives in the {home.kind} batch {home.batch_id}"))
                continue
            refreshed.append((home.member_id, row.id))
        elif newest is None or row.since > newest.ended_at:
            joining.append(row)
        elif newest.status == "failed":
            refreshed.append((newest.member_id, row.id))
        settled.append(row.id)
    if joining:
        data = pending.data_of(tx, [row.id for row in joining])
        places.put(tx, desk, place, slot, [(row.key, data[row.id]) for row in joining])
    pending.refresh(tx, refreshed)
    pending.settle(tx, settled)
    return last
