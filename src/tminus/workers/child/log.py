"""What a function prints, kept with its attempt.

`sys.stdout` and `sys.stderr` are replaced by a stream that asks the context variable of the current job where text
belongs. So threads and tasks that run at the same time do not mix, and a thread that a function starts for itself,
which has no current job, writes to the child's own error output instead.
"""

from __future__ import annotations

import io
import sys
from threading import Lock
from typing import TYPE_CHECKING, cast

from tminus.functions import CURRENT, CurrentJob

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer

    from tminus.workers.wire import JobRow

LOG_BYTES_MAX = 64 * 1024
GAP = "\n… the middle is left out …\n"
HALF = (LOG_BYTES_MAX - len(GAP.encode())) // 2


def utf8(text: str) -> bytes:
    """Return text as any store can hold it: lone surrogates and NUL become U+FFFD."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return data.replace(b"\x00", b"\xef\xbf\xbd")


def bounded(text: str, bytes_max: int) -> str:
    """Return text that any store can hold, cut to a size in UTF-8."""
    data = utf8(text[: bytes_max + 1])
    if len(data) <= bytes_max:
        return data.decode()
    return data[: bytes_max - 3].decode("utf-8", "ignore") + "…"


class Log:
    """The output of one job: its beginning and its end, the middle left out when it grows too long."""

    __slots__ = ("_closed", "_cut", "_head", "_lock", "_tail")

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = Lock()
        self._head = ""
        self._tail = ""
        self._cut = False
        self._closed = False

    def write(self, text: str) -> None:
        """Add text; after the job has ended this does nothing."""
        with self._lock:
            if self._closed:
                return
            room = HALF - len(self._head)
            if room > 0:
                self._head += text[:room]
                text = text[room:]
            self._tail += text
            if len(self._tail) > 2 * HALF:
                self._tail = self._tail[-HALF:]
                self._cut = True

    def closed(self) -> str:
        """Return the whole and take nothing more."""
        with self._lock:
            self._closed = True
            whole = utf8(self._head + self._tail)
            if not self._cut and len(whole) <= LOG_BYTES_MAX:
                return whole.decode()
            return whole[:HALF].decode("utf-8", "ignore") + GAP + whole[-HALF:].decode("utf-8", "ignore")


_MAKING = Lock()


class Work(CurrentJob):
    """A job in this child, with its log."""

    __slots__ = ("arrived_s", "log", "params")

    def __init__(self, row: JobRow, arrived_s: float) -> None:
        """Read a row of the wire."""
        super().__init__(row[0], row[1], row[3], row[4], row[5])
        self.params = row[2]
        self.arrived_s = arrived_s
        self.log: Log | None = None

    def write(self, text: str) -> None:
        """Add to the log, which most jobs never need."""
        with _MAKING:
            log = self.log
            if log is None:
                log = self.log = Log()
        log.write(text)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`, for functions that write bytes."""

    def __init__(self, stream: Routed) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(memoryview(data))
        self._stream.write(piece.decode("utf-8", "replace"))
        return len(piece)


class Routed(io.TextIOBase):
    """A text stream whose text goes to the current job's log."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, beside: io.TextIOWrapper) -> None:
        """Remember where text without a job goes."""
        self._beside = beside
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, text: str, /) -> int:
        """Route one piece."""
        work = CURRENT.get()
        if isinstance(work, Work):
            work.write(text)
        else:
            self._beside.write(text)
        return len(text)


def capture() -> None:
    """Put the routing streams in place of both outputs, before anybody's file is loaded."""
    beside = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="replace", write_through=True)
    sys.stdout = cast("TextIO", Routed(beside))
    sys.stderr = cast("TextIO", Routed(beside))
