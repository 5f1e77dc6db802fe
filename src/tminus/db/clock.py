"""A clock that does not go back: when the machine's does, time stands still until it has caught up.

Rows say when they may go on, and they were written by the time that was; were the clock followed back, they would wait
for as long as it was set back. Standing still opens nothing early, because whoever saw the later time has opened what
was due by then. A clock that is more than a day behind was wrong before, and is believed. No table is known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import between_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.domain.instant import Instant

WAITED_FOR_S: Final = 86_400.0


class SteadyClock:
    """Reads a clock, and returns the latest that it has said."""

    def __init__(self, read: Callable[[], Instant], floor: Instant) -> None:
        """Begin at `floor`, an instant that is known to have been."""
        self._read = read
        self._latest = floor

    def __call__(self) -> Instant:
        """Return the present."""
        now = self._read()
        if now > self._latest or between_s(now, self._latest) > WAITED_FOR_S:
            self._latest = now
        return self._latest
