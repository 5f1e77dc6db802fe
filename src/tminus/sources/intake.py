"""Bytes on their way in: counted, hashed and looked at while they pass, and judged by their first few.

Everything that can be known of a file without understanding it is found here in the one pass that reads it: its hash,
its size against the limit, NUL bytes, lines without an end. This module must not know what a cell is.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Final

from tminus.ports.source import SourceError

if TYPE_CHECKING:
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

LINE_BYTES_MAX: Final = 8 * 1024 * 1024
BUFFER_BYTES: Final = 1024 * 1024
HEAD_BYTES: Final = 64 * 1024

_UTF8_MARK: Final = b"\xef\xbb\xbf"
# The longer marks come first, because UTF-32 begins as UTF-16 does.
_WIDE_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_BINARY_MARKS: Final = (
    (b"PK\x03\x04", "an Excel workbook or another zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
)
_SAVE_AS: Final = "save it as CSV UTF-8 (PowerShell: Export-Csv -Encoding utf8)"


class Intake(io.RawIOBase):
    """A stream that hands its bytes on and keeps account of them."""

    def __init__(self, stream: BinaryIO, *, place: str, bytes_max: int) -> None:
        """Read from `stream`, whose owner closes it."""
        super().__init__()
        self._stream = stream
        self._place = place
        self._bytes_max = bytes_max
        self._digest = hashlib.sha256()
        self._line_bytes = 0
        self.size = 0
        self.holds_nul = False

    def readable(self) -> bool:
        """Say that this can be read; the buffer above asks."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Hand on what comes next; raises `SourceError` when a limit is passed."""
        view = memoryview(buffer)
        block = self._stream.read(len(view))
        view[: len(block)] = block
        self._digest.update(block)
        self.size += len(block)
        if self.size > self._bytes_max:
            raise too_large(self._place, self._bytes_max)
        if b"\0" in block:
            self.holds_nul = True
        self._measure(block)
        return len(block)

    def _measure(self, block: bytes) -> None:
        """Follow the line that runs through this block; one that begins and ends inside a block is short enough."""
        breaks = [at for at in (block.find(b"\n"), block.find(b"\r")) if at >= 0]
        self._line_bytes += min(breaks, default=len(block))
        if self._line_bytes > LINE_BYTES_MAX:
            raise SourceError("E311", f"a line is longer than {LINE_BYTES_MAX:,} bytes", place=self._place)
        if breaks:
            self._line_bytes = len(block) - max(block.rfind(b"\n"), block.rfind(b"\r")) - 1

    def sha256(self) -> str:
        """Return the hash of what has passed."""
        return self._digest.hexdigest()


def check_ends(stream: BinaryIO, *, place: str, final_newline: bool) -> None:
    """Refuse what its first bytes, or its last one, show to be no whole text; leaves the stream at its start."""
    head = stream.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES and not head.removeprefix(_UTF8_MARK).strip():
        raise SourceError("E309", "the file is empty, not even a header stands in it", place=place)
    for mark, name in _WIDE_MARKS:
        if head.startswith(mark):
            raise SourceError("E306", f"the file is {name}", place=place, hint=_SAVE_AS)
    for mark, name in _BINARY_MARKS:
        if head.startswith(mark):
            raise SourceError("E308", f"the file is {name}, not CSV", place=place, hint="export it as CSV UTF-8")
    first_line = head.split(b"\n", 1)[0]
    if b"\0" in first_line:
        if first_line.count(b"\0") * 3 >= len(first_line):
            raise SourceError("E306", "the file looks like UTF-16", place=place, hint=_SAVE_AS)
        raise SourceError("E308", "the file's first line holds NUL bytes", place=f"{place}:1")
    stream.seek(-1, io.SEEK_END)
    if final_newline and stream.read(1) not in b"\r\n":
        hint = "copy the file again; if it is whole, end its last line with a line break"
        raise SourceError("E304", "the last line is not complete", place=place, hint=hint)
    stream.seek(0)


def too_large(place: str, bytes_max: int) -> SourceError:
    """Build the error about a file with too many bytes."""
    return SourceError("E313", f"the file has more than {bytes_max:,} bytes", place=place)


def not_utf8(stream: BinaryIO, *, place: str) -> SourceError:
    """Find the first byte that is not UTF-8, and build the error that names it."""
    stream.seek(0)
    line = 1
    for raw in stream:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            before = raw[: error.start].replace(b"\r\n", b"\n")
            line += before.count(b"\r")
            column = len(raw[: error.start].rsplit(b"\r", 1)[-1].removeprefix(_UTF8_MARK).decode()) + 1
            byte = raw[error.start]
            legacy = bytes([byte]).decode("cp1252", errors="replace")
            guess = f"; in Windows-1252 it would be {legacy}" if legacy.isprintable() and legacy != "\ufffd" else ""
            message = f"byte 0x{byte:02X} at character {column} of this line is not UTF-8{guess}"
            return SourceError("E307", message, place=f"{place}:{line}", hint=_SAVE_AS)
        line += 1 + raw.removesuffix(b"\n").removesuffix(b"\r").count(b"\r")
    return SourceError("E303", "the file changed while it was being read", place=place)
