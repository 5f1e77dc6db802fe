"""The core rooms stay pure: no input, no output, no clock, no chance, and every import in sight.

A decision that reads a clock cannot be replayed, and a decision that sends something cannot be rolled back. The arrows
between rooms are import-linter's; these rules look at what a core room takes from Python itself.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.tidy.tree import finding, modules, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CORE_ROOMS = ("domain", "runbook", "progression", "ports")

# The entry of `python -m tminus.runbook` is a face that happens to live in its room.
FACES = ("src/tminus/runbook/__main__.py",)

OUTSIDE_MODULES = {
    *("sqlite3", "psycopg", "aio_pika", "httpx"),
    *("asyncio", "concurrent", "multiprocessing", "selectors", "signal", "subprocess", "threading"),
    *("ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib"),
    *("fileinput", "glob", "logging", "os", "pathlib", "shutil", "tempfile"),
    *("random", "secrets", "time", "uuid"),
}
OUTSIDE_CALLS = {"breakpoint", "input", "open", "print"}
CLOCK_READINGS = {"now", "today", "utcnow"}


def core_modules(root: Path) -> Iterator[Path]:
    """Yield the modules of the core rooms, without faces."""
    faces = {root / face for face in FACES}
    for path in modules(root, *(f"src/tminus/{room}" for room in CORE_ROOMS)):
        if path not in faces:
            yield path


def imported(node: ast.AST) -> list[str]:
    """Return the top-level packages that a statement imports, none for any other statement."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".", 1)[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.split(".", 1)[0]]
    return []


def core_imports(root: Path) -> list[str]:
    """Find imports of modules that reach outside the process, or into chance or time."""
    return [
        finding(root, path, getattr(node, "lineno", 1), f"a core room must not import {package}")
        for path in core_modules(root)
        for node in ast.walk(parsed(path))
        for package in imported(node)
        if package in OUTSIDE_MODULES
    ]


def core_calls(root: Path) -> list[str]:
    """Find calls that do I/O, or ask what time it is, without any import that would show it."""
    found: list[str] = []
    for path in core_modules(root):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Name) and called.id in OUTSIDE_CALLS:
                found.append(finding(root, path, node.lineno, f"a core room must not call {called.id}()"))
            if isinstance(called, ast.Attribute) and called.attr in CLOCK_READINGS:
                found.append(finding(root, path, node.lineno, f"a core room is handed the time: .{called.attr}()"))
    return found


def core_nested_imports(root: Path) -> list[str]:
    """Find imports inside functions of core rooms, where there is neither an optional package nor a start-up cost."""
    return [
        finding(root, path, getattr(node, "lineno", 1), f"import {package} at the top of the module")
        for path in core_modules(root)
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        for package in imported(node)
    ]
