"""All sockets of a pool behind one descriptor.

The selector's own descriptor is readable whenever a child has said something, can be told more, or the bell was rung.
What is said is handed on as it came; its meaning is not known here.
"""

from __future__ import annotations

import contextlib
import os
import selectors
from typing import TYPE_CHECKING, cast

from tminus.workers.wire import Garbled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.workers.process import Child

Heard = tuple["Child", list[tuple[str, object]] | str]
"""A child with what it said, or with how it fell silent."""

SILENT = "the child fell silent"
SILENT_GRACE_S = 0.3


class Switchboard:
    """Listens to children."""

    def __init__(self) -> None:
        """Listen to the bell alone."""
        self._selector = selectors.DefaultSelector()
        self._bell, self._clapper = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._clapper, False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._writing: set[Child] = set()
        self._output: set[Child] = set()

    def fileno(self) -> int:
        """Return the one descriptor; selectors on POSIX systems have one."""
        return cast("selectors.EpollSelector", self._selector).fileno()

    def ring(self) -> None:
        """Make the descriptor readable."""
        with contextlib.suppress(BlockingIOError):  # Then it is readable a thousandfold already.
            os.write(self._clapper, b"!")

    def admit(self, child: Child) -> None:
        """Listen to a child from now on."""
        self._selector.register(child.wire, selectors.EVENT_READ, child)
        self._selector.register(child.output, selectors.EVENT_READ, child)
        self._output.add(child)
        self.push(child)

    def push(self, child: Child) -> None:
        """Give a child what its socket takes, and remember when something is left."""
        child.push()
        if child.has_unsent != (child in self._writing):
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if child.has_unsent else 0)
            self._selector.modify(child.wire, events, child)
            (self._writing.add if child.has_unsent else self._writing.discard)(child)

    def dismiss(self, child: Child, grace_s: float = 0.0) -> str:
        """End a child and return how it ended."""
        self._selector.unregister(child.wire)
        self._deafen(child)
        self._writing.discard(child)
        return child.end(grace_s)

    def heard(self, wait_s: float) -> Iterator[Heard]:
        """Wait for the first event and yield what was said since."""
        for key, events in self._selector.select(max(wait_s, 0.0)):
            if key.fd == self._bell:
                os.read(self._bell, 65536)
                continue
            child = cast("Child", key.data)
            if child.state == "ended":
                continue  # Ended by what was heard earlier in this round.
            if key.fd != child.wire.fileno():
                if not child.read_output():
                    self._deafen(child)
                continue
            if events & selectors.EVENT_WRITE:
                self.push(child)
            if events & selectors.EVENT_READ:
                said = heard_from(child)
                if said:
                    yield child, said

    def close(self) -> None:
        """Give the descriptors back."""
        self._selector.close()
        os.close(self._bell)
        os.close(self._clapper)

    def _deafen(self, child: Child) -> None:
        if child in self._output:
            self._output.discard(child)
            self._selector.unregister(child.output)


def heard_from(child: Child) -> list[tuple[str, object]] | str:
    """Read what a child has said: nothing yet, frames, or how it fell silent."""
    try:
        frames = child.received()
    except Garbled as problem:
        return f"something else wrote into the socket of the child: {problem}"
    return SILENT if frames is None else frames
