"""A real terminal in front of a live screen: keys go in, and what is shown is waited for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import signal
    from pathlib import Path

PATIENCE_S = 30.0
_STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Glass:
    """A command on a pseudo-terminal of a size; use it in a `with`."""

    def __init__(self, folder: Path, *words: str, columns: int = 100, lines: int = 24, **environment: str) -> None:
        """Start the command."""
        self._ours, theirs = pty.openpty()
        self.resize(columns, lines)
        known = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
        known |= {"TERM": "xterm-256color", "TMINUS_ACTOR": "anna", "PYTHONIOENCODING": "utf-8"} | environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tminus", *words],
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=known,
            start_new_session=True,
        )
        self._theirs = theirs
        self.shown = ""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing running."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        os.close(self._theirs)
        os.close(self._ours)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the window."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self._listen(0.0)
        self.shown = ""
        os.write(self._ours, keys.encode())

    def shows(self, *texts: str) -> str:
        """Wait until all of these texts have been shown since the last key, and return everything that was."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            plain = _STYLES.sub("", self.shown)
            if all(text in plain for text in texts):
                return plain
            if not self._listen(0.2) and self.process.poll() is not None:
                break
        missing = [text for text in texts if text not in _STYLES.sub("", self.shown)]
        message = f"never shown: {missing}\n{_STYLES.sub('', self.shown)[-4000:]}"
        raise AssertionError(message)

    def ends(self) -> int:
        """Wait for the end and return the exit code."""
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < until:
            self._listen(0.1)
        self._listen(0.1)
        return self.process.wait(1)

    def tell(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def echoes(self) -> bool:
        """Tell whether the terminal echoes and waits for Enter, as it did before."""
        mode = termios.tcgetattr(self._theirs)[3]
        return bool(mode & termios.ECHO and mode & termios.ICANON)

    def _listen(self, timeout_s: float) -> bool:
        if not select.select([self._ours], [], [], timeout_s)[0]:
            return False
        with contextlib.suppress(OSError):
            self.shown += os.read(self._ours, 65_536).decode(errors="replace")
        return True
