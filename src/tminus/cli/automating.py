"""Automation: whether a runbook's source is asked, when, what it last said, and what of that no batch follows."""

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, Db, DryRun, Format, Remark, RunbookName
from tminus.cli.publishing import missing
from tminus.cli.session import acting, opened, trying
from tminus.store.discovery import set_automation
from tminus.store.insights import runbooks, sources
from tminus.store.insights.records import Record

SHOWN = 20


def enable(
    name: RunbookName,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Have the runbook's source asked."""
    return _switch(name, db, shape, enabled=True, dry_run=dry_run, who=(actor, reason))


def disable(
    name: RunbookName,
    *,
    reason: Remark = "",
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Do not ask the source any more."""
    return _switch(name, db, shape, enabled=False, dry_run=dry_run, who=(actor, reason))


def _switch(
    name: str, db: str | None, shape: output.Shape, *, enabled: bool, dry_run: bool, who: tuple[str | None, str]
) -> int:
    person = acting(*who)
    with opened(db) as store, trying(store, dry_run=dry_run):
        with store.database.write() as tx:
            if runbooks.one(tx, name) is None:
                raise missing(tx, name)
            set_automation(tx, name, store.now(), enabled=enabled, actor=person.actor, reason=person.reason)
        with store.database.read() as tx:
            found = sources.automation(tx, name) or {}
    output.one(found, shape, name="runbook_name")
    return Exit.DONE


def status(name: RunbookName, *, shape: Format = "table", db: Db = None) -> int:
    """Show whether and when the source is asked, and which of its rows and keys no batch follows."""
    with opened(db) as store, store.database.read() as tx:
        found = sources.automation(tx, name)
        if found is None:
            raise missing(tx, name)
        untaken = sources.problems(tx, name)
    if shape in {"table", "wide"}:
        output.one(found, shape, name="runbook_name")
        _tell(untaken, untaken if shape == "wide" else untaken[:SHOWN])
    elif shape == "csv":
        output.one(found, shape)
    else:
        output.one(found | {"problems": untaken}, shape, name="runbook_name")
    return Exit.DONE


def _tell(untaken: list[Record], shown: list[Record]) -> None:
    """Write what no batch follows, a line each, as the preview does."""
    if not untaken:
        return
    telling.write("")
    for one in shown:
        place = f"{one['member_key']}: " if one["kind"] == "left_out" else f"{one['place']}: " if one["place"] else ""
        code = f"{one['code']} " if one["code"] else "note: "
        hint = f" - {one['hint']}" if one["hint"] else ""
        telling.write(telling.visible(f"{place}{code}{one['message']}{hint}"))
    if len(untaken) > len(shown):
        telling.write(f"and {len(untaken) - len(shown):,} more: -o wide shows them")
