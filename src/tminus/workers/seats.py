"""The places of a pool and who sits on them: starts, replacements, back-off.

A child that dies is replaced after a pause that doubles with each death and is forgotten when one has lived long
enough. A child that was given up is replaced at once, but keeps running beside its successor until its other jobs
have ended, so that the number of those is bounded. Jobs are not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.workers.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BACK_OFF_S = 0.1
BACK_OFF_MAX_S = 30.0
BACK_OFF_AT_WORK_MAX_S = 1.0
"""A job ends the child that runs it, and may do so at each of its deliveries: others must not stand still for it."""
STEADY_S = 30.0
"""A child that has lived so long is no part of a series of deaths."""
LEAVING_PER_SEAT = 3


class Seat:
    """One place."""

    __slots__ = ("child", "deaths", "restart_s")

    def __init__(self) -> None:
        """Begin empty, to be filled at once."""
        self.child: Child | None = None
        self.deaths = 0
        self.restart_s = 0.0


class Seats:
    """All places of a pool, and the children that are leaving."""

    def __init__(self, count: int, concurrency: int, start_timeout_s: float, welcome: Callable[[Child], None]) -> None:
        """Take what each child is started with; `welcome` hears of each that was started."""
        self._seats = [Seat() for _ in range(count)]
        self._leaving: list[Child] = []
        self._concurrency = concurrency
        self._start_timeout_s = start_timeout_s
        self._welcome = welcome
        self.count = count
        self.files: Sequence[str] = ()
        self.deaths = 0
        self.last_death: str | None = None

    def seated(self) -> Iterator[Child]:
        """Yield the children that hold a place."""
        for seat in self._seats:
            if seat.child is not None:
                yield seat.child

    def everybody(self) -> list[Child]:
        """Return those that hold a place and those that are leaving."""
        return [*self.seated(), *self._leaving]

    def ready(self) -> list[Child]:
        """Return those that take jobs."""
        return [child for child in self.seated() if child.state == "ready"]

    def fill(self, now_s: float) -> None:
        """Start a child on each empty place whose time has come."""
        for seat in self._seats:
            if (
                seat.child is None
                and seat.restart_s <= now_s
                and len(self._leaving) < LEAVING_PER_SEAT * len(self._seats)
            ):
                try:
                    seat.child = Child(self.files, self._concurrency, now_s)
                except OSError as problem:
                    self._count(seat, now_s, f"the process could not be started: {problem.strerror}", BACK_OFF_MAX_S)
                else:
                    self._welcome(seat.child)

    def overdue(self, now_s: float) -> list[Child]:
        """Return those that have not greeted in time."""
        return [c for c in self.seated() if c.state == "starting" and now_s - c.born_s > self._start_timeout_s]

    def due_in_s(self, now_s: float) -> float:
        """Return how long nothing here needs attention."""
        times = [seat.restart_s - now_s for seat in self._seats if seat.child is None]
        times += [c.born_s + self._start_timeout_s - now_s for c in self.seated() if c.state == "starting"]
        return max(0.0, min(times, default=3600.0))

    def restart_in_s(self, now_s: float) -> float | None:
        """Return when the next replacement starts, None when every place is taken."""
        times = [max(0.0, seat.restart_s - now_s) for seat in self._seats if seat.child is None]
        return min(times, default=None)

    def let_go(self, child: Child) -> None:
        """Free the place of a child that keeps running for its other jobs."""
        child.state = "draining"
        for seat in self._seats:
            if seat.child is child:
                seat.child = None
                self._leaving.append(child)

    def is_leaving(self, child: Child) -> bool:
        """Say whether a child has given up its place."""
        return child in self._leaving

    def gone(self, child: Child) -> None:
        """Forget a child that was ended on purpose."""
        self._leaving = [other for other in self._leaving if other is not child]
        for seat in self._seats:
            if seat.child is child:
                seat.child = None

    def died(self, child: Child, now_s: float, reason: str) -> None:
        """Forget a child that ended by itself, and hold its replacement back."""
        words = child.last_words()
        reason = f"{reason}\n{words}" if words else reason
        seat = next((seat for seat in self._seats if seat.child is child), None)
        if seat is None:
            self.deaths += 1
            self.last_death = reason
        else:
            if now_s - child.born_s >= STEADY_S:
                seat.deaths = 0
            self._count(seat, now_s, reason, BACK_OFF_AT_WORK_MAX_S if child.jobs else BACK_OFF_MAX_S)
        self.gone(child)

    def _count(self, seat: Seat, now_s: float, reason: str, most_s: float) -> None:
        self.deaths += 1
        self.last_death = reason
        seat.restart_s = now_s + min(most_s, BACK_OFF_S * 2.0 ** min(seat.deaths, 20))
        seat.deaths += 1
