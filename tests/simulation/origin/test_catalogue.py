"""Every defect of the origin has its test, or its place in the table of those that belong to another layer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.simulation.origin.catalogue import DEFECTS, NOT_THIS_LAYER

HERE = Path(__file__).parent
NAME = re.compile(r"test_([LDGSW]\d\d)_")


def scenarios() -> dict[str, list[ast.FunctionDef]]:
    """Return the tests of this folder by the defect that they are named after."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = NAME.match(node.name) if isinstance(node, ast.FunctionDef) else None
            if named is not None and isinstance(node, ast.FunctionDef):
                found.setdefault(named.group(1), []).append(node)
    return found


def test_every_defect_is_played_or_placed_elsewhere() -> None:
    assert len(DEFECTS) == 65
    assert scenarios().keys() | NOT_THIS_LAYER.keys() == DEFECTS
    assert scenarios().keys() & NOT_THIS_LAYER.keys() == set()


def test_every_scenario_says_what_went_wrong_and_what_holds() -> None:
    for nodes in scenarios().values():
        for node in nodes:
            told = ast.get_docstring(node) or ""
            assert re.fullmatch(r"Origin: [^\n]+; here [^\n]+\.", told), node.name


def test_what_is_placed_elsewhere_says_why_and_where() -> None:
    for place in NOT_THIS_LAYER.values():
        assert place.reason.endswith(".")
        assert place.covered_by.startswith("tests/")
