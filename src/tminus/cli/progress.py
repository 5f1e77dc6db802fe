"""How far long work has come: one line on a terminal's stderr, nothing at all anywhere else.

It shows only after a moment, so that a short command stays silent, and is gone when the work is done. A thread draws
it, because what takes long is often one statement that tells nobody how far it is.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from tminus.cli.clocks import span
from tminus.cli.telling import visible

if TYPE_CHECKING:
    from typing import TextIO

QUIET_S: Final = 0.7
_EACH_S: Final = 0.2
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Use it in a `with`; what it says may be changed at any time, from the thread that works."""

    def __init__(self, doing: str, *, stream: TextIO | None = None, quiet_s: float = QUIET_S) -> None:
        """Say what is being done; `stream` stands in for stderr."""
        self._stream = stream or sys.stderr
        self._quiet_s = quiet_s
        self._said = doing
        self._doing = doing
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin; anywhere but on a terminal that can take a line back nothing is ever shown."""
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line back."""
        self.clear()

    def at(self, done: int, of: int, noun: str) -> None:
        """Say how far it is."""
        self._said = f"{self._doing}: {done:,} of {of:,} {noun}"

    def say(self, doing: str) -> None:
        """Say what is being done now."""
        self._said = self._doing = doing

    def clear(self) -> None:
        """Take the line back for good, before something else is written."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _draw(self) -> None:
        drawn = False
        wait_s = self._quiet_s
        # A terminal that is gone takes no line; the work goes on.
        with suppress(OSError, ValueError):
            while not self._stop.wait(wait_s):
                spent_s = time.monotonic() - self._began
                line = f"{self._said}  {span(spent_s)}" if spent_s >= 1 else self._said
                width = shutil.get_terminal_size((80, 24)).columns - 1
                self._stream.write(f"{_CLEAR}{visible(line)[:width]}")
                self._stream.flush()
                drawn, wait_s = True, _EACH_S
            if drawn:
                self._stream.write(_CLEAR)
                self._stream.flush()
