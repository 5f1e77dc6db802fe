"""Runbooks in the database: publish, list, get, versions; the header of a file of members."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tminus.cli import members_header, output, telling
from tminus.cli.exits import Exit
from tminus.cli.offline import check
from tminus.cli.options import Actor, Db, DryRun, Format, Remark, RunbookName
from tminus.cli.progress import Progress
from tminus.cli.session import acting, opened, trying
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.runbook import load, render
from tminus.runbook.model import Runbook
from tminus.runbook.wording import did_you_mean
from tminus.store.discovery import set_automation
from tminus.store.insights import runbooks, sources
from tminus.store.runbooks import set_active


def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The runbook.")] = Path("runbook.yaml"),
    *,
    overdue: Annotated[
        Literal["rerun", "ignore"], typer.Option("--overdue", help="Phases that are past due in live batches.")
    ] = "rerun",
    rerun_init: Annotated[bool, typer.Option("--rerun-init", help="Run init again in live batches.")] = False,
    enable: Annotated[bool, typer.Option("--enable", help="Have its source asked at once.")] = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Publish the next version of a runbook."""
    who = acting(actor)
    verdict, text = check(file)
    book = verdict.runbook
    if book is None:
        first, count = verdict.errors[0], len(verdict.errors)
        if shape in {"table", "wide"}:
            telling.write(render(verdict, text, str(file)))
        more = f" (and {count - 1} more)" if count > 1 else ""
        place = f"{file}:{first.line}:{first.column}"
        raise TminusError(first.code, f"{first.message}{more}", place=place, hint="nothing was published")
    with opened(db, create=not dry_run) as store, trying(store, dry_run=dry_run), Progress(f"publishing {book.name}"):
        number = store.publish(book, text.decode("utf-8-sig"), overdue=overdue, rerun_init=rerun_init, actor=who.actor)
        if enable:
            with store.database.write() as tx:
                set_automation(tx, book.name, store.now(), enabled=True, actor=who.actor)
        with store.database.read() as tx:
            is_asked = bool((sources.automation(tx, book.name) or {}).get("automation_enabled"))
    if shape in {"table", "wide"}:
        word = "would be published" if dry_run else "published"
        telling.write(f"{book.name} v{number} {word}{', its source is asked' if is_asked else ''}")
        telling.suggest(_next(book, is_asked=is_asked), db=db)
    else:
        made = {"name": book.name, "version": number, "automation_enabled": is_asked, "dry_run": dry_run}
        output.one(made, shape, name="name")
    return Exit.DONE


def _next(book: Runbook, *, is_asked: bool) -> str:
    """Name what brings members to a runbook that has just been published."""
    if book.data_source.type in {"manual", "event"}:
        return f"tminus batch create {book.name} members.csv"
    return "tminus up" if is_asked else f"tminus automation enable {book.name}"


def list_runbooks(*, shape: Format = "table", db: Db = None) -> int:
    """List the active runbooks."""
    with opened(db) as store, store.database.read() as tx:
        found = runbooks.listed(tx)
    columns = ("name", "version", "automation_enabled", "open_batches", "created_at", "created_by", "last_error")
    output.rows([found], shape, columns=columns, name="name", nothing="no runbook is published")
    return Exit.DONE


def get_runbook(
    name: RunbookName,
    *,
    version: Annotated[int | None, typer.Option("--version", min=1, help="The active one without it.")] = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Print the text of a version; as JSON with what is known about it."""
    with opened(db) as store, store.database.read() as tx:
        found = runbooks.one(tx, name, version)
        if found is None:
            raise missing(tx, name, version)
    if shape in {"table", "wide"}:
        telling.write(str(found["yaml_content"]))
    else:
        output.one(found, shape, name="name")
    return Exit.DONE


def versions(name: RunbookName, *, shape: Format = "table", db: Db = None) -> int:
    """List the versions of a runbook."""
    with opened(db) as store, store.database.read() as tx:
        found = runbooks.versions(tx, name)
        if not found:
            raise missing(tx, name)
    columns = ("version", "is_active", "overdue_behavior", "rerun_init", "created_at", "created_by")
    output.rows([found], shape, columns=columns, name="version")
    return Exit.DONE


def activate(
    name: RunbookName,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let the newest version count again after a deactivation."""
    return _set_active(name, db, shape, active=True, dry_run=dry_run, who=(actor, reason))


def deactivate(
    name: RunbookName,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let no version count: its source is not asked, no batch is made; live batches go on to their end."""
    return _set_active(name, db, shape, active=False, dry_run=dry_run, who=(actor, reason))


def _set_active(
    name: str, db: str | None, shape: output.Shape, *, active: bool, dry_run: bool, who: tuple[str | None, str]
) -> int:
    person = acting(*who)
    with opened(db) as store:
        with store.database.read() as tx:
            found = runbooks.versions(tx, name)
            if not found:
                raise missing(tx, name)
        with trying(store, dry_run=dry_run), store.database.write() as tx:
            changed = set_active(tx, name, store.now(), active=active, actor=person.actor, reason=person.reason)
    word = "active" if active else "inactive"
    if not changed:
        raise TminusError("E410", f"the runbook is {word} already", place=name)
    if shape in {"table", "wide"}:
        telling.write(f"{name}: {'would be ' if dry_run else ''}{word}")
    else:
        output.one(
            {"name": name, "version": found[0]["version"], "is_active": active, "dry_run": dry_run}, shape, name="name"
        )
    return Exit.DONE


def template(
    name: Annotated[str, typer.Argument(metavar="RUNBOOK", help="Name of a published runbook, or a file.")],
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Print the header of the CSV file that a runbook wants."""
    book = _from_file(Path(name)) if name.endswith((".yaml", ".yml")) else published(name, db)
    columns = members_header.columns(book)
    if shape in {"table", "wide", "csv"}:
        telling.write(members_header.line(columns))
    else:
        output.one({"runbook_name": book.name, "columns": list(columns)}, shape, name="runbook_name")
    return Exit.DONE


def _from_file(path: Path) -> Runbook:
    verdict, text = check(path)
    return verdict.runbook or load(text)


def published(name: str, db: str | None) -> Runbook:
    """Return the active version of a published runbook."""
    with opened(db) as store, store.database.read() as tx:
        return active(tx, name)


def active(tx: Tx, name: str) -> Runbook:
    """Return the active version of a runbook, or say that there is none."""
    found = runbooks.one(tx, name)
    if found is None:
        raise missing(tx, name)
    return load(str(found["yaml_content"]))


def known(tx: Tx, name: str) -> None:
    """Ask for a runbook that was ever published: one that is inactive may still have live batches."""
    if not runbooks.versions(tx, name):
        raise missing(tx, name)


def missing(tx: Tx, name: str, version: int | None = None) -> TminusError:
    """Return the error for a runbook, or a version of one, that is not there."""
    if version is not None and runbooks.versions(tx, name):
        return TminusError(
            "E404", f"there is no version {version}", place=name, hint="tminus runbook versions lists them"
        )
    if version is None and runbooks.versions(tx, name):
        hint = f"tminus runbook activate {name}"
        return TminusError("E521", "the runbook is inactive", place=name, hint=hint)
    near = did_you_mean(name, runbooks.active_names(tx), most=1_000)
    return TminusError("E521", "there is no such runbook", place=name, hint=near or "tminus runbook list shows them")
