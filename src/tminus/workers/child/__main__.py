"""The entry of a child process: `python -m tminus.workers.child SOCKET LIFELINE`, both inherited descriptors.

The order matters: outputs are captured before anybody's file is loaded, and the lifeline is tied before anything can
hang. The pool holds the other end of the lifeline; when the pool dies the kernel sends SIGIO to this process and to the
programs that functions started, which ends them even when a function keeps the interpreter to itself, so that the desk
cannot read the end of the stream.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from typing import cast

from tminus.workers.child.crew import Crew
from tminus.workers.child.desk import Desk
from tminus.workers.child.load import LoadError, loaded
from tminus.workers.child.log import capture
from tminus.workers.child.outlet import Outlet
from tminus.workers.wire import Frames


def tie(lifeline: int) -> None:
    """Have the kernel end this process group when the other end of a pipe is closed."""
    os.set_inheritable(lifeline, False)  # noqa: FBT003 - the function takes nothing by name.
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def settings_from(wire: socket.socket, outlet: Outlet) -> dict[str, object]:
    """Read the first frame, which is all that the pool says before it has been greeted."""
    frames = Frames()
    while True:
        piece = wire.recv(65536)
        if not piece:
            outlet.end()
        for _, content in frames.fed(piece):
            return cast("dict[str, object]", content)


def main() -> None:
    """Load, greet, serve."""
    wire = socket.socket(fileno=int(sys.argv[1]))
    wire.set_inheritable(False)
    tie(int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The pool decides what an interrupt in the terminal means.
    capture()
    outlet = Outlet(wire)
    settings = settings_from(wire, outlet)
    sys.argv[1:] = []
    if settings["python_path"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = str(settings["python_path"])
    try:
        table = loaded(cast("list[str]", settings["files"]))
    except LoadError as problem:
        outlet.say("broken", problem.parts)
        return
    concurrency = cast("int", settings["concurrency"])
    tasks = None
    if table.has_async:
        # Loading asyncio takes as long as everything else together, and most files of functions do without.
        from tminus.workers.child.tasks import Tasks  # noqa: PLC0415 - see the line above.

        tasks = Tasks(concurrency, outlet)
    outlet.say("hello", table.names)
    Desk(wire, outlet, table, Crew(concurrency, outlet), tasks).serve()


if __name__ == "__main__":
    main()
