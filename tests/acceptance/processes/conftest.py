"""A fresh host for each test, and no process left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.processes.host import Host

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Host]:
    for name in ("TMINUS_DB", "TMINUS_ACTOR", "TMINUS_FAULTPOINT", "TMINUS_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    found = Host(tmp_path)
    yield found
    found.close()
