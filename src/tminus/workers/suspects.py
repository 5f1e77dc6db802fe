"""Jobs that were in a child when it died: one of them may have ended it, and will end the next one.

Nobody can tell which, so that each of them takes more room with every death it was present at, until it runs alone. So
the guilty one soon dies by itself, and an innocent one shares three deaths at most, far fewer than its deliveries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

GROWTH: Final = 4
REMEMBERED: Final = 10_000
"""Jobs that another process takes over are never heard of again, so that the oldest are forgotten."""


class Suspects:
    """How many deaths each job has seen in this pool."""

    __slots__ = ("_deaths", "_places")

    def __init__(self, places: int) -> None:
        """Suspect nobody; one who is alone takes all the places of a child."""
        self._places = places
        self._deaths: dict[str, int] = {}

    def __contains__(self, job_id: str) -> bool:
        """Say whether a job was there when a child died."""
        return job_id in self._deaths

    def weight(self, job_id: str) -> int:
        """Return how many places a job takes."""
        return min(self._places, int(GROWTH ** self._deaths.get(job_id, 0)))

    def weighing(self, jobs: Container[str]) -> int:
        """Return the places that suspects among these jobs take beyond one for each."""
        return sum(self.weight(job_id) - 1 for job_id in self._deaths if job_id in jobs)

    def present(self, jobs: Iterable[str]) -> None:
        """Take note of who was there when a child died."""
        for job_id in jobs:
            self._deaths[job_id] = self._deaths.pop(job_id, 0) + 1
        while len(self._deaths) > REMEMBERED:
            del self._deaths[next(iter(self._deaths))]

    def clear(self, job_id: str) -> None:
        """Suspect a job no more: it has been answered."""
        self._deaths.pop(job_id, None)

    def __bool__(self) -> bool:
        """Say whether anybody is suspected."""
        return bool(self._deaths)
