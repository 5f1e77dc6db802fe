"""The tables hold exactly the transitions that are written down, and an absent cell stops whoever asks for it.

What is written down stands here as text, as operators read it, and is read by the test. A cell that the tables have
beyond it is named with its reason.
"""

from __future__ import annotations

import re
from itertools import pairwise, product
from typing import TYPE_CHECKING, Final, cast, get_args

import pytest

from tests.unit.progression.stage import book, phase, play, view_of
from tminus.domain import status
from tminus.progression.tables import (
    ENGINE,
    FIRST,
    JOINER,
    OPERATOR,
    TABLES,
    IllegalMoveError,
    Who,
    allowed,
    require,
)
from tminus.testing.world import silent

if TYPE_CHECKING:
    from collections.abc import Callable

WRITTEN: Final = {
    "batch": """
        detected → init_dispatched → active → closing → completed | failed
        detected → active
        detected | init_dispatched → failed
        detected | init_dispatched | active | closing → cancelled
        completed | failed → active by operator
        failed → init_dispatched by operator
    """,
    "member": """
        active → done | failed | removed | cancelled
        failed | cancelled → active by operator
    """,
    "phase": """
        pending → dispatched → completed | failed
        pending → skipped | superseded | cancelled
        dispatched → cancelled
        cancelled → pending by operator joiner
        completed | failed | skipped → dispatched by operator joiner
    """,
    "execution": """
        pending → dispatched → succeeded | failed | polling
        polling → succeeded | failed | poll_timeout
        pending → skipped | failed | cancelled
        dispatched | polling → cancelled
        failed → pending
        dispatched → pending
        failed | poll_timeout → rolled_back
        poll_timeout | rolled_back | cancelled → pending by operator
    """,
    "lane": """
        waiting → running → succeeded | failed | cancelled
    """,
    "hold": "",
}
BEYOND: Final = {
    ("execution", "pending", "succeeded"): "an operator marks a step done",
    ("lane", "waiting", "cancelled"): "a member fails or leaves before the lane's turn",
    ("lane", "failed", "waiting"): "an operator's retry reopens it",
    ("lane", "cancelled", "waiting"): "an operator's retry reopens it",
    ("lane", "succeeded", "waiting"): "an operator has rolled it back and retries it",
    ("hold", "waiting", "approved"): "a gate is approved, leavers are accepted",
    ("hold", "waiting", "rejected"): "a gate is rejected",
    ("hold", "waiting", "expired"): "nobody answered a gate",
    ("hold", "waiting", "lifted"): "resumed, or its reason has gone",
    ("hold", "approved", "lifted"): "nobody needs it: an approved gate is closed",
    ("hold", "rejected", "waiting"): "a gate is reopened",
    ("hold", "expired", "waiting"): "a gate is reopened",
    ("hold", "rejected", "lifted"): "the batch is rescheduled, cancelled or moves to another version",
    ("hold", "expired", "lifted"): "the batch is rescheduled, cancelled or moves to another version",
}
ONLY_OPERATORS: Final = {
    ("execution", "pending", "succeeded"),
    ("lane", "failed", "waiting"),
    ("lane", "cancelled", "waiting"),
    ("lane", "succeeded", "waiting"),
    ("hold", "rejected", "waiting"),
    ("hold", "expired", "waiting"),
}
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "batch": get_args(status.BatchStatus),
    "member": get_args(status.MemberStatus),
    "phase": get_args(status.PhaseStatus),
    "lane": get_args(status.LaneStatus),
    "execution": get_args(status.ExecutionStatus),
    "hold": get_args(status.HoldState),
}
EVERYBODY: Final = frozenset[Who]({ENGINE, OPERATOR, JOINER})
Move = tuple[str, str, str]


def written() -> dict[Move, frozenset[Who]]:
    """Read the transitions that are written down, with who may use them."""
    found: dict[Move, frozenset[Who]] = {}
    for entity, text in WRITTEN.items():
        for line in filter(None, (line.strip() for line in text.splitlines())):
            moves, _, who = line.partition(" by ")
            stations = [re.split(r"\s*\|\s*", station) for station in moves.split(" → ")]
            for olds, news in pairwise(stations):
                for old, new in product(olds, news):
                    found[entity, old.strip(), new.strip()] = frozenset(cast("list[Who]", who.split())) or EVERYBODY
    return found


