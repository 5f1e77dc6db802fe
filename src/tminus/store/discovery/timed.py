"""Following rows that name a time: refreshed, taken in, moved, asked about, or left out with a reason.

One page of rows is one transaction, and so is what they cause; a row's mark goes in the same commit. Rows that must
wait (their member lives elsewhere, their batch is closing, a human is asked) keep their marks and are looked at again
with the next answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.store import cohort, facts
from tminus.store.applying import Applied
from tminus.store.discovery import moves, pending, places
from tminus.store.discovery.desk import MoveWanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.store.discovery.desk import Desk
    from tminus.store.discovery.pending import Living, Past, PendingRow
    from tminus.store.discovery.places import Place

# Joiners and movers load their lanes; more than this many in one transaction would make others wait.
DEAR_MAX: Final = 100


def follow_times(desk: Desk) -> Iterator[None]:
    """Let batches follow the pending rows of every time."""
    after = ""
    while True:
        with desk.database.read() as tx:
            time = pending.next_time(tx, desk.name, after)
        if time is None:
            return
        yield from _follow(desk, time)
        after = time


def _follow(desk: Desk, time: Instant) -> Iterator[None]:
    with desk.write() as tx:
        made = places.find(tx, desk.name, time) is None and places.open_with_new(tx, desk, time, time)
    if made:
        yield
    after, count = 0, pending.PAGE
    while count:
        with desk.write() as tx:
            rows = pending.page(tx, desk.name, time, after)
            count = len(rows)
            if rows:
                after = _Page(desk, tx, time, places.find(tx, desk.name, time)).follow(rows)
        if count:
            yield


@dataclass(slots=True)
class _Page:
    """One page of rows of one time."""

    desk: Desk
    tx: Tx
    time: Instant
    place: Place | None
    refreshed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    settled: list[int] = field(default_factory=list[int])
    joining: list[PendingRow] = field(default_factory=list["PendingRow"])
    moving: list[tuple[Living, PendingRow]] = field(default_factory=list["tuple[Living, PendingRow]"])
    homeless: list[str] = field(default_factory=list[str])
    answers: dict[int, dict[int, tuple[str, str]]] = field(default_factory=dict[int, "dict[int, tuple[str, str]]"])
    one_way: frozenset[int] = frozenset()

    def follow(self, rows: Sequence[PendingRow]) -> int:
        """Follow as many rows as one transaction holds; return the id of the last."""
        desk, tx = self.desk, self.tx
        homes = pending.living(tx, desk.name, [row.key for row in rows])
        pasts = pending.past(tx, desk.name, [row.key for row in rows if row.key not in homes])
        self.one_way = facts.one_way_members(
            tx, [home.member_id for home in homes.values() if home.source_time != self.time]
        )
        last = 0
        for row in rows:
            if len(self.joining) + 2 * len(self.moving) >= DEAR_MAX:
                break
            last = row.id
            home = homes.get(row.key)
            if home is None:
                self._newcomer(row, pasts.get(row.key, []))
            else:
                self._member(row, home)
        self._write()
        return last

    def _newcomer(self, row: PendingRow, found: list[Past]) -> None:
        """Follow a row whose key lives nowhere."""
        mine = [one for one in found if self.place is not None and one.batch_id == self.place.id]
        newest = mine[-1] if mine else None
        is_back = newest is not None and newest.status == "removed" and row.since > newest.ended_at
        if self.place is not None and self.place.ended:
            if newest is None or is_back:
                self.homeless.append(row.key)
            elif newest.status == "failed":
                self.refreshed.append((newest.member_id, row.id))
            self.settled.append(row.id)
        elif self.place is not None and not self.place.takes:
            return
        elif any(one.status == "done" for one in found):
            self._leave_out(row, "E363", "it has ended done in an earlier batch; running it again is an explicit act")
        elif newest is not None and not is_back:
            self.settled.append(row.id)
        else:
            self.joining.append(row)

    def _member(self, row: PendingRow, home: Living) -> None:
        """Follow a row whose key lives in an open batch."""
        if home.kind != "source":
            self._leave_out(row, "E362", f"it lives in the {home.kind} batch {home.batch_id}")
            return
        self.refreshed.append((home.member_id, row.id))
        if home.source_time == self.time:
            self.settled.append(row.id)
        elif home.is_pinned or home.batch_status == "closing" or (home.batch_id, self.time) in self.desk.kept:
            # Its mark stays, so that the row is followed when the pin is released or the batch is open again.
            return
        elif self.place is not None and self.place.ended:
            self.homeless.append(row.key)
            self.settled.append(row.id)
        elif self.place is None or self.place.takes:
            self._move(row, home)

    def _move(self, row: PendingRow, home: Living) -> None:
        reason = ""
        if home.t0 is not None and home.t0 <= self.desk.now():
            reason = "T-0 has passed"
        elif home.member_id in self.one_way:
            reason = "a one_way step has been sent"
        said: tuple[str, str] | None = ("accept", self.time)
        if reason:
            if home.batch_id not in self.answers:
                self.answers[home.batch_id] = moves.said(self.tx, home.batch_id)
            said = self.answers[home.batch_id].get(home.member_id)
        if said == ("accept", self.time):
            self.moving.append((home, row))
        elif said != ("refuse", self.time):
            wanted = self.desk.asks.setdefault(home.batch_id, {})
            wanted[home.member_id] = MoveWanted(row.key, self.time, reason)

    def _leave_out(self, row: PendingRow, code: str, message: str) -> None:
        self.desk.left_out.append((row.key, code, message))

    def _write(self) -> None:
        desk, tx = self.desk, self.tx
        if self.joining:
            data = pending.data_of(tx, [row.id for row in self.joining])
            pairs = [(row.key, data[row.id]) for row in self.joining]
            self.place = places.put(tx, desk, self.place, self.time, pairs)
            self.settled += [row.id for row in self.joining]
        for home, row in self.moving:
            if self.place is None:
                self.place = places.make(tx, desk, self.time, ())
            heir = cohort.move(tx, home.member_id, self.place.id, desk.context_of(tx), Applied())
            if heir is None:
                self._leave_out(row, "E362", f"it cannot go from batch {home.batch_id} to batch {self.place.id}")
            else:
                self.refreshed.append((heir, row.id))
                self.settled.append(row.id)
        pending.refresh(tx, self.refreshed)
        pending.settle(tx, self.settled)
        if self.homeless and self.place is not None:
            moves.tell(tx, desk, self.place.id, self.homeless)
