"""Why is it waiting: the sentence, when it goes on, and what can be done now."""

import shutil
import sys
from typing import Annotated

import typer

from tminus.cli import output, signs, telling, whys
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, Db, Format, InBatch
from tminus.cli.session import acting, opened, wanted
from tminus.domain.errors import TminusError
from tminus.store.insights import batches, holds, members, waiting
from tminus.store.insights.records import Record
from tminus.store.store import Store

_WIDEST = 10_000
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
        width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else _WIDEST
        for line in whys.lines(found, width=width, plain=signs.is_plain(sys.stdout)):
            telling.write(line)
        wanted_next = whys.next_command(found)
        if wanted_next is not None:
            telling.suggest(whys.typed([*wanted_next, *_same(found, batch, wanted_next)]), db=db)
    else:
        output.one(found, shape)
    return Exit.DONE


def _same(found: Record, batch: int | None, words: list[str]) -> list[str]:
    """Repeat the option without which the next command would mean another batch."""
    return ["--batch", str(batch)] if batch is not None and str(found.get("member_key")) in words else []


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
            return waiting.member(tx, context, members.meant(tx, name, batch))
        if kind == "batch":
            wanted(tx, batches.one, int(name), "batch")
            return waiting.batch(tx, context, int(name))
        if kind == "step":
            return wanted(tx, lambda _, number: waiting.step(tx, context, number), int(name), "step")
        wanted(tx, holds.one, int(name), kind)
        return waiting.gate(tx, context, int(name), actor)
