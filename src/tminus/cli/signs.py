"""The signs of states: one shape for each, letters where a terminal's encoding lacks the shapes.

A shape differs from every other without colour; colour only repeats it. Whoever draws uses this one table, so that a
sign means the same in the grid, in `why` and in `status`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

    from tminus.store.insights.grid import State

SHAPES: Final[dict[State, tuple[str, str, str]]] = {
    "none": (" ", " ", ""),
    "waiting": ("·", ".", "dim"),
    "ready": ("▹", ">", ""),
    "sent": ("▹", ">", ""),
    "running": ("▸", "*", "cyan"),
    "polling": ("⧖", "~", "cyan"),
    "retry": ("↻", "r", "yellow"),
    "throttled": ("⧗", "t", "yellow"),
    "done": ("✓", "+", "green"),
    "skipped": ("↷", "/", "dim"),
    "inherited": ("✓", "+", "dim"),
    "failed": ("✗", "X", "bold red"),
    "undone": ("⌫", "<", "red"),
    "cancelled": ("⊘", "-", "dim"),
}
LEGEND: Final[tuple[tuple[State, str], ...]] = (
    ("done", "done"), ("running", "runs"), ("sent", "sent"), ("polling", "polls"), ("retry", "tried again"),
    ("throttled", "throttled"), ("failed", "failed"), ("undone", "rolled back"), ("skipped", "skipped"),
    ("cancelled", "cancelled"), ("waiting", "waits"),
)  # fmt: skip
_OF_STEP: Final[dict[str, State]] = {
    "pending": "waiting", "dispatched": "sent", "polling": "polling", "succeeded": "done", "skipped": "skipped",
    "failed": "failed", "poll_timeout": "failed", "cancelled": "cancelled", "rolled_back": "undone",
}  # fmt: skip
_LETTERS: Final = {"·": "-", "…": "~"} | {shapes[0]: shapes[1] for shapes in SHAPES.values() if shapes[0] != "·"}
_DRAWN: Final = "✓✗↻⧗⧖▸▹⌫⊘↷·█▓░…"


def shape(state: State, *, plain: bool = False) -> str:
    """Return the sign of a state."""
    return SHAPES[state][1 if plain else 0]


def of_step(status: str, *, plain: bool = False) -> str:
    """Return the sign of an execution's status."""
    return shape(_OF_STEP.get(status, "none"), plain=plain)


def letters(text: str) -> str:
    """Write a line with letters alone, each in the place of what it stands for."""
    return text if text.isascii() else "".join(c if c.isascii() else _LETTERS.get(c, "?") for c in text)


def is_plain(stream: TextIO) -> bool:
    """Tell whether a stream's encoding lacks the shapes."""
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return False
