"""Why is it waiting: the sentence, when it goes on, and what can be done now."""

from typing import Annotated, cast

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, Db, Format, InBatch
from tminus.cli.session import acting, opened, wanted
from tminus.domain.errors import TminusError
from tminus.store.insights import batches, holds, members, waiting
from tminus.store.insights.records import Record
from tminus.store.store import Store

KINDS = ("member", "batch", "step", "gate", "hold")


def why(
    words: Annotated[
        list[str], typer.Argument(metavar="WHAT...", help="KEY, or: member KEY, batch ID, step ID, gate ID, hold ID.")
    ],
    *,
    batch: InBatch = None,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Say why something waits."""
    with opened(db) as store:
        kind, name = _meant(store, words)
        found = _look(store, kind, name, batch, acting(actor).actor)
    if shape in {"table", "wide"}:
        _tell(found)
    else:
        output.one(found, shape)
    return Exit.DONE


def _meant(store: Store, words: list[str]) -> tuple[str, str]:
    """Read `KEY`, `ID` (of a batch, where no member has such a key) or `KIND NAME`."""
    if len(words) == 2 and words[0].casefold() in KINDS:  # noqa: PLR2004 - a kind and a name.
        kind, name = words[0].casefold(), words[1]
    elif len(words) == 1:
        with store.database.read() as tx:
            is_number = words[0].isascii() and words[0].isdecimal() and not members.by_key(tx, words[0])
        kind, name = "batch" if is_number else "member", words[0]
    else:
        raise TminusError(
            "E401", "one thing at a time", place="why", hint=f"KEY, or one of {', '.join(KINDS)} and its ID"
        )
    if kind != "member" and not (name.isascii() and name.isdecimal()):
        raise TminusError("E406", f'"{telling.visible(name)}" is no number', place=f"why {kind}")
    return kind, name


def _look(store: Store, kind: str, name: str, batch: int | None, actor: str) -> Record:
    with store.snapshot() as (tx, context):
        if kind == "member":
            member_id = members.meant(tx, name, batch)
            row = wanted(tx, members.one, member_id, "member")
            cause = {"failed_step": row["failed_step"], "error_message": row["error_message"]}
            return {**waiting.member(tx, context, member_id), **cause}
        if kind == "batch":
            wanted(tx, batches.one, int(name), "batch")
            return waiting.batch(tx, context, int(name))
        if kind == "step":
            return wanted(tx, lambda _, number: waiting.step(tx, context, number), int(name), "step")
        wanted(tx, holds.one, int(name), kind)
        return waiting.gate(tx, context, int(name), actor)


def _tell(found: Record) -> None:
    """Lay it out for a person: who, the sentences, what can be done, and the next command."""
    name = found.get("member_key") or f"{found['kind']} {found['id']}"
    home = f" - batch {found['batch_id']}" if found["kind"] != "batch" and found["batch_id"] else ""
    step = f" - step {found['step_name']}" if "step_name" in found else ""
    telling.write(telling.visible(f"{name}{home}{step} - {found['status']}"))
    if found.get("failed_step"):
        telling.write(
            telling.visible(f"  cause    {found['failed_step']} failed: {found['error_message'] or 'no message'}")
        )
    for wait in _records(found, "waits"):
        place = f"{wait['kind']} {wait['sequence']}".strip().replace("\n", ", ")
        then = f" (next {wait['next_at']})" if wait["next_at"] else ""
        telling.write(telling.visible(f"  {place}: {wait['sentence']}{then}"))
    actions = _records(found, "actions")
    can = [str(one["name"]) for one in actions if one["enabled"]]
    telling.write(f"  you can  {', '.join(can) if can else 'only wait'}")
    for one in actions:
        if not one["enabled"]:
            telling.write(telling.visible(f"  not now  {one['name']}: {one['reason']}"))
    if found.get("failed_step") and "retry" in can:
        telling.suggest(f'tminus retry {name} --reason "…"')


def _records(found: Record, key: str) -> list[Record]:
    return cast("list[Record]", found[key])
