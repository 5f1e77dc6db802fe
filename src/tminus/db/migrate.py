"""Migrations: numbered, frozen, each in one transaction with the note that it ran.

A database that is newer than the program is refused, because an old program could not know what its rows mean. An
interrupted migration leaves the database as it was.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from tminus.db.connection import Database, Tx

_LEDGER: Final = """CREATE TABLE IF NOT EXISTS migrations (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at TEXT NOT NULL)"""


def known(dialect: str = "sqlite") -> list[tuple[int, str, str]]:
    """Return number, name and text of every migration of a dialect, in order."""
    folder = resources.files("tminus.db").joinpath("migrations", dialect)
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name, folder.joinpath(name).read_text("utf-8")) for name in files]


def migrate(database: Database) -> int:
    """Bring the database to this program's version and return that version."""
    wanted = known()
    with database.write() as tx:
        tx.run(_LEDGER)
        applied = {int(str(n)): str(digest) for n, digest in tx.all("SELECT number, digest FROM migrations")}
    _refuse_newer(applied, wanted, database.path)
    for number, name, text in wanted:
        if number not in applied:
            with database.write() as tx:
                _apply(tx, number, name, text, str(database.now()))
    return wanted[-1][0]


def _apply(tx: Tx, number: int, name: str, text: str, now: str) -> None:
    if tx.one("SELECT 1 FROM migrations WHERE number = ?", (number,)) is not None:
        return
    tx.script(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    tx.run("INSERT INTO migrations (number, name, digest, applied_at) VALUES (?, ?, ?, ?)", (number, name, digest, now))


def _refuse_newer(applied: dict[int, str], wanted: list[tuple[int, str, str]], path: str) -> None:
    newest = max(applied, default=0)
    if newest > wanted[-1][0]:
        raise TminusError(
            "E501",
            f"the database {path} is at version {newest}, this program knows {wanted[-1][0]}",
            hint="use the newer program; an older one may not touch this database",
        )
    for number, name, text in wanted:
        digest = applied.get(number)
        if digest is not None and digest != hashlib.sha256(text.encode()).hexdigest():
            raise TminusError(
                "E502", f"migration {name} is not the one that made {path}", hint="use the program that made it"
            )
