"""A terminal in a folder that is empty: what an author begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("TMINUS_DB", "TMINUS_ACTOR", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    terminal = Terminal(tmp_path)
    (tmp_path / "runbook.yaml").unlink()
    (tmp_path / "members.csv").unlink()
    return terminal
