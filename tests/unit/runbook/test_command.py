"""`python -m tminus.runbook FILE`: what it prints and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.runbook.samples import SMALL
from tminus.runbook.__main__ import main

if TYPE_CHECKING:
    import pytest


def test_a_valid_file_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wave.yaml"
    file.write_text(SMALL, encoding="utf-8")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: valid, 1 phase, 1 step.\n"


def test_an_invalid_file_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wave.yaml"
    file.write_bytes(SMALL.replace("T-0", "T-O").encode())
    assert main([str(file)]) == 2
    assert f"{file}:5:13 error E208" in capsys.readouterr().out


def test_a_file_that_is_not_there_ends_with_7(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere.yaml")]) == 7
    assert main([str(tmp_path)]) == 7
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "E121 The file cannot be opened" in shown.err


def test_without_a_file_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err == "usage: python -m tminus.runbook FILE\n"


def test_a_file_of_any_size_is_not_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "large.yaml"
    with file.open("wb") as handle:
        handle.truncate(5 << 30)
    assert main([str(file)]) == 2
    assert "E102" in capsys.readouterr().out


def test_a_terminal_of_another_encoding_gets_escapes_and_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "wave.yaml"
    file.write_text(SMALL.replace("name: wave", "näme: wave"), encoding="utf-8")
    root = Path(__file__).parents[3]
    run = subprocess.run(
        [sys.executable, "-m", "tminus.runbook", str(file)],
        env={"PYTHONPATH": f"{root}/src", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert run.returncode == 2
    assert b"n\\xe4me" in run.stdout
    assert run.stderr == b""
