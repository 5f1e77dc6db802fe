"""Ceilings: no file, function or class grows past what one reading holds.

There are no waivers, because the code bases that aged all grew one class that owned the database and one that owned the
run loop. What reaches a ceiling is split by noun; a name that only counts the parts is refused as well.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.tidy.tree import finding, modules, parsed

if TYPE_CHECKING:
    from pathlib import Path

FILE_LINES = 400
TEST_FILE_LINES = 500
FUNCTION_LINES = 60
CLASS_LINES = 250

EMPTY_NAMES = {
    *("util", "utils", "helper", "helpers", "manager", "managers"),
    *("common", "core", "misc", "base", "shared", "stuff"),
}
COUNTED_NAME = re.compile(r"(?:_part)?_?\d+$")
SHORTEST_NAME = 3


def file_ceilings(root: Path) -> list[str]:
    """Find files that are too long."""
    found: list[str] = []
    for path in modules(root, "src", "tests", "bench"):
        ceiling = TEST_FILE_LINES if path.is_relative_to(root / "tests") else FILE_LINES
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > ceiling:
            found.append(finding(root, path, lines, f"{lines} lines, at most {ceiling}: split the file by noun"))
    return found


def block_ceilings(root: Path) -> list[str]:
    """Find functions and classes that are too long; decorators are not counted."""
    found: list[str] = []
    for path in modules(root, "src", "tests", "bench"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                ceiling = FUNCTION_LINES
            elif isinstance(node, ast.ClassDef):
                ceiling = CLASS_LINES
            else:
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > ceiling:
                found.append(finding(root, path, node.lineno, f"{node.name} has {lines} lines, at most {ceiling}"))
    return found


def module_names(root: Path) -> list[str]:
    """Find modules and packages whose name says nothing about what is inside."""
    found: list[str] = []
    for path in modules(root, "src", "tests", "bench"):
        package = path.name == "__init__.py"
        name = path.parent.name if package else path.stem
        too_short = not package and len(name) < SHORTEST_NAME
        if name in EMPTY_NAMES or too_short or COUNTED_NAME.search(name):
            found.append(finding(root, path, 1, f"the name '{name}' does not say what is inside"))
    return found
