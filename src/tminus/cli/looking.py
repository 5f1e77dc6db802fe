"""The one screen: open batches, what waits for a human, what falls due; and one key over all batches."""

from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.batches import COLUMNS
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.session import opened
from tminus.domain.errors import TminusError
from tminus.domain.instant import plus
from tminus.store.insights import batches, holds, members

AHEAD_S = 86_400.0


def status(*, shape: Format = "table", db: Db = None) -> int:
    """Show what lives, what waits for a human, and what falls due within 24 hours."""
    with opened(db) as store:
        now = store.now()
        with store.database.read() as tx:
            found = batches.open_ones(tx)
            waiting = holds.listed(tx)
            due = batches.due_before(tx, plus(now, AHEAD_S))
    if shape not in {"table", "wide"}:
        output.one({"now": now, "batches": found, "holds": waiting, "due": due}, shape, name="now")
        return Exit.DONE
    telling.write(f"as of {now}")
    output.rows([found], shape, columns=COLUMNS, nothing="no batch is open")
    if waiting:
        telling.write(f"\nneeds you ({len(waiting)})")
        columns = ("id", "kind", "batch_id", "member_key", "phase_name", "state", "reason", "opened_at")
        output.rows([waiting], shape, columns=columns)
    if due:
        telling.write("\nwithin 24 hours")
        output.rows([due], shape, columns=("due_at", "batch_id", "phase_name", "offset_minutes", "status"))
    if waiting:
        telling.suggest(f"tminus why hold {waiting[0]['id']}", shape)
    elif found:
        telling.suggest(f"tminus why batch {found[0]['id']}", shape)
    return Exit.DONE


def find(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a member.")],
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Find a member across all batches, newest first."""
    with opened(db) as store, store.database.read() as tx:
        found = members.by_key(tx, key)
        near = [] if found else members.alike(tx, key)
    if not found:
        hint = f"did you mean {', '.join(near)}?" if near else "keys are looked up as a whole"
        raise TminusError("E404", "there is no such member", place=key, hint=hint)
    columns = ("batch_id", "runbook_name", "generation", "status", "failed_step", "error_message", "moved_to")
    output.rows([found], shape, columns=columns)
    telling.suggest(f"tminus why {key}", shape)
    return Exit.DONE
