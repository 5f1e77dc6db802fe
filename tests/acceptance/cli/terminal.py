"""A person at a terminal: commands through the real entry, and a worker that does as it is told behind them.

The commands see a database file and nothing else; what a wave has come to is made by the small world of the shipped
tests, over the same file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tminus.cli.main import main
from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import from_datetime
from tminus.store.store import Store
from tminus.testing.clock import ManualClock
from tminus.testing.world import World, fails

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

BOOK = """\
name: wave
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-1h
    steps:
      - {name: create, worker_id: w, function: F-create, params: {upn: "{{upn}}"}, on_failure: undo}
      - {name: check, worker_id: w, function: F-check}
  - name: cutover
    offset: T-0
    gate: {expires: 2d}
    steps:
      - {name: move, worker_id: w, function: F-move, params: {dept: "{{dept}}"}}
on_member_removed:
  - {name: clean, worker_id: w, function: F-clean}
rollbacks:
  undo:
    - {name: remove, worker_id: w, function: F-remove}
"""
MEMBERS = "upn,dept\nanna@contoso.com,Sales\nben@contoso.com,Sales\ncleo@contoso.com,Human Resources\n"


@dataclass(slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def fields(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self.out))

    def rows(self) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", json.loads(self.out))


class Terminal:
    """A folder with a database in it."""

    def __init__(self, folder: Path) -> None:
        """Put a runbook and a file of members there."""
        self.folder = folder
        self.path = folder / "tminus.db"
        (folder / "runbook.yaml").write_text(BOOK, encoding="utf-8")
        (folder / "members.csv").write_text(MEMBERS, encoding="utf-8")

    def run(self, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> Ran:
        """Run one command line in the folder."""
        out, err = io.StringIO(), io.StringIO()
        before = Path.cwd()
        environment = dict(os.environ)
        os.environ.update({"TMINUS_ACTOR": "anna", **(env or {})})
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _typed(stdin):
                code = main(words)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
        return Ran(code, out.getvalue(), err.getvalue())

    def well(self, *words: str, stdin: str = "") -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*words, stdin=stdin)
        assert ran.code == 0, (words, ran.err, ran.out)
        return ran

    def dump(self) -> list[str]:
        """Return everything that is in the database, as text."""
        if not self.path.exists():
            return []
        connection = sqlite3.connect(self.path)
        try:
            return list(connection.iterdump())
        finally:
            connection.close()

    def published(self) -> Terminal:
        """Publish the runbook."""
        self.well("runbook", "publish", "runbook.yaml")
        return self

    def batch(self, *words: str) -> Terminal:
        """Publish, and make batch 1."""
        self.published()
        self.well("batch", "create", "wave", "members.csv", *words)
        return self

    def wave(self, failing: Sequence[str] = ()) -> Terminal:
        """Publish, make a batch whose first phase is due, and let it run; the functions named here fail."""
        self.batch("--at", (datetime.now(UTC) + timedelta(minutes=30)).isoformat(timespec="seconds"))
        self.work(failing)
        return self

    def work(self, failing: Sequence[str] = ()) -> None:
        """Let the engine and a worker do what can be done now."""
        world = World(clock=ManualClock(from_datetime(datetime.now(UTC) + timedelta(seconds=1))))
        world.store.database.close()
        database = Database(open_sqlite(str(self.path)), path=str(self.path))
        world.store = Store.open(database, clock=world.clock)
        world.behaviours.update({name: fails("Conflict", "409 address already in use") for name in failing})
        world.run()
        database.close()

    def value(self, sql: str) -> int:
        """Read one number of the database."""
        connection = sqlite3.connect(self.path)
        try:
            found = int(connection.execute(sql).fetchone()[0])
        finally:
            connection.close()
        return found


@contextlib.contextmanager
def _typed(text: str) -> Generator[None]:
    before, sys.stdin = sys.stdin, io.StringIO(text)
    try:
        yield
    finally:
        sys.stdin = before
