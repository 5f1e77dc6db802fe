"""Frames between the pool and a child: a length in four bytes, then a JSON array whose first item is a word.

Both ends use this module, so that it imports nothing slow. Many jobs or answers travel in one frame: the cost of a
system call and of waking the other side is then shared. A frame that cannot be read means that something else wrote
into the socket; the stream is lost from there on, and whoever reads says so by `Garbled`.

    to the child     boot {settings} · run [job rows] · abandon job_id · drain · stop
    to the pool      hello [names] · broken {code, message, file, line, hint} · done [answer rows] · back [job ids]
"""

from __future__ import annotations

import struct
from typing import cast

import orjson

FRAME_BYTES_MAX = 64 * 1024 * 1024
HEAD = struct.Struct("!I")

JobRow = tuple[str, str, str, int, str | None, int | None]
"""job id, function, params, attempt, member key, batch id"""

FailureRow = tuple[str, str, bool, bool, float | None]
"""type, message, is throttled, retryable, retry after in seconds"""

AnswerRow = tuple[str, bool, str | None, bool | None, FailureRow | None, int, str, int]
"""job id, ok, result, complete, error, duration in ms, log, started in ms"""


class Garbled(Exception):  # noqa: N818 - the state of the stream, from which there is no way back.
    """What came in is not a frame."""


def packed(word: str, content: object = None) -> bytes:
    """Return a frame; text that JSON cannot hold is a TypeError."""
    body = orjson.dumps((word, content))
    return HEAD.pack(len(body)) + body


class Frames:
    """Turns pieces of a stream into frames."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._buffer = bytearray()

    def fed(self, piece: bytes) -> list[tuple[str, object]]:
        """Add a piece and return the frames that are complete by it."""
        buffer = self._buffer
        buffer += piece
        found: list[tuple[str, object]] = []
        begin, size = 0, len(buffer)
        while size - begin >= HEAD.size:
            (length,) = HEAD.unpack_from(buffer, begin)
            if length > FRAME_BYTES_MAX:
                raise Garbled(f"a frame of {length} bytes")
            end = begin + HEAD.size + length
            if end > size:
                break
            with memoryview(buffer) as view:
                found.append(_read(bytes(view[begin + HEAD.size : end])))
            begin = end
        del buffer[:begin]
        return found


def _read(body: bytes) -> tuple[str, object]:
    try:
        frame: object = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise Garbled("a frame that is not JSON") from problem
    if not isinstance(frame, list) or len(parts := cast("list[object]", frame)) != len(("word", "content")):
        raise Garbled("a frame of another shape")
    word, content = parts
    if not isinstance(word, str):
        raise Garbled("a frame without a word")
    return word, content
