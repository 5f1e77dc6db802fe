"""The store as the engine sees it: rounds, sweeps, cohorts, commands - each one transaction.

A round takes what has come in, lets waiting work go out fairly, and claims for those who have room, all in one
commit. When a micro-batch cannot be written it is replayed event by event, so that one bad event stops only itself;
when the database fails nothing is to blame, nothing is replayed, and the caller hears of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tminus.db.connection import DatabaseError
from tminus.db.migrate import migrate
from tminus.progression.rooms import WINDOW
from tminus.store import claims, cohort, collection, cursors, opening, runbooks, standing, sweeps, turns
from tminus.store.applying import ONE_EVENT_FAILS, Applied, Context, apply
from tminus.store.handover import Handover

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Literal

    from tminus.db.connection import Database, Tx
    from tminus.domain.instant import Instant
    from tminus.progression.decision import Reply
    from tminus.progression.events import Event
    from tminus.runbook.model import Runbook


@dataclass(slots=True)
class Asking:
    """A worker with room: which worker id it serves, its name, and how many jobs it takes."""

    worker_id: str
    worker: str
    most: int


@dataclass(slots=True)
class Round:
    """What a round did."""

    replies: list[Reply] = field(default_factory=list["Reply"])
    claimed: list[claims.Claim] = field(default_factory=list[claims.Claim])
    refused: list[tuple[Event, Exception]] = field(default_factory=list["tuple[Event, Exception]"])
    handled: int = 0
    sent: int = 0
    goes_on: bool = False

    def add(self, part: Round) -> None:
        """Count what another transaction of the same round did."""
        self.replies += part.replies
        self.claimed += part.claimed
        self.sent += part.sent
        self.goes_on = self.goes_on or part.goes_on


class Store:
    """One database, and everything that may be done to it."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], Instant] | None = None,
        window: int = WINDOW,
        chunk: int = opening.CHUNK,
        lease_s: float = claims.LEASE_S,
    ) -> None:
        """Use a migrated database; `clock` stands in for its own, `lease_s` is a claim's life without a heartbeat."""
        self.database = database
        self.window = window
        self.chunk = chunk
        self.lease_s = lease_s
        self._clock = clock or database.now
        self._books: dict[tuple[str, int], Runbook] = {}

    @classmethod
    def open(cls, database: Database, *, clock: Callable[[], Instant] | None = None, window: int = WINDOW) -> Store:
        """Migrate a database and return its store."""
        migrate(database)
        return cls(database, clock=clock, window=window)

    def now(self) -> Instant:
        """Return the clock that decides."""
        return self._clock()

    @contextmanager
    def undone(self) -> Generator[None]:
        """Let what is done inside happen as always, and take it back: only its answers are kept."""
        try:
            with self.database.undone():
                yield
        finally:
            self._books.clear()

    @contextmanager
    def snapshot(self) -> Generator[tuple[Tx, Context]]:
        """Read one consistent state, for a short time, with what loading rows into a view needs."""
        with self.database.read() as tx:
            yield tx, self._context(tx)

    # -- rounds ----------------------------------------------------------------------------------------------------

    def round(self, events: Sequence[Event] = (), asking: Iterable[Asking] = (), *, turn: bool = True) -> Round:
        """Handle events, let waiting work go out, claim: one transaction."""
        asked = list(asking)
        try:
            return self._round(events, asked, turn=turn)
        except DatabaseError:
            raise
        except ONE_EVENT_FAILS:
            return self._replay(events, asked, turn=turn)

    def _replay(self, events: Sequence[Event], asking: Sequence[Asking], *, turn: bool) -> Round:
        """Do a round in as many transactions as it has parts; what fails alone is refused."""
        done = Round()
        self._one_by_one(done, events)
        done.handled = len(events) - len(done.refused)
        try:
            done.add(self._round((), asking, turn=turn))
        except DatabaseError:
            raise
        except ONE_EVENT_FAILS:
            with self.database.read() as tx:
                chosen = turns.choose(tx, self.now(), lambda _worker_id: self.window)
            self._one_by_one(done, chosen)
            done.add(self._round((), asking, turn=False))
        return done

    def _one_by_one(self, done: Round, events: Sequence[Event]) -> None:
        for event in events:
            try:
                part = self._round([event], (), turn=False)
            except DatabaseError:
                raise
            except ONE_EVENT_FAILS as error:
                done.refused.append((event, error))
            else:
                done.add(part)

    def _round(self, events: Sequence[Event], asking: Sequence[Asking], *, turn: bool) -> Round:
        done = Round()
        applied = Applied()
        with collection.paused(), self.database.write() as tx:
            context = self._context(tx)
            handover = context.handover = Handover(context.now, self.lease_s)
            for one in asking:
                handover.offer(tx, one.worker_id, one.worker, one.most)
            apply(tx, events, context, applied)
            if turn:
                apply(tx, turns.choose(tx, context.now, context.room), context, applied)
            for one in asking:
                most = handover.left(one.worker_id, one.worker, one.most)
                done.claimed += claims.claim(tx, one.worker_id, one.worker, most, context.now, self.lease_s)
            done.claimed += handover.claims
        done.replies, done.sent, done.handled = applied.replies, applied.jobs_sent, len(events)
        done.goes_on = applied.goes_on
        return done

    # -- the tick --------------------------------------------------------------------------------------------------

    def looks(self) -> tuple[Callable[[tuple[str, int]], sweeps.Page], ...]:
        """Return the looks at what may be due."""
        return tuple(partial(self.sweep, look) for look in sweeps.SWEEPS)

    def decide(self, events: Sequence[Event]) -> int:
        """Decide events that a look has found; a failing one stops only itself and is found again."""
        return self.round(events, turn=False).handled

    def sweep(self, look: Callable[..., sweeps.Page], after: tuple[str, int] = sweeps.START) -> sweeps.Page:
        """Look for due work; nothing is written."""
        with self.database.read() as tx:
            return look(tx, self.now(), after)

    def wake(self) -> int:
        """Look again at lanes whose batch was woken; return how many subjects there were."""
        return cursors.go_on(self.database, self._context, lambda tx, page: (sweeps.take_wakes(tx, page), []))

    def end_members(self) -> int:
        """Take the next members of ending batches along; return how many events that were."""
        return cursors.go_on(self.database, self._context, sweeps.take_endings)

    def move_versions(self) -> int:
        """Move live batches to the versions that were published, one transaction each."""
        with self.database.read() as tx:
            behind = sweeps.behind(tx)
        for event in behind:
            self.round([event], turn=False)
        return len(behind)

    def unfinished(self) -> list[tuple[str, int, int]]:
        """Return the cursors that ticks move on."""
        with self.database.read() as tx:
            return sweeps.unfinished(tx)

    def next_due(self) -> Instant | None:
        """Return when a sweep will next find something."""
        with self.database.read() as tx:
            return sweeps.next_due(tx)

    # -- cohorts ---------------------------------------------------------------------------------------------------

    def create_batch(self, wanted: cohort.NewBatch) -> cohort.Made:
        """Make a batch, or find it."""
        with self.database.write() as tx:
            return cohort.create(tx, wanted, self._context(tx), Applied())

    def join(self, batch_id: int, members: Sequence[tuple[str, str]], actor: str = "", reason: str = "") -> list[int]:
        """Add members to a live batch."""
        with self.database.write() as tx:
            return cohort.join(tx, batch_id, members, self._context(tx), Applied(), actor=actor, reason=reason)

    def move(self, member_id: int, batch_id: int, actor: str | None = None, reason: str = "") -> int | None:
        """Move a member to another open batch; one whom an operator has moved stays there."""
        with self.database.write() as tx:
            return cohort.move(tx, member_id, batch_id, self._context(tx), Applied(), actor=actor, reason=reason)

    def publish(
        self,
        runbook: Runbook,
        yaml_content: str,
        *,
        overdue: Literal["rerun", "ignore"] = "rerun",
        rerun_init: bool = False,
        actor: str = "",
    ) -> int:
        """Publish the next version of a runbook."""
        with self.database.write() as tx:
            return runbooks.publish(
                tx, runbook, yaml_content, self.now(), overdue=overdue, rerun_init=rerun_init, actor=actor
            )

    # -- workers ---------------------------------------------------------------------------------------------------

    def claim(self, worker_id: str, worker: str, most: int) -> list[claims.Claim]:
        """Take jobs for a worker."""
        with self.database.write() as tx:
            return claims.claim(tx, worker_id, worker, most, self.now(), self.lease_s)

    def beat(self, worker: str, jobs: Sequence[tuple[int, str]]) -> None:
        """Keep the leases of running jobs."""
        with self.database.write() as tx:
            claims.beat(tx, worker, jobs, self.now(), self.lease_s)

    def give_back(self, worker: str, jobs: Sequence[tuple[int, str]]) -> int:
        """Put jobs back that a worker has not done."""
        with self.database.write() as tx:
            return claims.give_back(tx, worker, jobs)

    def run_round(self, events: Sequence[Event], worker: str, room: Sequence[tuple[str, int]]) -> Round:
        """Run a round for one worker process that serves several worker ids."""
        return self.round(events, [Asking(worker_id, worker, most) for worker_id, most in room])

    def holders(self) -> list[str]:
        """Return the names of all workers that hold jobs."""
        with self.database.read() as tx:
            return claims.claimed_workers(tx)

    def worker_ids(self) -> list[str]:
        """Return every worker id that published runbooks name, of any version that a live batch may still run."""
        with self.database.read() as tx:
            return runbooks.worker_ids(tx, lambda name, version: self._book(tx, name, version))

    def changes(self) -> int:
        """Return a number that differs when another connection has written to the database."""
        return self.database.changes()

    def rest(self) -> None:
        """Tidy the database while nobody waits."""
        self.database.fold()

    def standing(self) -> tuple[bool, bool, bool]:
        """Tell whether anything moves, has failed, is held."""
        with self.database.read() as tx:
            return standing.moving(tx, self.now()), standing.failed(tx), standing.held(tx)

    def release(self, worker: str) -> int:
        """End the leases of a dead worker."""
        with self.database.write() as tx:
            return claims.release(tx, worker, self.now())

    def _context(self, tx: Tx) -> Context:
        return Context(now=self.now(), book=lambda name, version: self._book(tx, name, version), window=self.window,
                       chunk=self.chunk)  # fmt: skip

    def _book(self, tx: Tx, name: str, version: int) -> Runbook:
        known = self._books.get((name, version))
        if known is None:
            known = self._books[name, version] = runbooks.read(tx, name, version)
        return known
