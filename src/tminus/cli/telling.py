"""What reaches the terminal beside results: one line for an error, notes, the next command to try.

Results go to stdout, everything else to stderr, so that a pipe holds results alone. With `-o json` an error is an
object. Nothing that cannot be seen is written: text of others must not command a terminal.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.domain.errors import TminusError

_MACHINE = frozenset({"json", "jsonl"})
_NOISY = frozenset({"table", "wide"})


def prepare_streams() -> None:
    """Let a terminal of another encoding show an escape rather than an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def wants_json(words: Sequence[str]) -> bool:
    """Tell whether a command line asks for JSON, before anything has read it."""
    joined = {f"{name}{shape}" for shape in _MACHINE for name in ("-o", "-o=", "--format=")}
    apart = pairwise(words)
    return any(word in joined for word in words) or any(
        flag in {"-o", "--format"} and shape in _MACHINE for flag, shape in apart
    )


def write(text: str) -> None:
    """Write a result as it is."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def paragraph(text: str) -> None:
    """Write a result that is prose: wrapped between words on a terminal, one line anywhere else."""
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else sys.maxsize
    write(textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False))


def say(text: str) -> None:
    """Write a note on one line, beside the results; where nobody listens any more it is no loss."""
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(f"{visible(text)}\n")


def suggest(command: str, shape: str = "table", *, db: str | None = None) -> None:
    """Name one command that is probably wanted next, on the database that was named; a script is not told."""
    if shape in _NOISY:
        say(f"Try:   {typed(command)}{''.join(f' {shlex.quote(word)}' for word in same_database(db))}")


def same_database(db: str | None) -> list[str]:
    """Return the option without which the next command would look elsewhere, where one was given."""
    return ["--db", db] if db is not None and db != os.environ.get("TMINUS_DB") else []


def typed(command: str) -> str:
    """Return a command as it can be typed here: an environment that is not on the path is named."""
    name, space, rest = command.partition(" ")
    if name != "tminus" or shutil.which(name) is not None or Path(sys.argv[0]).name != name:
        return command
    return f"{sys.argv[0]}{space}{rest}"


def fail(error: TminusError, *, as_json: bool) -> int:
    """Write an error and return the exit code of its kind."""
    if as_json:
        parts = {"code": error.code, "place": error.place, "message": error.message, "hint": error.hint}
        sys.stderr.write(json.dumps(parts, ensure_ascii=False) + "\n")
    else:
        say(str(error))
    return exit_code(error.code)


def exit_code(code: str) -> int:
    """Return the exit code that the catalogue gives a code."""
    from tminus.cli.catalogue import every_code  # noqa: PLC0415 - the words of all codes are wanted by failures only.

    known = every_code().get(code)
    return Exit.FAILED if known is None else known.exit_code


def visible(text: str) -> str:
    """Replace what cannot be seen by its escape."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
