"""Chance that a seed repeats: each draw is named by what it decides, so that no draw depends on the ones before.

A rehearsal of the same seed gives the same history although jobs go out in another order after an unrelated change.
"""

from __future__ import annotations

import hashlib
from typing import Final

_SPAN: Final = 1 << 64


def draw(seed: int, *names: object) -> float:
    """Return a number from 0 up to 1 that belongs to the seed and these names."""
    text = "\x1f".join(str(name) for name in (seed, *names))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / _SPAN


def whole(seed: int, low: int, high: int, *names: object) -> int:
    """Return a whole number from `low` to `high`, both included."""
    return low + int(draw(seed, *names) * (high - low + 1))
