"""`tminus completion`: the scripts as shells run them, and what is offered where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.core import TyperOption

from tminus.cli.completion.words import candidates
from tminus.cli.main import parser
from tminus.cli.tree import GROUPS, commands

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

BIN = Path(sys.executable).parent
BASH = """\
source <(tminus completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tminus tminus
printf '%s\\n' "${COMPREPLY[@]}"
"""


def needed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed here")
    if not (BIN / "tminus").exists():
        pytest.skip("tminus is not installed beside this Python")
    return found


def ran(folder: Path, *command: str) -> list[str]:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["runb"], ["runbook"]),
        (["runbook", "te"], ["test"]),
        (["rehearse", "--ga"], ["--gates"]),
        (["rehearse", "--gates", ""], ["approve", "reject", "wait"]),
        (["status", "-o", "js"], ["json", "jsonl"]),
        (["help", "runb"], ["runbook"]),
        (["pla"], ["plan"]),
        (["plan", "s"], ["show"]),
        (["plan", "show", "--me"], ["--member"]),
        (["rehearse", "my fi"], [""]),
        (["nonsense", "x"], [""]),
    ],
)
def test_bash_completes_what_was_begun(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    assert ran(tmp_path, needed("bash"), "-c", BASH, "bash", "tminus", *words) == offered
    assert list(tmp_path.iterdir()) == []


def test_fish_completes_with_meanings(tmp_path: Path) -> None:
    asked = "tminus completion fish | source; complete -C 'tminus runbook te'"
    (line,) = ran(tmp_path, needed("fish"), "-N", "-c", asked)
    assert line == f"test\t{commands()['runbook test'].summary}"


def test_zsh_reads_its_script(tmp_path: Path) -> None:
    shell = needed("zsh")
    (tmp_path / "_tminus").write_text("\n".join(ran(tmp_path, shell, "-fc", "tminus completion zsh")), "utf-8")
    assert ran(tmp_path, shell, "-n", "_tminus") == []
    asked = "autoload -U compinit; compinit -u -D; source ./_tminus; print ${_comps[tminus]}"
    assert ran(tmp_path, shell, "-fc", asked) == ["_tminus"]


def test_every_shell_has_a_script_that_says_where_it_goes(terminal: Terminal) -> None:
    for shell in ("bash", "zsh", "fish", "powershell"):
        script = terminal.well("completion", shell).out
        assert f"tminus completion {shell}" in script
        assert terminal.well("completion", shell, "-o", "json").fields() == {"shell": shell, "script": script}
    assert terminal.run("completion", "tcsh").code == 2


@pytest.mark.parametrize("path", sorted(commands()))
def test_every_option_of_every_command_is_offered_until_it_is_given(path: str) -> None:
    words = path.split()
    parsed = parser(commands()[path])
    options = [one for one in parsed.params if isinstance(one, TyperOption)]
    names = {name for one in options for name in one.opts if name.startswith("--")}
    assert {word for word, _ in candidates(words, "--")} >= names | {"--help"}
    for one in options:
        given = [*words, one.opts[-1], *([] if one.is_flag else ["x"])]
        assert (one.opts[-1] in {word for word, _ in candidates(given, "--")}) is bool(one.multiple)


def test_every_command_is_offered_by_its_words() -> None:
    top = {word for word, _ in candidates([], "")}
    assert top >= {path for path in commands() if " " not in path} | set(GROUPS)
    for group in GROUPS:
        mine = {path.removeprefix(f"{group} ") for path in commands() if path.startswith(f"{group} ")}
        assert {word for word, _ in candidates([group], "")} >= mine
