"""What a file of functions imports: the mark that offers a function, and the answers that are not results.

This module is imported by people's own files and inside every child process, so it is small, quick and needs nothing
but Python itself. It only writes down what is offered; which job reaches which function, and what becomes of an answer,
is decided elsewhere and must not be known here.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

__all__ = ["CurrentJob", "Fatal", "Pending", "Throttled", "function", "job"]

NAME_LENGTH_MAX = 200
GENERATOR_FLAGS = 0x20 | 0x200  # A code object of a generator or of an async generator carries one of these.

FunctionT = TypeVar("FunctionT", bound="Callable[..., object]")


class Throttled(Exception):  # noqa: N818 - it reads as what the other side said, and is no error of the function.
    """The other side asks to be left alone for a while: the step waits and spends no retry."""

    def __init__(self, message: object = "throttled", *, retry_after: float | str | timedelta | None = None) -> None:
        """Take seconds, their text as an HTTP header has it, or a timedelta; what cannot be read means "unknown"."""
        super().__init__(message)
        self.retry_after_s = _seconds(retry_after)


class Fatal(Exception):  # noqa: N818 - it reads as the verdict that it is.
    """Trying again cannot help: the step fails at once, whatever its retry policy says."""


class Pending(Exception):  # noqa: N818 - it is no error: raised or returned, it says "ask again later".
    """The work has begun elsewhere and is not finished: the step polls. `data` tells how far it is."""

    def __init__(self, data: object = None) -> None:
        """Keep what is known so far: it is the step's result while it polls."""
        super().__init__(data)
        self.data = data


class CurrentJob:
    """The job that is being run: its id is unique per sending, `member_key` and `batch_id` say for whom it is."""

    __slots__ = ("attempt", "batch_id", "function", "job_id", "member_key")

    def __init__(self, job_id: str, function: str, attempt: int, member_key: str | None, batch_id: int | None) -> None:
        """Hold the five facts."""
        self.job_id = job_id
        self.function = function
        self.attempt = attempt
        self.member_key = member_key
        self.batch_id = batch_id


class _Offered:
    """The functions in the order in which they were marked; a child reads it after it has loaded the files."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[tuple[str, Callable[..., object]]] = []


OFFERED = _Offered()
CURRENT: ContextVar[CurrentJob | None] = ContextVar("tminus_job", default=None)


def job() -> CurrentJob:
    """Return the job that called this function; its `job_id` serves as an idempotency key.

    Outside of a job, for example in a test that calls the function itself, this is a LookupError.
    """
    current = CURRENT.get()
    if current is None:
        raise LookupError(
            "no job is being run here: tminus.functions.job() answers only inside a function that a job called"
        )
    return current


@overload
def function(offered: FunctionT, /) -> FunctionT: ...
@overload
def function(name: str | None = None, /) -> Callable[[FunctionT], FunctionT]: ...
def function(given: FunctionT | str | None = None, /) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Offer a function to runbooks, under its own name or the one given; the function itself stays as it is."""
    if given is None or isinstance(given, str):

        def named(offered: FunctionT) -> FunctionT:
            return _offer(offered, given)

        return named
    return _offer(given, None)


def _offer(offered: FunctionT, name: str | None) -> FunctionT:
    given: object = offered
    if not callable(given) or isinstance(given, type):
        raise TypeError("@function marks functions only")
    code = getattr(offered, "__code__", None)
    if getattr(code, "co_flags", 0) & GENERATOR_FLAGS:
        raise TypeError("a generator cannot be offered: return a list instead of yielding")
    chosen = name if name is not None else getattr(offered, "__name__", "")
    if not 0 < len(chosen) <= NAME_LENGTH_MAX or chosen != chosen.strip() or not chosen.isprintable():
        raise ValueError(f"a function's name is 1 to {NAME_LENGTH_MAX} printable characters without blanks around them")
    if chosen.startswith("__"):
        raise ValueError("a function's name does not begin with two underscores")
    OFFERED.entries.append((chosen, offered))
    return offered


def _seconds(value: float | str | timedelta | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value) if isinstance(value, int | float | str) else value.total_seconds()
    except (AttributeError, OverflowError, ValueError):
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
