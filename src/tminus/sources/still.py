"""Files that stand still: a file is read only when nobody writes to it.

A file has stood still when its last change is a second old. Where that cannot be told, because the change is newer or a
share's clock runs ahead, the file is watched for a second instead. What was read is believed only if the file is the
same afterwards. This module must not know what stands in the file.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.ports.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from typing import BinaryIO

STILL_S: Final = 1.0
PATIENCE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Look:
    """What a glance at a file shows. Two equal looks a second apart are a file that stands still.

    `changed_ns` moves also when a tool writes a file and then sets its time of modification back.
    """

    size: int
    modified_ns: int
    changed_ns: int
    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Look:
        """Keep of a file's status what changes when its content does."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How stillness is judged. `clock` gives seconds since 1970, `pause` waits for seconds; both can be replaced."""

    clock: Callable[[], float] = time.time
    pause: Callable[[float], None] = time.sleep
    still_s: float = STILL_S
    patience_s: float = PATIENCE_S


def look_at(path: Path, *, place: str) -> Look:
    """Glance at a file; raises `SourceError` when there is no regular file."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise _refused(error, place) from error
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise SourceError("E305", f"it is {what}, not a file", place=place)
    return Look.of(status)


def settle(path: Path, patience: Patience, *, place: str) -> Look:
    """Wait until the file stands still, and return the look of it; raises `SourceError` when it does not."""
    look = look_at(path, place=place)
    if patience.clock() - look.modified_ns / 1e9 >= patience.still_s:
        return look
    waited_s = 0.0
    while waited_s < patience.patience_s:
        patience.pause(patience.still_s)
        waited_s += patience.still_s
        again = look_at(path, place=place)
        if again == look:
            return look
        look = again
    raise SourceError("E303", f"the file still changes after {waited_s:.0f} s", place=place, hint="ask again later")


@contextmanager
def opened(path: Path, look: Look, *, place: str) -> Generator[BinaryIO, None, None]:
    """Open the file of that look; raises `SourceError` at the end when it is another, or changed meanwhile."""
    try:
        with path.open("rb") as stream:
            yield stream
            if Look.of(os.fstat(stream.fileno())) != look:
                hint = "ask again later"
                raise SourceError("E303", "the file changed while it was being read", place=place, hint=hint)
    except OSError as error:
        raise _refused(error, place) from error


def _refused(error: OSError | ValueError, place: str) -> SourceError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return SourceError("E302", "there is no such file", place=place)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SourceError("E305", f"the file cannot be read: {reason}", place=place)
