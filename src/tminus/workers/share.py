"""How jobs are divided among children: those that hold the least get the most, so that all end up level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shares(loads: Sequence[int], rooms: Sequence[int], count: int) -> list[int]:
    """Return how many of `count` jobs each child gets, never more than its room; less in all when room is short."""
    children = [(load, max(0, room)) for load, room in zip(loads, rooms, strict=True)]

    def below(level: int) -> list[int]:
        return [min(room, max(0, level - load)) for load, room in children]

    low, high = 0, max((load + room for load, room in children), default=0)
    while low < high:  # Find the highest level to which there are jobs enough to fill all.
        middle = (low + high + 1) // 2
        if sum(below(middle)) <= count:
            low = middle
        else:
            high = middle - 1
    given = below(low)
    left = count - sum(given)
    for index, (load, room) in enumerate(children):
        if left > 0 and given[index] < room and load + given[index] <= low:
            given[index] += 1
            left -= 1
    return given
