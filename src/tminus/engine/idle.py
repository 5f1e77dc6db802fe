"""When there is nothing left to do now, and how it all went: what `up --until-idle` waits for and answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """How the batches stand: what still moves, what failed, what waits for a human."""

    moving: bool
    failed: bool
    held: bool

    @property
    def exit_code(self) -> int:
        """Return the exit code: 0 all well, 3 something failed, 5 something is held; 3 beats 5."""
        if self.failed:
            return 3
        return 5 if self.held else 0
