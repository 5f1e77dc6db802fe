"""The port to the rows: what the engine may ask of a store, and what it may rely on.

Each method is one transaction. A method that returns has committed; one that raises has changed nothing. Events are
wake-ups: a store decides from its rows, under its locks, whether anything is due, so that every call may be repeated,
reordered or made by two processes at once without harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.domain.instant import Instant
    from tminus.progression.events import Event


class Found(Protocol):
    """A page of due work, and where the next begins (None: this was the last)."""

    @property
    def events(self) -> list[Event]:
        """Return what was found."""
        ...

    @property
    def after(self) -> tuple[str, int] | None:
        """Return the key behind which the next page begins."""
        ...


class Ticking(Protocol):
    """What the scheduler needs: due work found by index, and transactions that decide about it."""

    def looks(self) -> Sequence[Callable[[tuple[str, int]], Found]]:
        """Return the looks at what may be due, each a page at a time; looking writes nothing."""
        ...

    def decide(self, events: Sequence[Event]) -> int:
        """Decide these events and what follows from them; return how many were handled."""
        ...

    def now(self) -> Instant:
        """Return the clock that decides: the database's."""
        ...

    def wake(self) -> int:
        """Look again at lanes that something they waited for may have come to; 0 when there are none left."""
        ...

    def end_members(self) -> int:
        """Take the next members of ending batches along; 0 when there are none left."""
        ...

    def unfinished(self) -> Sequence[tuple[str, int, int]]:
        """Return the cursors that ticks move on, each by kind and row; what is opened in chunks has one, too."""
        ...

    def move_versions(self) -> int:
        """Move live batches to versions published since; return how many were behind."""
        ...

    def next_due(self) -> Instant | None:
        """Return the earliest instant at which a look will find something, None when nothing is planned."""
        ...
