"""The catalogue is whole: every code that the source names has an entry, and every entry is met somewhere.

A code is found where it is written as text, or where the constant that holds its entry is used. Entries live in modules
named `codes`: those of the domain, and one in each room that has errors of its own.
"""

from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.tidy.tree import ROOT, modules, pages, parsed
from tminus.domain.codes import CATALOGUE, merged
from tminus.domain.errors import Code, Side

if TYPE_CHECKING:
    from pathlib import Path

CODE: Final = re.compile(r"[EW]\d{3}")
SOURCE: Final = ROOT / "src"
# The exit codes of the command line; what ended well has 0.
EXITS: Final = {0, 1, 2, 3, 4, 5, 6, 7, 8}


def holds_entries(path: Path) -> bool:
    return "codes" in {path.stem, path.parent.name}


def entries() -> dict[str, Code]:
    found = dict(CATALOGUE)
    for path in modules(ROOT, "src"):
        if path.stem == "codes":
            module = importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
            found = dict(merged([found.values(), module.CODES]))
    return found


def constants() -> dict[str, str]:
    """Return the codes whose entries have names, by name."""
    found: dict[str, str] = {}
    for path in modules(ROOT, "src"):
        if holds_entries(path):
            for node in parsed(path).body:
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    for word in node.value.keywords:
                        if word.arg == "code" and isinstance(word.value, ast.Constant):
                            found |= {name_of(name): str(word.value.value) for name in node.targets}
    return found


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def met() -> dict[str, str]:
    """Return every code that is written outside of the catalogue, with one place where it is."""
    by_name = constants()
    found: dict[str, str] = {}
    for path in modules(ROOT, "src"):
        if holds_entries(path):
            continue
        for node in ast.walk(parsed(path)):
            text = node.value if isinstance(node, ast.Constant) else by_name.get(name_of(node))
            if isinstance(text, str) and CODE.fullmatch(text):
                found[text] = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
    return found


def documented() -> set[str]:
    return {code for page in pages(ROOT) for code in CODE.findall(page.read_text(encoding="utf-8"))}


def test_every_code_that_is_raised_has_an_entry() -> None:
    known = entries()
    assert {code: place for code, place in met().items() if code not in known} == {}


def test_every_entry_is_raised_or_documented() -> None:
    assert set(entries()) - set(met()) - documented() == set()


def test_the_search_finds_what_it_is_for() -> None:
    found = met()
    assert {"E201", "E332", "E410", "E504", "E510", "E601", "W101"} <= set(found)
    assert found["E510"].startswith("src/tminus/progression/")


def test_a_code_is_given_once() -> None:
    with pytest.raises(ValueError, match="E410 is given twice"):
        merged([[CATALOGUE["E410"]], [CATALOGUE["E410"]]])


@pytest.mark.parametrize("code", entries().values(), ids=lambda entry: entry.code)
def test_an_entry_says_what_a_person_needs(code: Code) -> None:
    assert CODE.fullmatch(code.code)
    assert code.title
    assert not code.title.endswith(".")
    assert code.cause.endswith((".", "`"))
    assert code.cure.endswith((".", "`"))
    assert code.exit_code in EXITS
    assert 200 <= code.http_status < 600
    assert (code.exit_code == 0) == code.code.startswith("W")


@pytest.mark.parametrize("code", entries().values(), ids=lambda entry: entry.code)
def test_an_example_that_names_a_code_names_its_own(code: Code) -> None:
    assert set(CODE.findall(code.example)) <= {code.code}


def test_what_an_operator_meets_has_an_example() -> None:
    assert [code.code for code in entries().values() if code.code[:2] in {"E4", "E5"} and not code.example] == []


def test_what_our_own_machinery_failed_at_is_nobodys_bad_usage() -> None:
    """An exit code of 2 or a status of 400 would tell a script to correct what it sent."""
    for code in entries().values():
        if code.side is Side.INFRASTRUCTURE and code.code.startswith("E5"):
            assert code.exit_code == 1
            assert code.http_status >= 500
