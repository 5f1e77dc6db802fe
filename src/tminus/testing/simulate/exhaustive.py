"""Every crash there is: the smallest workload, died at each point where a process can die, or at each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.testing.simulate.simulation import Simulation
from tminus.testing.simulate.workload import Spec

if TYPE_CHECKING:
    from tminus.store.promises import Violation

SMALLEST = Spec(phases=1, steps=2, members=1, init=1, rollback=True, hooks=True)
SEED = 1


def _simulation() -> Simulation:
    simulation = Simulation(SEED, spec=SMALLEST, quiet=True)
    for node in simulation.nodes:
        node.door.counting = True
    return simulation


def points() -> list[int]:
    """Return how many points each node passes in a run without a crash."""
    simulation = _simulation()
    simulation.run()
    return [node.door.passed for node in simulation.nodes]


def crash_everywhere(*, pairs: bool) -> tuple[int, list[tuple[str, Violation]]]:
    """Run once for each point (or pair of points); return how many runs, and what they broke."""
    failing: list[tuple[str, Violation]] = []
    runs = 0
    for node, count in enumerate(points()):
        for first in range(1, count + 1):
            for second in range(1, count + 1) if pairs else (0,):
                runs += 1
                failing += _run(node, first, second)
    return runs, failing


def crash_at(node: int, first: int, second: int = 0) -> list[Violation]:
    """Run with a crash of one node at one point, and perhaps at a second one behind it; return what was broken."""
    simulation = _simulation()
    simulation.armed = (node, first, second)
    return simulation.run().violations


def _run(node: int, first: int, second: int) -> list[tuple[str, Violation]]:
    return [(f"node {node}, {first}+{second}", violation) for violation in crash_at(node, first, second)]
