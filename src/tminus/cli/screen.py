"""The live table of `watch` on a terminal: batches and their phases, drawn anew twice a second."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tminus.cli.exits import Exit
from tminus.cli.watching import PAUSE_S, ending
from tminus.store.insights import batches

if TYPE_CHECKING:
    from tminus.store.insights.records import Record
    from tminus.store.store import Store

_SHOWN = 20


def live(store: Store, batch: int | None, until: float | None) -> int:
    """Show the table until the batch ends, the time is over, or Ctrl-C."""
    console = Console(no_color=bool(os.environ.get("NO_COLOR")))
    with Live(table(store, batch), console=console, auto_refresh=False) as screen:
        while True:
            ended = ending(store, batch)
            screen.update(table(store, batch), refresh=True)
            if ended is not None:
                return ended
            if until is not None and time.monotonic() >= until:
                return Exit.STILL_RUNNING
            time.sleep(PAUSE_S)


def table(store: Store, batch: int | None) -> Table:
    """Return one picture of the open batches, or of one."""
    with store.database.read() as tx:
        found = batches.open_ones(tx)[:_SHOWN] if batch is None else [one for one in [batches.one(tx, batch)] if one]
        phases = {str(one["id"]): batches.phases(tx, int(str(one["id"]))) for one in found}
    shown = Table(box=None, title=f"as of {store.now()}", title_justify="left")
    for head in ("batch", "runbook", "status", "phase", "state", "done", "failed", "of"):
        shown.add_column(head)
    for one in found:
        for phase in phases[str(one["id"])] or [{}]:
            shown.add_row(*(Text(text) for text in _cells(one, phase)))
    return shown


def _cells(batch: Record, phase: Record) -> list[str]:
    cells = [batch["id"], batch["runbook_name"], batch["status"]]
    cells += [phase.get(key) for key in ("phase_name", "status", "lanes_succeeded", "lanes_failed", "lanes_total")]
    return ["-" if cell is None else str(cell) for cell in cells]
