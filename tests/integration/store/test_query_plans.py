"""Every statement of the store finds its rows by an index, however large the tables grow.

Statements come from two sides: the constants of the store's modules, and what a busy world was seen to run. SQLite says
how it would run each. A scan of a whole table and a sort that an index could spare are findings, unless they are listed
here with the reason why they stay small.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final, cast

import pytest

import tminus.store
from tminus.db.connection import Database, Tx, open_sqlite
from tminus.db.migrate import migrate
from tminus.progression import events as ev
from tminus.store.store import Store
from tminus.testing.store_suite.stage import Played, book, keys, phase, step

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tminus.db.connection import Value
    from tminus.domain.instant import Instant

STATEMENT: Final = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b[^{]*$")
# What reads for people: the promises walk everything on purpose, insights are paged and have tests of their own.
APART: Final = ("tminus.store.promises", "tminus.store.insights")

# Partial indexes that hold only what is under way now; walking one is walking what there is to do.
SHORT_INDEXES: Final = {
    "batches_open",
    "batches_wake",
    "batches_ending",
    "phase_executions_opening",
    "runbooks_active",
    "holds_open",
    "holds_wide",
    "messages_draining",
}
SMALL_TABLES: Final = {
    "limits": "one row for each limit that was ever set",
    "batches": "one row for each wave, not for each member",
    "messages": "jobs that are out: the window of each worker id and what workers hold",
    "runbooks": "one row for each version",
    "migrations": "one row for each migration",
    "plans": "one row for each plan that was looked at within a month",
    "workers": "one row for each process that ran jobs within a month",
    "h": "holds: one row for each time that a human was asked",
}
SORTS: Final = {
    "claims._TAKE": "the window of one worker id at most",
    "claims._WAITING": "the window of one worker id at most",
    "blocked._HOME": "the window of one worker id at most",
    "turns._UNCLAIMED": "the window of one worker id at most",
    "cohort._ADD_MEMBERS": "the list that is handed in, kept in its order",
    "opening._LANES": "one chunk of members",
    "opening._EXECUTIONS": "one chunk of members",
    "loading._PHASE_BATCHES": "the phases of one micro-batch",
    "facts._INVOLVED": "the people who published or advanced one batch",
    "facts._ENDED": "the failed steps of one member, for the finish steps of its batch",
    "sweeps.BATCHES_BEHIND": "the live batches of runbooks, each at most once",
    "sweeps.ONE_WAY_PHASES": "the one_way steps of one batch, at a change of version",
    "runbooks._LIVE": "asked when the workers' ids may have changed, not in a round",
    "runbooks._READY_IDS": "asked when the workers' ids may have changed, not in a round",
    "impact._STANDING": "the phases of one batch, looked at for a person",
    "impact._AFTER": "the phases of one batch, looked at for a person",
}
# Walks of an index that is not short, each ended early or asked seldom.
WALKS: Final = {
    "runbooks._LIVE": "asked when the workers' ids may have changed, not in a round",
    "runbooks._READY_IDS": "asked when the workers' ids may have changed, not in a round",
    "rehearsal._RATED": "a rehearsal's own database in memory, and the walk ends at its first row",
    "standing._NEWEST": "asked once at the start, from the newest end, and the walk ends at its first row",
}

# Which way the due-scans and the statements of every round must go.
INTENDED: Final = {
    "sweeps.PHASES_DUE": "phase_executions_due (due_at>? AND due_at<?)",
    "sweeps.PHASES_OPENING": "phase_executions_opening (id>?)",
    "sweeps.POLLS_DUE": "executions_poll (poll_due_at>? AND poll_due_at<?)",
    "sweeps.LEASES": "messages_lease (lease_until>? AND lease_until<?)",
    "sweeps.DEADLINES": "lanes_deadline (deadline_at>? AND deadline_at<?)",
    "sweeps.EXPIRIES": "holds_expiry (expires_at>? AND expires_at<?)",
    "sweeps.WAKING": "batches_wake",
    "sweeps.WAITING_LANES": "lanes_waiting (batch_id=? AND id>?)",
    "sweeps.ENDING": "batches_ending",
    "sweeps.ENDING_MEMBERS": "batch_members_batch (batch_id=? AND rowid>?)",
    "sweeps.BATCHES_BEHIND": "batches_open (runbook_name=? AND id>?)",
    "sweeps.ONE_WAY_PHASES": "executions_one_way (batch_id=?)",
    "rooms._OUT": "messages_unclaimed (topic=? AND route=?)",
    "rooms._NEXT_BATCH": "executions_ready (worker_id=? AND priority=? AND batch_id>?)",
    "rooms._NEXT_PRIORITY": "executions_ready (worker_id=? AND priority>?)",
    "rooms._NEXT_WORKER": "executions_ready (worker_id>?)",
    "turns._READY": "executions_ready (worker_id=? AND priority=? AND batch_id=? AND ready_at>? AND ready_at<?)",
    "turns._READY_BUT": "executions_ready (worker_id=? AND priority=? AND batch_id=? AND ready_at>? AND ready_at<?)",
    "claims._WAITING": "messages_unclaimed (topic=? AND route=?)",
    "claims._TAKE": "messages_unclaimed (topic=? AND route=?)",
    "claims._CLAIM": "INTEGER PRIMARY KEY (rowid=?)",
    "claims._BEAT": "INTEGER PRIMARY KEY (rowid=?)",
    "claims._RETURN": "INTEGER PRIMARY KEY (rowid=?)",
    "claims._RELEASE": "messages_lease (lease_until>?)",
    "reading.BATCHES": "batches USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.PHASES": "phase_executions_1 (batch_id=?)",
    "reading.MEMBERS": "batch_members USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.LANES": "lanes USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.MEMBER_LANES": "lanes_member (member_id=?)",
    "reading.BATCH_LANES": "lanes_batch (batch_id=?)",
    "reading.EXECUTIONS": "executions USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.FOLLOWING": "executions_1 (lane_id=? AND step_index=?)",
    "reading.FIRST_OPEN": "executions_1 (lane_id=?)",
    "reading.LANE_EXECUTIONS": "executions_1 (lane_id=?)",
    "reading.HOLDS": "holds_batch (batch_id=?)",
    "reading.HOLDS_BY_ID": "holds USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.JOBS": "messages USING INTEGER PRIMARY KEY (rowid=?)",
    "reading.DRAINING": "messages_draining (batch_id=?)",
    "writing._SENT": "executions USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._DONE": "executions USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._OUTPUTS": "batch_members USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._CLAIMS": "messages USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._JOB_END": "messages USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._BATCH": "batches USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._PHASE": "phase_executions USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._MEMBER": "batch_members USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._LANE": "lanes USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._EXECUTION": "executions USING INTEGER PRIMARY KEY (rowid=?)",
    "writing._HOLD": "holds USING INTEGER PRIMARY KEY (rowid=?)",
    "opening._LAST": "batch_members_batch (batch_id=? AND rowid>?)",
    "opening._LANES": "batch_members_batch (batch_id=? AND rowid>? AND rowid<?)",
    "opening._MADE": "lanes_phase (phase_id=? AND member_id>? AND member_id<?)",
    "opening._SEEN": "lanes_phase (phase_id=? AND member_id>? AND member_id<?)",
    "blocked._STUCK": "holds_member (member_id=?)",
    "blocked._ANY": "holds_open",
    "turns._PAUSED": "holds_batch (batch_id=?)",
    "facts._RING_OPEN": "lanes_ring (phase_id=? AND ring>? AND ring<?)",
    "facts._ONE_WAY_OF_BATCH": "executions_one_way (batch_id=?)",
    "facts._ONE_WAY_OF_MEMBERS": "lanes_member (member_id=?)",
    "facts._RETRIED": "audit_scope (scope=? AND action=?)",
    "cohort._TAKEN": "batch_members_key (member_key=?)",
    "cohort._KNOWN": "batches_identity (runbook_name=? AND source_time=?)",
    "payloads": "payloads_digest (digest=?)",
}


class Recording(Database):
    """A database that remembers what it was asked, with the last parameters of each statement."""

    def __init__(self) -> None:
        """Stand over a new database in memory."""
        super().__init__(open_sqlite())
        self.seen: dict[str, tuple[Value, ...]] = {}

    def _tx(self) -> Tx:
        return _RecordingTx(self._connection, self.seen)


class _RecordingTx(Tx):
    def __init__(self, connection: sqlite3.Connection, seen: dict[str, tuple[Value, ...]]) -> None:
        super().__init__(connection)
        self.seen = seen

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        self.seen[sql] = tuple(params)
        return super().all(sql, params)

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        self.seen[sql] = tuple(params)
        return super().one(sql, params)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        self.seen[sql] = tuple(params)
        return super().run(sql, params)

    def add(self, sql: str, params: Sequence[Value] = ()) -> int:
        self.seen[sql] = tuple(params)
        return super().add(sql, params)

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> int:
        for row in rows:
            self.seen[sql] = tuple(row)
        return super().many(sql, rows)


class Stage:
    """One recorded database."""

    def __init__(self) -> None:
        """Wait for a world."""
        self.database = Recording()

    def fresh(self, clock: Callable[[], Instant], window: int) -> Store:
        return Store.open(self.database, clock=clock, window=window)

    def beside(self, store: Store) -> Store:
        raise AssertionError(store)


@cache
def written() -> Mapping[str, str]:
    """Return the statements that stand in the store's modules, by the names that they have there."""
    found: dict[str, str] = {}
    for module in pkgutil.walk_packages(tminus.store.__path__, "tminus.store."):
        if module.name.startswith(APART):
            continue
        values: dict[str, object] = vars(importlib.import_module(module.name))
        for name, value in values.items():
            parts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
            for part in parts:
                if isinstance(part, str) and STATEMENT.match(part):
                    found.setdefault(part, f"{module.name.removeprefix('tminus.store.')}.{name}")
    return {name: sql for sql, name in found.items()}


