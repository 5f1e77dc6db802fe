"""Files that are put in the place of others: whoever looks, or whatever breaks, finds one of the two whole."""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, Final, cast

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_RIGHTS: Final = 0o666


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Write a file beside a path, and put it there at the end; after an error there is what there was before."""
    place = path.resolve()
    rights = place.stat().st_mode & 0o777 if place.exists() else _RIGHTS & ~_umask()
    with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
        beside = place.parent / file.name
        try:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
            beside.chmod(rights)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    try:
        beside.replace(place)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return which rights new files do not get; it can only be read by setting it."""
    found = os.umask(0)
    os.umask(found)
    return found
