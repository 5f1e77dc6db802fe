"""The child's main thread: reads what the pool says, hands it on, and keeps watch while anything runs.

It calls no function itself, so that it always listens: when the pool is gone it ends the process, whatever the threads
are busy with. The watch looks every millisecond at first and ever more seldom, and not at all while nothing runs.
"""

from __future__ import annotations

import select
from time import monotonic, time
from typing import TYPE_CHECKING, cast

from tminus.workers.child.call import answered
from tminus.workers.child.log import Work
from tminus.workers.wire import Frames

if TYPE_CHECKING:
    import socket

    from tminus.workers.child.crew import Crew
    from tminus.workers.child.load import Offer, Table
    from tminus.workers.child.outlet import Outlet
    from tminus.workers.child.tasks import Tasks
    from tminus.workers.wire import JobRow

PIECE_BYTES = 256 * 1024
WATCH_MS_MIN = 1
WATCH_MS_MAX = 50
PATIENCE_S = 1.0
"""How long a job may wait here to begin, before it goes back so that another child can take it."""


class Desk:
    """The conversation with the pool."""

    def __init__(self, wire: socket.socket, outlet: Outlet, table: Table, crew: Crew, tasks: Tasks | None) -> None:
        """Take over the socket after the files were loaded."""
        self._wire = wire
        self._outlet = outlet
        self._table = table
        self._crew = crew
        self._tasks = tasks
        self._frames = Frames()
        self._watch_ms = WATCH_MS_MIN
        self._draining = False

    def serve(self) -> None:
        """Listen until told to stop; returns when nothing is in hand any more."""
        poll = select.poll()
        poll.register(self._wire, select.POLLIN)
        while True:
            if not poll.poll(self._watch_ms if self._busy() else None):
                self._watch()
                continue
            piece = self._piece()
            for word, content in self._frames.fed(piece):
                if word == "stop":
                    return
                self._take(word, content)
            self._watch_ms = WATCH_MS_MIN

    def _piece(self) -> bytes:
        """Read on; when the pool is gone, with or without having read everything itself, end."""
        try:
            piece = self._wire.recv(PIECE_BYTES)
        except OSError:
            piece = b""
        return piece or self._outlet.end()

    def _busy(self) -> bool:
        queued = self._crew.oldest_s is not None or self._outlet.waiting
        return queued or self._crew.running or bool(self._tasks and (self._tasks.running or self._tasks.oldest_s))

    def _take(self, word: str, content: object) -> None:
        if word == "run":
            self._run(cast("list[JobRow]", content))
        elif word == "abandon" and self._tasks:
            self._tasks.cancel(str(content))
        elif word == "drain":
            self._draining = True
            self._give_back()

    def _run(self, rows: list[JobRow]) -> None:
        if self._draining:
            self._outlet.say("back", [row[0] for row in rows])
            return
        now_s = monotonic()
        plain: list[tuple[Work, Offer]] = []
        waiting: list[tuple[Work, Offer]] = []
        for row in rows:
            work, offer = Work(row, now_s), self._table.find(row[1])
            if offer is None:
                self._outlet.add(answered(work, self._table.missing(work.function), time(), 0.0))
            else:
                (waiting if offer.is_async else plain).append((work, offer))
        if self._outlet.waiting:
            self._outlet.flush()
        if plain:
            self._crew.add(plain)
        if waiting and self._tasks:
            self._tasks.add(waiting)

    def _watch(self) -> None:
        self._crew.watch()
        self._outlet.flush(wait=False)
        oldest_s = [s for s in (self._crew.oldest_s, self._tasks.oldest_s if self._tasks else None) if s is not None]
        if oldest_s and monotonic() - min(oldest_s) > PATIENCE_S:
            self._give_back()
        self._watch_ms = min(self._watch_ms * 2, WATCH_MS_MAX)

    def _give_back(self) -> None:
        works = self._crew.emptied() + (self._tasks.emptied() if self._tasks else [])
        if works:
            self._outlet.say("back", [work.job_id for work in works])
