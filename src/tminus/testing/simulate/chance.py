"""Chance that can be repeated: every draw is named, so that leaving one happening out does not change the others."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Chance:
    """Draws that depend on the seed and on a name, never on the order in which they are asked for."""

    def __init__(self, seed: int) -> None:
        """Begin from a seed."""
        self.seed = seed

    def of(self, *name: object) -> random.Random:
        """Return a generator for this name."""
        return random.Random(f"{self.seed}|{'|'.join(map(str, name))}")

    def unit(self, *name: object) -> float:
        """Return a number in [0, 1) for this name."""
        return self.of(*name).random()

    def pick(self, choices: Sequence[T], *name: object) -> T:
        """Return one of the choices for this name."""
        return choices[int(self.unit(*name) * len(choices))]


# The tail is longer than every timer of the workloads: what arrives that late finds everything moved on.
DELAYS_S = (0.0, 0.2, 1.0, 1.0, 5.0, 5.0, 20.0, 45.0, 90.0, 400.0, 2_000.0, 20_000.0, 300_000.0)
