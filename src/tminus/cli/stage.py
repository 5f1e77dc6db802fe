"""The live picture of a demo: the grid of its batch, drawn anew while the virtual clock moves.

Time passes as a story is told: a moment for every change, and never long where nothing happens. With a speed it passes
evenly. Nothing here decides anything; it is called before each jump of the clock.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live

from tminus.cli.grid import Look, draw
from tminus.domain.instant import between_s, plus
from tminus.store.insights import grid

if TYPE_CHECKING:
    from types import TracebackType

    from tminus.domain.instant import Instant
    from tminus.store.rehearsal import RehearsalStore

_FRAME_S: Final = 0.08
_LEAST_S: Final = 0.1
_MOST_S: Final = 0.7
# What is left of an even speed where time is paced: a gap of ten hours takes the longest moment.
_PACE: Final = 50_000.0
_ROWS: Final = 13
_HIGHEST: Final = 26


class Stage:
    """Draws the one batch of the demo."""

    def __init__(self, store: RehearsalStore, speed: float | None) -> None:
        """Draw what is in this store."""
        self._store = store
        self._speed = speed
        self._live = Live(console=Console(no_color=bool(os.environ.get("NO_COLOR"))), auto_refresh=False)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last picture where it is."""
        self._live.stop()

    def watch(self, now: Instant, then: Instant) -> None:
        """Let the time between two instants pass."""
        gap_s = between_s(now, then)
        lasts_s = gap_s / self._speed if self._speed else min(_MOST_S, max(_LEAST_S, gap_s / _PACE))
        self.draw(now)
        began = time.monotonic()
        while (spent_s := time.monotonic() - began) < lasts_s:
            self.draw(plus(now, gap_s * spent_s / lasts_s))
            time.sleep(min(_FRAME_S, max(0.0, lasts_s - spent_s)))

    def draw(self, now: Instant) -> None:
        """Draw the batch as it stands; before there is one, nothing."""
        size = shutil.get_terminal_size((80, 24))
        look = Look(width=min(size.columns, 120), height=min(size.lines - 1, _HIGHEST))
        with self._store.snapshot() as (tx, context):
            page = grid.page(tx, context, 1, most=_ROWS)
        if page is not None:
            self._live.update(Group(*draw(page, now, look)), refresh=True)
