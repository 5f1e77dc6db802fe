"""The reference pages are what the commands, the codes and the source say today; `make docs` writes them anew."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.tidy.tree import ROOT, modules
from tminus.cli import pages
from tminus.cli.catalogue import every_code
from tminus.cli.settings import SETTINGS
from tminus.cli.tree import commands

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = ROOT / "docs" / "reference"
READ = re.compile(r"\b(TMINUS_[A-Z_]+|NO_COLOR|FORCE_COLOR)\b")


@pytest.mark.parametrize("name", sorted(pages.pages()))
def test_a_page_is_what_is_generated(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == pages.pages()[name], "run `make docs`"


def test_every_command_and_every_code_has_its_section() -> None:
    text = "\n".join(pages.pages().values())
    found = {heading.removeprefix("### ") for heading in text.splitlines() if heading.startswith("### ")}
    assert found == {f"tminus {path}" for path in commands()} | set(every_code())


def test_no_parameter_is_without_a_word() -> None:
    bare = [line for line in pages.commands_page().splitlines() if re.fullmatch(r"\| `[^`]*` \|\s*\|", line)]
    assert bare == []


def test_every_variable_that_the_source_reads_is_a_setting() -> None:
    own = {"settings.py", "pages.py"}
    named = {
        name for path in modules(ROOT, "src") if path.name not in own for name in READ.findall(path.read_text("utf-8"))
    }
    assert named == {one.name for one in SETTINGS}


def test_the_pages_are_written_into_a_folder(tmp_path: Path) -> None:
    pages.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(pages.pages())
    assert sys.getsizeof((tmp_path / "cli.md").read_text(encoding="utf-8")) > 10_000
