"""Gates and holds to look at: what waits for a human, with its evidence."""

from typing import Annotated, Literal

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format, InBatch
from tminus.cli.session import opened, wanted
from tminus.store.insights import holds

Kind = Literal[
    "pause", "gate", "brake", "freeze", "leavers", "move", "one_way", "old_t0", "rerun_init", "rollback", "removal",
    "late_success", "vanished", "over_cost",
]  # fmt: skip
Closed = Annotated[bool, typer.Option("--closed", help="Those that were answered as well.")]
HoldId = Annotated[int, typer.Argument(metavar="ID", help="Number of the hold.")]


def list_gates(*, batch: InBatch = None, closed: Closed = False, shape: Format = "table", db: Db = None) -> int:
    """List gates."""
    with opened(db) as store, store.database.read() as tx:
        found = holds.listed(tx, kind="gate", batch_id=batch, closed=closed)
    columns = ("id", "batch_id", "phase_name", "state", "opened_at", "expires_at")
    output.rows([found], shape, columns=columns, nothing="no gate waits")
    asking = next((one for one in found if one["state"] == "waiting"), None)
    shut = next((one for one in found if one["state"] in {"rejected", "expired"}), None)
    if asking is not None or shut is not None:
        command = f"approve {asking['id']}" if asking else f"gate reopen {shut['id'] if shut else ''}"
        telling.suggest(f"tminus {command} --reason TEXT", shape, db=db)
    return Exit.DONE


def get_gate(number: HoldId, *, shape: Format = "table", db: Db = None) -> int:
    """Show one gate."""
    return _get(number, "gate", shape, db)


def list_holds(
    *,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Of this kind alone.")] = None,
    batch: InBatch = None,
    closed: Closed = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """List holds, newest first."""
    with opened(db) as store, store.database.read() as tx:
        found = holds.listed(tx, kind=kind, batch_id=batch, closed=closed)
    columns = ("id", "kind", "scope", "batch_id", "member_key", "phase_name", "state", "reason", "opened_by")
    output.rows([found], shape, columns=columns, nothing="nothing waits for a human")
    return Exit.DONE


def get_hold(number: HoldId, *, shape: Format = "table", db: Db = None) -> int:
    """Show one hold."""
    return _get(number, "hold", shape, db)


def _get(number: int, noun: str, shape: Format, db: str | None) -> int:
    with opened(db) as store, store.database.read() as tx:
        found = wanted(tx, holds.one, number, noun)
        if noun == "gate" and found["kind"] != "gate":
            found = wanted(tx, holds.one, 0, f"gate among the holds with number {number}")
    output.one(found, shape)
    return Exit.DONE
