"""The roster in the table `workers`: one row for each process that runs jobs, kept for a while after its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import plus
from tminus.store.reading import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.db.connection import Database
    from tminus.domain.instant import Instant
    from tminus.ports.roster import Process

KEPT_S: Final = 30 * 86_400.0

_ENLIST: Final = """INSERT INTO workers
    (name, worker_ids, host, pid, process_started_at, functions_json, version, started_at, last_seen_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET worker_ids = excluded.worker_ids, functions_json = excluded.functions_json,
    version = excluded.version, last_seen_at = excluded.last_seen_at, stopped_at = NULL"""
_SEEN: Final = "UPDATE workers SET last_seen_at = ? WHERE name = ?"
_LEFT: Final = "UPDATE workers SET stopped_at = ? WHERE name = ? AND stopped_at IS NULL"
_FORGET: Final = "DELETE FROM workers WHERE coalesce(stopped_at, last_seen_at) < ?"
_LISTED: Final = "SELECT name FROM workers WHERE stopped_at IS NULL ORDER BY id"


class WorkerRoster:
    """The roster of one database."""

    def __init__(self, database: Database, clock: Callable[[], Instant]) -> None:
        """Write into this database, by this clock."""
        self._database = database
        self._clock = clock

    def enlist(self, process: Process) -> None:
        """Write a process down, and forget those that ended long ago."""
        now = self._clock()
        worker_ids = orjson.dumps(list(process.worker_ids)).decode()
        functions = orjson.dumps(sorted(process.functions)).decode()
        began = plus(now, -process.age_s)
        with self._database.write() as tx:
            tx.run(_FORGET, (plus(now, -KEPT_S),))
            tx.run(
                _ENLIST,
                (process.name, worker_ids, process.host, process.pid, began, functions, process.version, now, now),
            )

    def seen(self, name: str) -> None:
        """Note that a process is alive."""
        with self._database.write() as tx:
            tx.run(_SEEN, (self._clock(), name))

    def left(self, name: str) -> None:
        """Note that a process has ended."""
        with self._database.write() as tx:
            tx.run(_LEFT, (self._clock(), name))

    def listed(self) -> list[str]:
        """Return the names of those that have not ended, as far as is known."""
        with self._database.read() as tx:
            return [text(name) for (name,) in tx.all(_LISTED)]
