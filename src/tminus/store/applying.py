"""Applying: a micro-batch of events becomes rows in one transaction.

Load what the events touch, decide them over one view, write, then look at the phases and batches whose counters moved
as a second decision, until nothing more follows. Everything here runs inside the caller's transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.progression.decide import decide
from tminus.progression.view import NeedsWholeError
from tminus.store import opening, rooms
from tminus.store.loading import load
from tminus.store.writing import StaleRowError, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.progression.decision import Decision, Reply
    from tminus.progression.view import View
    from tminus.runbook.model import Runbook
    from tminus.store.handover import Handover

# What deciding or writing one event may raise; a value that no row can hold is an error of arithmetic or of encoding.
ONE_EVENT_FAILS: Final = (StaleRowError, NeedsWholeError, TminusError, LookupError, ValueError, ArithmeticError)

_MOST_ROUNDS: Final = 50


@dataclass(slots=True)
class Applied:
    """What came of a micro-batch: replies to commands, how many jobs went out, whether a tick has to go on with it."""

    replies: list[Reply] = field(default_factory=list["Reply"])
    jobs_sent: int = 0
    results: int = 0
    goes_on: bool = False


@dataclass(slots=True)
class Context:
    """What applying needs beside the transaction: the instant, the definitions, and two sizes."""

    now: Instant
    book: Callable[[str, int], Runbook]
    window: int
    chunk: int = opening.CHUNK
    handover: Handover | None = None

    def room(self, worker_id: str) -> int:
        """Return how many jobs may be out unclaimed at a worker id.

        Where its worker takes part in this round that is what it claims at the round's end: what it cannot take now
        stays with the ready executions, where turns are taken anew each time. Elsewhere it is the window.
        """
        if self.handover is None or worker_id not in self.handover.asked:
            return self.window
        return self.handover.claimable(worker_id)


def apply(tx: Tx, happened: Sequence[ev.Event], context: Context, applied: Applied) -> None:
    """Decide and write these events and what follows from them."""
    todo: Sequence[ev.Event] = happened
    for _ in range(_MOST_ROUNDS):
        if not todo:
            return
        view = _decided(tx, todo, context)
        write(tx, view, context.handover)
        rooms.store_tokens(tx, view.rooms, context.now)
        applied.replies += view.decision.replies
        applied.jobs_sent += len(view.decision.jobs)
        applied.goes_on = applied.goes_on or _goes_on(view.decision)
        applied.results += len(view.decision.attempts)
        todo = _following(tx, view, context)


def _goes_on(decision: Decision) -> bool:
    """Tell whether cursors were set that a tick moves on."""
    if decision.wakes or decision.openings:
        return True
    return any(b.wake_after is not None or b.ending_after is not None for b in decision.batches.values())


def _decided(tx: Tx, happened: Sequence[ev.Event], context: Context) -> View:
    """Load and decide; load anew where the decision needed more of a subject than had been guessed."""
    whole: set[tuple[int, int]] = set()
    while True:
        view = load(tx, happened, context, whole)
        try:
            decide(view, happened)
        except NeedsWholeError as need:
            if need.subject in whole:
                raise
            whole.add(need.subject)
        else:
            return view


def _following(tx: Tx, view: View, context: Context) -> list[ev.Event]:
    """Open phases and return the second decision: what the moved counters may have settled."""
    decision = view.decision
    for chunk in decision.openings:
        runbook = view.runbook(chunk.batch, chunk.phase.runbook_version)
        opening.open_chunk(tx, chunk, runbook, context.now, context.chunk)
        decision.settled_phases.add(chunk.phase.id)
    found: list[ev.Event] = [ev.PhaseSettled(i) for i in sorted(decision.settled_phases) if i > 0]
    return found + [ev.BatchSettled(i) for i in sorted(decision.settled_batches)]