class Busy(Played):
    """A world that remembers what it asked for itself: a test may walk what it likes."""

    asked: ClassVar[set[str]] = set()

    def rows(self, sql: str, *params: Value) -> list[tuple[Value, ...]]:
        self.asked.add(sql)
        return super().rows(sql, *params)


def busy() -> Busy:
    """Do everything once, with enough rows that a plan means something."""
    undo = {"undo": [{"name": "u", "worker_id": "w", "function": "F-u"}]}
    one = phase("one", step("a", "on_failure: undo", "retry: {max_retries: 1, interval: 5s}"), rings=[1, "50%", "100%"],
                brake="90%")  # fmt: skip
    two = phase(
        "two",
        step("b", "poll: {interval: 10s, timeout: 1h}", "output_params: {Id: id}"),
        step("c", "one_way: true", "output_params: {Id: id}"),
        offset="T+1m",
        deadline="1h",
        gate={"expires": "2h"},
    )
    aside = {name: [{"name": "s", "worker_id": "w", "function": f"F-{name}"}]
             for name in ("init", "on_member_removed", "on_member_failed", "on_batch_finished")}  # fmt: skip
    text = book(phases=[one, two], rollbacks=undo, limits={"w": {"in_flight": 400, "per_minute": 60_000}}, more=aside)
    world = Busy(stage=Stage(), window=200, chunk=100)
    world.publish(text)
    for number in range(3):
        world.batch("wave", keys(200, f"{number}-"), kind="source", t0_in_s=float(number))
    for turn in range(16):
        for look in world.store.looks():
            world.round(look(("", 0)).events)
        while world.store.wake() or world.store.end_members():
            pass
        claims = world.store.round().claimed + world.take(150)
        answered = claims[:-3] if len(claims) > 10 else claims
        polling: dict[str, object] = {"complete": turn > 12}
        results = [(one, polling if one.function == "F-b" else {"id": 1}) for one in answered]
        world.round([world.fail(one) if one.execution_id % 17 == 0 else world.say(one, said) for one, said in results])
        world.store.beat("worker-1", [(claims[-1].execution_id, claims[-1].job_id)] if claims else [])
        world.clock.advance(20)
        if turn == 4:
            for hold_id, batch_id in world.rows("SELECT id, batch_id FROM holds WHERE kind = 'gate' AND is_open"):
                world.command(ev.AnswerHold(hold_id=int(hold_id or 0), batch_id=int(batch_id or 0), answer="approve",
                                            actor="eve", reason="r"))  # fmt: skip
    world.store.join(1, [(key, "{}") for key in keys(3, "j")])
    world.store.move(world.member_id("1-00007"), 3)
    world.round([ev.Leaving(world.member_id("1-00009")), ev.ResultArrived(5, "step-5-retry-9", digest="d")])
    failed = world.numbers("SELECT id FROM batch_members WHERE status = 'failed' LIMIT 2")
    world.round([ev.Retry(member_id=member_id, actor="eve", reason="r") for member_id in failed])
    world.round(
        [ev.OpenHold(scope="member", batch_id=2, member_id=world.member_id("1-00011"), actor="eve", reason="r")]
    )
    world.publish(text)
    world.store.move_versions()
    world.store.give_back("worker-1", [(1, "step-1")])
    world.store.release("worker-1")
    world.round([ev.CancelBatch(batch_id=3, actor="eve", reason="r")])
    while world.store.end_members():
        pass
    world.store.next_due()
    return world


