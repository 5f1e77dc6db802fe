"""The port to rounds: what the engine's loop asks of a store beside the tick.

A round is one transaction: it handles what has come in, lets waiting work go out fairly, and claims for those who have
room. What it claims has been committed; a crash afterwards costs a redelivery, never a job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tminus.ports.store import Ticking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.progression.events import Event


class Claimed(Protocol):
    """A job that a round claimed."""

    execution_id: int
    job_id: str
    function: str
    params_json: str
    attempt: int
    timeout_s: float
    batch_id: int
    member_key: str | None


class RoundDone(Protocol):
    """What a round did."""

    @property
    def claimed(self) -> Sequence[Claimed]:
        """Return the jobs that were claimed."""
        ...

    @property
    def sent(self) -> int:
        """Return how many jobs went out."""
        ...

    @property
    def goes_on(self) -> bool:
        """Tell whether it left something that the next tick goes on with."""
        ...

    @property
    def refused(self) -> Sequence[tuple[Event, Exception]]:
        """Return the events that could not be decided, each with the reason."""
        ...


class Rounds(Ticking, Protocol):
    """A store as the loop uses it."""

    def run_round(self, events: Sequence[Event], worker: str, room: Sequence[tuple[str, int]]) -> RoundDone:
        """Handle events, let work go out, and claim for worker ids with room."""
        ...

    def beat(self, worker: str, jobs: Sequence[tuple[int, str]]) -> None:
        """Keep the leases of running jobs."""
        ...

    def give_back(self, worker: str, jobs: Sequence[tuple[int, str]]) -> int:
        """Put jobs back that were not begun."""
        ...

    def release(self, worker: str) -> int:
        """End the leases of a dead worker."""
        ...

    def holders(self) -> Sequence[str]:
        """Return the names of all workers that hold jobs."""
        ...

    def worker_ids(self) -> Sequence[str]:
        """Return every worker id that published runbooks name."""
        ...

    def rest(self) -> None:
        """Do now, while nobody waits, what would otherwise be done in a round; may do nothing."""
        ...

    def changes(self) -> int:
        """Return a number that differs when another process has written."""
        ...

    def standing(self) -> tuple[bool, bool, bool]:
        """Tell whether anything moves by itself, has failed, is held."""
        ...
