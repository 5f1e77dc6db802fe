"""What may stand where the cursor is: commands from the table alone, options and choices from the one command.

A shell waits for every answer with the person at it, so that no command is loaded before one is named. Nothing is said
where files are wanted: shells complete those better. No database is opened, because Tab must have no effect.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, get_args

from tminus.cli.main import parser
from tminus.cli.tree import GROUPS, commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typer.core import TyperOption

    from tminus.cli.tree import Command

Word = tuple[str, str]

_HELP: Final = ("--help", "Show this message and exit.")
_DESCRIBED: Final = frozenset({"fish", "powershell"})


def answer(words: Sequence[str]) -> int:
    """Write the candidates as the shell reads them; what goes wrong leaves a shell without candidates only."""
    shell, current = os.environ.get("_TMINUS_COMPLETE", ""), os.environ.get("_TMINUS_WORD", "")
    for word, meaning in candidates(words, current):
        if shell == "zsh":
            line = f"{word.replace(':', chr(92) + ':')}:{meaning}"
        else:
            line = f"{word}\t{meaning}" if shell in _DESCRIBED and meaning else word
        sys.stdout.write(f"{line}\n")
    return 0


def candidates(words: Sequence[str], current: str) -> list[Word]:
    """Return what may follow these words and begins like the one that is being typed."""
    return [one for one in _following(list(words), current) if one[0].startswith(current)]


def _following(words: list[str], current: str) -> Iterable[Word]:
    known = commands()
    if words[:1] == ["help"]:
        words = words[1:]
    inside = _of_group(words, known)
    for count in (2, 1):
        found = known.get(" ".join(words[:count]))
        if found is not None and len(words) >= count:
            return [*inside, *_of_command(found, words[count:], current)]
    if not words:
        top = [(one.path, one.summary) for one in known.values() if " " not in one.path]
        groups = [one for one in GROUPS.items() if one[0] not in known]
        return [*top, *groups, ("help", "Explain a command."), _HELP]
    return inside


def _of_group(words: Sequence[str], known: Mapping[str, Command]) -> list[Word]:
    """Return the commands of a group that was named just now; the name of some is a command as well."""
    if len(words) != 1 or words[0] not in GROUPS:
        return []
    first = f"{words[0]} "
    return [(path.removeprefix(first), one.summary) for path, one in known.items() if path.startswith(first)]


def _of_command(command: Command, words: list[str], current: str) -> list[Word]:
    """Return the choices of what is being filled in, or the options where one begins."""
    from typer.core import TyperArgument, TyperOption  # noqa: PLC0415 - naming a command must not cost this.

    parsed = parser(command)
    options = [one for one in parsed.params if isinstance(one, TyperOption)]
    arguments = [one for one in parsed.params if isinstance(one, TyperArgument)]
    filled = next((one for one in options if words and words[-1] in one.opts and not one.is_flag), None)
    if filled is not None:
        return [(choice, "") for choice in _choices(filled.type_descriptor.annotation)]
    if current.startswith("-"):
        return [*_options(options, words), _HELP]
    at = len(_positional(options, words))
    wanted = arguments[min(at, len(arguments) - 1)] if arguments else None
    return [] if wanted is None else [(choice, "") for choice in _choices(wanted.type_descriptor.annotation)]


def _options(options: Sequence[TyperOption], words: Sequence[str]) -> list[Word]:
    """Name the options that may still be given, each by its longest name."""
    found: list[Word] = []
    for one in options:
        names = [*one.opts, *one.secondary_opts]
        if one.multiple or not any(name in words for name in names):
            found += [(name, (one.help or "").strip()) for name in names if name.startswith("--")]
    return found


def _positional(options: Sequence[TyperOption], words: Sequence[str]) -> list[str]:
    """Return the words that are no options and no values of options."""
    taking = {name for one in options if not one.is_flag for name in one.opts}
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if not word.startswith("-") and before not in taking
    ]


def _choices(annotation: object) -> list[str]:
    """Return the words that a parameter takes, also where they stand beside nothing at all."""
    inner = get_args(annotation)
    if inner and all(isinstance(one, str) for one in inner):
        return list(inner)
    return [word for one in inner for word in _choices(one)]
