"""The port to a source: where members come from.

A source is asked one question and gives one reply: the whole table as it stands (`Answer`), the word that nothing
changed (`Unchanged`), or an error that says why there is no answer (`SourceError`). There is no fourth: never half a
table, never an empty table in place of an error. Members that an answer does not name may be cleaned up after, so an
adapter that is in doubt raises. This module must not know any database, file or network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.domain.instant import Instant
    from tminus.runbook.model import DataSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a source is asked.

    `timezone` is the runbook's: times without a zone are read in it. `known` is the fingerprint of the last reply that
    was kept, or None to get the table whatever happened to it.
    """

    data_source: DataSource
    timezone: str = "UTC"
    known: str | None = None


@dataclass(slots=True)
class SourceRow:
    """One good row.

    `key` is trimmed and unique in its answer, twins included (`tminus.domain.members.twin`). `batch_time` is the
    source's own time cut to the second, which is a batch's identity; None when the batch is immediate or manual. `data`
    is a JSON object of all columns in their order, multi-valued ones as arrays. `place` is for people:
    `members.csv:17`. Never changed after it was handed out.
    """

    key: str
    batch_time: Instant | None
    data: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """One row that was left out, or one fault of a whole table, with the key where it could be read."""

    place: str
    code: str
    message: str
    hint: str = ""
    key: str | None = None

    def __str__(self) -> str:
        """Give the one line that a terminal shows."""
        cure = f" - {self.hint}" if self.hint else ""
        return f"{self.place}: {self.code} {self.message}{cure}"


class Rows(Protocol):
    """The good rows of an answer, in the source's order; complete before anybody sees the first.

    They may be iterated any number of times. Iterating holds a few thousand rows in memory at a time, however many
    there are; only one iteration at a time is allowed.
    """

    def __len__(self) -> int:
        """Return how many rows there are."""
        ...

    def __iter__(self) -> Iterator[SourceRow]:
        """Go through the rows one by one."""
        ...

    def chunks(self) -> Iterator[Sequence[SourceRow]]:
        """Go through the rows in lists of at most 2,000, never an empty one."""
        ...

    def close(self) -> None:
        """Give back memory and files; nothing may be read afterwards. Closing twice does nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The whole table as the source gave it. Use it in a `with` statement, or close it.

    `columns` are the source's names in order. `problems` are the first 1,000 rows that were left out, `problem_count`
    is how many there were. `failed_keys` are the keys of rows that were left out and could still be told apart: their
    members are in the source and must not be taken for leavers. `complete` is False when a row was left out whose key
    could not be told, or when the source itself says that it gave less than all: then rows may be used, and absence
    means nothing. `notes` are remarks that concern no single row. `fingerprint` stands for exactly this answer to
    exactly this question; it is text without secrets, at most 500 characters, to be handed back as `Question.known`.
    """

    columns: tuple[str, ...]
    rows: Rows
    problems: tuple[RowProblem, ...] = ()
    problem_count: int = 0
    failed_keys: frozenset[str] = frozenset()
    complete: bool = True
    notes: tuple[str, ...] = ()
    fingerprint: str = ""

    def __enter__(self) -> Self:
        """Hand out the answer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give back what the rows hold."""
        self.rows.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The table is the one that `Question.known` stands for, row for row; it counts as one more answer like that one.

    `complete` is what that answer's was. `fingerprint` replaces the one that was known.
    """

    fingerprint: str
    complete: bool = True


class SourceError(TminusError):
    """Not an answer: nothing may be concluded from it, least of all that somebody left.

    `problems` lists what was found wrong until then, rows first, of `problem_count` in all; the error itself tells what
    ended the reading.
    """

    def __init__(
        self, code: str, message: str, *, place: str = "", hint: str = "", problems: Sequence[RowProblem] = ()
    ) -> None:
        """Keep the list; without one, the error is its only entry."""
        super().__init__(code, message, place=place, hint=hint)
        self.problems = tuple(problems) or (RowProblem(place=place, code=code, message=message, hint=hint),)
        self.problem_count = len(self.problems)


class Source(Protocol):
    """Where members come from.

    Guarantees of every adapter, proven by `tminus.testing.source_suite`:

    - An answer is complete before it is returned. What cannot be read to its end is a `SourceError`, and so is a table
      whose columns do not fit the question.
    - A faulty row is left out and listed; it never costs another row and never raises. Of rows with one key, or with
      twin keys, the first counts.
    - The same table gives the same answer, and asking changes nothing in the source.
    - `Unchanged` is said only about the table and the question that `known` came from. An adapter that cannot tell
      never says it.
    - `ask` may block for as long as the source takes; it may be called from any thread, for one question at a time.
    - Neither errors nor problems hold a secret.
    """

    def ask(self, question: Question) -> Answer | Unchanged:
        """Ask for the table; raises `SourceError` when there is no answer."""
        ...
