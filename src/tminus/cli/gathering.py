"""What a plan is made from: a runbook, its members, their times, and what is true around them.

A runbook comes from a file or by the name of a published one, members from a file or from the source's own answer. The
database is looked at where there is one and never needed; functions are told from their text and never loaded.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tminus import bootstrap
from tminus.cli.creating import member_file
from tminus.cli.playing import answer_of, check_inputs, runbook_of
from tminus.cli.publishing import missing
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, from_datetime
from tminus.runbook import load
from tminus.runbook.plan import PlannedBatch, PlannedFile, SavedPlan, Surroundings
from tminus.runbook.zones import local_time
from tminus.store import surroundings
from tminus.store.discovery.slots import slot_of
from tminus.store.insights import runbooks
from tminus.workers.reading import read_offered

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from tminus.ports.source import SourceRow
    from tminus.runbook.model import Runbook
    from tminus.store.store import Store

OWN_FILE: Final = Path("runbook.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be planned, as it was given."""

    what: str
    members: Path | None = None
    query: bool = False
    at: str | None = None
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    functions: Sequence[Path] = ()


@dataclass(slots=True)
class _Text:
    """A runbook as it was found; `path` is None for a published one."""

    content: str
    book: Runbook
    path: Path | None


@contextmanager
def known(db: str | None) -> Generator[Store | None]:
    """Open the database if there is one; a plan is made without it as well."""
    path = bootstrap.sqlite_path(bootstrap.database_url(db))
    if not Path(path).exists():
        yield None
        return
    store = bootstrap.open_store(db, create=False)
    try:
        yield store
    finally:
        store.database.close()


def gather(wanted: Wanted, db: str | None) -> SavedPlan:
    """Bring together what a plan is made from; what is wrong raises `TminusError` before anything is kept."""
    if wanted.members is not None and wanted.query:
        raise TminusError("E401", "--members and --query exclude each other", place="tminus plan", hint="keep one")
    with known(db) as store:
        found = _text(wanted.what, store)
        book = found.book
        check_inputs(book, wanted.data)
        now = store.now() if store is not None else from_datetime(datetime.now(UTC))
        plan = SavedPlan(
            runbook_name=book.name, runbook_text=found.content, batches=(), made_at=now, data=dict(wanted.data)
        )
        if found.path is not None:
            plan = replace(plan, files=(_planned_file(found.path),))
        if wanted.members is not None:
            plan = _from_file(wanted.members, wanted.at, book, plan)
        elif wanted.at is not None and book.data_source.type not in {"manual", "event"}:
            hint = "leave --at out, or hand the members in with --members"
            raise TminusError("E401", "the source names its own times", place="--at", hint=hint)
        else:
            plan = from_source(book, plan)
        around = Surroundings()
        if store is not None:
            plan = without_living(store, plan)
            with store.database.read() as tx:
                around = surroundings.look(tx, book.name)
    return replace(plan, around=_offering(around, wanted, found.path))


def _planned_file(path: Path) -> PlannedFile:
    return PlannedFile(path=str(path.resolve()), digest=digest_of_file(path))


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _text(what: str, store: Store | None) -> _Text:
    """Return the runbook of a file, or the active one of a name."""
    path = Path(what)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        return _Text(*runbook_of(path), path)
    if store is None:
        hint = "name a file, or a published runbook of the database that --db names"
        raise TminusError("E521", "there is no such file, and no database to look in", place=what, hint=hint)
    with store.database.read() as tx:
        row = runbooks.one(tx, what)
        if row is None:
            raise missing(tx, what)
    content = str(row["yaml_content"])
    return _Text(content, load(content), None)


