"""Rehearsal, plan and demo reach nothing: no socket, no other program, no credential.

Each command runs in a process of its own with a hook that Python itself calls before it opens a connection or starts a
program; it cannot be taken off. A secret lies where the runbook's connection names it, and is looked for in everything
that the command leaves behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

WATCHED = """
import sys
FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.fork", "os.system", "urllib.", "smtplib.")
def hook(event, args):
    if event.startswith(FORBIDDEN) and event != "socket.gethostname":
        sys.stderr.write(f"REACHED {event} {args}\\n")
        sys.stderr.flush()
        __import__("os")._exit(99)
sys.addaudithook(hook)
"""
RUN = WATCHED + "from tminus.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
REACHING = "import socket\nfrom tminus import function\nsocket.create_connection(('127.0.0.1', 9))\n"
SECRET = "S3CR3T-c0ffee-canary"
AT = ("--members", "members.csv", "--at", "2031-12-04 22:00")

DATAVERSE = """\
  type: dataverse
  connection: DATAVERSE_CONNECTION_STRING
  query: SELECT upn FROM people
  primary_key: upn
  batch_time_column: at
"""


def run(terminal: Terminal, *words: str, program: str = RUN) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATAVERSE_CONNECTION_STRING": SECRET, "CLIENT_SECRET": SECRET, "TMINUS_DB": "t.db"}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=terminal.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.fixture
def dataverse(terminal: Terminal) -> Terminal:
    """Have the members come from a source that would need a network and a credential."""
    path = terminal.folder / "runbook.yaml"
    text = path.read_text("utf-8").replace(
        "data_source: {type: manual, primary_key: upn}", f"data_source:\n{DATAVERSE}"
    )
    path.write_text(text, encoding="utf-8")
    return terminal


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["rehearse", *AT, "--fault", "*:lost@10%", "--history", "history"], {0}),
        (["demo", "--headless", "--dir", "d"], {0}),
        (["plan", *AT, "--save", "one"], {0}),
        (["plan", *AT, "--functions", "reaching.py", "-o", "jsonl"], {0}),
    ],
    ids=["rehearse", "demo", "plan", "plan with functions"],
)
def test_it_reaches_nothing_and_leaves_no_secret(dataverse: Terminal, words: list[str], codes: set[int]) -> None:
    (dataverse.folder / "reaching.py").write_text(REACHING, encoding="utf-8")
    done = run(dataverse, *words)
    assert done.returncode in codes, done.stderr
    assert "REACHED" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    for path in every_file(dataverse.folder):
        assert SECRET.encode() not in path.read_bytes(), path


def every_file(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "reach",
    [
        "import socket\nsocket.create_connection(('127.0.0.1', 9))\n",
        "import subprocess\nsubprocess.run(['true'])\n",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/')\n",
    ],
    ids=["socket", "program", "url"],
)
def test_the_hook_sees_whoever_reaches(terminal: Terminal, reach: str) -> None:
    done = run(terminal, program=WATCHED + reach)
    assert done.returncode == 99
    assert "REACHED" in done.stderr


def test_without_members_it_says_that_this_source_is_not_asked(dataverse: Terminal) -> None:
    done = run(dataverse, "rehearse")
    assert done.returncode not in {0, 1, 3, 5, 99}
    assert "E320" in done.stderr


def test_a_kept_plan_is_looked_at_rehearsed_and_applied_without_reaching_anything(dataverse: Terminal) -> None:
    assert run(dataverse, "plan", *AT, "--save", "one").returncode == 0
    steps = [
        ["plan", "show", "one"],
        ["plan", "show", "one", "-o", "csv"],
        ["plan", "list"],
        ["plan", "diff", "one", "one"],
        ["rehearse", "one"],
        ["apply", "one", "--yes"],
    ]
    for words in steps:
        done = run(dataverse, *words)
        assert done.returncode == 0, (words, done.stderr)
        assert SECRET not in done.stdout + done.stderr
    for path in every_file(dataverse.folder):
        assert SECRET.encode() not in path.read_bytes(), path
