"""A stage for discovery: a real CSV file, the real loop, the real store, and a clock that is told to move.

`say` writes the file, `look` lets an interval pass and takes what the source answers; the rest is the small world's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import orjson

from tminus.domain.instant import Instant, between_s
from tminus.engine.discovery import Discovery
from tminus.progression import events as ev
from tminus.sources.csv import CsvSource
from tminus.sources.still import Patience
from tminus.store.discovery import DiscoveryStore, set_automation
from tminus.store.promises.checking import check
from tminus.testing.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from tminus.runbook.model import DataSource

Rows = Mapping[str, str | tuple[str, str]]
Word = Literal["lift", "accept", "refuse"]

INTERVAL_S = 300.0
NEAR, LATER, LAST = "2026-01-10 22:00", "2026-01-17 22:00", "2026-01-24 22:00"
BOOK = """\
name: wave
data_source:
  type: csv
  connection: MEMBERS
  primary_key: Key
  {time}
  {leavers}
phases:
  - name: prepare
    offset: T-1d
    steps: [{{name: make, worker_id: w, function: Make, params: {{name: "{{{{Name}}}}"}}, output_params: {{Id: id}}}}]
  - name: cut
    offset: T-0
    steps: [{{name: switch, worker_id: w, function: Switch, one_way: {one_way}}}]
{more}
on_member_removed:
  - {{name: clean, worker_id: w, function: Clean}}
"""


def book(*, time: str = "batch_time_column: When", leavers: str = "", more: str = "", one_way: str = "false") -> str:
    """Write the runbook of most scenes."""
    return BOOK.format(
        time=time, leavers=f"leavers: {leavers}" if leavers else "interval: 5m", more=more, one_way=one_way
    )


class Scene:
    """A source's file, what is made of it, and words to look at both."""

    def __init__(self, folder: Path, text: str | None = None, *, enabled: bool = True) -> None:
        """Publish a runbook over a file that is not there yet."""
        self.path = folder / "members.csv"
        self.world = World()
        self.clock = self.world.clock
        self.writes = 0
        self.questions = 0
        self.store = DiscoveryStore(self.world.store)
        self.discovery = self.fresh()
        self.publish(book() if text is None else text)
        if enabled:
            self.switch(on=True)

    def fresh(self) -> Discovery:
        """Start the loop, as a new process would."""
        return Discovery(self.store, self.open_source, budget_s=0.0)

    def open_source(self, source: DataSource) -> CsvSource:
        """Open the file's source; tests of other sources stand in here."""
        del source
        self.questions += 1
        return CsvSource({"MEMBERS": str(self.path)}.get, patience=Patience(clock=lambda: 4e9, pause=lambda _: None))

    def publish(self, text: str) -> int:
        """Publish a version."""
        return self.world.publish(text)

    def switch(self, *, on: bool, name: str = "wave") -> None:
        """Switch automation."""
        with self.world.store.database.write() as tx:
            set_automation(tx, name, self.clock.now, enabled=on, actor="ann")

    # -- the source ------------------------------------------------------------------------------------------------

    def say(self, rows: Rows) -> None:
        """Write the file: key to time, or to time and name."""
        lines = ["Key,Name,When"]
        for key, cell in rows.items():
            when, name = cell if isinstance(cell, tuple) else (cell, f"Name of {key}")
            lines.append(f"{key},{name},{when}")
        self.write("\n".join(lines) + "\n")

    def write(self, text: str) -> None:
        """Write the file as it is."""
        self.path.write_text(text, encoding="utf-8")
        self.writes += 1
        os.utime(self.path, (1_600_000_000 + self.writes, 1_600_000_000 + self.writes))

    # -- looking ---------------------------------------------------------------------------------------------------

    def look(self, times: int = 1) -> None:
        """Let an interval pass and take what the source answers."""
        for _ in range(times):
            self.clock.advance(INTERVAL_S)
            self.take_all()

    def take_all(self) -> None:
        """Tick until no question is out and no answer is being taken."""
        for _ in range(100_000):
            self.discovery.tick(self.clock.now)
            if self.discovery.is_idle:
                break
            time.sleep(0.0002)
        self.world.run()

    def told(self, *rows: Rows) -> None:
        """Say one table after another and look after each."""
        for one in rows:
            self.say(one)
            self.look()

    # -- what came of it -------------------------------------------------------------------------------------------

    def members(self, batch_id: int = 1) -> dict[str, str]:
        """Return the status of every key's newest row in a batch."""
        sql = "SELECT member_key, status FROM batch_members WHERE batch_id = ? ORDER BY id"
        return {str(key): str(status) for key, status in self.world.rows(sql, batch_id)}

    def batches(self) -> list[tuple[str, str, str]]:
        """Return source time, T-0 and status of every batch; times to the minute."""
        sql = "SELECT source_time, batch_start_time, status FROM batches ORDER BY id"
        return [(minute(a), minute(b), str(c)) for a, b, c in self.world.rows(sql)]

    def data(self, key: str) -> dict[str, object]:
        """Return the data of a key's newest row."""
        found: dict[str, object] = orjson.loads(
            str(self.world.value("SELECT data_json FROM batch_members WHERE id = ?", self.world.member_id(key)))
        )
        return found

    def holds(self) -> list[tuple[str, str]]:
        """Return kind and reason of the open holds."""
        return [
            (str(a), str(b)) for a, b in self.world.rows("SELECT kind, reason FROM holds WHERE is_open ORDER BY id")
        ]

    def listed(self, kind: str) -> list[str]:
        """Return the keys on the open holds of a kind."""
        sql = "SELECT evidence_json FROM holds WHERE is_open AND kind = ? ORDER BY id"
        return [str(key) for (text,) in self.world.rows(sql, kind) for key in orjson.loads(str(text))["members"]]

    def answer(self, kind: str, word: Word) -> bool:
        """Answer the open hold of a kind; tell whether it was done."""
        sql = "SELECT id, batch_id FROM holds WHERE is_open AND kind = ?"
        hold_id, batch_id = self.world.rows(sql, kind)[0]
        event = ev.AnswerHold(
            actor="ann", reason="so it is", hold_id=int(hold_id or 0), batch_id=int(batch_id or 0), answer=word
        )
        done = self.world.command(event)[0].ok
        self.world.run()
        return done

    def error(self) -> str | None:
        """Return what stands on the runbook as its last error."""
        found = self.world.value("SELECT last_error FROM runbooks WHERE is_active")
        return None if found is None else str(found)

    def problems(self, kind: str = "row") -> list[tuple[str, str]]:
        """Return code and key of the problems that are kept."""
        sql = "SELECT code, member_key FROM source_problems WHERE kind = ? ORDER BY id"
        return [(str(a), str(b)) for a, b in self.world.rows(sql, kind)]

    def until(self, moment: str) -> None:
        """Let time pass, with everything that becomes due, without looking at the source."""
        end = Instant(moment.replace(" ", "T") + ":00.000Z")
        self.world.pass_time(between_s(self.clock.now, end))

    def violations(self) -> list[str]:
        """Return every broken promise."""
        with self.world.store.database.read() as tx:
            return [str(found) for found in check(tx)]


def minute(value: object) -> str:
    """Shorten an instant to the form that these tests write."""
    return "-" if value is None else str(value)[:16].replace("T", " ")


def keys(count: int, when: str = NEAR, start: int = 0) -> dict[str, str]:
    """Return that many keys of one time."""
    return {f"m{number:03d}": when for number in range(start, start + count)}
