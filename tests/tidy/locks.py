"""The lock files hold what `pyproject.toml` asks for, each package once for its reason and with hashes.

A range that was added without `make lock` works on the machine of whoever added it, and nowhere else.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def canonical(requirement: str) -> str:
    """Return the name in a requirement, in the one spelling that packages are compared by."""
    match = NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else ""


def pins(lock: Path) -> dict[str, int]:
    """Return how many hashes each pinned package of a lock file has."""
    counts: dict[str, int] = {}
    name = ""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if "==" in line:
            name = canonical(line)
            counts[name] = 0
        counts[name] = counts.get(name, 0) + line.count("--hash=sha256:")
    return counts


def stale_locks(root: Path) -> list[str]:
    """Find requirements that no lock file holds, and pins without a hash."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    base: list[str] = project["project"]["dependencies"]
    dev: list[str] = project["dependency-groups"]["dev"]
    found: list[str] = []
    for name, asked in (("base", base), ("dev", [*base, *dev])):
        place = f"requirements/{name}.txt"
        held = pins(root / place)
        lost = sorted({canonical(requirement) for requirement in asked} - held.keys())
        found += [f"{place}:1: {package} is not locked: run make lock" for package in lost]
        found += [f"{place}:1: {package} has no hash: run make lock" for package, hashes in held.items() if not hashes]
    return found
