"""What the tests of runbooks read: the corpus by its manifests, bombs by their recipes, and one small valid file.

A manifest names each file once per problem that it must give; a recipe names head, unit, count and tail of a text that
is too large to be kept. This module must not judge what a parser says.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

CORPUS = Path(__file__).parents[2] / "corpus" / "runbook"

SMALL = """\
name: wave
data_source: {type: manual, primary_key: Email}
phases:
  - name: move
    offset: T-0
    steps:
      - name: create
        worker_id: cloud
        function: New-User
"""


def small(**extra: str) -> str:
    """Return the small runbook with lines added: `step` inside its step, `phase` inside its phase, `top` at the end."""
    step = "".join(f"        {line}\n" for line in extra.get("step", "").splitlines())
    phase = "".join(f"    {line}\n" for line in extra.get("phase", "").splitlines())
    return SMALL.replace("    steps:\n", f"{phase}    steps:\n") + step + extra.get("top", "")


def attempted(parser: Callable[[str], T], text: str) -> tuple[T | None, str]:
    """Return what a parser makes of a text, and the code with which it refuses it, empty if it does not."""
    try:
        return parser(text), ""
    except TminusError as error:
        return None, error.code


def manifest(folder: str) -> Mapping[str, frozenset[tuple[str, int]]]:
    """Return the problems that each file of a folder must give: code and line."""
    wanted: dict[str, set[tuple[str, int]]] = {}
    for row in (CORPUS / folder / "manifest.tsv").read_text(encoding="utf-8").splitlines():
        file, code, line = row.split("\t")
        wanted.setdefault(file, set()).add((code, int(line)))
    return {file: frozenset(problems) for file, problems in wanted.items()}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A text too large to keep, and the problem that it must give."""

    name: str
    code: str
    line: int
    head: str
    unit: str
    count: int
    tail: str

    def text(self) -> str:
        """Build the text; `{i}` in the unit counts."""
        counted = "{i}" in self.unit
        body = "".join(self.unit.replace("{i}", str(i)) for i in range(self.count)) if counted else ""
        return self.head + (body or self.unit * self.count) + self.tail


def recipes() -> list[Recipe]:
    """Return the recipes of large bombs."""
    found: list[Recipe] = []
    for row in (CORPUS / "bombs" / "recipes.tsv").read_text(encoding="utf-8").splitlines():
        name, code, line, head, unit, count, tail = row.split("\t")
        plain = [part.encode().decode("unicode_escape") for part in (head, unit, tail)]
        found.append(Recipe(name, code, int(line), plain[0], plain[1], int(count), plain[2]))
    return found


def valid_files() -> list[Path]:
    """Return the valid runbooks of the corpus."""
    return sorted((CORPUS / "valid").glob("*.yaml"))
