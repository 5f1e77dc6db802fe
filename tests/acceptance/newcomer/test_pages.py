"""The first pages are walked, command by command, in a folder of their own: what they promise a newcomer happens.

The commands are read from the pages themselves, so that a page cannot say what nobody has run. Only the date of the
cut-over is moved into the future of whoever runs the test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import orjson
import pytest

ROOT: Final = Path(__file__).parents[3]
BIN: Final = Path(sys.executable).parent
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SOON: Final = f"{datetime.now(UTC) + timedelta(days=12):%Y-%m-%d} 22:00"
LEFT_OUT: Final = ("make ",)
# They end with 3 when they have finished and a member has failed, as one does in the tutorial.
MAY_FAIL_SOME: Final = ("tminus rehearse", "tminus up")


@dataclass
class Walk:
    """A shell that goes from command to command, and remembers what each said."""

    folder: Path

    def run(self, command: str) -> str:
        """Run one line in the shell, and return what it printed; the next begins in the folder that it went to."""
        told = self.folder / ".cwd"
        script = f"{command}\ncode=$?\npwd > {told}\nexit $code"
        here = Path(told.read_text().strip()) if told.exists() else self.folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TMINUS_")}
        environment = {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
        done = subprocess.run(
            ["bash", "-c", script], cwd=here, env=environment, capture_output=True, text=True, timeout=110, check=False
        )
        fine = {0, 3} if command.startswith(MAY_FAIL_SOME) else {0}
        assert done.returncode in fine, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


def commands(page: str, heading: str = "") -> list[str]:
    """Return the shell lines of a page, from a heading on."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text[text.index(heading) :].replace("2026-12-04 22:00", SOON)
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith(LEFT_OUT)]


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    return Walk(tmp_path)


@pytest.mark.timeout(300)
def test_five_minutes_to_ones_own_runbook(walk: Walk) -> None:
    said = {line: walk.run(line) for line in commands("README.md", "## Five minutes")}
    of = {line.split(" ")[1]: told for line, told in said.items() if line.startswith("tminus")}
    assert "4 phases, 6 steps, 1 rollback" in of["validate"]
    assert "3 of 3 members" in of["plan"]
    assert "of schedule in" in of["rehearse"]
    assert "members made from first" in of["apply"]
    assert "cutover: completed" not in of["status"]
    assert "waits" in of["why"]
    page = (walk.folder / "wave" / "wave.html").read_text(encoding="utf-8")
    assert "user-0103@contoso.example" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    done = orjson.loads(walk.run("tminus batch phases 1 -o json"))
    assert [one["status"] for one in done] == ["completed", "completed", "completed", "pending"]


@pytest.mark.timeout(300)
def test_the_tutorial_from_its_first_line_to_its_last(walk: Walk) -> None:
    told = [(line, walk.run(line)) for line in commands("docs/tutorial.md")]
    said = "\n".join(f"$ {line}\n{text}" for line, text in told)
    whys = [text for line, text in told if line.startswith("tminus why user-0102")]
    assert "address in use" in whys[0]
    assert "retry from cutover/set-primary" in whys[0]
    (member,) = [text for line, text in told if line.startswith("tminus member get")]
    assert "active" in member
    assert "failed" not in member.split("\n")[0]
    assert "promises" in said.split("$ tminus doctor")[1]
    steps = orjson.loads(walk.run("tminus batch steps 1 -o json"))
    assert {step["status"] for step in steps} == {"succeeded"}
    assert len(steps) == 15


def test_a_first_typo_is_met_with_its_place_and_its_remedy(walk: Walk) -> None:
    walk.run("tminus init wave")
    walk.run("cd wave")
    text = walk.run(
        "sed -i 's/on_failure: undo-user/on_failur: undo-user/' runbook.yaml && tminus validate || test $? -eq 2"
    )
    assert re.search(r'runbook\.yaml:\d+:\d+ error E214  unknown key "on_failur"  - did you mean "on_failure"\?', text)
    assert "errors" in text


def test_the_demo_ends_with_a_command_that_works(walk: Walk) -> None:
    text = walk.run("tminus demo --headless --dir shown")
    (line,) = [line for line in text.splitlines() if line.startswith("Try:")]
    assert line.split()[1:3] == ["tminus", "why"]
    why = walk.run(line.removeprefix("Try:").strip())
    assert "address already in use" in why
    assert "retry" in why
