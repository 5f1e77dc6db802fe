"""Rows kept until the last of them was read: in memory while they are few, in a nameless temporary file beyond that.

An answer is handed over only when it is whole, and may have half a million rows. So rows are laid aside in chunks; once
the ones in memory weigh too much, further chunks are written out and read back one by one. The file has no name, is
readable by its process alone and is gone when closed. This module must not know what the rows say.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.ports.source import SourceRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from tminus.domain.instant import Instant

CHUNK_ROWS: Final = 2_000
MEMORY_BYTES: Final = 64 * 1024 * 1024

# What a row costs besides its data: the object, its key, its place.
_ROW_BYTES: Final = 320


class Spool:
    """The rows of one answer; add all, then read."""

    def __init__(self, *, memory_bytes: int = MEMORY_BYTES) -> None:
        """Start empty; `memory_bytes` is about what may stay in memory."""
        self._left = memory_bytes
        self._chunks: list[list[SourceRow] | tuple[int, int]] = []
        self._open: list[SourceRow] = []
        self._count = 0
        self._file: IO[bytes] | None = None

    def add(self, row: SourceRow) -> None:
        """Lay a row aside."""
        self._open.append(row)
        if len(self._open) >= CHUNK_ROWS:
            self._put_away()

    def __len__(self) -> int:
        """Return how many rows were laid aside."""
        return self._count + len(self._open)

    def __iter__(self) -> Iterator[SourceRow]:
        """Go through the rows one by one."""
        for chunk in self.chunks():
            yield from chunk

    def chunks(self) -> Iterator[list[SourceRow]]:
        """Go through the rows in lists."""
        for chunk in self._chunks:
            yield chunk if isinstance(chunk, list) else self._read(*chunk)
        if self._open:
            yield self._open

    def close(self) -> None:
        """Forget the rows and close the file."""
        self._chunks.clear()
        self._open = []
        self._count = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _put_away(self) -> None:
        rows, self._open = self._open, []
        self._count += len(rows)
        if self._left > 0:
            self._left -= sum(len(row.data) for row in rows) + _ROW_BYTES * len(rows)
            self._chunks.append(rows)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - The file is closed with the spool, not here.
        frame = orjson.dumps([(row.key, row.batch_time, row.data, row.place) for row in rows])
        self._chunks.append((self._file.tell(), len(frame)))
        self._file.write(frame)

    def _read(self, start: int, length: int) -> list[SourceRow]:
        if self._file is None:
            raise ValueError("the spool is closed")
        self._file.seek(start)
        frame = cast("list[tuple[str, Instant | None, str, str]]", orjson.loads(self._file.read(length)))
        return [SourceRow(key, batch_time, data, place) for key, batch_time, data, place in frame]
