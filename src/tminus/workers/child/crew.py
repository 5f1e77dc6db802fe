"""Threads for functions that are not async.

Handing every call to a thread of its own costs more than a quick call itself. So one thread goes through the queue
while calls are quick, and others are woken only where it pays: one for each call of a function whose last call was
slow, and, as long as the queue stands still, twice as many at every look of the watch. A function that blocks thus
holds up nobody for more than a few milliseconds, and the quick ones never meet.
"""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from tminus.workers.child.call import performed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.workers.child.load import Offer
    from tminus.workers.child.log import Work
    from tminus.workers.child.outlet import Outlet

SLOW_S = 0.0002
STALE_S = 0.0005
MOVING_CALLS = 8
"""Calls begun between two looks of the watch from which on the queue counts as moving."""


class Crew:
    """A queue and the threads that empty it."""

    def __init__(self, size: int, outlet: Outlet) -> None:
        """Start no thread yet."""
        self._size = size
        self._outlet = outlet
        self._queue: deque[tuple[Work, Offer]] = deque()
        self._tokens: SimpleQueue[None] = SimpleQueue()
        self._lock = Lock()
        self._idle = 0  # Threads that wait, without those for which a token is under way.
        self._threads = 0
        self._begun = 0
        self._begun_at_last_look = 0
        self._begun_s = 0.0
        self._ramp = 1

    @property
    def running(self) -> bool:
        """Say whether any thread is at work."""
        return self._idle < self._threads

    @property
    def oldest_s(self) -> float | None:
        """Return when the oldest job that has not begun arrived."""
        try:
            return self._queue[0][0].arrived_s
        except IndexError:
            return None

    def add(self, entries: Sequence[tuple[Work, Offer]]) -> None:
        """Queue jobs, and wake whom it takes."""
        self._queue.extend(entries)
        slow = sum(1 for _, offer in entries if offer.slow)
        quick = slow < len(entries) and (not self.running or monotonic() - self._begun_s > STALE_S)
        self._ramp = 1
        self._wake(slow + quick)

    def watch(self) -> None:
        """Wake more threads when jobs wait and hardly any has begun since the last look."""
        moved = self._begun - self._begun_at_last_look
        self._begun_at_last_look = self._begun
        if self._queue and moved < MOVING_CALLS:
            self._wake(self._ramp)
            self._ramp *= 2

    def emptied(self) -> list[Work]:
        """Take back every job that has not begun."""
        taken: list[Work] = []
        while True:
            try:
                taken.append(self._queue.popleft()[0])
            except IndexError:
                return taken

    def _wake(self, count: int) -> None:
        with self._lock:
            for _ in range(count):
                if self._idle:
                    self._idle -= 1
                elif self._threads < self._size:
                    self._threads += 1
                    Thread(target=self._serve, name=f"function-{self._threads}", daemon=True).start()
                else:
                    return
                self._tokens.put(None)

    def _serve(self) -> None:
        while True:
            self._tokens.get()
            self._work_through()
            with self._lock:
                self._idle += 1
            if self._queue:  # Something arrived after the last look and before this thread counted as idle.
                self._wake(1)

    def _work_through(self) -> None:
        outlet = self._outlet
        while True:
            try:
                work, offer = self._queue.popleft()
            except IndexError:
                break
            self._begun += 1
            self._begun_s = began_s = monotonic()
            if offer.slow:
                outlet.flush()  # What is done must not wait for what may take long.
            row = performed(work, offer)
            offer.slow = monotonic() - began_s > SLOW_S
            outlet.add(row)
            if outlet.due:
                outlet.flush()
        outlet.flush()
