"""Settings files: `tminus.toml` of the folder in which a command runs, and before it the user's own.

What stands in a file is what the option would have been given, and is checked by the option itself; here only the shape
is. A name that is no setting is an error, because a setting that silently does nothing is worse than none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from tminus.cli.settings import SETTINGS
from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Collection

    from tminus.cli.settings import Setting

NAME: Final = "tminus.toml"
_KNOWN: Final = {one.key: one for one in SETTINGS if one.key}
_LINE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")


def files() -> list[Path]:
    """Return the files that there are, the one that wins last."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        users = [Path(base).expanduser() / "tminus" / NAME]
    except RuntimeError:  # Nobody knows where this account is at home.
        users = []
    return [path for path in (*users, Path(NAME)) if path.is_file()]


def given(options: Collection[str]) -> dict[str, tuple[object, Path]]:
    """Return what the files say for these options, each with the file that says it."""
    if not any(one.option in options for one in _KNOWN.values()):
        return {}
    found: dict[str, tuple[object, Path]] = {}
    for path in files():
        for setting, value in _read(path):
            if setting.option in options:
                found[setting.option] = (value, path)
    return found


def _read(path: Path) -> list[tuple[Setting, object]]:
    import tomllib  # noqa: PLC0415 - only those who have such a file pay for it.

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise TminusError("E414", "the file is not UTF-8 text", place=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = _LINE.search(message)
        place = f"{path}:{at[1]}:{at[2]}" if at else str(path)
        raise TminusError("E414", _LINE.sub("", message).rstrip("."), place=place) from error
    return [(_known(name, path), _shaped(name, value, path)) for name, value in content.items()]


def _known(name: str, path: Path) -> Setting:
    from tminus.runbook.wording import did_you_mean, quoted  # noqa: PLC0415 - as above.

    if name not in _KNOWN:
        hint = did_you_mean(name, list(_KNOWN)) or f"there are {', '.join(_KNOWN)}"
        raise TminusError("E414", f"{quoted(name)} is no setting", place=str(path), hint=hint)
    return _KNOWN[name]


def _shaped(name: str, value: object, path: Path) -> object:
    kind = _KNOWN[name].kind
    if kind == "list":
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        fits = all(isinstance(item, str) and item for item in items)
        value = items
    elif kind == "text":
        fits = isinstance(value, str) and bool(value)
    else:
        wanted = int if kind == "whole number" else (int, float)
        fits = isinstance(value, wanted) and not isinstance(value, bool)
    if not fits:
        takes = "a list of texts" if kind == "list" else f"a {kind}"
        raise TminusError("E414", f'"{name}" takes {takes}', place=str(path), hint=f"see the setting {name}")
    return value
