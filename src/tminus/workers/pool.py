"""Python functions in a pool of child processes: the runner of `tminus worker run FILE`.

The pool has no thread. Its sockets lie in one selector whose own descriptor is what `fileno` returns, so that the
engine waits for all of them with one entry, whichever children come and go. A child that dies sends its jobs back to
the queue they came from and is replaced, later and later when the next one dies too. What functions do is not known
here.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from tminus.ports.runner import Health
from tminus.workers.ledger import Ledger, answer_rows
from tminus.workers.process import ENDED_BY_POOL
from tminus.workers.seats import Seats
from tminus.workers.start import broken_by, checked, fault_of
from tminus.workers.switchboard import SILENT, SILENT_GRACE_S, Switchboard, heard_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tminus.domain.errors import TminusError
    from tminus.ports.runner import Job, Report
    from tminus.workers.process import Child

CHECK_S = 1.0
STOP_WAIT_S = 1.0
MISSHAPEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)
NAMED = 3
STRAY = "something else wrote into the socket of the child"


def usual_children() -> int:
    """Leave one processor to the engine, but have two children, so that a busy interpreter is never the only one."""
    return max(2, (os.cpu_count() or 2) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """How many processes, and how much in each."""

    children: int = field(default_factory=usual_children)
    concurrency: int = 32
    """Calls that run at once in one child."""
    isolation: Literal["thread", "process"] = "thread"
    """`process`: one call at a time in each child, so that one that is abandoned is killed at once."""
    start_timeout_s: float = 30.0


class PythonPool:
    """The Runner for files of Python functions; see `tminus.ports.runner.Runner` for what it guarantees."""

    def __init__(self, settings: PoolSettings | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare; nothing runs before `start`."""
        settings = settings or PoolSettings()
        alone = settings.isolation == "process"
        places = 1 if alone else settings.concurrency
        self._clock = clock
        self._switchboard = Switchboard()
        self._ledger = Ledger(places, ahead=not alone, push=self._switchboard.push, ring=self._switchboard.ring)
        self._seats = Seats(settings.children, places, settings.start_timeout_s, self._switchboard.admit)
        self._functions: frozenset[str] = frozenset()
        self._state: Literal["new", "open", "draining", "closed"] = "new"
        self._fault: TminusError | None = None
        self._checked_s = 0.0

    def start(self, files: Sequence[str]) -> None:
        """Start all children and wait until each has loaded the files."""
        self._seats.files = checked(files)
        self._state = "open"
        self._seats.fill(self._clock())
        while len(self._seats.ready()) < self._seats.count and not self._seats.deaths:
            self.poll(CHECK_S)
        if self._seats.deaths:
            self.close(0)
            raise self._fault or broken_by(self._seats.last_death)

    def functions(self) -> frozenset[str]:
        """Return the names that the files offer."""
        return self._functions

    def free(self) -> int:
        """Return the places left, and as many jobs ahead of them as the pace allows."""
        return self._ledger.free(self._seats.ready(), self._clock()) if self._state == "open" else 0

    def submit(self, jobs: Sequence[Job]) -> None:
        """Send jobs to the children that hold the least."""
        if self._state != "open":
            self._ledger.turn_away(jobs, "the pool takes no more jobs")
            return
        self._ledger.accept(jobs)
        self._hand_out()

    def poll(self, timeout_s: float) -> list[Report]:
        """Hear the children, replace those that are due, and return what has come back."""
        if self._state == "closed":
            return self._ledger.reports()
        now_s = self._clock()
        self._look_after(now_s)
        wait_s = 0.0 if self._ledger.has_reports else min(timeout_s, self._seats.due_in_s(now_s), CHECK_S)
        for child, said in self._switchboard.heard(wait_s):
            self._hear(child, said)
        self._hand_out()
        return self._ledger.reports()

    def fileno(self) -> int:
        """Return the descriptor behind which all children are."""
        return self._switchboard.fileno()

    def beats(self) -> list[str]:
        """Return the ids of all jobs in hand."""
        return self._ledger.held()

    def abandon(self, job_id: str) -> None:
        """Forget a job; its child takes no more and is replaced, or ended at once where it runs nothing else."""
        child = self._ledger.forget(job_id, self._seats.everybody())
        if child is None:
            return
        if not child.jobs:
            self._dismiss(child)
            return
        child.send("abandon", job_id)
        child.send("drain")
        self._seats.let_go(child)
        self._switchboard.push(child)

    def drain(self) -> None:
        """Begin nothing more."""
        if self._state != "open":
            return
        self._state = "draining"
        self._ledger.turn_out("the pool is closing")
        for child in self._seats.everybody():
            child.send("drain")
            self._switchboard.push(child)

    def close(self, drain_s: float) -> list[Report]:
        """Drain, wait, end; children that are idle may still run what they registered for their exit."""
        if self._state == "closed":
            return []
        self.drain()
        deadline_s = self._clock() + drain_s
        reports = self.poll(0)
        while any(child.jobs for child in self._seats.everybody()) and (left_s := deadline_s - self._clock()) > 0:
            reports += self.poll(left_s)
        self._stop([child for child in self._seats.ready() if not child.jobs])
        for child in self._seats.everybody():
            self._ledger.lost(child, "the pool was closed while the job ran")
            self._dismiss(child)
        reports += self._ledger.reports()
        self._state = "closed"
        self._switchboard.close()
        return reports

    def health(self) -> Health:
        """Count the children by what they are doing."""
        states = [child.state for child in self._seats.everybody()]
        return Health(
            ready=states.count("ready"),
            starting=states.count("starting"),
            draining=states.count("draining"),
            deaths=self._seats.deaths,
            last_death=self._seats.last_death,
            restart_in_s=self._seats.restart_in_s(self._clock()) if self._state == "open" else None,
        )

    def _hear(self, child: Child, said: list[tuple[str, object]] | str) -> None:
        """Act on all that a child said, or on its silence."""
        if isinstance(said, str):
            self._lose(child, said)
            return
        try:
            for word, content in said:
                self._take(child, word, content)
        except MISSHAPEN:
            self._lose(child, STRAY)

    def _take(self, child: Child, word: str, content: object) -> None:
        """Act on what a child said."""
        if word == "done":
            self._ledger.answered(child, answer_rows(content), self._clock())
        elif word == "back":
            self._ledger.given_back(child, cast("list[str]", content))
            if self._state == "draining":
                self._ledger.turn_out("the pool is closing")
        elif word == "hello":
            child.state = "ready"
            self._functions = frozenset(cast("list[str]", content))
        elif word == "broken":
            fault = fault_of(cast("dict[str, object]", content))
            self._fault = self._fault or fault
            self._lose(child, str(fault))
            return
        else:
            raise ValueError(word)
        if not child.jobs and self._seats.is_leaving(child):
            self._dismiss(child)

    def _hand_out(self) -> None:
        self._ledger.hand_out(self._seats.ready(), self._clock())

    def _look_after(self, now_s: float) -> None:
        """Replace whom it is time to replace, and find the dead whose stream a copy of them keeps open."""
        if self._state == "open":
            self._seats.fill(now_s)
        for child in self._seats.overdue(now_s):
            self._lose(child, "the files were not loaded in time")
        if now_s - self._checked_s >= CHECK_S:
            self._checked_s = now_s
            for child in self._seats.everybody():
                while child.is_dead() and child.state != "ended":
                    self._hear(child, heard_from(child) or SILENT)

    def _lose(self, child: Child, reason: str) -> None:
        """Bury a child that ended, or that has to, and report its jobs as returned."""
        if child.state == "ended":
            return
        how = self._switchboard.dismiss(child, SILENT_GRACE_S)
        said = how if reason == SILENT and how != ENDED_BY_POOL else f"{reason}: {how}"
        reason = f"{said}{_while_it_ran(child)}"
        self._seats.died(child, self._clock(), reason)
        self._ledger.lost(child, reason, child.last_words())

    def _dismiss(self, child: Child) -> None:
        self._switchboard.dismiss(child)
        self._seats.gone(child)

    def _stop(self, idle: Sequence[Child]) -> None:
        for child in idle:
            child.send("stop")
            self._switchboard.push(child)
        deadline_s = time.monotonic() + STOP_WAIT_S
        while time.monotonic() < deadline_s and not all(child.is_dead() for child in idle):
            time.sleep(0.002)


def _while_it_ran(child: Child) -> str:
    """Name the functions of a child's jobs: one of them may have ended it."""
    names = sorted({row[1] for row in child.jobs.values()})
    others = " and others" if len(names) > NAMED else ""
    return f" while it ran {', '.join(names[:NAMED])}{others}" if names else ""
