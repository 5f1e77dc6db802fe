"""Which status may follow which: five tables, and the theory behind them.

Theory
------
A batch goes through its life once and may be reopened by an operator. A member is in it until it is done, failed, left
or cancelled. A phase opens at its due time and ends when all of its lanes have. A lane is one subject's pass through an
ordered list of steps; whatever advances step by step is a lane. An execution is one step in one lane, and the only row
that a worker's result can move.

The rules that keep them honest:

* An absent cell is an error. It is refused before anything is written, so a wrong guard stops one event, not a wave.
* A terminal status is final. The cells that leave one carry the word `OPERATOR` or `JOINER`: nobody else may use them,
  and the history names who did.
* A failure that will be tried again passes through `failed` on its way back to `pending`, in one transaction: readers
  never see it, the history does.
* Skip and mark done of something that ended go through `pending` too; `pending` to `succeeded` is the operator's
  word that the work was done by hand.
* A phase, a batch and a member follow from what is below them; nothing sets them ahead of it.

`docs/states.md` and its diagrams are generated from these tables.
"""

from __future__ import annotations

from typing import Final, Literal

from tminus.domain.errors import TminusError

Who = Literal["engine", "operator", "joiner"]
ENGINE: Final[Who] = "engine"
OPERATOR: Final[Who] = "operator"
JOINER: Final[Who] = "joiner"

Cell = dict[str, dict[str, frozenset[Who]]]
_E: Final = frozenset[Who]({ENGINE, OPERATOR, JOINER})
_O: Final = frozenset[Who]({OPERATOR})
_OJ: Final = frozenset[Who]({OPERATOR, JOINER})

BATCH: Final[Cell] = {
    "detected": {"init_dispatched": _E, "active": _E, "failed": _E, "cancelled": _E},
    "init_dispatched": {"active": _E, "failed": _E, "cancelled": _E},
    "active": {"closing": _E, "cancelled": _E},
    "closing": {"completed": _E, "failed": _E, "cancelled": _E},
    "completed": {"active": _O},
    "failed": {"active": _O, "init_dispatched": _O},
    "cancelled": {},
}

MEMBER: Final[Cell] = {
    "active": {"done": _E, "failed": _E, "removed": _E, "cancelled": _E},
    "done": {},
    "failed": {"active": _O},
    "removed": {},
    "cancelled": {"active": _O},
}

PHASE: Final[Cell] = {
    "pending": {"dispatched": _E, "skipped": _E, "superseded": _E, "cancelled": _E},
    "dispatched": {"completed": _E, "failed": _E, "cancelled": _E},
    "completed": {"dispatched": _OJ},
    "failed": {"dispatched": _OJ},
    "skipped": {"dispatched": _OJ},
    "superseded": {},
    "cancelled": {"pending": _OJ},
}

LANE: Final[Cell] = {
    "waiting": {"running": _E, "cancelled": _E},
    "running": {"succeeded": _E, "failed": _E, "cancelled": _E},
    "succeeded": {"waiting": _O},
    "failed": {"waiting": _O},
    "cancelled": {"waiting": _O},
}

EXECUTION: Final[Cell] = {
    "pending": {"dispatched": _E, "skipped": _E, "failed": _E, "cancelled": _E, "succeeded": _O},
    "dispatched": {"succeeded": _E, "failed": _E, "polling": _E, "pending": _E, "cancelled": _E},
    "polling": {"succeeded": _E, "failed": _E, "poll_timeout": _E, "cancelled": _E},
    "succeeded": {},
    "failed": {"pending": _E, "rolled_back": _E},
    "poll_timeout": {"rolled_back": _E, "pending": _O},
    "skipped": {},
    "cancelled": {"pending": _O},
    "rolled_back": {"pending": _O},
}

HOLD: Final[Cell] = {
    "waiting": {"approved": _E, "rejected": _E, "expired": _E, "lifted": _E},
    "approved": {"lifted": _E},
    "rejected": {"waiting": _O, "lifted": _E},
    "expired": {"waiting": _O, "lifted": _E},
    "lifted": {},
}

TABLES: Final[dict[str, Cell]] = {
    "batch": BATCH,
    "member": MEMBER,
    "phase": PHASE,
    "lane": LANE,
    "execution": EXECUTION,
    "hold": HOLD,
}
FIRST: Final[dict[str, str]] = {
    "batch": "detected",
    "member": "active",
    "phase": "pending",
    "lane": "waiting",
    "execution": "pending",
    "hold": "waiting",
}


class IllegalMoveError(TminusError):
    """A decision asked for a cell that the table does not have: a defect of ours, and nothing is written."""

    def __init__(self, entity: str, row_id: int, old: str, new: str, who: Who) -> None:
        """Name the cell."""
        super().__init__("E510", f"{entity} {row_id} may not go from {old} to {new} by {who}")


def allowed(entity: str, old: str, new: str, who: Who = ENGINE) -> bool:
    """Tell whether the cell exists for this mover."""
    return who in TABLES[entity].get(old, {}).get(new, frozenset())


def require(entity: str, row_id: int, old: str, new: str, who: Who = ENGINE) -> None:
    """Raise `IllegalMoveError` where the cell is absent."""
    cell = TABLES[entity][old].get(new)
    if cell is None or who not in cell:
        raise IllegalMoveError(entity, row_id, old, new, who)
