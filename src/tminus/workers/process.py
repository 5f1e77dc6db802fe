"""One child process as the pool sees it: its socket, the jobs it holds, and the end of what it wrote.

The socket never blocks: what it does not take waits in a buffer and leaves when the selector says so. The child runs in
a session of its own, so that an interrupt in the terminal does not reach it, and so that ending it ends the programs
that functions started. Which jobs it gets, and what becomes of them when it dies, is the pool's business.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tminus
from tminus.workers.pace import Pace
from tminus.workers.wire import Frames, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.workers.wire import JobRow

PIECE_BYTES = 1024 * 1024
TAIL_BYTES = 16 * 1024
LAST_WORDS = 800
END_WAIT_S = 2.0
ENDED_BY_POOL = "the process was ended by the pool"

COMMAND = (sys.executable, "-P", "-X", "faulthandler", "-m", "tminus.workers.child")

State = Literal["starting", "ready", "draining", "ended"]


class Child:
    """A running child process."""

    def __init__(self, files: Sequence[str], concurrency: int, now_s: float) -> None:
        """Start it; it greets when it has loaded the files."""
        self.state: State = "starting"
        self.born_s = now_s
        self.pace = Pace(now_s)
        self.jobs: dict[str, JobRow] = {}
        self._tail = bytearray()
        self._frames = Frames()
        self._unsent = bytearray()
        self.wire, theirs = socket.socketpair()
        self.wire.setblocking(False)  # noqa: FBT003 - the method takes nothing by name.
        lifeline, self._lifeline = os.pipe()
        self.output, output = os.pipe()
        os.set_blocking(self.output, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module.
                [*COMMAND, str(theirs.fileno()), str(lifeline)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(), lifeline),
                start_new_session=True,
                env=_environment(),
            )
        except OSError:
            self._close()
            raise
        finally:
            theirs.close()
            os.close(lifeline)
            os.close(output)
        python_path = os.environ.get("PYTHONPATH")
        self.send("boot", {"files": list(files), "concurrency": concurrency, "python_path": python_path})

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def has_unsent(self) -> bool:
        """Say whether the socket has yet to take something."""
        return bool(self._unsent)

    def send(self, word: str, content: object = None) -> None:
        """Put a frame down to be sent by `push`."""
        self._unsent += packed(word, content)

    def push(self) -> None:
        """Give the socket what it takes; an end of the stream is noticed when reading."""
        try:
            while self._unsent:
                with memoryview(self._unsent) as view:
                    sent = self.wire.send(view)
                del self._unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()

    def received(self) -> list[tuple[str, object]] | None:
        """Return the frames that have come in, None at the end of the stream; Garbled when they are none."""
        try:
            piece = self.wire.recv(PIECE_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self._frames.fed(piece) if piece else None

    def read_output(self) -> bool:
        """Keep the end of what was written outside of jobs; False when nothing more will come."""
        return self._output_piece() != b""

    def is_dead(self) -> bool:
        """Say whether the process has ended, also when a copy of it keeps the stream open."""
        return self._process.poll() is not None

    def end(self, grace_s: float = 0.0) -> str:
        """End the process and what it started; one that is dying by itself has the grace to say of what."""
        self.state = "ended"
        code = self._awaited(grace_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        how = how_it_ended(code) if code is not None else ENDED_BY_POOL
        self._awaited(END_WAIT_S)
        self._read_rest()
        self._close()
        return how

    def _close(self) -> None:
        self.wire.close()
        os.close(self._lifeline)
        os.close(self.output)

    def _awaited(self, wait_s: float) -> int | None:
        try:
            return self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """Return what it wrote last; a crash report of the interpreter says the most in its first lines."""
        text = self._tail.decode("utf-8", "replace").strip()
        crash = text.rfind("Fatal Python error")
        return text[crash : crash + LAST_WORDS] if crash >= 0 else text[-LAST_WORDS:]

    def _read_rest(self) -> None:
        """Read the last words, which may name the place of a crash."""
        for _ in range(64):
            if not self._output_piece():
                return

    def _output_piece(self) -> bytes | None:
        """Read what there is: None when there is nothing yet, no bytes when nothing more will come."""
        try:
            piece = os.read(self.output, PIECE_BYTES)
        except BlockingIOError:
            return None
        self._tail += piece
        del self._tail[:-TAIL_BYTES]
        return piece


def how_it_ended(code: int) -> str:
    """Say in words what an exit status means."""
    if code >= 0:
        return f"the process exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    cause = ", perhaps for want of memory" if name == "SIGKILL" else ""
    return f"the process was ended by signal {-code} ({name}{cause})"


def _environment() -> dict[str, str]:
    """Return the environment, with this package on the path also where it is not installed."""
    root = str(Path(tminus.__file__).resolve().parent.parent)
    environment = dict(os.environ)
    paths = [root, environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else [root]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment
