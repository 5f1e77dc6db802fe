"""A world whose promises are checked after every commit, and that keeps the logs of its worker and its bus."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tminus.db.connection import Database, open_sqlite
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.store.promises import Ended, Logs, Received, Started, Violation, check
from tminus.store.store import Store
from tminus.testing.world import Call, World

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Literal

    from tminus.db.connection import Tx, Value
    from tminus.runbook.model import Runbook
    from tminus.store.claims import Claim
    from tminus.store.store import Asking

HOUR = 3600.0
DAY = 86_400.0

RUNBOOK = """\
name: wave
data_source: {type: manual, primary_key: upn}
retry: {max_retries: 1, interval: 1m}
init:
  - {name: announce, worker_id: w, function: Announce}
phases:
  - name: prepare
    offset: T-1h
    steps:
      - {name: create, worker_id: w, function: Create, params: {User: "{{upn}}"}, on_failure: undo}
      - {name: sync, worker_id: w, function: Sync, poll: {interval: 5m, timeout: 1h}}
  - name: cutover
    offset: T-0
    steps:
      - {name: switch, worker_id: w, function: Switch, on_failure: undo}
      - {name: verify, worker_id: w, function: Verify}
on_member_removed: [{name: clean, worker_id: w, function: Clean}]
on_member_failed: [{name: tell, worker_id: w, function: Tell}]
on_batch_finished: [{name: report, worker_id: w, function: Report}]
rollbacks:
  undo: [{name: unlink, worker_id: w, function: Unlink}, {name: delete, worker_id: w, function: Delete}]
"""


class WatchedDatabase(Database):
    """Calls back after every commit."""

    watch: Watched | None = None

    @contextmanager
    def write(self) -> Generator[Tx]:
        with super().write() as tx:
            yield tx
        if self.watch is not None:
            self.watch.look()


@dataclass
class Watched(World):
    """A world that fails at the first commit that breaks a promise."""

    logs: Logs = field(default_factory=Logs)
    books: dict[tuple[str, int], Runbook] = field(default_factory=dict[tuple[str, int], "Runbook"])
    checks: int = 0
    seq: int = 0
    reads_runbooks: bool = False

    def __post_init__(self) -> None:
        """Open an empty database that calls back."""
        database = WatchedDatabase(open_sqlite(":memory:"))
        self.store = Store.open(database, clock=self.clock, window=self.window)
        self.store.chunk = self.chunk
        database.watch = self

    def publish(
        self, text: str, *, overdue: Literal["rerun", "ignore"] = "rerun", rerun_init: bool = False, actor: str = ""
    ) -> int:
        runbook = load(text)
        version = 1 + max((v for name, v in self.books if name == runbook.name), default=0)
        self.books[runbook.name, version] = runbook
        return super().publish(text, overdue=overdue, rerun_init=rerun_init, actor=actor)

    def book(self, name: str, version: int) -> Runbook:
        return self.books[name, version]

    def violations(self, *, at_rest: bool = False, small_events: int = 50_000) -> list[Violation]:
        with self.store.database.read() as tx:
            book = None if self.reads_runbooks else self.book
            return check(tx, at_rest=at_rest, logs=self.logs, book=book, small_events=small_events)

    def call_of(self, claim: Claim) -> Call:
        """Return a claim as the worker sees it."""
        return self._call(claim)

    def look(self) -> None:
        """Fail at the first broken promise."""
        self.checks += 1
        found = self.violations()
        assert not found, found

    def rest(self) -> None:
        """Let all time pass that anything waits for, and check that nothing was lost; in pages, the same is seen."""
        self.pass_time(30 * DAY)
        found = self.violations(at_rest=True)
        assert not found, found
        assert not self.violations(at_rest=True, small_events=0)
        assert not self.refused, self.refused

    def corrupt(self, sql: str, *params: Value) -> None:
        """Change rows behind the core's back."""
        database = self.store.database
        assert isinstance(database, WatchedDatabase)
        database.watch = None
        with database.write() as tx:
            tx.run("DROP TRIGGER IF EXISTS audit_is_append_only_update")
            tx.run("DROP TRIGGER IF EXISTS audit_is_append_only_delete")
            assert tx.run(sql, params), "nothing was changed"

    def number(self, sql: str, *params: Value) -> int:
        """Read one number."""
        return int(self.value(sql, *params) or 0)

    def round(self, events: Sequence[ev.Event] = (), asking: Sequence[Asking] = ()) -> list[Claim]:
        """Keep the logs of what workers and the bus see."""
        for event in events:
            if isinstance(event, ev.ResultArrived):
                self.seq += 1
                fine = event.error is None
                self.logs.ended.append(Ended(event.job_id, event.execution_id, fine, self.seq, self.clock.now))
                polling = event.complete is False
                self.logs.received.append(Received(event.job_id, fine, polling, applied=True))
        claimed = super().round(events, asking)
        for claim in claimed:
            self.seq += 1
            attempt = int(claim.job_id.partition("-retry-")[2].partition("-")[0] or 0)
            self.logs.started.append(Started(claim.job_id, claim.execution_id, attempt, self.seq, self.clock.now))
        return claimed
