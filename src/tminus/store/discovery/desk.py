"""The desk of one take: its transactions, all fenced alike, and what is gathered on the way.

This module must not know what an answer does; it is what the modules that do have in common.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tminus.store.applying import Applied
from tminus.store.applying import apply as apply_events
from tminus.store.discovery.asking import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tminus.db.connection import Database, Tx
    from tminus.domain.instant import Instant
    from tminus.ports.discovery import Asked
    from tminus.progression.events import Event
    from tminus.runbook.model import DataSource
    from tminus.store.applying import Context


@dataclass(slots=True)
class MoveWanted:
    """A member whose row names another time, and why a human must decide about it."""

    key: str
    to: Instant
    reason: str
    whole: bool = False


@dataclass(slots=True)
class Desk:
    """What every step of a take needs.

    `asks` are moves to be asked about, by batch and member; `kept` are batches that stay whole for now although all of
    their rows name that time.
    """

    database: Database
    asked: Asked
    context_of: Callable[[Tx], Context]
    now: Callable[[], Instant]
    asks: dict[int, dict[int, MoveWanted]] = field(default_factory=dict[int, dict[int, MoveWanted]])
    kept: set[tuple[int, Instant]] = field(default_factory=set["tuple[int, Instant]"])
    left_out: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    @property
    def name(self) -> str:
        """Return the runbook's name."""
        return self.asked.name

    @property
    def source(self) -> DataSource:
        """Return what the runbook says about its source."""
        return self.asked.question.data_source

    @contextmanager
    def write(self) -> Generator[Tx]:
        """Begin a transaction that counts only while this question is the newest."""
        with self.database.write() as tx:
            guard(tx, self.asked)
            yield tx

    def apply(self, tx: Tx, happened: Sequence[Event]) -> None:
        """Decide and write events inside a transaction of ours."""
        apply_events(tx, happened, self.context_of(tx), Applied())
