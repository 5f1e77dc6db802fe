"""The plan of a seed: what happens from outside, and when. Leaving one happening out does not change the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tminus.testing.simulate.chance import Chance
    from tminus.testing.simulate.workload import Spec

NODES: Final = 2
WORKERS: Final = 2
FAULTS: Final = ("crash", "crash", "crash", "stop_node", "kill_worker", "kill_worker", "wipe_bus", "clock_jump")
ACTS: Final = (
    "pause", "pause_member", "retry", "retry", "retry", "retry_from", "skip", "mark_done", "roll_back", "cancel",
    "cancel_everyone", "join", "join", "leave", "absent", "move", "publish", "publish", "answer", "answer", "edit",
    "reschedule", "retry_init", "retry_cleanup", "approve_early", "return",
)  # fmt: skip
# What storms add: acts that only make trouble together with another one at the same moment.
STORMY: Final = (*ACTS, "own_approval", "twice", "give_back")
SHARP: Final = (
    "pause", "pause", "pause_member", "pause_member", "leave", "absent", "cancel", "cancel_everyone", "reschedule",
    "move", "publish", "retry", "retry_init", "roll_back", "answer", "own_approval", "join", "kill_worker",
)  # fmt: skip
NOISE: Final = ("duplicates", "drops", "delays", "late decisions")


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing from outside: a fault or an operator's act."""

    index: int
    at_s: float
    kind: str

    def __str__(self) -> str:
        """Show it in a report."""
        return f"#{self.index} at {self.at_s:.1f} s: {self.kind}"


def is_storm(seed: int) -> bool:
    """Tell whether more happens in this seed, and more at once. Those that found something before keep their plan."""
    return seed % 5 in {2, 3}


def span_s(spec: Spec) -> float:
    """Return for how long things from outside happen."""
    return spec.phases * 3600.0 + 1800.0


def plan(chance: Chance, spec: Spec) -> list[Happening]:
    """Draw the happenings of a seed."""
    rng = chance.of("plan")
    kinds = [rng.choice(FAULTS) for _ in range(rng.choice((0, 1, 2, 3, 4)))]
    kinds += [rng.choice(ACTS) for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 4)))]
    span = span_s(spec)
    hours = [60.0 + 3600.0 * index for index in range(spec.phases)]
    found: list[Happening] = []
    for index, kind in enumerate(kinds):
        # Most happens while something runs: shortly after a phase has become due.
        near = rng.random() < 0.7
        at = rng.choice(hours) + rng.choice((0.0, 1.0, 3.0, 10.0, 40.0, 200.0)) if near else rng.uniform(0.0, span)
        found.append(Happening(index, at, kind))
    return found + _storm(chance, spec, len(found)) if is_storm(chance.seed) else found


def _storm(chance: Chance, spec: Spec, first: int) -> list[Happening]:
    """Draw bursts: two or three things at one moment, just before, at or after the moment at which phases are due."""
    rng = chance.of("storm")
    found: list[Happening] = []
    for _ in range(rng.choice((1, 2, 3, 4))):
        at = rng.randrange(spec.phases) * 3600.0 + 60.0
        at += rng.choice((-30.0, -1.0, 0.0, 0.5, 1.0, 1.2, 2.0, 2.5, 12.0, 31.0, 61.0, 241.0, 400.0))
        for _ in range(rng.choice((1, 2, 2, 3))):
            found.append(Happening(first + len(found), at, rng.choice(SHARP if rng.random() < 0.6 else STORMY)))
    return found


def noise(chance: Chance) -> frozenset[str]:
    """Draw which kinds of noise the bus makes in this seed."""
    rng = chance.of("noise")
    return frozenset(kind for kind in NOISE if rng.random() < 0.6)
