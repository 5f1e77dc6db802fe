"""The collector of the interpreter rests while a round makes thousands of rows that die with it.

Rows are freed by their counts; what the collector would find is nothing, and looking costs a tenth of a round. It comes
back at the round's end, so that what a long run leaves behind is found between rounds.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def paused() -> Generator[None]:
    """Let the collector rest inside; a round within a round changes nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
