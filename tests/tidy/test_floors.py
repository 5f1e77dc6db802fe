"""Every test is chosen by its floor, and a folder that is no floor is refused at collection.

The real `conftest.py` and settings are run on a sample tree.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.tidy.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

PASSING = "def test_something() -> None:\n    assert True\n"


def run_tests(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (root / "tests").mkdir(exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copy(ROOT / "tests/conftest.py", root / "tests")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_a_floor_is_chosen_by_its_marker(tmp_path: Path, write: Write) -> None:
    write("tests/unit/test_one.py", PASSING)
    write("tests/recorded/test_two.py", PASSING)
    result = run_tests(tmp_path, "-m", "recorded")
    assert "1 passed, 1 deselected" in result.stdout


def test_a_test_off_every_floor_is_refused(tmp_path: Path, write: Write) -> None:
    write("tests/elsewhere/test_one.py", PASSING)
    result = run_tests(tmp_path)
    assert result.returncode != 0
    assert "tests/elsewhere is not a floor" in result.stdout + result.stderr


def test_a_warning_is_an_error(tmp_path: Path, write: Write) -> None:
    write("tests/unit/test_one.py", "import warnings\n\n\ndef test_it() -> None:\n    warnings.warn('old')\n")
    assert run_tests(tmp_path).returncode == 1
