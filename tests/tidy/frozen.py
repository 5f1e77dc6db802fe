"""Migrations are frozen: what has been run somewhere is never edited, only followed by another.

The manifest holds the digest of each one. `make freeze` (this module, run) adds those that are new and touches no line
that is there; a migration that changed stays a finding until the change is taken back.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tests.tidy.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MIGRATIONS = "src/tminus/db/migrations"
MANIFEST = "tests/tidy/migrations.sha256"


def digests(root: Path) -> dict[str, str]:
    """Return the digest of every migration, by its path in the checkout."""
    paths = sorted((root / MIGRATIONS).rglob("*.sql"))
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def recorded(root: Path) -> dict[str, str]:
    """Return the digests of the manifest, by path."""
    manifest = root / MANIFEST
    if not manifest.exists():
        return {}
    lines = (line.split(maxsplit=1) for line in manifest.read_text(encoding="utf-8").splitlines() if line)
    return {place: digest for digest, place in lines}


def thawed_migrations(root: Path) -> list[str]:
    """Find migrations that are new, changed or gone."""
    now, then = digests(root), recorded(root)
    new = [f"{place}:1: not frozen yet: run make freeze" for place in now.keys() - then.keys()]
    gone = [f"{place}:1: a frozen migration is gone" for place in then.keys() - now.keys()]
    changed = [
        f"{place}:1: a frozen migration changed: take it back and write the next one"
        for place in now.keys() & then.keys()
        if now[place] != then[place]
    ]
    return sorted(new + gone + changed)


def freeze(root: Path) -> None:
    """Add the new migrations to the manifest."""
    lines = {**digests(root), **recorded(root)}
    text = "".join(f"{digest}  {place}\n" for place, digest in sorted(lines.items()))
    (root / MANIFEST).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    freeze(ROOT)
