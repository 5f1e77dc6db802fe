"""What a process that runs for weeks says: one line at a time on stderr, and never at the cost of the work.

Lines go through a thread of their own, because a terminal that somebody has stopped with Ctrl-S, or a pipe whose reader
sleeps, would otherwise stop the engine with it. What does not fit is counted instead of kept. A handler of signals may
speak as well.
"""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Final

from tminus.cli.telling import visible
from tminus.domain.instant import from_datetime

MOST: Final = 500
LAST_WORDS_S: Final = 2.0


class Voice:
    """Writes notes: for people a time and a sentence, for machines an object a line."""

    def __init__(self, *, as_json: bool = False, most: int = MOST) -> None:
        """Speak on stderr; at most so many lines wait to be written."""
        self._as_json = as_json
        self._most = most
        self._left_out = 0
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="voice", daemon=True)
        self._thread.start()

    def say(self, message: str, kind: str = "note", *, at: object = None, **fields: object) -> None:
        """Say one thing."""
        if self._lines.qsize() >= self._most:
            self._left_out += 1
            return
        if self._left_out:
            missing, self._left_out = self._left_out, 0
            self._lines.put(self._line(f"{missing:,} lines were left out: nobody read them", "left_out", None, {}))
        self._lines.put(self._line(message, kind, at, fields))

    def close(self) -> None:
        """Let what was said come out, but wait for no reader for long."""
        self._lines.put(None)
        self._thread.join(LAST_WORDS_S)

    def _line(self, message: str, kind: str, at: object, fields: dict[str, object]) -> str:
        instant = str(at or from_datetime(datetime.now(UTC)))
        if self._as_json:
            return json.dumps({"at": instant, "kind": kind, "message": message, **fields}, ensure_ascii=False)
        return f"{instant[11:19]}Z  {visible(message)}"

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
            except (OSError, ValueError):
                return  # Nobody listens any more; the work goes on.
