"""The stages of a planned batch in the order in which they come: its init, its phases, its end.

The order is the engine's: phases by due time and their place in the runbook, and without T-0 by the turn at which
somebody's `advance` opens them, from the largest offset to the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.runbook.model import Phase, Runbook, Step

StageKind = Literal["init", "phase", "finish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One list of steps at its time.

    `phase` is its definition, None for init and finish. `due_at` is None where somebody advances the batch: `turn` is
    the how-many-eth advance it then is, and 0 otherwise. `note` says what a clock change did to the time.
    """

    kind: StageKind
    name: str
    steps: tuple[Step, ...]
    phase: Phase | None = None
    due_at: Instant | None = None
    turn: int = 0
    note: str | None = None


def stages_of(book: Runbook, t0: Instant | None, now: Instant) -> list[Stage]:
    """Return the stages of a batch with this T-0 that is made now."""
    phases = _advanced(book) if t0 is None else _timed(book, t0)
    first, last = (1, len(phases)) if t0 is None else (0, 0)
    found: list[Stage] = []
    if book.init:
        found.append(Stage(kind="init", name="init", steps=book.init, due_at=None if first else now, turn=first))
    found += phases
    if book.on_batch_finished:
        found.append(Stage(kind="finish", name="finish", steps=book.on_batch_finished, turn=last))
    return found


def _timed(book: Runbook, t0: Instant) -> list[Stage]:
    found: list[tuple[Instant, int, Stage]] = []
    for index, phase in enumerate(book.phases):
        due, note = phase.offset.due(t0, book.timezone)
        stage = Stage(kind="phase", name=phase.name, steps=phase.steps, phase=phase, due_at=due, note=note)
        found.append((due, index, stage))
    return [stage for _, _, stage in sorted(found, key=lambda one: one[:2])]


def _advanced(book: Runbook) -> list[Stage]:
    places = sorted(range(len(book.phases)), key=lambda index: (-book.phases[index].offset.minutes, index))
    phases = [book.phases[index] for index in places]
    return [
        Stage(kind="phase", name=phase.name, steps=phase.steps, phase=phase, turn=turn)
        for turn, phase in enumerate(phases, 1)
    ]