def plan(database: Database, sql: str, params: Sequence[Value]) -> list[str]:
    with database.read() as tx:
        return [str(row[3]) for row in Tx.all(tx, f"EXPLAIN QUERY PLAN {sql}", params)]


def blanks(sql: str) -> list[Value]:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", sql)]
    return [None] * (max(numbered) if numbered else sql.count("?"))


def scans(details: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each table that is walked through, with the index that is walked instead where there is one."""
    made = {match for detail in details for match in re.findall(r"^(?:CO-ROUTINE|MATERIALIZE) (\S+)", detail)}
    for detail in details:
        name = detail.split()[1] if detail.startswith("SCAN ") else "("
        if name.isdigit():
            continue  # The rows of an INSERT, handed in.
        if not name.startswith("(") and name not in made and "VIRTUAL TABLE" not in detail and name != "CONSTANT":
            index = re.search(r"INDEX (\S+)", detail)
            yield name, index[1] if index else ""


@pytest.fixture(scope="module")
def database() -> Database:
    fresh = Database(open_sqlite())
    migrate(fresh)
    return fresh


@pytest.fixture(scope="module")
def world() -> Busy:
    return busy()


@pytest.mark.parametrize("name", INTENDED)
def test_a_statement_goes_the_way_that_is_meant_for_it(database: Database, name: str) -> None:
    known = dict(written())
    known["payloads"] = "SELECT id FROM payloads WHERE digest = ?"
    details = plan(database, known[name], blanks(known[name]))
    assert any(INTENDED[name] in detail for detail in details), details


@pytest.mark.parametrize("name", written())
def test_a_statement_walks_no_table(database: Database, name: str) -> None:
    sql = written()[name]
    for table, index in scans(plan(database, sql, blanks(sql))):
        assert table in SMALL_TABLES or index in SHORT_INDEXES or name in WALKS, (table, index)


@pytest.mark.parametrize("name", written())
def test_a_statement_sorts_nothing_large(database: Database, name: str) -> None:
    sql = written()[name]
    details = plan(database, sql, blanks(sql))
    # What one answer of a source brings is put in order as a whole, page by page.
    known = name in SORTS or name.startswith("discovery.")
    assert ("TEMP B-TREE" in " ".join(details)) <= known, details
    assert not any("AUTOMATIC" in detail for detail in details)


@pytest.mark.parametrize("table", [SORTS, WALKS, INTENDED])
def test_what_is_listed_here_is_still_there(table: dict[str, str]) -> None:
    assert set(table) - set(written()) - {"payloads"} == set()


def test_what_a_busy_world_runs_walks_no_table_either(world: Busy) -> None:
    """Statements that are put together as they are needed have no name, and are found here."""
    database = world.store.database
    assert isinstance(database, Recording)
    named = set(written().values())
    seen = {sql: params for sql, params in database.seen.items() if STATEMENT.match(sql)}
    loose = {sql: params for sql, params in seen.items() if sql not in named and sql not in world.asked}
    for sql, params in loose.items():
        for table, index in scans(plan(database, sql, params)):
            assert table in SMALL_TABLES or index in SHORT_INDEXES, (sql, table, index)


def test_the_busy_world_was_busy(world: Busy) -> None:
    """Else nothing would be seen."""
    database = world.store.database
    assert isinstance(database, Recording)
    by_text = {sql: name for name, sql in written().items()}
    met = {by_text[sql] for sql in database.seen if sql in by_text}
    hot = {name for name in INTENDED if name.partition(".")[0] in {"sweeps", "rooms", "claims", "reading", "writing"}}
    assert hot - met == set()
    assert world.refused == []
