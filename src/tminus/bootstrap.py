"""Bootstrap: the only place that wires things together.

Faces ask here for a store, a runner, an engine; they never build one. A database is named by a URL or by a path.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tminus.db.clock import SteadyClock
from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.domain.errors import TminusError
from tminus.engine.discovery import Discovery
from tminus.engine.loop import Loop, Settings
from tminus.engine.rehearse.driver import Rehearsal
from tminus.engine.rehearse.listed import ListedAsking, ListedSource
from tminus.sources.csv import CsvSource
from tminus.store.cohort import NewBatch
from tminus.store.discovery import DiscoveryStore, set_automation
from tminus.store.discovery.settling import settled
from tminus.store.rehearsal import RehearsalStore
from tminus.store.roster import WorkerRoster
from tminus.store.standing import newest
from tminus.store.store import Store
from tminus.testing.clock import ManualClock
from tminus.workers.pool import PoolSettings, PythonPool, usual_children

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from tminus.domain.instant import Instant
    from tminus.engine.rehearse.crew import Crew
    from tminus.engine.rehearse.driver import Gates
    from tminus.ports.runner import Runner
    from tminus.ports.source import Source
    from tminus.progression.events import Event
    from tminus.runbook.model import DataSource, Runbook

DEFAULT_DB: Final = "sqlite:///./tminus.db"
_SQL_SERVER: Final = re.compile(r"(^|;)\s*(server|data source|addr|address|initial catalog)\s*=", re.IGNORECASE)
AUTHOR: Final = "rehearsed author"
# A simulated worker never misses a heartbeat; what it loses is told as lost.
_LEASE_S: Final = 10 * 365 * 86_400.0


def database_url(given: str | None) -> str:
    """Return the database that was named by an option or in a settings file, else the default."""
    return given or os.environ.get("TMINUS_DB") or DEFAULT_DB


def sqlite_path(url: str) -> str:
    """Return the file of a `sqlite:///` URL (or the plain path that was given)."""
    if _SQL_SERVER.search(url):
        # The text may hold a password, so that nothing of it is repeated.
        raise TminusError(
            "E509",
            "this is a connection string of SQL Server, which is no store of tminus",
            hint="name a database by sqlite:///PATH, with --db or TMINUS_DB",
        )
    if "://" not in url:
        return url
    scheme, _, rest = url.partition("://")
    if scheme != "sqlite":
        raise TminusError(
            "E509",
            f"{scheme} is not a database that this installation speaks",
            place=f"{scheme}://",
            hint="use sqlite:///PATH",
        )
    return rest.removeprefix("/") or ":memory:"


def open_store(given: str | None = None, *, clock: Callable[[], Instant] | None = None, create: bool = True) -> Store:
    """Open (and migrate) the database; with `create` off, a file that is not there is an error, not made."""
    path = sqlite_path(database_url(given))
    if not create and path != ":memory:" and not Path(path).exists():
        raise TminusError(
            "E509", f"there is no database {path}", hint="`tminus up` or `tminus runbook publish` makes one"
        )
    database = Database(open_sqlite(path), path=path)
    store = Store.open(database, clock=clock)
    return store if clock is not None else Store(database, clock=steady_clock(database))


def steady_clock(database: Database) -> SteadyClock:
    """Return the database's clock, held from going back behind what the engine has done."""
    with database.read() as tx:
        return SteadyClock(database.now, newest(tx))


def start_runner(
    files: Sequence[str], *, children: int | None = None, isolation: Literal["thread", "process"] = "thread"
) -> Runner:
    """Start the child processes that run the functions of these files."""
    count = usual_children() if children is None else children
    pool = PythonPool(PoolSettings(children=count, isolation=isolation))
    pool.start(files)
    return pool


def make_loop(
    store: Store,
    runner: Runner,
    settings: Settings,
    *,
    report: Callable[[Event, Exception], None] | None = None,
    at_once: bool = False,
) -> Loop:
    """Wire the loop of one process: rounds and ticks over the store, jobs to the runner, questions to the sources.

    With `at_once` every source is asked when it begins, and not when its interval has passed.
    """
    roster = WorkerRoster(store.database, store.now)
    return Loop(store, runner, settings, sources=Asking(store, at_once=at_once), roster=roster, report=report)


class Asking:
    """Discovery over one store, as the loop wants it."""

    def __init__(self, store: Store, *, at_once: bool = False) -> None:
        """Ask for this store; what was answered before now does not count as settled.

        Sources that failed are asked at once: a process that begins may have what the one before lacked.
        """
        self._store = store
        self._at_once: bool | None = at_once
        self._discovery = Discovery(DiscoveryStore(store), open_source)
        self._began = store.now()

    def ask(self) -> float | None:
        """Do what can be done without waiting."""
        if self._at_once is not None:
            DiscoveryStore(self._store).ask_soon(failed_only=not self._at_once)
            self._at_once = None
        return self._discovery.tick(self._store.now())

    @property
    def is_idle(self) -> bool:
        """Tell whether no question is out and no answer is being taken."""
        return self._discovery.is_idle

    def has_settled(self) -> bool:
        """Tell whether every source that is switched on has answered completely."""
        with self._store.database.read() as tx:
            return self._discovery.is_idle and settled(tx, self._began)

    def leave(self) -> None:
        """Stop asking."""
        self._discovery.close()


def open_source(data_source: DataSource) -> Source:
    """Return the source of a runbook; the names in it are looked up in the environment."""
    if data_source.type == "csv":
        return CsvSource(os.environ.get)
    raise TminusError(
        "E320",
        f"sources of type {data_source.type} are not built in yet",
        hint="use csv, or a manual batch from a CSV file",
    )


@dataclass(frozen=True, slots=True)
class Cohort:
    """Members of one batch, as key and data; `source_time` is set where a source names the batch."""

    members: Sequence[tuple[str, str]]
    t0: Instant | None = None
    source_time: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is rehearsed: a runbook, and either its batches or what its source answers."""

    text: str
    runbook: Runbook
    cohorts: Sequence[Cohort] = ()
    data: Mapping[str, object] = field(default_factory=dict[str, object])
    source: ListedSource | None = None


def stage(
    play: Play, crew: Crew, start: Instant, *, gates: Gates = "approve", path: str = ":memory:"
) -> tuple[RehearsalStore, Rehearsal]:
    """Set a rehearsal up: a new database, a clock that stands still, and nothing that reaches outside."""
    clock = ManualClock(start)
    database = Database(open_sqlite(path), path=path)
    migrate(database)
    store = RehearsalStore(database, clock=clock, lease_s=_LEASE_S)
    rehearsal = Rehearsal(store, clock, crew, gates=gates)
    store.publish(play.runbook, play.text, actor=AUTHOR)
    for one in play.cohorts:
        kind: Literal["source", "manual"] = "manual" if one.source_time is None else "source"
        made = NewBatch(play.runbook.name, one.members, t0=one.t0, kind=kind, data=play.data, created_by=AUTHOR)
        store.create_batch(replace(made, source_time=one.source_time))
    if play.source is not None:
        with database.write() as tx:
            set_automation(tx, play.runbook.name, start, enabled=True, actor=AUTHOR)
        rehearsal.source = ListedAsking(
            DiscoveryStore(store), {play.runbook.name: play.source}, lambda _name: play.runbook.data_source
        )
    return store, rehearsal
