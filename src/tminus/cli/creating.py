"""Batches and members out of CSV files: all problems of a file are told, and then nothing of it is taken."""

from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, BatchId, Db, DryRun, Format, Remark, RunbookName
from tminus.cli.progress import Progress
from tminus.cli.publishing import active
from tminus.cli.session import acting, opened, pairs, trying, wanted
from tminus.runbook.model import Runbook
from tminus.runbook.zones import local_time
from tminus.sources.manual import MemberFile, read_member_file
from tminus.store import runbooks as store_runbooks
from tminus.store.discovery import add_members, create_manual
from tminus.store.insights import batches

CsvFile = Annotated[
    Path, typer.Argument(metavar="CSV", help="The members, one a line; tminus template names the columns.")
]


def create(
    runbook: RunbookName,
    file: CsvFile,
    *,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="T0", help='T-0, such as "2026-12-04 22:00 Europe/Berlin"; without it: advance.'),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="NAME=VALUE", help="What the batch brings; may be repeated.")
    ] = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Make a batch."""
    who, brought = acting(actor), pairs(data, "--data")
    with opened(db) as store:
        with store.database.read() as tx:
            book = active(tx, runbook)
        t0 = None
        if at is not None:
            t0, note = local_time(at, book.timezone)
            if note:
                telling.say(f"note: {note}")
        members = member_file(file, book)
        with trying(store, dry_run=dry_run), Progress(f"making a batch of {len(members.rows):,}"):
            made = create_manual(store, runbook, members, t0, brought, who.actor)
    count = len(members.rows) - len(made.left_out)
    words = f"{count:,} member{'' if count == 1 else 's'}"
    result: dict[str, object] = {
        "id": None if dry_run else made.batch_id,
        "runbook_name": runbook,
        "batch_start_time": t0,
        "members": count,
        "left_out": made.left_out,
        "dry_run": dry_run,
    }
    if shape in {"table", "wide"}:
        word = "a batch would be made" if dry_run else f"batch {made.batch_id} made"
        begins = f"T-0 {t0}" if t0 else "no T-0: it waits to be advanced"
        telling.write(f"{word}: {words} of {runbook}, {begins}")
        _tell_left_out(made.left_out)
        telling.suggest(f"tminus why batch {made.batch_id}" if t0 else f"tminus batch advance {made.batch_id}", db=db)
    else:
        output.one(result, shape)
    return Exit.SOME_FAILED if made.left_out else Exit.DONE


def member_file(file: Path, book: Runbook) -> MemberFile:
    """Read the file; all of its problems are told, and one of them refuses it."""
    with Progress(f"reading {file.name}"):
        found = read_member_file(file, book.data_source, timezone=book.timezone)
    if found.problem_count > 1:
        for problem in found.problems:
            telling.say(str(problem))
        if found.problem_count > len(found.problems):
            telling.say(f"and {found.problem_count - len(found.problems):,} more")
    if not found.ok:
        raise found.error()
    for note in found.notes:
        telling.say(f"note: {note}")
    return found


def _tell_left_out(keys: list[str], why: str = "in another open batch") -> None:
    if keys:
        more = f" and {len(keys) - 5:,} more" if len(keys) > 5 else ""  # noqa: PLR2004 - five keys fit on a line.
        telling.say(f"left out, {why}: {', '.join(keys[:5])}{more}")


def add(
    batch: BatchId,
    file: CsvFile,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Add members to a live batch; they catch up with what has opened."""
    who = acting(actor, reason)
    with opened(db) as store:
        with store.database.read() as tx:
            home = wanted(tx, batches.one, batch, "batch")
            # The batch's own version: it goes on also where no version is active any more.
            book = store_runbooks.read(tx, str(home["runbook_name"]), int(str(home["runbook_version"])))
        members = member_file(file, book)
        with trying(store, dry_run=dry_run), Progress(f"adding {len(members.rows):,}"):
            added = add_members(store, batch, members, actor=who.actor, reason=who.reason)
    result: dict[str, object] = {
        "batch_id": batch,
        "added": len(added.member_ids),
        "left_out": list(added.left_out),
        "dry_run": dry_run,
    }
    if shape in {"table", "wide"}:
        count = len(added.member_ids)
        words = f"{count:,} member{'' if count == 1 else 's'}"
        telling.write(f"{words} {'would join' if dry_run else 'joined'} batch {batch}")
        _tell_left_out(list(added.left_out), "already in this batch, or in another open one")
    else:
        output.one(result, shape, name="batch_id")
    return Exit.SOME_FAILED if added.left_out else Exit.DONE
