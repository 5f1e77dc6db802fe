"""A folder with a runbook, members and functions; nothing else, no database either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import Terminal
from tests.acceptance.plans.desk import BOOK, FUNCTIONS, MEMBERS, put

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("TMINUS_DB", "TMINUS_ACTOR", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    found = Terminal(tmp_path)
    for name, text in (("runbook.yaml", BOOK), ("members.csv", MEMBERS), ("functions.py", FUNCTIONS)):
        put(found, name, text)
    return found
