"""Who this process is, so that a lease can be told from one of the dead.

A worker's name holds host, process id and the process's start time: a process id alone is given again to somebody else.
Only names of this host can be judged; a neighbour's lease simply ends by itself.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path


def _started(pid: int) -> str | None:
    """Return when a process started, as its kernel counts; None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return None
    except OSError:
        return "0"
    # The second field is the command in brackets, which may hold blanks; the twentieth behind it is the start time.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields[19]


def own_name() -> str:
    """Return the name of this process as a worker."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid) or 0}"


def is_dead(name: str) -> bool:
    """Tell whether the process behind a worker's name has certainly ended."""
    host, _, rest = name.partition(":")
    pid, _, started = rest.partition(":")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    if Path("/proc").is_dir():
        return _started(int(pid)) != started
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
