"""Scenes that end in front of something that waits, and what must be said of it.

A scene is kept with its code, its sentence and the time of what comes next. This module must not know any sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.progression.stage import Keys, book, lane_of, phase, play, view_of
from tminus.progression.reasons import Reason, batch_reason, phase_reason, reason
from tminus.testing.world import World, silent

if TYPE_CHECKING:
    from collections.abc import Callable

Scene = tuple[str, str, str | None, "Callable[[], Reason]"]


class Scenes(list[Scene]):
    """The scenes of one file."""

    def add(self, code: str, sentence: str, next_at: str | None = None) -> Callable[[Callable[[], Reason]], object]:
        """Keep a scene with what it must say; `next_at` is a time of the first day."""

        def keep(make: Callable[[], Reason]) -> object:
            self.append((code, sentence, next_at, make))
            return make

        return keep

    @property
    def names(self) -> list[str]:
        """Return what tests are called."""
        return [f"{code}: {sentence[:40]}" for code, sentence, *_ in self]


def check(code: str, sentence: str, next_at: str | None, make: Callable[[], Reason]) -> None:
    """Play a scene and compare what is said."""
    found = make()
    assert (found.code, found.sentence) == (code, sentence)
    day = "2026-01-02T00:00:00.000Z" if next_at == "next day" else f"2026-01-01T{next_at}.000Z"
    assert found.next_at == (None if next_at is None else day)


def why(world: World, kind: str = "phase", sequence: str | None = None, key: str | None = "ann") -> Reason:
    """Ask for the reason of a lane: a member's, or (key None) the batch's own."""
    view, subject = view_of(world, key)
    return reason(view, subject, lane_of(subject, kind, sequence))


def of_phase(world: World, name: str, version: int = 1) -> Reason:
    """Ask for the reason of a phase."""
    view, _ = view_of(world, None)
    (row,) = [p for p in view.phases.values() if (p.phase_name, p.runbook_version) == (name, version)]
    return phase_reason(view, row)


def of_batch(world: World) -> Reason:
    """Ask for the reason of the batch."""
    view, _ = view_of(world, None)
    return batch_reason(view, view.batches[1])


def behind(**keys: Keys) -> World:
    """Bring ann to the end of prepare, which never answers, with cutover open behind it."""
    return play(book(phase("prepare", offset="T-1h"), {**phase("cutover"), **keys}), prepare=silent())
