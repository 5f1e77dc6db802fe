"""How far ahead of the free places jobs may be sent to a child.

A child that answers thousands of calls a second would stand still between two rounds of the engine if it held only as
many jobs as it runs at once; one whose calls take minutes must not hoard jobs that another could begin now. So a child
may hold, besides what it runs, about as many jobs as it answered within the last moments. What is sent ahead stands in
front of whoever comes next, a small batch beside a large one say: calls that take a while need no more ahead than the
engine needs to bring the next.
"""

from __future__ import annotations

import math

MOMENT_S = 0.1
BRIEF_S = 0.02
BRIEF_CALL_MS = 2.0
AHEAD_MAX = 1024


class Pace:
    """Answers of the last moments and what they took, older ones fading."""

    __slots__ = ("_recent", "_seen_s", "_spent_ms")

    def __init__(self, now_s: float) -> None:
        """Begin with nothing answered."""
        self._recent = 0.0
        self._spent_ms = 0.0
        self._seen_s = now_s

    def note(self, answers: int, now_s: float, spent_ms: float = 0.0) -> None:
        """Count answers, and what their calls took in all."""
        fading = self._fading(now_s)
        self._recent = self._recent * fading + answers
        self._spent_ms = self._spent_ms * fading + spent_ms
        self._seen_s = now_s

    def ahead(self, now_s: float) -> int:
        """Return how many jobs may wait in the child."""
        recent = self._recent * self._fading(now_s)
        if self._spent_ms > BRIEF_CALL_MS * self._recent:
            recent *= BRIEF_S / MOMENT_S
        return min(int(recent), AHEAD_MAX)

    def _fading(self, now_s: float) -> float:
        return math.exp((self._seen_s - now_s) / MOMENT_S)
