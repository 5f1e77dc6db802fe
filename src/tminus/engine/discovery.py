"""The loop of discovery: sources are asked beside the engine, and answers are taken a step at a time.

A source may take minutes, so it is asked in a thread; what it answers is looked for, never waited for. A taken answer
is a row of short transactions, and a call does only as many as fit its budget, so that the rounds of the engine go on
between them. Each runbook fails for itself. This module must not know where rows are kept, nor what a source is.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.domain.instant import between_s
from tminus.ports.source import Answer, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tminus.domain.instant import Instant
    from tminus.ports.discovery import Asked, Discovering
    from tminus.ports.source import Source, Unchanged
    from tminus.runbook.model import DataSource

# A runbook may be published or switched on at any moment, so that nobody sleeps longer than this.
LOOK_S: Final = 5.0
POLL_S: Final = 0.05
BUDGET_S: Final = 0.05
THREADS: Final = 8
# Well within the life of a claim. Who has waited for long waits aside, so that sources that hang stop no others.
RENEW_S: Final = 4.0
ASIDE_S: Final = 60.0
ASIDE_MOST: Final = 64


class _Reply(Future["Answer | Unchanged"]):
    """What a thread will have heard; as a frame it keeps whatever is raised inside, to be raised where it is read."""

    def __enter__(self) -> None:
        """Begin to ask."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Keep an error for the loop; nobody looks at a thread's."""
        if error is not None:
            self.set_exception(error)
        return True


@dataclass(slots=True)
class _Taking:
    """An answer that is being taken."""

    asked: Asked
    reply: Answer | Unchanged
    steps: Generator[None]


class Discovery:
    """Asks due sources and lets the store follow their answers; call `tick` from the engine's loop."""

    def __init__(
        self,
        store: Discovering,
        open_source: Callable[[DataSource], Source],
        *,
        threads: int = THREADS,
        budget_s: float = BUDGET_S,
    ) -> None:
        """Keep the means; `open_source` gives a source of its own for each question, or raises `TminusError`."""
        self._store = store
        self._open_source = open_source
        self._budget_s = budget_s
        self._threads = threads
        self._asking: dict[str, tuple[Asked, Future[Answer | Unchanged]]] = {}
        self._taking: dict[str, _Taking] = {}
        self._renewed_at: Instant | None = None

    def tick(self, now: Instant) -> float | None:
        """Do what can be done without waiting; return after how many seconds to call again, None for never.

        Raises what the database raises; every other failure is kept on its runbook.
        """
        self._collect()
        self._renew(now)
        self._take()
        self._ask(now)
        if self._taking:
            return 0.0
        if self._asking:
            return POLL_S
        due = self._store.next_due()
        return LOOK_S if due is None else min(LOOK_S, max(0.0, between_s(now, due)))

    @property
    def is_idle(self) -> bool:
        """Tell whether no question is out and no answer is being taken."""
        return not self._asking and not self._taking

    def close(self) -> None:
        """Stop; what was not taken is asked for again. A source that still works is not waited for."""
        for _, future in self._asking.values():
            future.add_done_callback(_throw_away)
        for taking in list(self._taking.values()):
            self._drop(taking)
        self._asking.clear()

    def _ask(self, now: Instant) -> None:
        """Put the questions that are due, one in flight per runbook, while there are threads."""
        for due in self._store.due_runbooks(now):
            busy = sum(between_s(asked.at, now) < ASIDE_S for asked, _ in self._asking.values())
            if busy >= self._threads or len(self._asking) >= self._threads + ASIDE_MOST:
                return
            if due.name in self._asking or due.name in self._taking:
                continue
            asked = self._store.claim(due, now)
            if asked is not None:
                self._asking[due.name] = (asked, self._begun(asked))

    def _begun(self, asked: Asked) -> Future[Answer | Unchanged]:
        """Ask in a thread of its own; it is a daemon's, so that a source that hangs keeps no process from ending."""
        reply = _Reply()

        def ask() -> None:
            with reply:
                reply.set_result(self._open_source(asked.question.data_source).ask(asked.question))

        threading.Thread(target=ask, name=f"source {asked.name}", daemon=True).start()
        return reply

    def _renew(self, now: Instant) -> None:
        """Keep the claims of what is out or being taken, so that no other process asks the same."""
        if self._renewed_at is not None and 0 <= between_s(self._renewed_at, now) < RENEW_S:
            return
        self._renewed_at = now
        for asked, _ in self._asking.values():
            self._store.renew(asked, now, is_out=True)
        for taking in self._taking.values():
            self._store.renew(taking.asked, now, is_out=False)

    def _collect(self) -> None:
        """Take up the replies that have come."""
        for name, (asked, future) in list(self._asking.items()):
            if not future.done():
                continue
            del self._asking[name]
            error = future.exception()
            if error is not None:
                self._store.fail(asked, _as_ours(error))
            else:
                reply = future.result()
                self._taking[name] = _Taking(asked, reply, self._store.take(asked, reply))

    def _take(self) -> None:
        """Take answers in turn, a step each, as long as the budget lasts; at least one step."""
        end = time.monotonic() + self._budget_s
        while self._taking:
            for taking in list(self._taking.values()):
                self._step(taking)
                if time.monotonic() >= end:
                    return

    def _step(self, taking: _Taking) -> None:
        going_on = False
        try:
            next(taking.steps)
            going_on = True
        except StopIteration:
            pass
        except TminusError as error:
            self._store.fail(taking.asked, error)
        finally:
            if not going_on:
                self._drop(taking)

    def _drop(self, taking: _Taking) -> None:
        """Forget an answer, and give back what it holds."""
        self._taking.pop(taking.asked.name, None)
        taking.steps.close()
        if isinstance(taking.reply, Answer):
            taking.reply.close()


def _as_ours(error: BaseException) -> TminusError:
    """Return an error that can be kept. Foreign words may hold a secret, so that only their kind is named."""
    if isinstance(error, TminusError):
        return error
    return SourceError("E360", f"the source failed with {type(error).__name__}")


def _throw_away(future: Future[Answer | Unchanged]) -> None:
    """Close an answer that came too late."""
    if not future.cancelled() and future.exception() is None:
        reply = future.result()
        if isinstance(reply, Answer):
            reply.close()
