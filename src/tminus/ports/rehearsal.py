"""The port to a store in which a runbook is rehearsed: rounds and ticks as ever, and a look at the next instant.

A rehearsal has no clock that runs. It jumps from one instant at which something happens to the next, so that it must be
told of every one of them; and its simulated workers must know which step a job is of, to answer with what the step
promises. Whoever rehearses also stands in for people: it is told which gates wait and which batches may be advanced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tminus.ports.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.domain.instant import Instant
    from tminus.progression.events import Advance, AnswerHold
    from tminus.runbook.model import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which step a job is of, and for whom. `sequence` is the phase of a phase's step, else the name of its list."""

    execution_id: int
    batch_id: int
    kind: str
    sequence: str
    member_key: str | None
    step: Step


class Rehearsable(Rounds, Protocol):
    """A store as a rehearsal uses it."""

    def next_after(self, now: Instant) -> Instant | None:
        """Return the earliest instant behind `now` at which anything may happen by itself, None for never."""
        ...

    def parts(self, execution_ids: Sequence[int]) -> dict[int, Part]:
        """Return which steps these executions are."""
        ...

    def written(self) -> int:
        """Return a number that grows whenever a row is written."""
        ...

    def open_gates(self) -> Sequence[tuple[int, int | None]]:
        """Return hold and batch of every gate that waits for an answer."""
        ...

    def untimed(self) -> Sequence[int]:
        """Return the open batches that have no T-0 and wait to be advanced."""
        ...

    def command(self, command: AnswerHold | Advance) -> bool:
        """Give the command of a person who is played; tell whether it was done."""
        ...
