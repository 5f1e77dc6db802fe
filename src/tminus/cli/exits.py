"""Exit codes: what a script learns without reading a word."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command; the page of the command line lists them with their meaning."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    SOME_FAILED = 3
    NOT_SIGNED_IN = 4
    WAITING = 5
    CONFLICT = 6
    NOT_FOUND = 7
    STILL_RUNNING = 8
    CHANGES = 10
    INTERRUPTED = 130


MEANING: dict[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILED: "failed",
    Exit.USAGE: "bad usage, or an invalid file",
    Exit.SOME_FAILED: "finished, but some members failed or were refused",
    Exit.NOT_SIGNED_IN: "not signed in",
    Exit.WAITING: "waiting for an approval, or stopped by a brake",
    Exit.CONFLICT: "refused: not possible in this state, or a stale plan",
    Exit.NOT_FOUND: "not found",
    Exit.STILL_RUNNING: "still running when the wait ended",
    Exit.CHANGES: "a plan has changes (with --detailed-exitcode)",
    Exit.INTERRUPTED: "interrupted",
}
