"""`tminus runbook impact`: what publishing a file or a version would do to the batches that live; nothing is kept."""

from collections.abc import Mapping
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.comparing import OWN_FILE, Named, find
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.session import opened
from tminus.runbook import load
from tminus.runbook.difference import differences
from tminus.runbook.model import Runbook
from tminus.store.impact import BatchImpact, Fate, PhaseImpact, impact
from tminus.store.insights import runbooks
from tminus.store.store import Store

_COLUMNS = ("batch", "phase", "change", "due_at", "inside", "past", "overdue_rerun", "overdue_ignore")
_NO_PHASE = ""


def show(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="FILE, NAME@VERSION, NAME, or a number; runbook.yaml by default.")
    ] = OWN_FILE,
    *,
    runbook: Annotated[str | None, typer.Option("--runbook", metavar="NAME", help="Whose version is meant.")] = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Say which live batches a version would move, and who would run what."""
    with opened(db) as store:
        with store.database.read() as tx:
            named = find(tx, what, runbook)
        batches = impact(store, named.book, named.text, is_active=named.active)
        changes = _changes(store, named.book, {batch.version for batch in batches})
    rows = [row for batch in batches for row in _rows(batch, changes[batch.version])]
    if shape in {"table", "wide"}:
        _tell(named, batches, rows, shape)
    elif shape in {"json", "yaml"}:
        whole = {"runbook_name": named.book.name, "label": named.label, "version": named.version,
                 "batches": [_of_batch(batch, changes[batch.version]) for batch in batches]}  # fmt: skip
        output.one(whole, shape, name="runbook_name")
    else:
        output.rows([rows], shape, columns=_COLUMNS, name="batch", nothing="no batch lives")
    return Exit.DONE


def _changes(store: Store, book: Runbook, versions: set[int]) -> dict[int, dict[str, list[str]]]:
    """Return for each version that batches run what differs in each phase."""
    found: dict[int, dict[str, list[str]]] = {}
    for version in versions:
        with store.database.read() as tx:
            record = runbooks.one(tx, book.name, version)
        old = book if record is None else load(str(record["yaml_content"]))
        words: dict[str, list[str]] = {phase.name: [] for phase in book.phases if phase.name in old.phases_by_name}
        for change in differences(old, book):
            if change.place.startswith("phase "):
                words.setdefault(change.place.removeprefix("phase ").split(":", 1)[0], []).append(change.words)
        if old.retry != book.retry:
            words[_NO_PHASE] = ["the runbook's own retry"]
        found[version] = words
    return found


def _change(name: str, words: Mapping[str, list[str]], fate: Fate | None) -> str:
    if name not in words:
        return "gone" if fate is not None and fate.status == "superseded" else "new"
    return "changed" if words[name] or _NO_PHASE in words else "same"


def _rows(batch: BatchImpact, words: Mapping[str, list[str]]) -> list[dict[str, object]]:
    return [
        {
            "batch": batch.id,
            "phase": phase.name,
            "change": _change(phase.name, words, phase.fates.get("rerun")),
            "due_at": _due(phase),
            "inside": phase.inside,
            "past": phase.past,
            "overdue_rerun": _said(phase.fates.get("rerun")),
            "overdue_ignore": _said(phase.fates.get("ignore")),
        }
        for phase in batch.phases.values()
        if phase.fates
    ]


def _due(phase: PhaseImpact) -> str | None:
    fate = phase.fates.get("rerun")
    return None if fate is None else fate.due_at


def _said(fate: Fate | None) -> str:
    """Say in a few words what becomes of a phase."""
    if fate is None or fate.status == "superseded":
        return "nobody: superseded"
    if fate.status == "skipped":
        return "nobody: ignored"
    again = f", {fate.again:,} of them again" if fate.again else ""
    if fate.is_held:
        return f"held: {fate.members:,} over one_way"
    return f"{fate.members:,} run it{' at once' if fate.is_overdue else ''}{again}"


def _tell(named: Named, batches: list[BatchImpact], rows: list[dict[str, object]], shape: output.Shape) -> None:
    moving = [batch for batch in batches if not batch.stays]
    telling.write(f"{named.label}: {len(moving):,} of {len(batches):,} live batches would move at the next tick")
    for batch in batches:
        if batch.stays:
            telling.write(f"batch {batch.id} (version {batch.version}) stays: {batch.stays}")
    output.rows([rows], shape, columns=_COLUMNS, name="batch", nothing="no batch would notice")
    if named.book.init and moving:
        again = [str(batch.id) for batch in moving if batch.runs_init]
        telling.write("init: what has succeeded is kept for the new version")
        if again:
            telling.write(f"      with --rerun-init it runs again, before anything new, in batch {', '.join(again)}")
    if moving:
        telling.suggest(f"tminus runbook publish {named.label} --overdue ignore" if named.version is None else
                        "tminus status")  # fmt: skip


def _of_batch(batch: BatchImpact, words: Mapping[str, list[str]]) -> dict[str, object]:
    return {
        "id": batch.id,
        "version": batch.version,
        "status": batch.status,
        "batch_start_time": batch.t0,
        "members_active": batch.members,
        "moves": not batch.stays,
        "stays_because": batch.stays or None,
        "rerun_init_runs_init": batch.runs_init,
        "phases": [
            {
                "phase_name": phase.name,
                "change": _change(phase.name, words, phase.fates.get("rerun")),
                "changes": words.get(phase.name, []),
                "inside": phase.inside,
                "past": phase.past,
                **{f"overdue_{mode}": _of_fate(fate) for mode, fate in phase.fates.items()},
            }
            for phase in batch.phases.values()
            if phase.fates
        ],
    }


def _of_fate(fate: Fate) -> dict[str, object]:
    return {"status": fate.status, "due_at": fate.due_at, "is_overdue": fate.is_overdue, "members": fate.members,
            "again": fate.again, "is_held": fate.is_held}  # fmt: skip
