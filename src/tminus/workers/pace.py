"""How far ahead of the free places jobs may be sent to a child.

A child that answers thousands of calls a second would stand still between two rounds of the engine if it held only as
many jobs as it runs at once; one whose calls take minutes must not hoard jobs that another could begin now. So a child
may hold, besides what it runs, about as many jobs as it answered within the last moments.
"""

from __future__ import annotations

import math

MOMENT_S = 0.1
AHEAD_MAX = 1024


class Pace:
    """Answers of the last moments, older ones fading."""

    __slots__ = ("_recent", "_seen_s")

    def __init__(self, now_s: float) -> None:
        """Begin with nothing answered."""
        self._recent = 0.0
        self._seen_s = now_s

    def note(self, answers: int, now_s: float) -> None:
        """Count answers."""
        self._recent = self._faded(now_s) + answers
        self._seen_s = now_s

    def ahead(self, now_s: float) -> int:
        """Return how many jobs may wait in the child."""
        return min(int(self._faded(now_s)), AHEAD_MAX)

    def _faded(self, now_s: float) -> float:
        return self._recent * math.exp((self._seen_s - now_s) / MOMENT_S)
