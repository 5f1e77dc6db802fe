"""Who this process is, so that a lease can be told from one of the dead.

A worker's name holds host, process id and the process's start time: a process id alone is given again to somebody else.
Only names of this host can be judged; a neighbour's lease simply ends by itself.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

UNKNOWN = "0"


def _started(pid: int) -> str | None:
    """Return when a process started, as its kernel counts; None when none is to be seen."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return None
    except OSError:
        return UNKNOWN
    # The second field is the command in brackets, which may hold blanks; the twentieth behind it is the start time.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields[19]


def own_name() -> str:
    """Return the name of this process as a worker."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid) or UNKNOWN}"


def own_age_s() -> float:
    """Return for how long this process has been running; nothing where the kernel does not tell."""
    started = _started(os.getpid())
    if not started or started == UNKNOWN:
        return 0.0
    up_s = float(Path("/proc/uptime").read_text("utf-8").split()[0])
    return max(0.0, up_s - int(started) / os.sysconf("SC_CLK_TCK"))


def host_of(name: str) -> str:
    """Return the host in a worker's name."""
    return name.partition(":")[0]


def is_dead(name: str) -> bool:
    """Tell whether the process behind a worker's name has certainly ended.

    One that is there under the same number is another one when it started at another time. One that cannot be seen may
    belong to another account, from whom the kernel hides it: only a signal that finds nobody is certain.
    """
    host, _, rest = name.partition(":")
    pid, _, started = rest.partition(":")
    if host != socket.gethostname() or not pid.isdecimal() or int(pid) == 0:
        return False
    found = _started(int(pid))
    if found is not None and UNKNOWN not in {found, started}:
        return found != started
    if found is None and Path(f"/proc/{pid}").exists():
        return True  # It has ended, and nobody has taken note yet.
    return _is_gone(int(pid))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
