"""The way out: answers collect here and leave in as few frames as the moment allows.

Threads write for themselves, because a thread that may wait for a slow pool holds up nobody. The event loop never
does: it rings for the scribe, a thread that only writes.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

from tminus.workers.wire import packed

if TYPE_CHECKING:
    import socket

    from tminus.workers.wire import AnswerRow

FLUSH_AFTER_S = 0.001
ROWS_MAX = 256
FRAME_CHARACTERS_MAX = 1024 * 1024


class Outlet:
    """What leaves the child."""

    def __init__(self, wire: socket.socket) -> None:
        """Take the socket."""
        self._wire = wire
        self._forked = False
        self._rows: deque[AnswerRow] = deque()
        self._writing = Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._flushed_s = 0.0
        self._scribe: Thread | None = None
        os.register_at_fork(after_in_child=self._let_go)

    def add(self, row: AnswerRow) -> None:
        """Put an answer down."""
        self._rows.append(row)

    @property
    def waiting(self) -> bool:
        """Say whether anything is left to write."""
        return bool(self._rows)

    @property
    def due(self) -> bool:
        """Say whether what is here should not wait for more."""
        return len(self._rows) >= ROWS_MAX or monotonic() - self._flushed_s >= FLUSH_AFTER_S

    def flush(self, *, wait: bool = True) -> None:
        """Write all answers; without `wait`, leave it to whoever is writing already."""
        if self._forked:
            os._exit(1)  # A function forked and its copy returned: only the original answers.
        if not self._rows or not self._writing.acquire(blocking=wait):
            return
        try:
            while self._rows:
                rows: list[AnswerRow] = []
                size = 0
                while self._rows and size < FRAME_CHARACTERS_MAX:
                    row = self._rows.popleft()
                    size += len(row[2] or "") + len(row[6])
                    rows.append(row)
                self._write(packed("done", rows))
            self._flushed_s = monotonic()
        finally:
            self._writing.release()

    def ring(self) -> None:
        """Have the scribe write, without waiting for it."""
        if self._scribe is None:
            self._scribe = Thread(target=self._write_on_request, name="scribe", daemon=True)
            self._scribe.start()
        self._bell.put(None)

    def say(self, word: str, content: object = None) -> None:
        """Write a frame that is not answers."""
        with self._writing:
            self._write(packed(word, content))

    def end(self) -> NoReturn:
        """End this process, and with it the programs that functions started: nothing may outlive the pool."""
        if not self._forked and os.getpid() == os.getpgrp():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    def _write(self, frame: bytes) -> None:
        try:
            self._wire.sendall(frame)
        except OSError:
            self.end()

    def _write_on_request(self) -> None:
        while True:
            self._bell.get()
            while not self._bell.empty():
                self._bell.get()
            self.flush()

    def _let_go(self) -> None:
        """In a forked copy: close the socket, so that the copy neither answers nor keeps the stream open."""
        self._forked = True
        self._wire.close()
