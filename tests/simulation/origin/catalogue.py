"""The origin's defects by id, and those that no test of the state machine and the store can play.

The ids are the rows of the list that was made by reading the origin's code: L lost progression and messages, D dispatch
before record, G guards, S stuck states, W wrong effects. S14 and L08 describe one defect from two sides.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DEFECTS: Final[frozenset[str]] = frozenset(
    f"{letter}{number:02}"
    for letter, count in {"L": 15, "D": 10, "G": 12, "S": 15, "W": 13}.items()
    for number in range(1, count + 1)
)


class Elsewhere(NamedTuple):
    """Why a defect cannot be played here, and which floor and room holds it."""

    reason: str
    covered_by: str


NOT_THIS_LAYER: Final[dict[str, Elsewhere]] = {
    "L13": Elsewhere(
        "A message of an unknown type, or without a body, was acknowledged and so lost. Events are typed when they"
        " reach the store; what cannot be read is the affair of whoever reads messages, and goes to quarantine.",
        "tests/conformance/bus, with the reading of foreign messages",
    ),
    "L14": Elsewhere(
        "The reader of the dead-letter queue deleted what it read. Dead-letter queues are a broker's; what a"
        " dead-lettered job means to its execution is played here as S05.",
        "tests/conformance/bus, for every bus with a dead-letter queue",
    ),
    "S12": Elsewhere(
        "Prefetched messages lost their locks behind slow handlers. Locks and prefetching are a broker's; that a"
        " message delivered twice counts once is played here as D07.",
        "tests/conformance/bus, with deliveries that outlive their lock",
    ),
}
