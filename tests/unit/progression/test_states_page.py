"""The page of states is what the tables say today."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tminus.progression.tables import TABLES
from tminus.testing import states_page

PAGE = Path(__file__).parents[3] / "docs" / "states.md"


def test_the_page_is_what_is_generated() -> None:
    assert PAGE.read_text(encoding="utf-8") == states_page.page()


@pytest.mark.parametrize("entity", sorted(TABLES))
def test_a_diagram_draws_every_cell_and_no_other(entity: str) -> None:
    section = states_page.page().split(f"## {entity.capitalize()}\n")[1].split("\n## ")[0]
    arrows = [line.strip() for line in section.splitlines() if "-->" in line and "[*]" not in line]
    assert [line.partition(":")[0] for line in arrows] == [
        f"{old} --> {new}" for old, news in TABLES[entity].items() for new in news
    ]
    labelled = {line.partition(":")[0] for line in arrows if ":" in line}
    assert labelled == {
        f"{old} --> {new}" for old, news in TABLES[entity].items() for new, who in news.items() if "engine" not in who
    }


def test_run_with_a_path_it_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["states_page", str(tmp_path / "states.md")])
    monkeypatch.delitem(sys.modules, states_page.__name__)
    runpy.run_module(states_page.__name__, run_name="__main__")
    assert (tmp_path / "states.md").read_text(encoding="utf-8") == states_page.page()
