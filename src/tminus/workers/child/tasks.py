"""The event loop for async functions, in a thread of its own.

A function that blocks the loop by mistake stops the other async functions of this child, but neither its plain
functions nor its conversation with the pool. Answers leave once per turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context
from functools import partial
from threading import Thread
from time import perf_counter, time
from typing import TYPE_CHECKING

from tminus.workers.child.boundary import Came
from tminus.workers.child.call import Text, answered, awaited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.workers.child.load import Offer
    from tminus.workers.child.log import Work
    from tminus.workers.child.outlet import Outlet


class Tasks:
    """A queue and the loop that empties it."""

    def __init__(self, size: int, outlet: Outlet) -> None:
        """Start the loop."""
        self._size = size
        self._outlet = outlet
        self._queue: deque[tuple[Work, Offer]] = deque()
        self._running: dict[str, asyncio.Task[Text]] = {}
        self._rung = False
        self._loop = asyncio.new_event_loop()
        Thread(target=self._turn, name="loop", daemon=True).start()

    @property
    def running(self) -> bool:
        """Say whether any task is under way."""
        return bool(self._running)

    @property
    def oldest_s(self) -> float | None:
        """Return when the oldest job that has not begun arrived."""
        try:
            return self._queue[0][0].arrived_s
        except IndexError:
            return None

    def add(self, entries: Sequence[tuple[Work, Offer]]) -> None:
        """Queue jobs; called from outside the loop's thread."""
        self._queue.extend(entries)
        self._loop.call_soon_threadsafe(self._begin)

    def cancel(self, job_id: str) -> None:
        """Ask one task to end; called from outside the loop's thread."""
        self._loop.call_soon_threadsafe(self._cancel, job_id)

    def emptied(self) -> list[Work]:
        """Take back every job that has not begun."""
        taken: list[Work] = []
        while True:
            try:
                taken.append(self._queue.popleft()[0])
            except IndexError:
                return taken

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                continue  # A task keeps either and throws it on, a callback only throws: the loop outlives both.

    def _begin(self) -> None:
        while len(self._running) < self._size:
            try:
                work, offer = self._queue.popleft()
            except IndexError:
                return
            task = self._loop.create_task(awaited(work, offer), name=work.job_id, context=Context())
            self._running[work.job_id] = task
            task.add_done_callback(partial(self._done, work, time(), perf_counter()))

    def _cancel(self, job_id: str) -> None:
        task = self._running.get(job_id)
        if task is not None:
            task.cancel()

    def _done(self, work: Work, started_s: float, began_s: float, task: asyncio.Task[Text]) -> None:
        self._running.pop(work.job_id, None)
        if task.cancelled():
            came: Came[Text] | BaseException = asyncio.CancelledError("the function was cancelled")
        else:
            raised = task.exception()
            came = Came(task.result()) if raised is None else raised
        self._outlet.add(answered(work, came, started_s, perf_counter() - began_s))
        if not self._rung:
            self._rung = True
            self._loop.call_soon(self._ring)
        self._begin()

    def _ring(self) -> None:
        self._rung = False
        self._outlet.ring()
