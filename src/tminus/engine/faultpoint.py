"""Named points at which a test can have this process die, as if the power had gone: `TMINUS_FAULTPOINT=name:3`.

The third passing of the point ends the process at once, with nothing flushed and nobody told. Without the setting a
point costs one comparison.
"""

from __future__ import annotations

import os

_name, _, _count = os.environ.get("TMINUS_FAULTPOINT", "").partition(":")
_left = int(_count) if _count.isdecimal() else 1

POINTS = ("claimed", "submitted", "answered", "before_round", "after_round", "before_tick", "after_tick", "beat")


def hit(name: str) -> None:
    """Pass a point."""
    if _name and name == _name:
        _die()


def _die() -> None:
    global _left  # noqa: PLW0603 - the count of a process is the process's.
    _left -= 1
    if _left <= 0:
        os._exit(137)
