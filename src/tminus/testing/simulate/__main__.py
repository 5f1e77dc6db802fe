"""`python -m tminus.testing.simulate`: run seeds, look for violations, shrink the first."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tminus.testing.simulate.exhaustive import crash_everywhere
from tminus.testing.simulate.shrink import shrink
from tminus.testing.simulate.simulation import Result, Simulation

if TYPE_CHECKING:
    from collections.abc import Sequence

_SLICE = 50


def run_slice(base: int, count: int) -> tuple[int, int, float, list[Result]]:
    """Run some seeds; return how many, how many moves, how many virtual seconds, and the failing ones."""
    moves, virtual, failing = 0, 0.0, list[Result]()
    for seed in range(base, base + count):
        result = Simulation(seed).run()
        moves += result.moves
        virtual += result.virtual_s
        if result.violations:
            failing.append(result)
    return count, moves, virtual, failing


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 on a violation. One job alone runs in this very process."""
    parser = argparse.ArgumentParser(prog="python -m tminus.testing.simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--base", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stop-at", type=int, default=1, help="how many failing seeds are enough")
    parser.add_argument("--exhaustive", choices=("single", "pairs"), help="crash at every point of the smallest run")
    given = parser.parse_args(words)
    if given.exhaustive:
        return _exhaustive(pairs=given.exhaustive == "pairs")
    start = time.perf_counter()
    done = moves = 0
    virtual = 0.0
    failing: list[Result] = []
    bases = range(given.base, given.base + given.seeds, _SLICE)
    sizes = [min(_SLICE, given.base + given.seeds - base) for base in bases]
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(given.jobs)) if given.jobs > 1 else None
        for count, some_moves, some_virtual, some_failing in (pool.map if pool else map)(run_slice, bases, sizes):
            done, moves, virtual = done + count, moves + some_moves, virtual + some_virtual
            failing += some_failing
            if len(failing) >= given.stop_at:
                if pool is not None:
                    pool.shutdown(cancel_futures=True)
                break
    spent = time.perf_counter() - start
    print(f"{done} seeds from {given.base}, {moves} moves, {virtual / 3600:.0f} virtual hours in {spent:.1f} s")
    for result in failing[: given.stop_at]:
        _report(result)
    print(f"{done - len(failing)} passed, {len(failing)} failed")
    return 1 if failing else 0


def _report(result: Result) -> None:
    print(f"seed {result.seed}: {len(result.violations)} violations")
    for violation in result.violations[:5]:
        print(f"  {violation.promise} {violation.message}")
    kept = shrink(result.seed, result.violations[0].promise, [h.index for h in result.happenings])
    print(f"  shrunk to {len(kept)} of {len(result.happenings)} happenings:")
    for happening in result.happenings:
        if happening.index in kept:
            print(f"    {happening}")


def _exhaustive(*, pairs: bool) -> int:
    start = time.perf_counter()
    runs, failing = crash_everywhere(pairs=pairs)
    print(f"{runs} runs with a crash at every {'pair of points' if pairs else 'point'},"
          f" {time.perf_counter() - start:.1f} s")  # fmt: skip
    for where, violation in failing[:10]:
        print(f"  crash at {where}: {violation.promise} {violation.message}")
    print(f"{runs - len(failing)} passed, {len(failing)} failed")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
