"""The corpus: every file gives exactly the problems that its manifest names, quickly and in little memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.unit.runbook.samples import CORPUS, Recipe, manifest, recipes, valid_files
from tminus.runbook import parse, render, tree

# What a file may cost; the reader written in Python is held to the same.
LONGEST_S = 1.0
LARGEST_KIB = 256 * 1024

# Files of the Toolkit that are right in themselves, and what is said about them all the same.
WARNED = {"toolkit-scheduled.yaml": ["W108"]}

CASES = [
    pytest.param(folder, file, wanted, id=f"{folder}/{file}")
    for folder in ("malformed", "semantic")
    for file, wanted in manifest(folder).items()
]
SMALL_BOMBS = [pytest.param(file, wanted, id=file) for file, wanted in manifest("bombs").items()]
LARGE_BOMBS = [pytest.param(recipe, id=recipe.name) for recipe in recipes()]


@pytest.fixture(params=["reader in C", "reader in Python"])
def _either_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "reader in Python":
        monkeypatch.setattr(tree, "EVENTS", yaml.SafeLoader)


@pytest.mark.parametrize(("folder", "file", "wanted"), CASES)
def test_a_file_gives_exactly_the_problems_of_its_manifest(
    folder: str, file: str, wanted: frozenset[tuple[str, int]]
) -> None:
    source = (CORPUS / folder / file).read_bytes()
    start = time.perf_counter()
    verdict = parse(source)
    took_s = time.perf_counter() - start
    assert {(problem.code, problem.line) for problem in verdict.problems} == wanted
    assert verdict.ok == (not any(code.startswith("E") for code, _ in wanted))
    assert render(verdict, source)
    assert took_s < LONGEST_S


@pytest.mark.parametrize(("folder", "file", "wanted"), CASES)
def test_the_reader_in_python_refuses_the_same_files(
    folder: str, file: str, wanted: frozenset[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The two readers put a syntax error into different places, and a few into different words; what is refused is one.
    monkeypatch.setattr(tree, "EVENTS", yaml.SafeLoader)
    verdict = parse((CORPUS / folder / file).read_bytes())
    assert verdict.ok == (not any(code.startswith("E") for code, _ in wanted))


@pytest.mark.usefixtures("_either_reader")
@pytest.mark.parametrize(("file", "wanted"), SMALL_BOMBS)
def test_a_small_bomb_is_refused_before_it_goes_off(file: str, wanted: frozenset[tuple[str, int]]) -> None:
    start = time.perf_counter()
    verdict = parse((CORPUS / "bombs" / file).read_bytes())
    assert time.perf_counter() - start < LONGEST_S
    assert wanted <= {(problem.code, problem.line) for problem in verdict.problems}


@pytest.mark.parametrize("recipe", LARGE_BOMBS)
def test_a_large_bomb_is_refused_within_a_second(recipe: Recipe) -> None:
    text = recipe.text()
    start = time.perf_counter()
    verdict = parse(text)
    render(verdict, text)
    assert time.perf_counter() - start < LONGEST_S
    assert (recipe.code, recipe.line) in {(problem.code, problem.line) for problem in verdict.problems}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the platform does not tell the peak of a process")
def test_all_bombs_together_stay_within_the_memory() -> None:
    program = (
        "from pathlib import Path\n"
        "from tests.unit.runbook.samples import recipes\n"
        "from tminus.runbook import parse\n"
        "for recipe in recipes(): parse(recipe.text())\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    root = CORPUS.parents[2]
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env={"PYTHONPATH": f"{root}/src"}, capture_output=True, check=True
    )
    assert int(run.stdout) < LARGEST_KIB


def test_the_corpus_is_as_large_as_was_promised() -> None:
    assert len(manifest("malformed")) >= 120
    assert len(manifest("bombs")) + len(recipes()) >= 25
    assert len(manifest("semantic")) >= 150
    assert len(valid_files()) >= 8


@pytest.mark.parametrize("folder", ["malformed", "bombs", "semantic"])
def test_every_file_stands_in_its_manifest(folder: str) -> None:
    assert {path.name for path in (CORPUS / folder).glob("*.yaml")} == set(manifest(folder))


@pytest.mark.usefixtures("_either_reader")
@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.name)
def test_a_valid_file_has_a_runbook_and_no_problem(path: Path) -> None:
    verdict = parse(path.read_bytes())
    assert [problem.code for problem in verdict.problems] == WARNED.get(path.name, [])
    assert verdict.runbook is not None
    assert verdict.runbook.phases


@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.name)
def test_a_valid_file_cut_anywhere_never_crashes(path: Path) -> None:
    source = path.read_bytes()
    for end in range(0, len(source), 7):
        verdict = parse(source[:end])
        assert verdict.ok or verdict.errors