PRESENT: Final[dict[Move, frozenset[Who]]] = {
    (entity, old, new): who
    for entity, table in TABLES.items()
    for old, cells in table.items()
    for new, who in cells.items()
}
ABSENT: Final = [
    (entity, old, new, who)
    for entity, words in WORDS.items()
    for old, new in product(words, words)
    for who in (ENGINE, OPERATOR, JOINER)
    if who not in PRESENT.get((entity, old, new), frozenset[Who]())
]


def test_the_tables_hold_what_is_written_and_what_is_named_beyond_it() -> None:
    beyond = {move: frozenset[Who]({OPERATOR}) if move in ONLY_OPERATORS else EVERYBODY for move in BEYOND}
    assert written() | beyond == PRESENT
    assert not written().keys() & beyond.keys()


@pytest.mark.parametrize("entity", sorted(TABLES))
def test_a_table_names_every_status_and_begins_with_one_of_them(entity: str) -> None:
    assert tuple(sorted(TABLES[entity])) == tuple(sorted(WORDS[entity]))
    assert FIRST[entity] in TABLES[entity]


@pytest.mark.parametrize(("entity", "old", "new"), sorted(PRESENT))
def test_a_cell_lets_exactly_its_movers_pass(entity: str, old: str, new: str) -> None:
    for who in PRESENT[entity, old, new]:
        assert allowed(entity, old, new, who)
        require(entity, 7, old, new, who)


@pytest.mark.parametrize(("entity", "old", "new", "who"), ABSENT, ids="-".join)
def test_an_absent_cell_is_an_error(entity: str, old: str, new: str, who: Who) -> None:
    assert not allowed(entity, old, new, who)
    with pytest.raises(IllegalMoveError, match=f"{entity} 7 may not go from {old} to {new} by {who}") as caught:
        require(entity, 7, old, new, who)
    assert caught.value.code == "E510"


@pytest.mark.parametrize("entity", sorted(TABLES))
def test_the_view_moves_no_row_through_an_absent_cell(entity: str) -> None:
    view, subject = view_of(play(book(phase("prepare", gate={})), prepare=silent()))
    world_rows: dict[str, object] = {
        "batch": view.batches[1],
        "member": subject.member,
        "phase": view.phases[1],
        "hold": view.holds[1],
    }
    if entity in {"lane", "execution"}:
        view, subject = view_of(play(book(phase("prepare")), prepare=silent()))
        world_rows = {"lane": subject.lanes[0], "execution": view.executions[1]}
    row = world_rows[entity]
    column = "state" if entity == "hold" else "status"
    at = cast("str", getattr(row, column))
    move = cast("Callable[..., None]", getattr(view, f"move_{entity}"))
    for new in WORDS[entity]:
        if not allowed(entity, at, new):
            with pytest.raises(IllegalMoveError):
                move(row, new, "test", 1) if entity == "execution" else move(row, new, "test")
            assert getattr(row, column) == at
    assert not view.decision.history


def test_only_an_operator_leaves_an_end_and_only_a_joiner_beside_him() -> None:
    ends = {
        "batch": {"completed", "failed", "cancelled"},
        "member": {"done", "failed", "removed", "cancelled"},
        "phase": {"completed", "failed", "skipped", "superseded", "cancelled"},
        "lane": {"succeeded", "failed", "cancelled"},
        "execution": {"succeeded", "poll_timeout", "skipped", "cancelled", "rolled_back"},
    }
    leaving = {move: who for move, who in PRESENT.items() if move[1] in ends.get(move[0], set())}
    after_a_failure = {("execution", "poll_timeout", "rolled_back")}
    assert {m for m, who in leaving.items() if ENGINE in who} == after_a_failure
    assert {m[0] for m, who in leaving.items() if JOINER in who and ENGINE not in who} == {"phase"}
