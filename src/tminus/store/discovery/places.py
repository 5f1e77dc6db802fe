"""Places: the batch that a time of the source stands for, and how members come into it.

A batch is known by its runbook's name and the source's time. Keys that the runbook has never seen go in by one
statement, however many there are; those with a past go in one by one, because their past decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.store import cohort
from tminus.store.applying import Applied
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.store.discovery.desk import Desk

_AT: Final = "SELECT id, status, is_cancelling FROM batches WHERE runbook_name = ? AND source_time = ?"
_NEVER_SEEN: Final = """FROM source_rows s WHERE s.runbook_name = ?1 AND s.is_pending AND s.missed_count = 0
  AND s.batch_time IS ?2 AND NOT EXISTS (SELECT 1 FROM batch_members m JOIN batches b ON b.id = m.batch_id
    WHERE m.member_key = s.member_key AND b.runbook_name = s.runbook_name)"""
ANY_NEW: Final = f"SELECT 1 {_NEVER_SEEN} LIMIT 1"
_ADD_NEW: Final = f"""INSERT INTO batch_members (batch_id, member_key, generation, status, data_json, added_at)
  SELECT ?3, s.member_key, 1, 'active', s.data_json, ?4 {_NEVER_SEEN} ORDER BY s.id"""
_COUNT: Final = "UPDATE batches SET members_active = members_active + ? WHERE id = ?"


@dataclass(slots=True)
class Place:
    """The batch at a time of the source."""

    id: int
    status: str
    is_cancelling: bool

    @property
    def takes(self) -> bool:
        """Tell whether members may still come in."""
        return self.status in {"detected", "init_dispatched", "active"} and not self.is_cancelling

    @property
    def ended(self) -> bool:
        """Tell whether it will take nobody any more; a closing one may still be reopened before it has ended."""
        return not self.takes and self.status != "closing"


def find(tx: Tx, name: str, time: Instant) -> Place | None:
    """Return the batch of a time."""
    row = tx.one(_AT, (name, time))
    return None if row is None else Place(number(row[0]), text(row[1]), bool(row[2]))


def open_with_new(tx: Tx, desk: Desk, time: Instant, rows_time: Instant | None) -> bool:
    """Make the batch of a time with all pending rows whose keys were never seen; tell whether there were any."""
    if tx.one(ANY_NEW, (desk.name, rows_time)) is None:
        return False
    place = make(tx, desk, time, ())
    tx.run(_COUNT, (tx.run(_ADD_NEW, (desk.name, rows_time, place.id, desk.now())), place.id))
    return True


def make(tx: Tx, desk: Desk, time: Instant, members: Sequence[tuple[str, str]]) -> Place:
    """Make the batch of a time, with these members."""
    wanted = cohort.NewBatch(desk.name, members, t0=time, source_time=time)
    made = cohort.create(tx, wanted, desk.context_of(tx), Applied())
    return Place(made.batch_id, "active", is_cancelling=False)


def put(tx: Tx, desk: Desk, place: Place | None, time: Instant, members: Sequence[tuple[str, str]]) -> Place:
    """Bring members into the batch of a time; joiners catch up with what has opened."""
    if place is None:
        return make(tx, desk, time, members)
    cohort.join(tx, place.id, members, desk.context_of(tx), Applied())
    return place
