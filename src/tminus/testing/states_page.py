"""The page of states, written from the tables: one diagram and one table per entity.

A page drawn by hand would be wrong after the first change. `docs/states.md` is this module's output, and a test
compares the two. Run with a path, it writes the page there. It must not know any cell.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tminus.progression.tables import ENGINE, FIRST, JOINER, OPERATOR, TABLES

if TYPE_CHECKING:
    from tminus.progression.tables import Cell, Who

_HEAD: Final = """\
# States

Which status may follow which. What is not drawn here cannot happen: a decision that asks for it is refused as a whole
before anything is written. The page is written from the tables in `src/tminus/progression/tables.py` by
`python -m tminus.testing.states_page docs/states.md`.

Three kinds of movers: the engine, an operator (a command, with name and reason in the history), and a joiner, for whom
a phase reopens. An arrow with a label belongs to those whom it names; an arrow without one, to everybody.
"""
_ABOUT: Final = {
    "batch": "One run of a runbook for the members that share a T-0. It ends once all of its phases and lanes have.",
    "member": "One thing moved. It fails with its first final failure, alone; the others go on.",
    "phase": "Steps that fire at one offset of T-0. It ends when all of its lanes have.",
    "lane": "One subject's pass through an ordered list of steps. Kinds differ in what a failure means, not in states.",
    "execution": "One step in one lane: the row that a worker's result moves.",
    "hold": "Something that waits for a human. A gate's `approved` lets its phase open; expiry never approves.",
}
_MEANS: Final = {
    "batch": {
        "detected": "made; its init has not started",
        "init_dispatched": "its init runs",
        "active": "its phases open as they come due",
        "closing": "all has ended; membership is frozen and the finish steps run",
        "completed": "at least one phase completed, or all were ignored as overdue",
        "failed": "its init failed, or no phase completed",
        "cancelled": "an operator stopped it, or nobody was left",
    },
    "member": {
        "active": "in its batch and on its way",
        "done": "its batch completed with it",
        "failed": "a step failed for good",
        "removed": "left, or moved to another batch",
        "cancelled": "ended with its batch",
    },
    "phase": {
        "pending": "not due yet, or held",
        "dispatched": "open: its members have lanes",
        "completed": "ended, and at least one lane succeeded",
        "failed": "ended, and no lane succeeded",
        "skipped": "passed over, with the reason",
        "superseded": "a newer version took its place",
        "cancelled": "ended with its batch, or all of its lanes were cancelled",
    },
    "lane": {
        "waiting": "something goes before it",
        "running": "one of its steps is next or out",
        "succeeded": "its last step has passed",
        "failed": "it stopped at a failure, or cleaned up only in part",
        "cancelled": "its work is not wanted any more",
    },
    "execution": {
        "pending": "waits to be sent",
        "dispatched": "its job is out",
        "succeeded": "its worker, or an operator, says that it is done",
        "failed": "failed for good",
        "polling": "started; asked again until it has ended",
        "poll_timeout": "never came to an end while it was asked",
        "skipped": "its condition did not hold, or an operator skipped it",
        "cancelled": "its work is not wanted any more",
        "rolled_back": "failed, and what it left was undone",
    },
    "hold": {
        "waiting": "waits for its answer",
        "approved": "go",
        "rejected": "no go: the batch is held",
        "expired": "nobody answered in time: the batch is held",
        "lifted": "gone",
    },
}

# The engine may lead out of these, and most rows end in them all the same.
_ENDS_TOO: Final = {("execution", "failed"), ("execution", "poll_timeout"), ("hold", "approved")}


def page() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *(_section(entity, TABLES[entity]) for entity in TABLES)])


def _section(entity: str, cells: Cell) -> str:
    return "\n".join(
        [f"## {entity.capitalize()}\n", f"{_ABOUT[entity]}\n", _diagram(entity, cells), _table(entity, cells)]
    )


def _diagram(entity: str, cells: Cell) -> str:
    """Draw the cells; a status that only an operator or a joiner leaves is an end all the same."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {FIRST[entity]}"]
    for old, news in cells.items():
        for new, who in news.items():
            label = _movers(who)
            lines.append(f"    {old} --> {new}" + (f": {label}" if label else ""))
        if (entity, old) in _ENDS_TOO or not any(ENGINE in who for who in news.values()):
            lines.append(f"    {old} --> [*]")
    return "\n".join([*lines, "```\n"])


def _movers(who: frozenset[Who]) -> str:
    """Name who is needed; nothing where everybody may."""
    return "" if ENGINE in who else " or ".join(one for one in (OPERATOR, JOINER) if one in who)


def _table(entity: str, cells: Cell) -> str:
    lines = ["| status | what it means | may become |", "|---|---|---|"]
    for old, news in cells.items():
        after = [f"{new} ({_movers(who)})" if _movers(who) else new for new, who in news.items()]
        lines.append(f"| {old} | {_MEANS[entity][old]} | {', '.join(after) or 'nothing: it is final'} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
