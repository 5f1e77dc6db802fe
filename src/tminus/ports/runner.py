"""The port to whatever runs functions: Python in child processes, a program, PowerShell.

The engine has one thread, so a runner has none that the engine could notice: it does its work when it is polled, and
offers one descriptor by which the engine's own selector knows when polling pays. What a job means, how often it is
retried and where its answer is stored is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Job:
    """One call to be made."""

    job_id: str
    """Never used for two different sendings; a redelivery carries the same one."""
    function: str
    """The name as the runbook says it, after templates."""
    params: str
    """The parameters as the text of a JSON object; the runner parses it, the engine need not."""
    attempt: int = 1
    member_key: str | None = None
    batch_id: int | None = None


@dataclass(slots=True)
class Failure:
    """Why a job failed."""

    type: str
    """The kind of failure, as `retry: {unless: [...]}` names it: an exception's class, or one of the runner's own
    (ArgumentError, FunctionNotFound, ResultNotJson, ResultTooLarge)."""
    message: str
    """At most 8 kB, and never a traceback: that is in the log."""
    is_throttled: bool = False
    retryable: bool = True
    retry_after_s: float | None = None


@dataclass(slots=True)
class Answer:
    """What came of a job that was run to its end."""

    job_id: str
    ok: bool
    result: str | None
    """The result as JSON text, `null` when the function returned nothing; None when the job failed."""
    complete: bool | None
    """What the result's key `complete` says: False means "ask again later", True that outputs come from `data` if there
    is one; None, an ordinary result. Only the JSON words true and false decide."""
    error: Failure | None
    duration_ms: int
    log: str
    """What the function printed and, for a failure, its traceback: at most 64 kB, the middle left out."""
    started_ms: int
    """When the function was called: milliseconds since 1970 by the clock of the machine that ran it."""


@dataclass(slots=True)
class Returned:
    """A job that came back without an answer, to be delivered again. It is not a failure and spends no retry."""

    job_id: str
    reason: str
    started: bool
    """False only when the function was certainly not called; a `one_way` step may then be delivered again."""
    log: str = ""
    """The last words of the process that ran it, such as the place of a crash."""


Report = Answer | Returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a runner is doing, for people."""

    ready: int
    """Processes that take jobs."""
    starting: int
    draining: int
    """Processes that take no more jobs and end when those in hand have."""
    deaths: int
    """Processes that ended without being told to, since the start."""
    last_death: str | None
    """How the last of them ended, with the end of what it wrote."""
    restart_in_s: float | None
    """Until the next replacement starts; None when none is held back."""


class Runner(Protocol):
    """Runs jobs and reports each exactly once.

    Guarantees. Each submitted job comes back from `poll` or `close` exactly once, as an `Answer` or as `Returned`, in
    any order; the only exception is a job that was abandoned, of which nothing is heard again. A job id that is in hand
    already is not started a second time. Nothing that a function does or returns raises out of a method: not its
    exceptions, not its death, not what it writes. `submit`, `poll(0)`, `beats`, `abandon` and `drain` never wait for a
    function.

    Duties of the caller. All methods are called from one thread. `poll` is called when `fileno` is readable, and at
    least once a second, because restarts and give-ups are timed.
    """

    def start(self, files: Sequence[str]) -> None:
        """Load the files and return when jobs can be taken; a TminusError says which file and line is at fault."""
        ...

    def functions(self) -> frozenset[str]:
        """Return the names on offer."""
        ...

    def free(self) -> int:
        """Return how many more jobs are welcome now; it grows with the pace, so that quick functions are kept fed."""
        ...

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in hand. More than `free` are taken too, but wait here instead of where others could run them."""
        ...

    def poll(self, timeout_s: float) -> list[Report]:
        """Return what has come back, waiting up to `timeout_s` for the first; it may return nothing earlier."""
        ...

    def fileno(self) -> int:
        """Return a descriptor, the same from start to close, that is readable when `poll` has something to do."""
        ...

    def beats(self) -> list[str]:
        """Return the ids of all jobs in hand, whose leases are to be renewed."""
        ...

    def abandon(self, job_id: str) -> None:
        """Give a job up because its time is over: nothing is heard of it again, and it keeps no place occupied."""
        ...

    def drain(self) -> None:
        """Start nothing more: jobs not begun come back as `Returned`, those running may finish."""
        ...

    def close(self, drain_s: float) -> list[Report]:
        """Drain, wait up to `drain_s` for running jobs, end everything, and report all that was still in hand."""
        ...

    def health(self) -> Health:
        """Say how the processes behind the runner are doing."""
        ...
