"""The import contract of this checkout can fail: a wrong arrow, a sibling, a room that was never placed.

The contract is read from `pyproject.toml` as it stands and held against a sample package with the same rooms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.tidy.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

CONFIG = ROOT / "pyproject.toml"


def rooms() -> list[str]:
    """Return the rooms that the contract names, the optional ones too."""
    contract = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    return [room.strip(" ()") for layer in contract["layers"] for room in layer.split("|")]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--config", str(CONFIG), "--no-cache", "--no-logo"],
        cwd=root / "src",
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def sample(tmp_path: Path, write: Write) -> Path:
    write("src/tminus/__init__.py", "")
    for room in rooms():
        write(f"src/tminus/{room}/__init__.py" if room != "__main__" else "src/tminus/__main__.py", "")
    return tmp_path


def test_the_empty_house_is_kept(sample: Path) -> None:
    assert lint(sample).returncode == 0


@pytest.mark.parametrize(
    ("place", "line", "named"),
    [
        ("domain/status.py", "import tminus.runbook", "tminus.domain is not allowed to import tminus.runbook"),
        ("engine/tick.py", "import tminus.store", "tminus.engine is not allowed to import tminus.store"),
        ("colour/__init__.py", "", "colour"),
    ],
)
def test_a_wrong_arrow_breaks_the_contract(sample: Path, write: Write, place: str, line: str, named: str) -> None:
    write(f"src/tminus/{place}", f"{line}\n")
    result = lint(sample)
    assert result.returncode == 1
    assert named in " ".join(result.stdout.split())
