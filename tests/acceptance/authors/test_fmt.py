"""`tminus runbook fmt`: in place and whole, or not at all; with --check, --diff and --dry-run nothing is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.unit.runbook.samples import SMALL
from tminus.runbook import load

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

UNTIDY = SMALL.replace("name: wave\n", "").replace("T-0", "'T-0'") + "# about the name\nname: wave\n"


@pytest.fixture(name="file")
def untidy(author: Terminal) -> Path:
    file = author.folder / "runbook.yaml"
    file.write_text(UNTIDY, encoding="utf-8")
    return file


def test_a_file_is_laid_out_in_its_place(author: Terminal, file: Path) -> None:
    file.chmod(0o640)
    assert author.well("runbook", "fmt").out == "runbook.yaml: laid out\n"
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# about the name\nname: wave\n")
    assert load(text) == load(UNTIDY)
    assert file.stat().st_mode & 0o777 == 0o640
    assert author.well("runbook", "fmt").out == "runbook.yaml: laid out already\n"
    assert [path.name for path in author.folder.iterdir()] == ["runbook.yaml"]


@pytest.mark.parametrize("flag", ["--check", "--diff", "--dry-run"])
def test_looking_changes_nothing(author: Terminal, file: Path, flag: str) -> None:
    ran = author.run("runbook", "fmt", flag)
    assert ran.code == (1 if flag == "--check" else 0)
    assert file.read_text(encoding="utf-8") == UNTIDY
    assert ("-    offset: 'T-0'" in ran.out) == (flag == "--diff")
    author.well("runbook", "fmt")
    assert author.run("runbook", "fmt", flag).code == 0


def test_scripts_learn_which_files_changed(author: Terminal, file: Path) -> None:
    (author.folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    words = ("runbook", "fmt", file.name, "small.yaml", "-o", "json")
    assert author.well(*words).rows() == [
        {"file": "runbook.yaml", "changed": True, "written": True},
        {"file": "small.yaml", "changed": False, "written": False},
    ]


def test_an_error_in_one_file_leaves_all_as_they_are(author: Terminal, file: Path) -> None:
    (author.folder / "wrong.yaml").write_text("name: w\nfases: []\n", encoding="utf-8")
    ran = author.run("runbook", "fmt", file.name, "wrong.yaml")
    assert (ran.code, "wrong.yaml:1:1: E201" in ran.err, "nothing was written" in ran.err) == (2, True, True)
    assert file.read_text(encoding="utf-8") == UNTIDY


def test_what_is_not_safe_is_refused_with_its_place(author: Terminal, file: Path) -> None:
    text = SMALL.replace("        worker_id: cloud\n", "        ? worker_id\n        : cloud\n")
    file.write_text(text, encoding="utf-8")
    ran = author.run("runbook", "fmt")
    assert (ran.code, ran.err.startswith("runbook.yaml:8:11: E470 ")) == (2, True)
    assert file.read_text(encoding="utf-8") == text


def test_a_link_stays_a_link(author: Terminal, file: Path) -> None:
    (author.folder / "link.yaml").symlink_to(file)
    author.well("runbook", "fmt", "link.yaml")
    assert (author.folder / "link.yaml").is_symlink()
    assert load(file.read_bytes()) == load(UNTIDY)
    assert file.read_text(encoding="utf-8") != UNTIDY


def test_a_dash_makes_it_a_filter(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tminus", "runbook", "fmt", "-"]
    done = subprocess.run(words, cwd=tmp_path, input=UNTIDY, capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.startswith("# about the name\nname: wave\n")


def test_the_samples_are_laid_out(author: Terminal) -> None:
    (author.folder / "b.csv").write_text("EmailAddress,TargetDatabase\na@contoso.example,DB01\n", encoding="utf-8")
    for folder, words in {"a": (), "b": ("--from", "blank"), "c": ("--from", "exchange-csv", "b.csv")}.items():
        author.well("init", folder, *words)
        assert author.run("runbook", "fmt", "--check", f"{folder}/runbook.yaml").code == 0, folder
