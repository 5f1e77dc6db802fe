"""The loop of a process: answers in, one round, jobs out, a tick when something is due - in one thread.

A round takes what is there and never waits to fill up. Between rounds the loop sleeps on the runner's descriptor, at
most until the next due time, and wakes a few times a second to see whether another process has written. Nothing is
remembered that the database does not hold, except which jobs are in hand.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from tminus.domain.instant import between_s
from tminus.engine import faultpoint, identity
from tminus.engine.presence import Presence
from tminus.engine.tick import tick
from tminus.engine.work import BEAT_S, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.domain.instant import Instant
    from tminus.ports.roster import Roster
    from tminus.ports.rounds import Rounds
    from tminus.ports.runner import Report, Runner
    from tminus.progression.events import Event

MOST: Final = 500
GLANCE_S: Final = 0.2
# Pages of waking or ending members between two rounds: answers wait for no more than these.
CURSOR_PAGES: Final = 2
REST_ROUNDS: Final = 16


@dataclass(slots=True, kw_only=True)
class Settings:
    """How the loop runs. `worker_ids` empty serves every id that published runbooks name."""

    tick_s: float = 1.0
    worker_ids: tuple[str, ...] = ()
    drain_s: float = 10.0


class Sources(Protocol):
    """The asking of sources as the loop sees it."""

    def ask(self) -> float | None:
        """Ask and take answers, without waiting; say in how many seconds to come again, None for never."""
        ...

    def has_settled(self) -> bool:
        """Tell whether each source has answered completely since this process began, and all of it is taken."""
        ...

    def leave(self) -> None:
        """Let go of those that still work."""
        ...


class Loop:
    """Scheduler, orchestrator and worker of one process."""

    def __init__(
        self,
        store: Rounds,
        runner: Runner,
        settings: Settings,
        *,
        sources: Sources | None = None,
        roster: Roster | None = None,
        report: Callable[[Event, Exception], None] | None = None,
    ) -> None:
        """Run over this store and this runner; `report` hears of events that could not be decided."""
        self.store = store
        self.settings = settings
        self.work = Work(runner)
        self.runner = runner
        self.name = identity.own_name()
        self.stopping = False
        self.sources = sources
        self._presence = Presence(roster, runner, self.name, settings.worker_ids)
        self._report = report
        self._unrecorded: list[Event] = []
        self._unbegun: list[tuple[int, str]] = []
        self._tick_at = 0.0
        self._ticked: Instant | None = None
        self._discover_at = 0.0
        self._cursors: Sequence[tuple[str, int, int]] = ()
        self._seen = -1
        self._rounds = 0
        self._first = 0
        self._ids: Sequence[str] = settings.worker_ids

    # -- life ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Release what dead processes of this host still hold."""
        # What was loaded until now stays to the end: the collector of the interpreter need not look at it again and
        # again, which would stop a round for as long as all of its work takes.
        gc.freeze()
        for holder in self.store.holders():
            if holder != self.name and identity.is_dead(holder):
                self.store.release(holder)
        self._presence.sign_in()
        self._look_around()

    def stop(self) -> None:
        """Ask the loop to end; may be called from a signal handler."""
        self.stopping = True

    def run(self, done: Callable[[], bool] | None = None) -> None:
        """Run until told to stop, or until `done` says so."""
        self.begin()
        while not self.stopping:
            busy = self.step()
            if not busy and done is not None and not self.work.in_hand and done():
                return

    def is_idle(self) -> bool:
        """Tell whether nothing moves any more, and every source has said all it has to say for now."""
        moving, _, _ = self.store.standing()
        return not moving and (self.sources is None or self.sources.has_settled())

    def close(self) -> None:
        """Let jobs in hand finish, record them, and put the rest back."""
        if self.sources is not None:
            self.sources.leave()
        events, unbegun = self.work.events(self.runner.close(self.settings.drain_s))
        events = [*self._unrecorded, *events]
        if events:
            self._round(events, claim=False)
        self._put_back([*unbegun, *((held.execution_id, job) for job, held in self.work.in_hand.items())])
        self._presence.sign_out()

    def catch_up(self) -> None:
        """After the database has failed: record what waited and renew leases, before a tick calls any job lost."""
        self._put_back([])
        if self._unrecorded:
            self._round(self._unrecorded, claim=False)
        self._beat(at_once=True)

    # -- one turn --------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Take one turn; tell whether anything happened."""
        reports = self.runner.poll(0.0)
        events, unbegun = self._taken(reports)
        changed = self._look_around() if not events else False
        due = time.monotonic() >= self._tick_at
        busy = bool(events or unbegun)
        if events:
            self._round(events)
        if changed or due:
            busy = self._tick() or busy
            busy = self._round([]) or busy
        self.work.abandon_overdue()
        self._beat()
        self._ask_sources()
        if not busy and not self.stopping:
            self._rest()
            self._sleep()
        return busy

    def _rest(self) -> None:
        """Nobody waits: let the store do what it would else do in the middle of a round."""
        if self._rounds >= REST_ROUNDS:
            self.store.rest()
            self._rounds = 0

    def _taken(self, reports: Sequence[Report]) -> tuple[list[Event], list[tuple[int, str]]]:
        """Take up what came back; it is kept until it is written, however often that fails."""
        events, unbegun = self.work.events(reports)
        self._unrecorded = [*self._unrecorded, *events]
        self._put_back(unbegun)
        if events:
            faultpoint.hit("answered")
        return self._unrecorded, unbegun

    def _put_back(self, jobs: Sequence[tuple[int, str]]) -> None:
        self._unbegun += jobs
        if self._unbegun:
            self.store.give_back(self.name, self._unbegun)
            self._unbegun = []

    def _round(self, events: list[Event], *, claim: bool = True) -> bool:
        """Run rounds of at most `MOST` events each; tell whether anything went in or out."""
        busy = bool(events)
        self._unrecorded = events
        for at in range(0, max(1, len(events)), MOST):
            faultpoint.hit("before_round")
            free = self.runner.free() if claim else 0
            done = self.store.run_round(events[at : at + MOST], self.name, self._room(free))
            self._unrecorded = events[at + MOST :]
            self._rounds += 1
            faultpoint.hit("after_round")
            for event, error in done.refused:
                if self._report is not None:
                    self._report(event, error)
            if done.claimed:
                faultpoint.hit("claimed")
                self.work.take(done.claimed[:free])
                faultpoint.hit("submitted")
                self._put_back([(one.execution_id, one.job_id) for one in done.claimed[free:]])
            if done.goes_on:
                self._tick_at = 0.0
            busy = busy or bool(done.claimed) or bool(done.sent)
        return busy

    def _room(self, free: int) -> list[tuple[str, int]]:
        """Return how many jobs each worker id may claim: what is free, shared out.

        Where there are more worker ids than places each may claim one, because nobody knows yet which of them has work;
        what is too much goes back at once, and another one comes first the next time.
        """
        count = len(self._ids)
        if not count or free <= 0:
            return []
        self._first = (self._first + 1) % count
        share = max(1, free // count)
        return [(worker_id, min(MOST, share)) for worker_id in (*self._ids[self._first :], *self._ids[: self._first])]

    def _tick(self) -> bool:
        if not self.settings.worker_ids:
            self._ids = self.store.worker_ids()
        faultpoint.hit("before_tick")
        self._wake_up()
        done = tick(self.store, CURSOR_PAGES)
        faultpoint.hit("after_tick")
        wait_s = self.settings.tick_s
        cursors = self.store.unfinished()
        if cursors and cursors != self._cursors:
            # What is opened, woken or ended a page at a time goes on after a round; a cursor that stands still waits.
            wait_s = 0.0
        self._cursors = cursors
        due = self.store.next_due()
        ahead_s = 0.0 if due is None else between_s(self.store.now(), due)
        if ahead_s > 0:
            # What is overdue and did not move waits for a human; it must not keep the loop awake.
            wait_s = min(wait_s, ahead_s)
        self._tick_at = time.monotonic() + wait_s
        return done > 0

    def _wake_up(self) -> None:
        """After the machine has slept: renew the leases of what is in hand, before a tick calls any of it lost."""
        now = self.store.now()
        if self._ticked is not None and between_s(self._ticked, now) > BEAT_S:
            self._beat(at_once=True)
        self._ticked = now

    def _look_around(self) -> bool:
        """Notice that other processes wrote."""
        seen = self.store.changes()
        if seen == self._seen:
            return False
        self._seen = seen
        return True

    def _beat(self, *, at_once: bool = False) -> None:
        beats = self.work.beats_due(at_once=at_once)
        if beats:
            faultpoint.hit("beat")
            self.store.beat(self.name, beats)
        self._presence.be_seen()

    def _ask_sources(self) -> None:
        if self.sources is None or time.monotonic() < self._discover_at:
            return
        wait_s = self.sources.ask()
        self._discover_at = time.monotonic() + (GLANCE_S if wait_s is None else min(max(wait_s, 0.01), 5.0))

    def _sleep(self) -> None:
        """Wait for answers, for the next due time, or for a glance at what others wrote."""
        now = time.monotonic()
        until = min(self._tick_at, now + GLANCE_S, self._discover_at if self.sources else now + GLANCE_S)
        events, _ = self._taken(self.runner.poll(max(0.0, until - now)))
        if events:
            self._round(events)
