"""Rooms: how many jobs may still go out now, per worker id and per function.

The window bounds what is out unclaimed at a worker id, so that pause and cancel act at once and batches share fairly.
What exceeds it stays `pending`, ready for the dispatcher. A step that follows in a lane may take a free place directly
only when nobody else waits for that worker id: otherwise it queues, and the dispatcher goes round the batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

WINDOW: Final = 500
QUEUE_FULL: Final = "window"


def burst_of(per_minute: int) -> float:
    """Return how many jobs a rate lets go at once: those of ten seconds, and always one."""
    return max(1.0, per_minute / 6)


@dataclass(slots=True)
class LimitState:
    """A cluster-wide limit as it stands: places left and tokens left (None: unlimited)."""

    places: int | None = None
    tokens: float | None = None


@dataclass(slots=True)
class Queue:
    """One worker id: places left in its window, and which batches have work waiting for them."""

    places: int = WINDOW
    waiting_batches: frozenset[int] = frozenset()
    waiting_first: int = 99


@dataclass(slots=True)
class Rooms:
    """All the places there are for this micro-batch; taking one changes it."""

    queues: dict[str, Queue] = field(default_factory=dict[str, Queue])
    limits: dict[str, LimitState] = field(default_factory=dict[str, LimitState])
    taken: dict[str, int] = field(default_factory=dict[str, int])

    def is_full(self, worker_id: str, batch_id: int, priority: int, *, chosen: bool) -> bool:
        """Tell whether there is no place at a worker id, whatever the function: the look before any rendering.

        `chosen` says that the dispatcher picked this one, so that nobody is overtaken.
        """
        queue = self.queues.get(worker_id)
        if queue is None:
            return False
        if queue.places <= 0:
            return True
        return not chosen and bool(queue.waiting_batches) and not self._first(queue, batch_id, priority)

    def take(self, worker_id: str, function: str) -> str | None:
        """Take a place that `is_full` has found, or return which limit leaves none."""
        queue = self.queues.get(worker_id)
        if queue is None:
            queue = self.queues[worker_id] = Queue()
        if self.limits:
            reason = self.short(worker_id, function)
            if reason is not None:
                return reason
            for scope in (worker_id, function):
                self._use(scope)
        queue.places -= 1
        return None

    @staticmethod
    def _first(queue: Queue, batch_id: int, priority: int) -> bool:
        return priority < queue.waiting_first or (
            priority == queue.waiting_first and queue.waiting_batches == frozenset({batch_id})
        )

    def short(self, worker_id: str, function: str) -> str | None:
        """Return which limit leaves no place now: `limit:…` for jobs in flight, `rate:…` for jobs a minute."""
        return self._short(worker_id) or self._short(function)

    def _short(self, scope: str) -> str | None:
        state = self.limits.get(scope)
        if state is None:
            return None
        if state.places is not None and state.places <= 0:
            return f"limit:{scope}"
        if state.tokens is not None and state.tokens < 1:
            return f"rate:{scope}"
        return None

    def _use(self, scope: str) -> None:
        state = self.limits.get(scope)
        if state is None:
            return
        if state.places is not None:
            state.places -= 1
        if state.tokens is not None:
            state.tokens -= 1
            self.taken[scope] = self.taken.get(scope, 0) + 1
