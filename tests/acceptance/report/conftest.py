"""A wave in a folder that a report can be written of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("TMINUS_DB", "TMINUS_ACTOR", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Terminal(tmp_path)
