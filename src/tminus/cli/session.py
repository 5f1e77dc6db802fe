"""What a command works with: an open store, who acts and why, and values that were given as text."""

from __future__ import annotations

import getpass
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tminus import bootstrap
from tminus.domain.errors import TminusError
from tminus.runbook.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from contextlib import AbstractContextManager

    from tminus.db.connection import Tx
    from tminus.store.insights.records import Record
    from tminus.store.store import Store

LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Who:
    """Who acts, and why."""

    actor: str
    reason: str


@contextmanager
def opened(db: str | None, *, create: bool = False) -> Generator[Store]:
    """Open the database for one command; only what brings things into it may make it."""
    store = bootstrap.open_store(db, create=create)
    try:
        yield store
    finally:
        store.database.close()


def trying(store: Store, *, dry_run: bool) -> AbstractContextManager[None]:
    """Return what a change is made in: itself, or a place where it is taken back."""
    return store.undone() if dry_run else nullcontext()


def acting(actor: str | None, reason: str = "") -> Who:
    """Return who acts; the login where no name was given."""
    name = (actor or getpass.getuser()).strip()
    if not name or not name.isprintable():
        raise TminusError("E406", f"{quoted(actor or '')} is no name", place="--as")
    if len(reason) > LONGEST_REASON:
        raise TminusError("E406", f"the reason is longer than {LONGEST_REASON:,} characters", place="--reason")
    return Who(name, reason.strip())


def with_reason(actor: str | None, reason: str) -> Who:
    """Return who acts and why; an empty reason is refused."""
    if not reason.strip():
        raise TminusError("E402", "the reason is empty", place="--reason", hint='say why: --reason "…"')
    return acting(actor, reason)


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read options of the form NAME=VALUE; the value is text."""
    found: dict[str, str] = {}
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise TminusError("E406", f"{quoted(one)} is not NAME=VALUE", place=option, hint=f"{option} Name=value")
        if name.strip() in found:
            raise TminusError("E406", f"{quoted(name.strip())} is given twice", place=option)
        found[name.strip()] = value
    return found


def keys_given(keys: Iterable[str] | None) -> list[str]:
    """Return the keys of a command line, each once; `-` stands for the lines of stdin.

    A key that is empty, or a stdin that is, is an error: an unset variable or a filter that found nobody must never
    widen a command from one member to all of a batch.
    """
    found: dict[str, None] = {}
    for key in keys or ():
        lines = [line.strip() for line in sys.stdin.read().splitlines()] if key == "-" else [key.strip()]
        named = [line for line in lines if line]
        if not named:
            message = "stdin names no member" if key == "-" else "a key is empty"
            hint = "is what you pipe empty?" if key == "-" else "is a variable of your shell not set?"
            raise TminusError("E401", message, place="KEY", hint=hint)
        found.update(dict.fromkeys(named))
    return list(found)


def wanted(tx: Tx, read: Callable[[Tx, int], Record | None], number: int, noun: str) -> Record:
    """Return a record by its number, or say that there is no such thing."""
    # Numbers beyond 64 bits cannot be asked for; they are nothing's number.
    found = read(tx, number) if 0 < number < 1 << 63 else None
    if found is None:
        hint = "`tminus batch list` lists them" if noun == "batch" else ""
        raise TminusError("E404", f"there is no such {noun}", place=f"{noun} {number}", hint=hint)
    return found
