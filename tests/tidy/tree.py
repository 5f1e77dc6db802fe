"""What the rules read: the files of a checkout, parsed once.

A rule is a function from the root of a checkout to its findings; a finding is one line that names place, rule and
cure. Rules read from a root that is handed in, so that their own tests can hand in a bad sample.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

Rule = Callable[[Path], list[str]]


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def modules(root: Path, *folders: str) -> Iterator[Path]:
    """Yield the Python files under these folders of the checkout, in order."""
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


def finding(root: Path, path: Path, line: int, sentence: str) -> str:
    """Word one finding, with a place that an editor can jump to."""
    return f"{path.relative_to(root).as_posix()}:{line}: {sentence}"


def is_checkout(root: Path) -> bool:
    """Tell whether git can list what is tracked here."""
    return (root / ".git").exists()


def tracked(root: Path) -> list[Path]:
    """Return the tracked files that exist in the working tree."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    paths = (root / name for name in listing.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str | None:
    """Return the text of a file, or None when it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def pages(root: Path) -> list[Path]:
    """Return the Markdown pages of the checkout: those at its root and those under docs."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def line_of(text: str, position: int) -> int:
    """Return the line number, from 1, of a position in a text."""
    return text.count("\n", 0, position) + 1


def makefile_targets(root: Path) -> set[str]:
    """Return the targets that the Makefile defines."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    heads = re.findall(r"^([a-z][\w -]*?)\s*:(?!=)", text, flags=re.MULTILINE)
    return {target for head in heads for target in head.split()}
