"""What can be wrong before the first job: files that are not there, and what a child found when it loaded them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tminus.domain.errors import TminusError
from tminus.workers.codes import FILE_UNREADABLE, NO_FUNCTIONS, POOL_BROKEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def checked(files: Sequence[str]) -> list[str]:
    """Return absolute paths, so that a replacement finds the files wherever the engine has gone meanwhile."""
    if not files:
        hint = "name at least one file of functions: --functions FILE"
        raise TminusError(NO_FUNCTIONS.code, "no file of functions is given", hint=hint)
    for file in files:
        if not Path(file).is_file():
            problem = "is a folder, not a file" if Path(file).is_dir() else "there is no such file"
            raise TminusError(FILE_UNREADABLE.code, problem, place=file)
    return [str(Path(file).resolve()) for file in files]


def fault_of(parts: Mapping[str, object]) -> TminusError:
    """Turn what a child found in a file into the error that a person sees."""
    file, line = str(parts["file"]), parts["line"]
    place = f"{file}:{line}" if line else file
    return TminusError(str(parts["code"]), str(parts["message"]), place=place, hint=str(parts["hint"]))


def broken_by(reason: str | None) -> TminusError:
    """Say that a child ended before it could say anything itself."""
    return TminusError(POOL_BROKEN.code, f"a child process did not start: {reason}")
