"""Run the simulator of whatever sources are on the path until a promise breaks, and print how.

A program of its own, so that a mutant has its process to itself. What to run comes as JSON: seeds from a base on, a
list of seeds, and crashes at every point (or at named points) of the smallest workload.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from tminus.domain.errors import TminusError
from tminus.store.promises import Violation
from tminus.testing.simulate.exhaustive import crash_at, points
from tminus.testing.simulate.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Found = dict[str, Any]


def _seed(seed: int) -> list[Violation]:
    return Simulation(seed).run().violations


def by_seeds(seeds: list[int]) -> Iterator[tuple[Found, list[Violation]]]:
    """Yield what each seed breaks."""
    for seed in seeds:
        yield {"seed": seed, "crash": []}, _told(partial(_seed, seed))


def by_crashes(named: list[list[int]] | None) -> Iterator[tuple[Found, list[Violation]]]:
    """Yield what a crash at each point breaks."""
    every = named or [[node, at] for node, count in enumerate(points()) for at in range(1, count + 1)]
    for node, at in every:
        yield {"seed": 0, "crash": [node, at]}, _told(partial(crash_at, node, at))


def _told(run: Callable[[], list[Violation]]) -> list[Violation]:
    """Count an error that reaches whoever asked as seen: the database has refused what the core asked for."""
    try:
        return run()
    except TminusError as error:
        return [Violation(error.code, str(error))]


def main() -> None:
    """Print what was found, at most as much of it as was asked for."""
    asked: Found = json.loads(sys.argv[1])
    base = asked.get("base", 1)
    hunts = [by_seeds(asked["seeds"] if "seeds" in asked else list(range(base, base + asked["count"])))]
    if "crashes" in asked:
        hunts.insert(0, by_crashes(asked["crashes"]))
    found: list[Found] = []
    for hunt in hunts:
        for where, violations in hunt:
            if violations and len(found) < asked.get("most", 1):
                found.append({**where, "promise": violations[0].promise, "message": violations[0].message})
            if len(found) >= asked.get("most", 1):
                break
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