def _from_file(path: Path, at: str | None, book: Runbook, plan: SavedPlan) -> SavedPlan:
    """Plan one batch of the members in a file."""
    t0, note = (None, None) if at is None else local_time(at, book.timezone)
    found = member_file(path, book)
    batch = PlannedBatch(
        t0=t0,
        members=tuple((row.key, row.data) for row in found.rows),
        places=tuple(row.place for row in found.rows),
    )
    return replace(
        plan,
        batches=(batch,),
        columns=found.columns,
        notes=(*found.notes, *((note,) if note else ())),
        files=(*plan.files, _planned_file(path)),
    )


def from_source(book: Runbook, plan: SavedPlan) -> SavedPlan:
    """Ask the runbook's own source once, and plan a batch for each of its times."""
    if book.data_source.type in {"manual", "event"}:
        kind = "an event" if book.data_source.type == "event" else "a manual"
        hint = "name the members: --members CSV"
        raise TminusError("E454", f"{kind} runbook has no source to ask", place=book.name, hint=hint)
    with answer_of(book) as answer:
        groups: dict[Instant, list[SourceRow]] = {}
        for row in answer.rows:
            groups.setdefault(row.batch_time or slot_of(plan.made_at), []).append(row)
        problems = tuple((one.key or "", one.place, one.code, one.message) for one in answer.problems)
        more = answer.problem_count - len(problems)
        notes = (*answer.notes, *((f"{more:,} more rows of the source are faulty",) if more > 0 else ()))
        batches = tuple(
            PlannedBatch(
                t0=time,
                source_time=time,
                members=tuple((row.key, row.data) for row in rows),
                places=tuple(row.place for row in rows),
            )
            for time, rows in sorted(groups.items())
        )
        if not batches and not problems:
            raise TminusError("E454", "the source names nobody", place=book.name)
        return replace(plan, batches=batches, columns=answer.columns, faulty=problems, notes=notes)


def without_living(store: Store, plan: SavedPlan) -> SavedPlan:
    """Leave out the members who live in an open batch, and rows that a source would not run again."""
    found: list[PlannedBatch] = []
    faulty, notes = list(plan.faulty), list(plan.notes)
    with store.database.read() as tx:
        for batch in plan.batches:
            keys = [key for key, _ in batch.members]
            homes = {key: home.batch_id for key, home in surroundings.living(tx, plan.runbook_name, keys).items()}
            done: dict[str, int] = {}
            made = None
            if batch.source_time is not None:
                done = surroundings.ended(tx, plan.runbook_name, [key for key in keys if key not in homes])
                made = surroundings.batch_at(tx, plan.runbook_name, batch.source_time)
            places = batch.places or ("",) * len(keys)
            left = [(one, place) for one, place in zip(batch.members, places, strict=True) if one[0] not in homes]
            faulty += [
                (one[0], place, "E363", f"ended done in batch {done[one[0]]}; running it again is an explicit act")
                for one, place in left
                if one[0] in done
            ]
            left = [pair for pair in left if pair[0][0] not in done]
            if made is not None and left:
                notes.append(f"{len(left):,} would join batch {made}: its source's next answer does that, not the plan")
                left = []
            found.append(
                replace(
                    batch,
                    members=tuple(one for one, _ in left),
                    places=tuple(place for _, place in left),
                    left_out=tuple(sorted(homes.items())),
                )
            )
    return replace(plan, batches=tuple(found), faulty=tuple(faulty), notes=tuple(notes))


def _offering(around: Surroundings, wanted: Wanted, runbook: Path | None) -> Surroundings:
    """Say which functions are on offer: in the files named, else beside the runbook, else at the workers."""
    files = list(wanted.functions)
    beside = (runbook.parent if runbook is not None else Path()) / "functions.py"
    if not files and beside.is_file():
        files = [beside]
    if not files:
        return around
    try:
        offered = read_offered(files)
    except TminusError:
        if wanted.functions:
            raise
        # Nobody asked about the file that lies there; that it is broken is said by whoever loads it.
        return around
    named = ", ".join(path.name for path in files)
    return replace(around, offered=tuple(offered.names), offered_by=named, offered_whole=offered.whole)
