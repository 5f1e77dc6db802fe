"""The reference pages of the command line, written from the commands, the codes and the settings themselves.

A page kept by hand would be wrong after the next command. `make docs` writes the pages, a test compares them with what
is generated. Run with a folder: `python -m tminus.cli.pages docs/reference`. This module knows no command by name.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from typer.core import TyperArgument, TyperOption

from tminus.cli.catalogue import every_code
from tminus.cli.exits import MEANING
from tminus.cli.main import PROGRAM, parser
from tminus.cli.settings import SETTINGS
from tminus.cli.tree import GROUPS, commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tminus.cli.tree import Command
    from tminus.domain.errors import Code

_COMMANDS: Final = """\
# The command line

Every command, with all that it takes. This page is written from the commands themselves by `make docs`; each command
says the same with `--help`.

- A command that reads knows `-o table|wide|json|jsonl|yaml|csv|name`. JSON goes to stdout as it is; everything that is
  no result (notes, the next command to try, errors) goes to stderr.
- A command that changes something knows `--dry-run`, which goes the whole way and takes everything back, and `--as`;
  what needs a reason has `--reason`, which is kept in the audit.
- An error is one line, `PLACE: CODE MESSAGE - REMEDY`, and with `-o json` an object with `code`, `place`, `message` and
  `hint`. `tminus explain CODE` says more; all codes stand on [their page](codes.md).
- Options come before variables of the environment, those before settings files; see [settings](settings.md).
"""
_EXITS: Final = """\
## Exit codes

Ctrl-C ends a command with 130, also one that a script started with `&`; `up` stops cleanly at the first one and ends
with 0, at the second it ends at once. A pipe that is closed by its reader is no error. `up --until-idle` ends with 0
when all went well, 3 when a batch ended failed or a member failed, 5 when something waits for a human; 3 before 5.
"""
_CODES: Final = """\
# Codes

Every error and warning has a code that never changes its meaning. `tminus explain CODE` prints the same. This page is
written from the catalogue by `make docs`. `exit` is what the command line ends with; a warning alone ends with 0.
"""
_FIRST: Final = {
    "E1": "Files of runbooks",
    "E2": "Runbooks",
    "E3": "Sources and files of members",
    "E4": "Commands",
    "E5": "The database and the engine",
    "E6": "Workers and functions",
    "W1": "Warnings",
}
_SETTINGS: Final = """\
# Settings

What may be set, and where. An option on the command line comes first, then the variable of the environment, then the
file `tminus.toml` of the folder in which the command runs, then the user's own (`tminus/tminus.toml` in
`$XDG_CONFIG_HOME` or `~/.config`), then the default.

```toml
db = "sqlite:///./wave.db"
actor = "anna"
functions = ["functions.py", "mailboxes.py"]
children = 4
```

`Orchestrator__SqlConnectionString` is read as `TMINUS_DB`; a connection string of SQL Server is refused. The names that
a runbook's `connection` and `warehouse_id` give are looked up in the environment too; they are the author's choice and
do not stand here. This page is written by `make docs`.
"""


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {"cli.md": commands_page(), "codes.md": codes_page(), "settings.md": settings_page()}


def commands_page() -> str:
    """Write the page of commands: those that stand alone, then group by group."""
    known = commands().values()
    parts = [_COMMANDS, "## Commands\n"]
    parts += [_command(one) for one in known if " " not in one.path]
    for group, summary in GROUPS.items():
        parts.append(f"## {PROGRAM} {group}\n\n{summary}\n")
        parts += [_command(one) for one in known if one.path.startswith(f"{group} ")]
    parts.append(f"{_EXITS}\n{_table(('code', 'meaning'), ((str(int(code)), word) for code, word in MEANING.items()))}")
    return "\n".join(parts)


def _command(command: Command) -> str:
    """Write one command: how it is called, and a row for each of its parameters."""
    parsed = parser(command)
    arguments = [one for one in parsed.params if isinstance(one, TyperArgument)]
    options = [one for one in parsed.params if isinstance(one, TyperOption)]
    called = " ".join([f"{PROGRAM} {command.path}", *map(_argument, arguments), *(["[OPTIONS]"] if options else [])])
    rows = [(f"`{one.metavar}`", _help(one.help)) for one in arguments]
    rows += [(f"`{_option(one)}`", f"{_help(one.help)}{_more(one)}") for one in options]
    return f"### {PROGRAM} {command.path}\n\n`{called}`\n\n{command.summary}\n\n{_table(('', ''), rows)}"


def _argument(argument: TyperArgument) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _option(option: TyperOption) -> str:
    names = ", ".join(option.opts)
    if option.is_flag:
        return "/".join([names, *option.secondary_opts])
    return f"{names} {option.metavar or _kind(option)}"


def _kind(option: TyperOption) -> str:
    """Name what an option takes: its choices, or the kind of value."""
    wanted: object = option.type_descriptor.annotation
    choices = get_args(wanted)
    if choices and all(isinstance(one, str) for one in choices):
        return "|".join(choices)
    inner = choices[0] if choices else wanted
    return str(getattr(inner, "__name__", inner)).upper()


def _more(option: TyperOption) -> str:
    """Say whether it must be given, what counts without it, and where else it may stand."""
    notes: list[str] = []
    if option.required:
        notes.append("Required.")
    if option.default not in {None, False} and not option.multiple:
        notes.append(f"Default: `{option.default}`.")
    if option.envvar:
        names = [option.envvar] if isinstance(option.envvar, str) else option.envvar
        notes.append(f"Variable: `{names[0]}`.")
    return f" {' '.join(notes)}" if notes else ""


def _help(text: str | None) -> str:
    return (text or "").strip()


def codes_page() -> str:
    """Write the page of codes, grouped by their first digit."""
    known = every_code()
    parts = [_CODES]
    for first, found in groupby(sorted(known), key=lambda code: code[:2]):
        parts.append(f"## {_FIRST.get(first, first)}\n")
        parts += [_code(known[code]) for code in found]
    return "\n".join(parts)


def _code(entry: Code) -> str:
    lines = [f"### {entry.code}\n", f"**{entry.title}.** {entry.cause}\n", f"{entry.cure}\n"]
    if entry.example:
        lines.append(f"```text\n{entry.example}\n```\n")
    return "\n".join([*lines, f"For the {entry.side}; exit {entry.exit_code}, HTTP {entry.http_status}.\n"])


def settings_page() -> str:
    """Write the page of settings."""
    rows = [(f"`{one.name}`", one.meaning, one.default, _quoted(one.option), _quoted(one.key)) for one in SETTINGS]
    return f"{_SETTINGS}\n{_table(('variable', 'what it does', 'without it', 'option', 'in the file'), rows)}"


def _quoted(word: str) -> str:
    return f"`{word}`" if word else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
