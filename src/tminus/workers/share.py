"""How jobs are divided among children: those that hold the least get the most, so that all end up level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shares(loads: Sequence[int], rooms: Sequence[int], count: int) -> list[int]:
    """Return how many of `count` jobs each child gets, never more than its room; less in all when room is short."""
    given = [0] * len(loads)
    order = sorted((index for index in range(len(loads)) if rooms[index] > 0), key=lambda index: loads[index])
    for length in range(len(order), 0, -1):
        held = sum(loads[index] for index in order[:length])
        level = -(-(held + count) // length)
        if level >= loads[order[length - 1]]:
            break
    else:
        return given
    for index in order:
        given[index] = max(0, min(level - loads[index], rooms[index], count))
        count -= given[index]
    for index in order:  # What did not fit below the level goes where there is room above it.
        more = min(count, rooms[index] - given[index])
        given[index] += more
        count -= more
    return given
