"""Which functions a Python file offers, told from its text: nothing of it is run.

A plan must touch nothing, and loading somebody's file may do anything. The marks `@function` and `@function("Name")`
are found where they stand, also in files beside it that it imports. A name that only running could tell, or a mark used
in another way, makes the answer a partial one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MODULES: Final = frozenset({"tminus", "tminus.functions"})
_MARK: Final = "function"


@dataclass(slots=True)
class Offered:
    """The names on offer. `whole` is False where a file may offer others."""

    names: list[str] = field(default_factory=list[str])
    whole: bool = True


def read_offered(files: Sequence[Path]) -> Offered:
    """Read what files offer; one that cannot be read or is no Python raises `TminusError`."""
    found = Offered()
    seen: set[Path] = set()
    for file in files:
        _read(file, found, seen)
    found.names = sorted(set(found.names))
    return found


def _read(path: Path, found: Offered, seen: set[Path]) -> None:
    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        raise TminusError("E604", f"the file cannot be read: {error.strerror}", place=str(path)) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise TminusError("E601", f"{type(error).__name__}: {words}", place=f"{path}{line}") from error
    reader = _Reader(found)
    reader.visit(tree)
    for name in reader.imported:
        beside = path.parent / f"{name.split('.', 1)[0]}.py"
        if beside.is_file():
            _read(beside, found, seen)


class _Reader(ast.NodeVisitor):
    """Looks for marks and for what is imported."""

    def __init__(self, found: Offered) -> None:
        self.imported: list[str] = []
        self._found = found
        self._marks: set[str] = set()
        self._modules: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        """Note modules by the names that they have here."""
        for one in node.names:
            if one.name in _MODULES:
                self._modules.add(one.asname or one.name)
            self.imported.append(one.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note the mark by the name that it has here."""
        if node.module in _MODULES:
            self._marks |= {one.asname or one.name for one in node.names if one.name == _MARK}
        elif node.module:
            self.imported.append(node.module)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at what stands above a function."""
        self._decorated(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Look at what stands above a function."""
        self._decorated(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Meet the mark outside of a decorator: what is offered there is not told by the text."""
        self._found.whole = self._found.whole and not self._is_mark(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Meet the mark of a module in the same way."""
        self._found.whole = self._found.whole and not self._is_mark(node)
        self.generic_visit(node)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for mark in node.decorator_list:
            called = isinstance(mark, ast.Call)
            if not self._is_mark(mark.func if isinstance(mark, ast.Call) else mark):
                self.visit(mark)
                continue
            given = mark.args[0] if isinstance(mark, ast.Call) and mark.args else None
            if not called or given is None or (isinstance(given, ast.Constant) and given.value is None):
                self._found.names.append(node.name)
            elif isinstance(given, ast.Constant) and isinstance(given.value, str):
                self._found.names.append(given.value)
            else:
                self._found.whole = False
        for part in node.body:
            self.visit(part)

    def _is_mark(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._marks
        return isinstance(node, ast.Attribute) and node.attr == _MARK and ast.unparse(node.value) in self._modules
