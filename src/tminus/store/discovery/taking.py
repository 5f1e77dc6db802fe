"""Taking an answer: the order of its steps, each one short transaction, and the store that the loop sees.

Rows first, then absences, then batches, and the fingerprint last: as long as it is not stored, the source is asked for
everything again. Moves go before leavers, because the brake on leavers counts them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, plus
from tminus.ports.source import Answer
from tminus.progression.view import NeedsWholeError
from tminus.store import runbooks
from tminus.store.applying import Context
from tminus.store.discovery import absence, asking, intake, leavers, moves, problems, slots, timed, view
from tminus.store.discovery.desk import Desk
from tminus.store.reading import text
from tminus.store.writing import StaleRowError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from tminus.db.connection import Tx
    from tminus.ports.discovery import Asked, Due
    from tminus.ports.source import Unchanged
    from tminus.runbook.model import Runbook
    from tminus.store.store import Store

_FORGET: Final = "UPDATE runbooks SET source_fingerprint = NULL WHERE id = ?"
_ANSWERED_AT: Final = "SELECT max(source_answered_at) FROM runbooks WHERE name = ?"
_FINISH: Final = """UPDATE runbooks SET source_fingerprint = ?, source_answered_at = ?, source_next_at = ?,
  source_failures = 0, last_error = NULL, last_error_at = NULL, source_is_complete = ?, source_row_count = ?
  WHERE id = ?"""
_PROBLEMS: Final = "UPDATE runbooks SET source_problem_count = ? WHERE id = ?"


class DiscoveryStore:
    """What discovery reads and writes, over a store."""

    def __init__(self, store: Store) -> None:
        """Work over this store's database and clock."""
        self._store = store
        self._books: dict[tuple[str, int], Runbook] = {}

    def due_runbooks(self, now: Instant) -> Sequence[Due]:
        """Return the runbooks whose sources may be asked now."""
        with self._store.database.read() as tx:
            return asking.due_runbooks(tx, now)

    def next_due(self) -> Instant | None:
        """Return when the next source is to be asked."""
        with self._store.database.read() as tx:
            return asking.next_due(tx)

    def claim(self, due: Due, now: Instant) -> Asked | None:
        """Claim a question, None when another was faster; a definition that cannot be read is kept as a failure."""
        with self._store.database.write() as tx:
            try:
                runbook = self._book(tx, due.name, due.version)
            except TminusError as error:
                asking.fail(tx, due, error, now, asking.BACKOFF_S_MAX)
                return None
            return asking.claim(tx, due, runbook, now)

    def renew(self, asked: Asked, now: Instant, *, is_out: bool) -> None:
        """Keep a claim."""
        with self._store.database.write() as tx:
            asking.renew(tx, asked, now, is_out=is_out)

    def ask_soon(self, *, failed_only: bool) -> None:
        """Let sources be asked now: those that failed, or all."""
        with self._store.database.write() as tx:
            asking.ask_soon(tx, self._store.now(), failed_only=failed_only)

    def fail(self, asked: Asked, error: TminusError) -> None:
        """Keep on the runbook why there is no answer."""
        with self._store.database.write() as tx:
            asking.fail(tx, asked, error, self._store.now(), asked.interval_s)

    def take(self, asked: Asked, reply: Answer | Unchanged) -> Generator[None]:
        """Let batches and members follow a reply, one transaction a step."""
        desk = Desk(self._store.database, asked, self._context, self._store.now)
        with _in_our_words():
            if isinstance(reply, Answer):
                yield from _take_rows(desk, reply)
            else:
                yield from _count_missed(desk, complete=reply.complete, why=None, answered_at=None)
            if desk.source.immediate:
                yield from slots.follow_slot(desk)
            else:
                yield from moves.reschedule_whole(desk)
                yield from timed.follow_times(desk)
                yield from moves.ask(desk)
            yield from leavers.follow_absences(desk)
            with desk.write() as tx:
                _finish(tx, desk, reply)
            yield

    def _context(self, tx: Tx) -> Context:
        store = self._store
        return Context(
            now=store.now(),
            book=lambda name, version: self._book(tx, name, version),
            window=store.window,
            chunk=store.chunk,
        )

    def _book(self, tx: Tx, name: str, version: int) -> Runbook:
        known = self._books.get((name, version))
        if known is None:
            known = self._books[name, version] = runbooks.read(tx, name, version)
        return known


