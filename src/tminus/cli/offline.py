"""Commands that need no database: validate, version, and the schema of runbooks."""

import platform
import shlex
import sqlite3
import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from tminus import __version__
from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.domain.errors import TminusError
from tminus.runbook import Verdict, parse, render
from tminus.runbook.intake import LARGEST_BYTES
from tminus.runbook.model import Runbook
from tminus.runbook.schema import json_schema


def validate(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="Runbooks; runbook.yaml alone.")] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Let a warning fail as well.")] = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Check runbooks."""
    del db
    found = [(path, *check(path)) for path in files or [Path("runbook.yaml")]]
    if shape in {"table", "wide"}:
        for path, verdict, text in found:
            telling.write(render(verdict, text, str(path)))
    else:
        output.rows([[_of_file(path, verdict) for path, verdict, _ in found]], shape, columns=("file",), name="file")
    failed = any(verdict.errors or (strict and verdict.warnings) for _, verdict, _ in found)
    if not failed and len(found) == 1 and found[0][1].runbook is not None:
        telling.suggest(_planning(found[0][0], found[0][1].runbook), shape)
    return Exit.USAGE if failed else Exit.DONE


def _planning(path: Path, book: Runbook) -> str:
    """Name the command that plans a runbook; what only a person knows is named by what it is."""
    words = ["tminus", "plan", str(path)] if path != Path("runbook.yaml") else ["tminus", "plan"]
    if book.data_source.type in {"manual", "event"}:
        words += ["--members", str(path.parent / "members.csv")]
    return shlex.join([*words, *(part for name in book.inputs for part in ("--data", f"{name}=VALUE"))])


def check(path: Path) -> tuple[Verdict, bytes]:
    """Read and check one file; one that cannot be opened raises E121."""
    try:
        with path.open("rb") as file:
            # One byte more than a runbook may have is enough to refuse it, however large the file is.
            text = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        hint = "name the file, or begin with tminus init"
        raise TminusError("E121", f"cannot be opened: {error.strerror}", place=str(path), hint=hint) from error
    return parse(text, place=str(path)), text


def _of_file(path: Path, verdict: Verdict) -> dict[str, object]:
    problems = [
        {"severity": one.severity, "code": one.code, "line": one.line, "column": one.column, "message": one.message,
         "hint": one.hint}
        for one in verdict.problems
    ]  # fmt: skip
    name = None if verdict.runbook is None else verdict.runbook.name
    return {"file": str(path), "valid": verdict.ok, "runbook_name": name, "problems": problems}


def version(*, shape: Format = "table", db: Db = None) -> int:
    """Print the version."""
    del db
    if shape in {"table", "wide"}:
        telling.write(f"tminus {__version__}")
    else:
        found = {"version": __version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
        output.one(found, shape, name="version")
    return Exit.DONE


def schema(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Write it there; an older schema is replaced.")
    ] = None,
    *,
    shape: Format = "json",
    db: Db = None,
) -> int:
    """Print the JSON Schema, or write it beside a runbook, where its first line names it for editors."""
    del db
    text = orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if file is not None:
        if file.exists() and b'"title": "tminus runbook"' not in file.read_bytes()[:LARGEST_BYTES]:
            hint = "only an older schema is replaced; name another file"
            raise TminusError("E411", "there is another file already", place=str(file), hint=hint)
        file.write_bytes(text)
        telling.say(f"written {file}; as the first line of a runbook beside it, for editors:")
        telling.say(f"# yaml-language-server: $schema=./{file.name}")
    elif shape == "yaml":
        output.one(json_schema(), shape)
    else:
        sys.stdout.write(text.decode())
    return Exit.DONE
