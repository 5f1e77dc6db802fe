"""The entry: find the command, load its module alone, run it, and turn whatever comes into an exit code and one line.

The words are looked up in a table before anything is loaded, so that help costs what starting Python costs. Typer reads
the options of the one command that is called. No traceback reaches a person: what nobody thought of becomes E590.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, cast

from tminus.cli import telling
from tminus.cli.exits import Exit
from tminus.cli.tree import GROUPS, commands
from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typer.core import TyperCommand

    from tminus.cli.tree import Command

PROGRAM = "tminus"
_HELP = frozenset({"--help", "-h"})
_WIDTH = 20
# What is asked when a settings file is broken must not fail by it.
_ANYWHERE = frozenset({"explain", "version"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    if arguments is None:
        arguments = sys.argv[1:]
        sys.excepthook = _defect
        _hear_interrupts()
    telling.prepare_streams()
    if "_TMINUS_COMPLETE" in os.environ:
        from tminus.cli.completion.words import answer  # noqa: PLC0415 - only a shell that completes asks for it.

        return answer(arguments)
    as_json = telling.wants_json(arguments)
    try:
        code = run(list(arguments))
        sys.stdout.flush()
    except TminusError as error:
        return telling.fail(error, as_json=as_json)
    except KeyboardInterrupt:
        telling.say("interrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        if error.errno == errno.EPIPE:
            # Whoever reads has seen enough; what is still in the buffer has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Exit.DONE
        message = error.strerror or str(error)
        return telling.fail(TminusError("E412", message, place=str(error.filename or "")), as_json=as_json)
    return code


def run(words: list[str]) -> int:
    """Find the command that the first words name, and run it with the rest."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words[:1] in (["--version"], ["-V"]):
        words = ["version"]
    known = commands()
    for count in (2, 1):
        found = known.get(" ".join(words[:count]))
        if found is not None and len(words) >= count:
            return call(found, words[count:])
    if not words or words[0] in _HELP:
        telling.write(overview(known))
        return Exit.DONE
    if words[0] in GROUPS and (len(words) == 1 or words[1] in _HELP):
        telling.write(group_page(words[0], known))
        return Exit.DONE
    raise _unknown(words, known)


def parser(command: Command) -> TyperCommand:
    """Load a command's module and let Typer read its parameters."""
    import typer  # noqa: PLC0415 - a third of a short command's start; help does without it.

    module = import_module(f"tminus.cli.{command.module}")
    function: Callable[..., object] = getattr(module, command.function)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(help=command.summary, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return cast("TyperCommand", typer.main.get_command(app))


def call(command: Command, rest: list[str]) -> int:
    """Run a command with the words behind its name."""
    import typer  # noqa: PLC0415 - as above.

    name = f"{PROGRAM} {command.path}"
    said: dict[str, tuple[object, Path]] = {}
    try:
        parsed = parser(command)
        if command.path not in _ANYWHERE and not _HELP & set(rest):
            said = _from_files(parsed)
        with parsed.make_context(name, rest, default_map={key: value for key, (value, _) in said.items()}) as context:
            code: object = parsed.invoke(context)
    except typer.Exit as end:
        code = end.exit_code
    except typer.Abort as end:
        raise KeyboardInterrupt from end
    except typer.TyperException as error:
        message = " ".join(error.format_message().split())
        blamed = _file_to_blame(error, said)
        if blamed is not None:
            raise TminusError("E414", message, place=str(blamed)) from error
        raise TminusError("E401", message, place=name, hint=f"see {name} --help") from error
    return code if isinstance(code, int) else Exit.DONE


def _from_files(parsed: TyperCommand) -> dict[str, tuple[object, Path]]:
    """Return what settings files say for the parameters of a command."""
    from tminus.cli import project  # noqa: PLC0415 - help does without it.

    names = {option: str(one.name) for one in parsed.params for option in one.opts}
    return {names[option]: found for option, found in project.given(names.keys()).items()}


def _file_to_blame(error: Exception, said: Mapping[str, tuple[object, Path]]) -> Path | None:
    """Return the settings file whose value a command refused; None where the value came from elsewhere."""
    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    if parameter is None or context is None or parameter.name not in said:
        return None
    source = context.get_parameter_source(parameter.name)
    return said[parameter.name][1] if source is not None and source.name == "DEFAULT_MAP" else None


def overview(known: dict[str, Command]) -> str:
    """Return the page of all commands."""
    lines = [f"Usage: {PROGRAM} COMMAND [OPTIONS]", "", "Cohorts of things moved through a countdown.", "", "Commands:"]
    lines += [_line(one.path, one.summary) for one in known.values() if " " not in one.path]
    lines += ["", "Groups:"]
    lines += [_line(name, summary) for name, summary in GROUPS.items()]
    lines += ["", f"{PROGRAM} COMMAND --help explains one. -o json on any command is for scripts."]
    return "\n".join([*lines, f"Try:   {PROGRAM} init"])


def group_page(group: str, known: dict[str, Command]) -> str:
    """Return the page of one group."""
    lines = [f"Usage: {PROGRAM} {group} COMMAND [OPTIONS]", "", GROUPS[group], "", "Commands:"]
    mine = [one for one in known.values() if one.path.startswith(f"{group} ")]
    return "\n".join([*lines, *(_line(one.path.removeprefix(f"{group} "), one.summary) for one in mine)])


def _line(name: str, summary: str) -> str:
    return f"  {name:<{_WIDTH - 4}}{summary}"


def _unknown(words: list[str], known: dict[str, Command]) -> TminusError:
    """Say that there is no such command, and which one was probably meant."""
    from tminus.runbook.wording import did_you_mean, quoted  # noqa: PLC0415 - only a mistyped command pays for it.

    if words[0] in GROUPS:
        mine = [path.split(" ", 1)[1] for path in known if path.startswith(f"{words[0]} ")]
        hint = did_you_mean(words[1], mine) or f"see {PROGRAM} {words[0]} --help"
        return TminusError("E401", f"there is no command {quoted(words[1])}", place=f"{PROGRAM} {words[0]}", hint=hint)
    if words[0].startswith("-"):
        hint = f"options stand behind the command: {PROGRAM} COMMAND {words[0]}"
        return TminusError("E401", f"{quoted(words[0])} is not a command", place=PROGRAM, hint=hint)
    names = [*GROUPS, *(path for path in known if " " not in path)]
    hint = did_you_mean(words[0], names) or f"see {PROGRAM} --help"
    return TminusError("E401", f"there is no command {quoted(words[0])}", place=PROGRAM, hint=hint)


def _hear_interrupts() -> None:
    """Let SIGINT end a command wherever it was started.

    A script's `&` starts a command with the signal ignored; whoever sends it all the same means it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in one line what nobody thought of; Python then ends with exit code 1."""
    if os.environ.get("TMINUS_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
        return
    hint = "report it; TMINUS_TRACEBACK=1 shows where"
    message = f"unexpected {kind.__name__}: {error}"
    telling.fail(TminusError("E590", message, hint=hint), as_json=telling.wants_json(sys.argv[1:]))
