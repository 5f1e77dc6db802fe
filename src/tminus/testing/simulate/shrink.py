"""Shrinking: the fewest happenings of a seed that still break the same promise."""

from __future__ import annotations

from tminus.testing.simulate.simulation import Simulation


def shrink(seed: int, promise: str, happenings: list[int]) -> frozenset[int]:
    """Leave out happenings, halves first, while the promise is still broken; return those that are needed."""
    kept = list(happenings)
    size = max(1, len(kept) // 2)
    while kept:
        for at in range(0, len(kept), size):
            rest = kept[:at] + kept[at + size :]
            if _breaks(seed, promise, frozenset(happenings) - frozenset(rest)):
                kept = rest
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return frozenset(kept)


def _breaks(seed: int, promise: str, without: frozenset[int]) -> bool:
    return any(v.promise == promise for v in Simulation(seed, without=without).run().violations)
