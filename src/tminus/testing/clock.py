"""A clock that stands still until it is told to move."""

from __future__ import annotations

from tminus.domain.instant import Instant, plus

EPOCH = Instant("2026-01-01T00:00:00.000Z")


class ManualClock:
    """Stands in for the database's clock in tests and rehearsals."""

    def __init__(self, now: Instant = EPOCH) -> None:
        """Start at an instant."""
        self.now = now

    def __call__(self) -> Instant:
        """Return the present."""
        return self.now

    def advance(self, seconds: float) -> Instant:
        """Move on (or, with a negative number, back) and return the new present."""
        self.now = plus(self.now, seconds)
        return self.now

    def set(self, now: Instant) -> None:
        """Jump to an instant."""
        self.now = now
