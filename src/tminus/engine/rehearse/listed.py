"""A source that is a list in memory: what a real one answered once, and whatever a story changes in it.

It is asked through the same discovery as every source. An unchanged list need not be asked every five minutes for a
month: after each change it is asked as often as an absence must be seen to count, and then no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.ports.source import Answer, Question, SourceRow, Unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tminus.domain.instant import Instant
    from tminus.ports.discovery import Discovering
    from tminus.runbook.model import DataSource

CHUNK: Final = 2_000


@dataclass(frozen=True, slots=True)
class ListedRows:
    """Good rows in memory."""

    rows: tuple[SourceRow, ...]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __iter__(self) -> Iterator[SourceRow]:
        """Go through the rows one by one."""
        return iter(self.rows)

    def chunks(self) -> Iterator[Sequence[SourceRow]]:
        """Go through the rows in lists."""
        for at in range(0, len(self.rows), CHUNK):
            yield self.rows[at : at + CHUNK]

    def close(self) -> None:
        """Give nothing back: the list is not the answer's own."""


class ListedSource:
    """Answers with the list as it stands; `change` replaces it."""

    def __init__(self, columns: Sequence[str], rows: Sequence[SourceRow]) -> None:
        """Begin with these rows."""
        self._columns = tuple(columns)
        self._rows = tuple(rows)
        self.changes = 1

    @property
    def rows(self) -> tuple[SourceRow, ...]:
        """Return the rows as they stand."""
        return self._rows

    def change(self, rows: Sequence[SourceRow]) -> None:
        """Replace the rows: somebody edited the table."""
        self._rows = tuple(rows)
        self.changes += 1

    def ask(self, question: Question) -> Answer | Unchanged:
        """Answer."""
        fingerprint = f"listed-{self.changes}"
        if question.known == fingerprint:
            return Unchanged(fingerprint=fingerprint)
        return Answer(columns=self._columns, rows=ListedRows(self._rows), fingerprint=fingerprint)


class ListedAsking:
    """Asks listed sources when they are due and have something to say."""

    def __init__(
        self, store: Discovering, sources: dict[str, ListedSource], books: Callable[[str], DataSource]
    ) -> None:
        """Ask the sources of these runbooks; `books` says what a runbook's source asks for."""
        self._store = store
        self._sources = sources
        self._books = books
        self._asked: dict[str, tuple[int, int]] = {}

    def next_at(self) -> Instant | None:
        """Return when somebody is to be asked next, None while nobody has anything to say."""
        return self._store.next_due() if any(self._wants(name) for name in self._sources) else None

    def ask(self, now: Instant) -> None:
        """Ask whoever is due, and follow the answer to its end."""
        if not any(self._wants(name) for name in self._sources):
            return
        for due in self._store.due_runbooks(now):
            source = self._sources.get(due.name)
            asked = self._store.claim(due, now) if source is not None else None
            if source is None or asked is None:
                continue
            for _ in self._store.take(asked, source.ask(asked.question)):
                pass
            changes, times = self._asked.get(due.name, (0, 0))
            self._asked[due.name] = (source.changes, times + 1 if changes == source.changes else 1)

    def _wants(self, name: str) -> bool:
        """Tell whether a source changed, or must be asked again before an absence counts."""
        source = self._sources[name]
        changes, times = self._asked.get(name, (0, 0))
        return changes != source.changes or times <= self._books(name).leavers.grace
