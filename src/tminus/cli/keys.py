"""Keys of a terminal: what a person pressed, one name for each key, on POSIX and on Windows.

While keys are read the terminal neither echoes nor waits for Enter; whatever happens, it gets its old settings back.
What is pasted comes as one piece, so that the letters of a pasted text press no keys.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator

PASTED: Final = "pasted:"
END: Final = "end of input"

_ESCAPE_S: Final = 0.05
_NAMES: Final = {
    "[A": "up", "[B": "down", "[C": "right", "[D": "left", "[H": "home", "[F": "end",
    "OA": "up", "OB": "down", "OC": "right", "OD": "left", "OH": "home", "OF": "end",
    "[1~": "home", "[7~": "home", "[4~": "end", "[8~": "end", "[5~": "pgup", "[6~": "pgdn",
}  # fmt: skip
_CONTROLS: Final = {
    "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\t": "tab", "\x15": "clear",
    "\x04": END, "\x0c": "redraw",
}  # fmt: skip
_SEQUENCE: Final = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|O.)", re.DOTALL)
_STARTED: Final = re.compile(r"\x1b(\[[0-9;?]*[ -/]*|O)?\Z")
_PASTE: Final = re.compile(r"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
_WINDOWS: Final = {
    "H": "up", "P": "down", "M": "right", "K": "left", "G": "home", "O": "end", "I": "pgup", "Q": "pgdn",
}  # fmt: skip


class Keyboard(Protocol):
    """Keys as they come."""

    def read(self, timeout_s: float) -> list[str]:
        """Return the keys pressed by now; wait for the first one as long as this at most."""
        ...

    def suspend(self) -> None:
        """Give the terminal its old settings, until `resume`."""
        ...

    def resume(self) -> None:
        """Take the terminal again."""
        ...


def parse(text: str, *, is_over: bool = False) -> tuple[list[str], str]:
    """Split what a terminal sent into keys, and return with them what is not whole yet.

    An escape alone is the key Esc when nothing more came (`is_over`), else the beginning of another key.
    """
    keys: list[str] = []
    at = 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("\x1b[200~"):
            pasted = _PASTE.match(rest)
            if pasted is None:
                return keys, rest
            keys.append(PASTED + pasted[1])
            at += pasted.end()
        elif rest[0] == "\x1b":
            found = _SEQUENCE.match(rest)
            if found is None and not is_over and _STARTED.match(rest):
                return keys, rest
            name = "esc" if found is None else _NAMES.get(found[1])
            keys += [name] if name else []
            at += found.end() if found else 1
        else:
            name = _CONTROLS.get(rest[0]) or (rest[0] if rest[0].isprintable() else None)
            keys += [name] if name else []
            at += 1
    return keys, ""


if sys.platform == "win32":
    import msvcrt

    class _Console:
        """The console of Windows, asked again and again: it cannot be waited for together with a time."""

        def read(self, timeout_s: float) -> list[str]:
            until = time.monotonic() + timeout_s
            while not msvcrt.kbhit():
                if time.monotonic() >= until:
                    return []
                time.sleep(0.02)
            keys: list[str] = []
            while msvcrt.kbhit():
                char = msvcrt.getwch()
                if char in {"\x00", "\xe0"}:
                    name = _WINDOWS.get(msvcrt.getwch())
                    keys += [name] if name else []
                elif char == "\x03":
                    raise KeyboardInterrupt
                elif char == "\x1b":
                    keys.append("esc")
                else:
                    keys += parse(char)[0]
            return keys

        def suspend(self) -> None:
            """Nothing was changed."""

        def resume(self) -> None:
            """Nothing is to be changed."""

    def _open() -> Keyboard:
        return _Console()

else:
    import termios
    import tty

    class _Terminal:
        """A POSIX terminal in cbreak mode: keys come one by one, Ctrl-C still interrupts."""

        def __init__(self, number: int) -> None:
            self._number = number
            self._before = termios.tcgetattr(number)
            self._held = b""
            self.resume()

        def read(self, timeout_s: float) -> list[str]:
            if not self._is_ready(timeout_s):
                return []
            keys: list[str] = []
            while True:
                got = os.read(self._number, 4096)
                if not got:
                    return [*keys, END]
                text, self._held = _decoded(self._held + got)
                more, rest = parse(text)
                keys += more
                if not rest:
                    return keys
                self._held = rest.encode() + self._held
                if not self._is_ready(_ESCAPE_S) and not rest.startswith("\x1b[200~"):
                    self._held = b""
                    return keys + parse(rest, is_over=True)[0]
                if rest.startswith("\x1b[200~"):
                    return keys

        def _is_ready(self, timeout_s: float) -> bool:
            return bool(select.select([self._number], [], [], timeout_s)[0])

        def suspend(self) -> None:
            _tell("\x1b[?2004l")
            termios.tcsetattr(self._number, termios.TCSADRAIN, self._before)

        def resume(self) -> None:
            tty.setcbreak(self._number, termios.TCSADRAIN)
            _tell("\x1b[?2004h")

    def _open() -> Keyboard:
        return _Terminal(sys.stdin.fileno()) if sys.stdin.isatty() else _Nobody()


class _Nobody:
    """Nobody is there to press a key."""

    def read(self, timeout_s: float) -> list[str]:
        time.sleep(timeout_s)
        return []

    def suspend(self) -> None:
        """Nothing was changed."""

    def resume(self) -> None:
        """Nothing is to be changed."""


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Decode what is whole; a letter that was cut in two waits for its second part."""
    for cut in range(4):
        whole = data[: len(data) - cut]
        try:
            return whole.decode(), data[len(whole) :]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="ignore"), b""


def _tell(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()


@contextmanager
def keyboard() -> Generator[Keyboard]:
    """Read keys for as long as this is open."""
    found = _open()
    try:
        yield found
    finally:
        found.suspend()
