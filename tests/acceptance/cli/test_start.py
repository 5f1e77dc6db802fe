"""From outside, as processes: help, the first five minutes, pipes, interrupts, and a defect in one line."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import BOOK
from tminus import __version__

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

TMINUS = (sys.executable, "-m", "tminus")


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("TMINUS_")}
    return subprocess.run(
        [*TMINUS, *words], cwd=folder, env=known | environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_first_five_minutes(tmp_path: Path) -> None:
    made = run(tmp_path, "init", "wave")
    assert (made.returncode, made.stderr.splitlines()[-1]) == (0, "Try:   tminus validate")
    wave = tmp_path / "wave"
    assert {path.name for path in wave.iterdir()} == {
        *("runbook.yaml", "members.csv", "functions.py", "runbook.schema.json", "wave.test.yaml"),
    }
    assert run(wave, "validate", "--strict").stdout == "runbook.yaml: valid, 4 phases, 6 steps, 1 rollback.\n"
    assert run(wave, "runbook", "test").stdout.endswith("1 of 1 cases came out as expected\n")
    header = (wave / "members.csv").read_text(encoding="utf-8").splitlines()[0]
    assert run(wave, "template", "runbook.yaml").stdout.strip() == header
    assert run(wave, "runbook", "publish").returncode == 0
    assert run(wave, "batch", "create", "wave", "members.csv").returncode == 0
    assert run(wave, "batch", "advance", "1").returncode == 0
    assert run(wave, "up", "--until-idle").returncode == 0
    steps = run(wave, "batch", "steps", "1", "-o", "csv").stdout
    assert steps.count("succeeded") == 6
    doctor = run(wave, "doctor")
    assert (doctor.returncode, "BAD" in doctor.stdout) == (0, False)


def test_help_loads_no_command() -> None:
    code = "import sys; from tminus.cli.main import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: tminus COMMAND")
    for heavy in ("typer", "rich", "pydantic", "orjson", "yaml", "sqlite3", "tminus.store", "tminus.runbook"):
        assert f"'{heavy}'" not in done.stderr


@pytest.mark.parametrize("words", [("--help",), ("-h",), (), ("batch",), ("batch", "--help"), ("help", "retry")])
def test_help_fits_a_terminal_of_eighty_columns(terminal: Terminal, words: tuple[str, ...]) -> None:
    ran = terminal.well(*words)
    assert ran.out.startswith("Usage: tminus")
    assert max(map(len, ran.out.splitlines())) <= 92


def test_the_version_has_one_home(terminal: Terminal) -> None:
    assert {terminal.well(*words).out for words in (("--version",), ("-V",), ("version",))} == {
        f"tminus {__version__}\n"
    }


def test_a_defect_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import tminus.cli.offline as o\ndef broken():\n    raise KeyError('phase')\no.version = broken\n",
        encoding="utf-8",
    )
    done = run(tmp_path, "version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == "E590 unexpected KeyError: 'phase' - report it; TMINUS_TRACEBACK=1 shows where\n"
    traced = run(tmp_path, "version", PYTHONPATH=str(tmp_path), TMINUS_TRACEBACK="1")
    assert "Traceback" in traced.stderr


@pytest.fixture(name="child")
def watching(terminal: Terminal) -> Generator[subprocess.Popen[bytes]]:
    """Start `watch` as a script does that puts it behind: with interrupts ignored."""
    terminal.batch()
    terminal.well("batch", "advance", "1")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [*TMINUS, "watch", "1", "--history"], cwd=terminal.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        yield process
        process.kill()


def test_ctrl_c_ends_with_130_also_behind_a_script(child: subprocess.Popen[bytes]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline().startswith(b"{")
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert (child.returncode, error) == (130, b"interrupted\n")


def test_ctrl_c_while_it_loads_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nclass Typed:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n"
        "        if name == 'tminus.cli.telling':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Typed)\n",
        encoding="utf-8",
    )
    done = run(tmp_path, "status", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_reader_that_has_seen_enough_is_no_error(terminal: Terminal) -> None:
    lines = "".join(f"user-{number:05}@contoso.com,Sales\n" for number in range(3_000))
    (terminal.folder / "members.csv").write_text(f"upn,dept\n{lines}", encoding="utf-8")
    terminal.batch()
    with subprocess.Popen(
        [*TMINUS, "batch", "members", "1", "-o", "jsonl"],
        cwd=terminal.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """Run a command whose output is a terminal of eighty columns, and return what it showed."""
    ours, theirs = pty.openpty()
    known = os.environ | {"COLUMNS": "80", "TERM": "xterm"} | environment
    with subprocess.Popen([*TMINUS, *words], cwd=folder, stdout=theirs, stderr=theirs, env=known) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:
                break
            if not part:
                break
            shown += part
        process.wait(30)
    os.close(ours)
    return shown.decode()


def test_a_terminal_gets_colour_and_its_width_a_pipe_gets_neither(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    words = ("batch", "members", "1")
    shown = on_a_terminal(terminal.folder, *words)
    assert "\x1b[31mfailed" in shown
    assert max(len(line.replace("\x1b[31m", "").replace("\x1b[0m", "")) for line in shown.splitlines()) <= 80
    assert "\x1b" not in on_a_terminal(terminal.folder, *words, NO_COLOR="1")
    piped = run(terminal.folder, *words)
    assert "\x1b" not in piped.stdout
    assert "409 address already in use" in piped.stdout
    assert "\x1b[31mfailed" in run(terminal.folder, *words, FORCE_COLOR="1").stdout


def test_the_live_table_ends_with_its_batch(terminal: Terminal) -> None:
    (terminal.folder / "runbook.yaml").write_text(BOOK.replace("    gate: {expires: 2d}\n", ""), encoding="utf-8")
    terminal.batch("--at", "2030-01-01")
    terminal.well("batch", "cancel", "1", "--reason", "because")
    terminal.work()
    shown = on_a_terminal(terminal.folder, "watch", "1")
    assert "cancelled" in shown
    assert "prepare" in shown


def test_a_piped_watch_prints_each_change_once_and_stops_in_time(terminal: Terminal) -> None:
    terminal.batch()
    terminal.well("batch", "advance", "1")
    begun = time.monotonic()
    ran = terminal.run("watch", "1", "--history", "--timeout", "1s")
    assert ran.code == 8
    assert time.monotonic() - begun < 20
    lines = ran.out.splitlines()
    assert lines
    assert len(set(lines)) == len(lines)
