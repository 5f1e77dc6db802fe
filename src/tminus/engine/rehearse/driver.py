"""The loop of a rehearsal: everything that happens at an instant, then a jump to the next one.

It calls the tick and the rounds of production over a store whose clock stands still in between. Answers of the
simulated workers, the acts of a script and a source's changes are kept by their instants; ties are broken by the order
in which they were planned, so that a rehearsal is repeated exactly. This module must not know a database, nor draw
anything on a screen: whoever watches is called before each jump.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, Literal, Protocol

from tminus.domain.errors import TminusError
from tminus.engine.tick import tick
from tminus.progression import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.domain.instant import Instant
    from tminus.engine.rehearse.crew import Crew
    from tminus.ports.rehearsal import Rehearsable

Gates = Literal["approve", "reject", "wait"]
ROOM: Final = 500
WORKER: Final = "rehearsal"
OPERATOR: Final = "rehearsed operator"
APPROVER: Final = "rehearsed approver"
# An instant at which more than this happens one after the other never ends: something undoes what it does.
MOST_TURNS: Final = 20_000


class Clock(Protocol):
    """A clock that stands still until it is set."""

    @property
    def now(self) -> Instant:
        """Return the present."""
        ...

    def set(self, now: Instant) -> None:
        """Jump."""
        ...


class Asking(Protocol):
    """A source that is asked when its time has come."""

    def next_at(self) -> Instant | None:
        """Return when it is to be asked next, None for never."""
        ...

    def ask(self, now: Instant) -> None:
        """Ask whoever is due, and follow the answer to its end."""
        ...


class Rehearsal:
    """Runs a store on a virtual clock until nothing is left to happen."""

    def __init__(self, store: Rehearsable, clock: Clock, crew: Crew, *, gates: Gates = "approve") -> None:
        """Set the stage; `gates` says what the people at the gates answer."""
        self.store = store
        self.clock = clock
        self.crew = crew
        self.gates: Gates = gates
        self.source: Asking | None = None
        self.watcher: Callable[[Instant, Instant], None] | None = None
        self.refused: list[tuple[ev.Event, Exception]] = []
        self.jobs = 0
        self._order = 0
        self._answered: set[int] = set()
        self._answers: list[tuple[Instant, int, ev.Event]] = []
        self._acts: list[tuple[Instant, int, Callable[[], None]]] = []
        self._worker_ids: list[str] = []

    def plan(self, at: Instant, act: Callable[[], None]) -> None:
        """Have something done at an instant: a source changes, an operator acts."""
        self._order += 1
        heapq.heappush(self._acts, (at, self._order, act))

    def run(self, until: Instant | None = None) -> None:
        """Run to the end, or up to an instant (what falls due then still happens)."""
        while True:
            self._settle()
            then = self._next()
            if (then is None or (until is not None and then > until)) and self._advance():
                continue
            if then is None or (until is not None and then > until):
                return
            if self.watcher is not None:
                self.watcher(self.clock.now, then)
            self.clock.set(then)

    # -- one instant -----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Let everything happen that happens at this instant."""
        now = self.clock.now
        for _ in range(MOST_TURNS):
            before = self.store.written()
            self._act(now)
            if self.source is not None:
                self.source.ask(now)
            tick(self.store)
            self._worker_ids = self._worker_ids or list(self.store.worker_ids())
            self._round(self._arrived(now))
            self._answer_gates()
            if self.store.written() == before and not (self._answers and self._answers[0][0] <= now):
                return
        raise TminusError("E592", "the rehearsal does not come to rest", place=now, hint="report it with the runbook")

    def _act(self, now: Instant) -> None:
        while self._acts and self._acts[0][0] <= now:
            heapq.heappop(self._acts)[2]()
            # Whatever was done may have published a version that names other workers.
            self._worker_ids = []

    def _arrived(self, now: Instant) -> list[ev.Event]:
        found: list[ev.Event] = []
        while self._answers and self._answers[0][0] <= now and len(found) < ROOM:
            found.append(heapq.heappop(self._answers)[2])
        return found

    def _round(self, events: list[ev.Event]) -> None:
        done = self.store.run_round(events, WORKER, [(worker_id, ROOM) for worker_id in self._worker_ids])
        self.refused += done.refused
        if not done.claimed:
            return
        self.jobs += len(done.claimed)
        parts = self.store.parts([claim.execution_id for claim in done.claimed])
        for claim in done.claimed:
            at, event = self.crew.answer(claim, parts[claim.execution_id], self.clock.now)
            self._order += 1
            heapq.heappush(self._answers, (at, self._order, event))

    # -- people ----------------------------------------------------------------------------------------------------

    def _answer_gates(self) -> None:
        if self.gates == "wait":
            return
        for hold_id, batch_id in self.store.open_gates():
            self.store.command(
                ev.AnswerHold(hold_id=hold_id, batch_id=batch_id, answer=self.gates, actor=APPROVER, reason="rehearsed")
            )

    def _advance(self) -> bool:
        """Advance batches without T-0 where nothing else is left to happen; tell whether one moved."""
        moved = False
        for batch_id in self.store.untimed():
            command = ev.Advance(batch_id=batch_id, actor=OPERATOR, reason="rehearsed")
            moved = self.store.command(command) or moved
        return moved

    # -- time ------------------------------------------------------------------------------------------------------

    def _next(self) -> Instant | None:
        """Return the next instant at which anything happens."""
        now = self.clock.now
        return min((at for at in self._instants(now) if at is not None and at > now), default=None)

    def _instants(self, now: Instant) -> Iterable[Instant | None]:
        yield self.store.next_after(now)
        yield self._answers[0][0] if self._answers else None
        yield self._acts[0][0] if self._acts else None
        yield self.source.next_at() if self.source is not None else None