@contextmanager
def _in_our_words() -> Generator[None]:
    """End quietly when the answer is void; let out what else stops a take as an error that can be kept."""
    try:
        yield
    except asking.OvertakenError:
        return
    except (StaleRowError, NeedsWholeError, LookupError, ValueError, ArithmeticError) as error:
        # A row that somebody else has spoilt stops this runbook, as it would a single event, and not the process.
        raise TminusError("E361", f"the answer could not be written: {error}", hint="the next one goes on") from error


def _take_rows(desk: Desk, answer: Answer) -> Iterator[None]:
    """Write the rows of an answer, and count those that it does not hold."""
    name = desk.name
    with desk.write() as tx:
        tx.run(_FORGET, (desk.asked.runbook_id,))
        view.ensure_view(tx, desk.asked.runbook_id, name, answer.columns)
        seen = intake.begin(tx, name)
        row = tx.one(_ANSWERED_AT, (name,))
        answered_at = Instant(text(row[0])) if row and row[0] else None
    yield
    for rows in answer.rows.chunks():
        with desk.database.read() as tx:
            chunk = intake.compare(tx, name, rows, seen)
        if chunk.new or chunk.changed:
            with desk.write() as tx:
                intake.write(tx, name, chunk, desk.now())
            yield
    if answer.failed_keys:
        with desk.write() as tx:
            intake.keep_failed(tx, name, answer.failed_keys, seen, desk.now())
        yield
    why: str | None = None
    if answer.complete:
        with desk.database.read() as tx:
            why = absence.doubt(tx, name, seen, len(answer.rows) + len(answer.failed_keys))
    yield from _count_missed(desk, complete=answer.complete, why=why, answered_at=answered_at)
    yield from _count_newly_missed(desk, seen, complete=answer.complete, why=why, answered_at=answered_at)


def _count_missed(desk: Desk, *, complete: bool, why: str | None, answered_at: Instant | None) -> Iterator[None]:
    """Count one more answer without the rows that were missed before."""
    after, grace = 0, desk.source.leavers.grace
    while True:
        with desk.database.read() as tx:
            ids = absence.next_missed(tx, desk.name, after, grace, complete=complete)
        if not ids:
            return
        after = ids[-1]
        with desk.write() as tx:
            absence.count(tx, ids, complete=complete, why=why, answered_at=answered_at)
        yield


def _count_newly_missed(
    desk: Desk, seen: intake.Seen, *, complete: bool, why: str | None, answered_at: Instant | None
) -> Iterator[None]:
    """Count a first answer without rows that were there so far."""
    with desk.database.read() as tx:
        if not absence.anyone_missing(tx, desk.name, seen):
            return
    after = 0
    while True:
        with desk.database.read() as tx:
            there = absence.next_current(tx, desk.name, after)
        if not there:
            return
        after = there[-1]
        missing = [i for i in there if not seen.held(i)]
        for at in range(0, len(missing), absence.PAGE):
            with desk.write() as tx:
                part = missing[at : at + absence.PAGE]
                absence.count(tx, part, complete=complete, why=why, answered_at=answered_at)
            yield


def _finish(tx: Tx, desk: Desk, reply: Answer | Unchanged) -> None:
    asked, now = desk.asked, desk.now()
    count = tx.one(intake.CURRENT, (desk.name,))
    next_at = max(plus(asked.at, asked.interval_s), now)
    tx.run(
        _FINISH,
        (reply.fingerprint or None, now, next_at, int(reply.complete), count[0] if count else 0, asked.runbook_id),
    )
    problems.replace_left_out(tx, desk.name, desk.left_out, now)
    if isinstance(reply, Answer):
        problems.replace_rows(tx, desk.name, reply.problems, reply.notes, now)
        tx.run(_PROBLEMS, (reply.problem_count, asked.runbook_id))
