"""The port to what discovery writes: who is to be asked, and what an answer does, one short transaction at a time.

Asking happens between `claim` and `take`, outside any transaction, for as long as the source needs. Every step of a
take may be the last one before a crash: the next answer goes on where it stopped. A take that another question has
overtaken (a newer one, a new version, automation switched off) ends by itself and changes nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tminus.domain.errors import TminusError
    from tminus.domain.instant import Instant
    from tminus.ports.source import Answer, Question, Unchanged


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An active version of a runbook whose source may be asked now."""

    runbook_id: int
    name: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that was claimed: nobody else asks it until its time is over. `ask` fences what its answer writes."""

    runbook_id: int
    name: str
    version: int
    ask: int
    at: Instant
    interval_s: float
    question: Question


class Discovering(Protocol):
    """What the loop of discovery needs of a store."""

    def due_runbooks(self, now: Instant) -> Sequence[Due]:
        """Return the runbooks whose sources are to be asked; looking claims nothing."""
        ...

    def claim(self, due: Due, now: Instant) -> Asked | None:
        """Claim a question; None when another was faster, or when there is no source to ask."""
        ...

    def renew(self, asked: Asked, now: Instant, *, is_out: bool) -> None:
        """Keep a claim for some seconds more; `is_out` while there is no answer. What is lost stays lost."""
        ...

    def take(self, asked: Asked, reply: Answer | Unchanged) -> Generator[None]:
        """Let batches and members follow a reply; each step is one transaction. Raises `TminusError`."""
        ...

    def fail(self, asked: Asked, error: TminusError) -> None:
        """Keep on the runbook that there is no answer, and ask again later."""
        ...

    def next_due(self) -> Instant | None:
        """Return when the next source is to be asked, None when none is."""
        ...
