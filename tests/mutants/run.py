"""`python tests/mutants/run.py`: look for a seed (or a crash) that kills each mutant, and write down which.

Without `--name` all mutants are hunted, with `--missing` those that nothing is known to kill. What has killed one
before is tried first (not with `--anew`). `--record` writes what was found. Exit 1 when a mutant survived.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mutants.mutants import KILLED, SOURCES, Kill, Mutant, fits, hunt, is_kill, killed, read, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_S: Final = 3600.0


def say(line: str) -> None:
    """Tell how it goes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def search(mutant: Mutant, known: Sequence[Kill], asked: dict[str, object], sources: Path) -> list[Kill]:
    """Look for kills: where there were some before, at every crash if the mutant says so, then at every seed."""
    if not fits(mutant, sources):
        return [Kill(seed=0, crash=[], promise="misfit", message=f"{mutant.file} has not the text it replaces")]
    again = replay(mutant, known, LIMIT_S, sources) if known else []
    if again and is_kill(again[0]):
        return again
    crashes: dict[str, object] = {"crashes": []} if mutant.kill == "crash" else {}
    return hunt(mutant, {**asked, **crashes}, LIMIT_S, sources)


def main() -> int:
    """Hunt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--base", type=int, default=1)
    parser.add_argument("--most", type=int, default=1, help="how many kills are enough")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sources", type=Path, default=SOURCES)
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--into", type=Path, default=KILLED)
    given = parser.parse_args()
    known = killed(given.into) if given.into.exists() else {}
    wanted = [m for m in read() if (not given.name or m.name in given.name) and not (given.missing and m.name in known)]
    survived: list[str] = []

    def one(mutant: Mutant) -> tuple[Mutant, list[Kill], float]:
        start = time.perf_counter()
        before = [] if given.anew else known.get(mutant.name, [])
        found = search(mutant, before, {"base": given.base, "count": given.seeds, "most": given.most}, given.sources)
        return mutant, found, time.perf_counter() - start

    with ThreadPoolExecutor(given.jobs) as pool:
        for done in as_completed([pool.submit(one, mutant) for mutant in wanted]):
            mutant, found, spent = done.result()
            if not found or not is_kill(found[0]):
                survived.append(mutant.name)
                known.pop(mutant.name, None)
            else:
                known[mutant.name] = found
            by = ", ".join(f"{k['seed'] or k['crash']}: {k['promise']} {k['message'][:90]}" for k in found)
            say(f"{mutant.name} ({spent:.0f} s): {by or 'SURVIVED'}")
    if given.record:
        names = {m.name for m in read()}
        kept = {name: kills for name, kills in sorted(known.items()) if name in names}
        given.into.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    say(f"{len(wanted) - len(survived)} killed, {len(survived)} survived: {' '.join(survived)}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
