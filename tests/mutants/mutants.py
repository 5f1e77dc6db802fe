"""Mutants: the core with one defence taken out, as data beside this file, and how one is killed.

Each mutant is one exact replacement in one file of the package. It is applied to a copy of the sources, and the copy
runs the simulator in a process of its own, so that no mutant ever shares a process with the real core.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE: Final = Path(__file__).parent
SOURCES: Final = HERE.parents[1] / "src"
KINDS: Final = ("guards", "fences", "transactions", "orders", "policies")
KILLED: Final = HERE / "killed.json"


class Kill(TypedDict):
    """How a mutant was killed: by a seed, or by a crash of a node at a point of the smallest workload."""

    seed: int
    crash: list[int]
    promise: str
    message: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defence taken out: which, and the text that stands in its place. `kill` says where to look first.

    `test` names the test that kills one which no simulation is known to kill.
    """

    name: str
    file: str
    removes: str
    old: str
    new: str
    kill: str = "seeds"
    test: str = ""


def read(kinds: Sequence[str] = KINDS) -> list[Mutant]:
    """Read the mutants of these kinds."""
    found: list[Mutant] = []
    for kind in kinds:
        table = cast("dict[str, list[dict[str, str]]]", tomllib.loads((HERE / f"{kind}.toml").read_text("utf-8")))
        found += [Mutant(**one) for one in table["mutant"]]
    return found


def killed(path: Path = KILLED) -> dict[str, list[Kill]]:
    """Read what has killed each mutant."""
    return cast("dict[str, list[Kill]]", json.loads(path.read_text("utf-8")))


def fits(mutant: Mutant, sources: Path = SOURCES) -> bool:
    """Tell whether the text that the mutant replaces stands exactly once in its file."""
    return (sources / "tminus" / mutant.file).read_text("utf-8").count(mutant.old) == 1


def hunt(mutant: Mutant | None, asked: Mapping[str, object], limit_s: float, sources: Path = SOURCES) -> list[Kill]:
    """Run what is asked for over a copy of the sources with one mutant in it (none: as they are)."""
    with tempfile.TemporaryDirectory(prefix="tminus-mutant-") as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(_changed(mutant, folder, sources)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, str(HERE / "hunt.py"), json.dumps(asked)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            return [Kill(seed=0, crash=[], promise="time", message=f"did not end within {limit_s:g} s")]
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1]
        return [Kill(seed=0, crash=[], promise="error", message=last)]
    return cast("list[Kill]", json.loads(done.stdout))


def passes(mutant: Mutant, limit_s: float, sources: Path = SOURCES) -> bool:
    """Tell whether the test that is named for a mutant passes over a copy of the sources with it."""
    with tempfile.TemporaryDirectory(prefix="tminus-mutant-") as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(_changed(mutant, folder, sources)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", mutant.test]
        done = subprocess.run(
            command, env=environment, cwd=HERE.parents[1], capture_output=True, timeout=limit_s, check=False
        )
    if done.returncode > 1:
        raise AssertionError(f"{mutant.test} cannot be run: {done.stdout.decode()[-500:]}")
    return done.returncode == 0


def _changed(mutant: Mutant | None, folder: str, sources: Path) -> Path:
    """Copy the sources into a folder, with one mutant in them (none: as they are)."""
    copy = Path(folder) / "src"
    shutil.copytree(sources, copy)
    if mutant is not None:
        path = copy / "tminus" / mutant.file
        path.write_text(path.read_text("utf-8").replace(mutant.old, mutant.new), "utf-8")
    return copy


def replay(mutant: Mutant, kills: Sequence[Kill], limit_s: float, sources: Path = SOURCES) -> list[Kill]:
    """Run what has killed a mutant until one of it does so again."""
    asked: dict[str, object] = {"seeds": [kill["seed"] for kill in kills if kill["seed"]]}
    if crashes := [kill["crash"] for kill in kills if not kill["seed"]]:
        asked["crashes"] = crashes
    return hunt(mutant, asked, limit_s, sources)


def is_kill(kill: Kill) -> bool:
    """Tell whether this is a kill: no mutant is dead because it was slow, or because it was no program."""
    return kill["promise"] not in {"misfit", "error", "time"}
