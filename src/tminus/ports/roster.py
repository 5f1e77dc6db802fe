"""The port to the roster: which processes work on this database, for people and for whoever watches them.

Nothing is decided by it: a job's lease says who holds it. It is kept by the processes themselves, so that one which
dies without a word is written off by the next that starts on its host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process that runs jobs. `worker_ids` empty serves every one."""

    name: str
    host: str
    pid: int
    age_s: float
    worker_ids: Sequence[str]
    functions: Collection[str]
    version: str


class Roster(Protocol):
    """Who is at work."""

    def enlist(self, process: Process) -> None:
        """Write a process down, or what it offers now."""
        ...

    def seen(self, name: str) -> None:
        """Note that a process is alive."""
        ...

    def left(self, name: str) -> None:
        """Note that a process has ended."""
        ...

    def listed(self) -> Sequence[str]:
        """Return the names of those that have not ended, as far as is known."""
        ...
