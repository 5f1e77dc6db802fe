"""How far long work has come: shown on a terminal alone, after a moment, and gone when it is done."""

from __future__ import annotations

import io
import time

import pytest

from tminus.cli.progress import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, quiet_s: float = 0.0) -> str:
    """Work for a while, and return what was written."""
    with Progress("reading", stream=stream, quiet_s=quiet_s) as progress:
        for number in range(200):
            progress.at(number * 1_000, 200_000, "members")
            time.sleep(0.01)
            if "members" in stream.getvalue():
                break
    return stream.getvalue()


@pytest.fixture(autouse=True)
def with_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def test_it_is_one_line_that_is_taken_back() -> None:
    shown = drawn(Screen())
    assert "reading: " in shown
    assert " of 200,000 members" in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


def test_short_work_stays_silent() -> None:
    stream = Screen()
    with Progress("reading", stream=stream):
        pass
    assert stream.getvalue() == ""


def test_a_pipe_and_a_simple_terminal_are_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(io.StringIO()) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(Screen()) == ""


def test_it_fits_and_holds_nothing_that_commands_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = Screen()
    with Progress("a\x1b[31m" + "b" * 100, stream=stream, quiet_s=0.0):
        while not stream.getvalue():
            time.sleep(0.01)
    lines = stream.getvalue().replace("\r\x1b[K", "\n").split("\n")
    assert max(map(len, lines)) <= 19
    assert "\x1b" not in "".join(lines)


def test_a_terminal_that_is_gone_stops_no_work() -> None:
    stream = Screen()
    with Progress("reading", stream=stream, quiet_s=0.0):
        stream.close()
        time.sleep(0.05)
    assert stream.closed


def test_an_error_passes_and_the_line_is_gone() -> None:
    stream = Screen()
    with pytest.raises(KeyError):
        broken(stream)
    assert stream.getvalue().endswith("\r\x1b[K")


def broken(stream: io.StringIO) -> None:
    with Progress("reading", stream=stream, quiet_s=0.0):
        while not stream.getvalue():
            time.sleep(0.01)
        raise KeyError
