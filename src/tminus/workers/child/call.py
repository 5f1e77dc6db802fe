"""One job, from its row to the row of its answer.

The steps are the same for functions that wait and those that do not: parse, bind, call, encode. Whatever is raised on
the way becomes a failure whose kind is the exception's class; only the child's own findings and `Fatal` say that trying
again cannot help.
"""

from __future__ import annotations

import traceback
from contextvars import Context
from time import perf_counter, time
from typing import TYPE_CHECKING, NamedTuple, cast

import orjson

from tminus.functions import CURRENT, Fatal, Pending, Throttled
from tminus.workers.child.bind import ArgumentError
from tminus.workers.child.boundary import Came, attempted, words_of
from tminus.workers.child.encode import ResultNotJson, ResultTooLarge, encoded
from tminus.workers.child.load import FunctionNotFound
from tminus.workers.child.log import bounded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tminus.workers.child.load import Offer
    from tminus.workers.child.log import Work
    from tminus.workers.wire import AnswerRow, FailureRow

MESSAGE_BYTES_MAX = 8 * 1024
TYPE_BYTES_MAX = 200
QUIET = (ArgumentError, FunctionNotFound, ResultNotJson, ResultTooLarge)
"""The child's own findings: a traceback would only show this room."""


class Text(NamedTuple):
    """A result on its way out."""

    json: str
    complete: bool | None


def performed(work: Work, offer: Offer) -> AnswerRow:
    """Run a plain function to its end."""
    started_s, began_s = time(), perf_counter()
    came = attempted(lambda: _encoded(Context().run(_entered, work, offer.call, *_bound(work, offer))))
    return answered(work, came, started_s, perf_counter() - began_s)


async def awaited(work: Work, offer: Offer) -> Text:
    """Run an async function; the task around it keeps what is raised."""
    CURRENT.set(work)
    args, kwargs = _bound(work, offer)
    return _encoded(await cast("Awaitable[object]", offer.call(*args, **kwargs)))


def answered(work: Work, came: Came[Text] | BaseException, started_s: float, duration_s: float) -> AnswerRow:
    """Make the row of an answer."""
    error: FailureRow | None = None
    result: Text | None = None
    if isinstance(came, Pending):
        pending = came
        came = attempted(lambda: _encoded(pending))
    if isinstance(came, Came):
        result = came.value
    else:
        error = _failure(work, came)
    return (
        work.job_id,
        error is None,
        result.json if result else None,
        result.complete if result else None,
        error,
        round(duration_s * 1000),
        work.log.closed() if work.log else "",
        int(started_s * 1000),
    )


def _entered(work: Work, call: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    CURRENT.set(work)
    return call(*args, **kwargs)


def _bound(work: Work, offer: Offer) -> tuple[Sequence[object], Mapping[str, object]]:
    try:
        params: object = orjson.loads(work.params)
    except orjson.JSONDecodeError:
        raise ArgumentError("the parameters are not JSON") from None
    if not isinstance(params, dict):
        raise ArgumentError("the parameters are not a JSON object")
    return offer.binder.bound(cast("dict[str, object]", params))


def _encoded(result: object) -> Text:
    if isinstance(result, Pending):
        result = {"complete": False} if result.data is None else {"complete": False, "data": result.data}
    return Text(*encoded(result))


def _failure(work: Work, raised: BaseException) -> FailureRow:
    message = bounded(words_of(raised), MESSAGE_BYTES_MAX)
    if not isinstance(raised, QUIET):
        shown = attempted(lambda: "".join(traceback.format_exception(_without_us(raised))))
        work.write(shown.value if isinstance(shown, Came) else f"{type(raised).__name__}, with no traceback to show\n")
    after_s = raised.retry_after_s if isinstance(raised, Throttled) else None
    retryable = not isinstance(raised, (Fatal, *QUIET))
    name = bounded(type(raised).__name__, TYPE_BYTES_MAX)
    return name, message, isinstance(raised, Throttled), retryable, after_s


def _without_us(raised: BaseException) -> BaseException:
    """Drop the frames of this room from the top of the traceback: people look for their own."""
    step = raised.__traceback__
    while step is not None and step.tb_frame.f_globals.get("__name__", "").startswith("tminus.workers.child."):
        step = step.tb_next
    return raised.with_traceback(step) if step is not None else raised
