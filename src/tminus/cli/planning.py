"""`tminus plan`: who would run what, when and with which parameters; nothing is touched but the plan's own row."""

import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, planned, signs, telling
from tminus.cli.exits import Exit
from tminus.cli.gathering import Wanted, gather
from tminus.cli.options import Actor, Db, Format
from tminus.cli.progress import Progress
from tminus.cli.session import acting, opened, pairs
from tminus.cli.whys import typed
from tminus.cli.worker_options import Functions
from tminus.domain.errors import TminusError
from tminus.progression.outlook import records
from tminus.progression.outlook.tally import Outlook, outlook_of
from tminus.runbook import load
from tminus.store import plans

CALLS = ("member_key", "stage", "step_name", "due_at", "state", "function", "reason")
PAGE = 1_000


def plan(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A runbook, or the name of a published one.")
    ] = "runbook.yaml",
    *,
    members: Annotated[
        Path | None, typer.Option("--members", metavar="CSV", help="Who takes part; else the source is asked.")
    ] = None,
    query: Annotated[bool, typer.Option("--query", help="Ask the runbook's source, once.")] = False,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="T0", help='T-0, such as "2026-12-04 22:00 Europe/Berlin"; without it: advance.'),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="NAME=VALUE", help="What the batch brings; may be repeated.")
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="NAME", help="Keep it under this name; plan-7f3a or so without it.")
    ] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Keep nothing, and make no database.")] = False,
    functions: Functions = None,
    detailed: Annotated[bool, typer.Option("--detailed-exitcode", help="End with 10 when there are changes.")] = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Plan; what would make nothing is kept only under a name."""
    who, brought = acting(actor), pairs(data, "--data")
    if save is not None:
        plans.check_name(save)
        if no_save:
            raise TminusError("E401", "--save and --no-save exclude each other", place="tminus plan", hint="keep one")
    wanted = Wanted(what=file, members=members, query=query, at=at, data=brought, functions=tuple(functions or ()))
    made = gather(wanted, db)
    with Progress(f"planning {made.runbook_name}"):
        found = outlook_of(made, load(made.runbook_text))
    name: str | None = None
    if not no_save and (found.has_changes or save is not None):
        with opened(db, create=True) as store, store.database.write() as tx:
            name = plans.save(tx, made, name=save, step_runs=found.step_runs, now=made.made_at, actor=who.actor)
    show_whole(found, shape, {"plan": name})
    if shape in {"table", "wide"}:
        if name is not None:
            telling.write(f"Saved as {telling.visible(name)} (valid 7 days).")
        telling.suggest(_following(wanted, name) if found.has_changes else "tminus status", db=None if no_save else db)
    elif name is not None and shape not in {"json", "yaml", "name"}:
        telling.say(f"saved as {name}")
    return Exit.CHANGES if detailed and found.has_changes else Exit.DONE


def _following(wanted: Wanted, name: str | None) -> str:
    """Name the command that goes on: the rehearsal of the plan, or of what it was made from where it was not kept."""
    if name is not None:
        return typed(["tminus", "rehearse", name])
    words = ["tminus", "rehearse", wanted.what]
    words += ["--members", str(wanted.members)] if wanted.members is not None else []
    words += ["--at", wanted.at] if wanted.at is not None else []
    return typed([*words, *(part for pair in wanted.data.items() for part in ("--data", "=".join(pair)))])


def show_whole(found: Outlook, shape: output.Shape, head: records.Record) -> None:
    """Write a whole plan: a screen, an object, or a row for each call; `head` says which plan it is."""
    if shape in {"table", "wide"}:
        plain = signs.is_plain(sys.stdout)
        width = shutil.get_terminal_size((80, 24)).columns if shape == "table" else sys.maxsize
        for line in planned.lines(found, max(width, planned.NARROWEST)):
            telling.write(signs.letters(line) if plain else line)
    elif shape in {"json", "yaml", "name"}:
        output.one({**head, **records.whole(found)}, shape, name="plan")
    else:
        output.rows(pages(records.calls(found.plan, found.book)), shape, columns=CALLS, name="member_key")


def pages(rows: Iterator[records.Record]) -> Iterator[list[records.Record]]:
    """Yield rows a thousand at a time."""
    while page := list(islice(rows, PAGE)):
        yield page
