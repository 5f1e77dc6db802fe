"""Plans that are kept: show one (or one member of it), list them, compare one with another or with a batch."""

import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from tminus.cli import output, planned, signs, telling
from tminus.cli.clocks import wall
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.planning import pages, show_whole
from tminus.cli.session import opened
from tminus.cli.whys import typed
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant
from tminus.progression.outlook import records
from tminus.progression.outlook.calls import Course
from tminus.progression.outlook.difference import Difference, Side, compare
from tminus.progression.outlook.tally import outlook_of
from tminus.runbook import load
from tminus.runbook.model import Runbook
from tminus.runbook.plan import SavedPlan
from tminus.runbook.wording import did_you_mean
from tminus.store import plans, surroundings
from tminus.store.plans import KeptPlan
from tminus.store.runbooks import read as read_runbook

LISTED = ("name", "runbook_name", "members", "step_runs", "state", "valid_until", "made_by")
MOST = 20

PlanName = Annotated[str, typer.Argument(metavar="PLAN", help="Name of a saved plan.")]


def show(
    plan: PlanName,
    *,
    member: Annotated[
        str | None, typer.Option("--member", metavar="KEY", help="Every call of this member, with its parameters.")
    ] = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Show a saved plan as it was made."""
    with opened(db) as store:
        with store.database.read() as tx:
            kept = plans.read(tx, plan)
        now = store.now()
    state = plans.state(kept, now)
    book = load(kept.plan.runbook_text)
    if member is not None:
        _show_member(kept, book, member, shape)
        return Exit.DONE
    if shape in {"table", "wide"}:
        telling.write(telling.visible(f"{kept.name}: {_history(kept, state, book.timezone, now)}"))
    head: records.Record = {
        "plan": kept.name,
        "state": state,
        "made_by": kept.made_by,
        "applied_at": kept.applied_at,
        "applied_by": kept.applied_by or None,
        "applied_version": kept.applied_version,
        "applied_batches": list(kept.applied_batches),
    }
    show_whole(outlook_of(kept.plan, book), shape, head)
    words = ["tminus", "apply", kept.name] if state == "valid" else ["tminus", "plan", "list"]
    telling.suggest(typed(words), shape, db=db)
    return Exit.DONE


def _history(kept: KeptPlan, state: str, zone: str, now: Instant) -> str:
    made = f"made {wall(kept.plan.made_at, zone, now)} by {kept.made_by}"
    if kept.applied_at is not None:
        batches = ", ".join(str(one) for one in kept.applied_batches)
        became = f"batch {batches}" if batches else f"version {kept.applied_version}"
        return f"{made}, applied {wall(kept.applied_at, zone, now)} by {kept.applied_by}: {became}"
    return f"{made}, {'expired' if state == 'expired' else 'valid until'} {wall(kept.valid_until, zone, now)}"


def _show_member(kept: KeptPlan, book: Runbook, key: str, shape: output.Shape) -> None:
    plan = kept.plan
    batch = next((one for one in plan.batches if any(name == key for name, _ in one.members)), None)
    if batch is None:
        raise _no_member(plan, key)
    data = next(text for name, text in batch.members if name == key)
    if shape in {"table", "wide"}:
        calls = list(Course(plan, book, batch, masks=True).of_member(key, data))
        plain = signs.is_plain(sys.stdout)
        for line in planned.member_lines(plan, book.timezone, batch, key, calls):
            telling.write(signs.letters(line) if plain else line)
        return
    rows = records.calls(plan, book, key)
    if shape in {"json", "yaml"}:
        output.one({"plan": kept.name, "member_key": key, "calls": list(rows)}, shape, name="plan")
    else:
        output.rows(pages(rows), shape, columns=(), name="step_name")


def _no_member(plan: SavedPlan, key: str) -> TminusError:
    homes = {name: home for batch in plan.batches for name, home in batch.left_out}
    if key in homes:
        return TminusError("E404", f"the plan leaves it out: it lives in batch {homes[key]}", place=key)
    names = [name for batch in plan.batches for name, _ in batch.members]
    hint = did_you_mean(key, names, most=1_000)
    return TminusError("E404", "there is no such member in the plan", place=key, hint=hint)


def list_plans(*, shape: Format = "table", db: Db = None) -> int:
    """List saved plans, oldest first."""
    with opened(db) as store, store.database.read() as tx:
        found = plans.listed(tx, store.now())
    output.rows([found], shape, columns=LISTED, name="name", nothing="no plan is kept")
    return Exit.DONE


def diff(
    plan: PlanName,
    other: Annotated[str, typer.Argument(metavar="PLAN|BATCH", help="Another plan, or the number of a batch.")],
    *,
    detailed: Annotated[
        bool, typer.Option("--detailed-exitcode", help="End with 10 when there are differences.")
    ] = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Say what differs between a plan and another plan or a batch."""
    with opened(db) as store, store.database.read() as tx:
        old, new = _of_plan(plans.read(tx, plan)), _other(tx, other)
    found = list(compare(old, new))
    if shape in {"json", "yaml"}:
        output.one({"old": old.label, "new": new.label, "changes": [_record(one) for one in found]}, shape, name="old")
    elif shape in {"table", "wide"}:
        telling.write(telling.visible(f"{old.label} -> {new.label}"))
        _tell(found, whole=shape == "wide")
    else:
        output.rows([[_record(one) for one in found]], shape, columns=("text",), name="text")
    return Exit.CHANGES if found and detailed else Exit.DONE


def _record(one: Difference) -> dict[str, object]:
    return {"place": one.place, "key": one.key, "kind": one.kind, "before": one.before or None,
            "after": one.after or None, "text": one.words}  # fmt: skip


def _tell(found: Iterable[Difference], *, whole: bool) -> None:
    """Write what differs; of what is many the first twenty of each sort."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        sort = (one.place, one.kind)
        counts[sort] = counts.get(sort, 0) + 1
        if whole or counts[sort] <= MOST:
            telling.write(telling.visible(f"  {one.words}"))
    for (place, kind), count in counts.items():
        if not whole and count > MOST:
            telling.write(f"  and {count - MOST:,} more: {place} {kind}; -o wide lists them")
    if not counts:
        telling.write("  nothing differs")


def _of_plan(kept: KeptPlan) -> Side:
    members = {key: (batch.t0, data) for batch in kept.plan.batches for key, data in batch.members}
    times = tuple(batch.t0 for batch in kept.plan.batches)
    return Side(kept.name, load(kept.plan.runbook_text), kept.plan.data, members, times)


def _other(tx: Tx, word: str) -> Side:
    """Return the other side: a plan by its name, a batch by its number."""
    if not word.isdecimal() or plans.find(tx, word) is not None:
        return _of_plan(plans.read(tx, word))
    number = int(word)
    found = surroundings.batch_as_planned(tx, number) if 0 < number < 1 << 63 else None
    if found is None:
        raise TminusError(
            "E404", "there is no such batch", place=f"batch {word}", hint="`tminus batch list` lists them"
        )
    name, version, t0, data, members = found
    pairs = {key: (t0, text) for key, text in members.items()}
    return Side(f"batch {number}", read_runbook(tx, name, version), data, pairs, (t0,))
