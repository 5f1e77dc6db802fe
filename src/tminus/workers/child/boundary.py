"""The one place where foreign code may raise anything.

People's functions may raise whatever there is, even SystemExit, and none of it may end the child: it becomes part of an
answer. So this is the outermost frame around foreign code, and the only handler of every exception in this room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Came(Generic[T]):
    """The value that foreign code returned."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        """Hold the value."""
        self.value = value


def attempted(call: Callable[[], T]) -> Came[T] | BaseException:
    """Return what the call returned, or the exception that it raised."""
    try:
        return Came(call())
    except BaseException as raised:  # noqa: BLE001 - the exception is the answer, and nothing may get past this frame.
        return raised


def words_of(raised: BaseException) -> str:
    """Return an exception's message; one that cannot be made, or is empty, is replaced by the exception's kind."""
    made = attempted(lambda: str(raised))
    text = made.value if isinstance(made, Came) else f"{type(raised).__name__} (its message could not be made)"
    return text or type(raised).__name__
