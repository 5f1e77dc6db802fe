"""Setting a rehearsal up from what a command line or a case names: a runbook, members, times, faults.

Members come from a CSV file that is handed in, or from the runbook's own source, asked once. From then on nothing
reaches outside: no worker, no source, no credential. The clock begins shortly before the first phase, so that the same
input gives the same history at any time of any day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus import bootstrap
from tminus.bootstrap import Cohort, Play
from tminus.cli.offline import check
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, from_datetime, plus, to_datetime
from tminus.engine.rehearse.crew import Crew
from tminus.engine.rehearse.fault import parse_fault
from tminus.engine.rehearse.listed import ListedSource
from tminus.ports.source import Answer, Question
from tminus.runbook import load
from tminus.runbook.offset import Offset
from tminus.runbook.zones import local_time
from tminus.sources.manual import read_member_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tminus.engine.rehearse.driver import Gates, Rehearsal
    from tminus.runbook.model import Runbook
    from tminus.runbook.plan import SavedPlan
    from tminus.store.rehearsal import RehearsalStore

BEFORE_S: Final = 3_600.0
# Where nothing has a time, the story begins at a time that is always the same.
ONCE: Final = Instant("2026-01-01T00:00:00.000Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be rehearsed, as it was given."""

    file: Path
    members: Path | None = None
    at: str | None = None
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    seed: int = 0
    faults: Sequence[str] = ()
    gates: Gates = "approve"
    until: str | None = None
    start: str | None = None


@dataclass(slots=True, kw_only=True)
class Staged:
    """A rehearsal that may begin."""

    play: Play
    store: RehearsalStore
    rehearsal: Rehearsal
    start: Instant
    until: Instant | None
    notes: list[str]


def stage(wanted: Wanted, play: Play | None = None) -> Staged:
    """Set a rehearsal up; everything that is wrong is said before anything runs. `play` stands for file and members."""
    notes: list[str] = []
    crew = Crew(seed=wanted.seed, faults=[parse_fault(text) for text in wanted.faults])
    if play is None:
        play = _play(wanted, runbook_of(wanted.file), notes)
    start = _start(wanted, play)
    until = None if wanted.until is None else _until(wanted.until, play)
    store, rehearsal = bootstrap.stage(play, crew, start, gates=wanted.gates)
    return Staged(play=play, store=store, rehearsal=rehearsal, start=start, until=until, notes=notes)


def runbook_of(file: Path) -> tuple[str, Runbook]:
    """Return the text of a runbook's file, and what it says; the first of its errors is raised."""
    verdict, text = check(file)
    if verdict.runbook is None:
        first, count = verdict.errors[0], len(verdict.errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        place = f"{file}:{first.line}:{first.column}"
        raise TminusError(first.code, f"{first.message}{more}", place=place, hint="see tminus validate")
    decoded = text.decode("utf-8-sig")
    return decoded, load(decoded)


def _play(wanted: Wanted, read: tuple[str, Runbook], notes: list[str]) -> Play:
    text, book = read
    check_inputs(book, wanted.data)
    if wanted.members is None:
        return Play(text=text, runbook=book, source=_listed(wanted, book, notes))
    found = read_member_file(wanted.members, book.data_source, timezone=book.timezone)
    if not found.ok:
        raise found.error()
    notes += found.notes
    t0 = None
    if wanted.at is not None:
        t0, note = local_time(wanted.at, book.timezone)
        notes += [note] if note else []
    members = [(row.key, row.data) for row in found.rows]
    return Play(text=text, runbook=book, cohorts=[Cohort(members, t0)], data=wanted.data)


def check_inputs(book: Runbook, data: Mapping[str, str]) -> None:
    """Raise `TminusError` where a batch would not bring all that its runbook wants of it."""
    missing = [name for name in book.inputs if name not in data]
    if missing:
        hint = "give them with --data NAME=VALUE"
        raise TminusError("E364", f"the batch brings no {', '.join(missing)}", place=book.name, hint=hint)


def answer_of(book: Runbook) -> Answer:
    """Ask a runbook's own source once; nothing is kept of it here."""
    answer = bootstrap.open_source(book.data_source).ask(Question(data_source=book.data_source, timezone=book.timezone))
    if not isinstance(answer, Answer):
        raise TminusError("E360", "the source gave no rows", place=book.name)
    return answer


def play_of(plan: SavedPlan) -> Play:
    """Return what a saved plan would make."""
    cohorts = [Cohort(batch.members, batch.t0, batch.source_time) for batch in plan.batches]
    return Play(text=plan.runbook_text, runbook=load(plan.runbook_text), cohorts=cohorts, data=plan.data)


def _listed(wanted: Wanted, book: Runbook, notes: list[str]) -> ListedSource:
    """Ask the runbook's own source once, and go on with what it said."""
    if book.data_source.type in {"manual", "event"}:
        hint = "name them: --members members.csv"
        raise TminusError("E432", "nobody is named who would take part", place=str(wanted.file), hint=hint)
    if wanted.at is not None:
        hint = "leave --at out, or hand the members in with --members"
        raise TminusError("E432", "the source names its own times", place="--at", hint=hint)
    with answer_of(book) as answer:
        rows = list(answer.rows)
        notes += [str(problem) for problem in answer.problems[:10]]
        notes += [f"{answer.problem_count:,} rows were left out"] if answer.problem_count else []
        if not rows:
            raise TminusError("E432", "the source names nobody", place=book.name)
        return ListedSource(answer.columns, rows)


def t0s(play: Play) -> list[Instant]:
    """Return the T-0 of every batch that there will be, the earliest first; empty when none has one."""
    if play.source is not None:
        return sorted({row.batch_time for row in play.source.rows if row.batch_time is not None})
    return sorted({cohort.t0 for cohort in play.cohorts if cohort.t0 is not None})


def _start(wanted: Wanted, play: Play) -> Instant:
    """Begin an hour before the first phase, at a whole minute, unless something else was asked for."""
    if wanted.start is not None:
        return local_time(wanted.start, play.runbook.timezone)[0]
    times = t0s(play)
    if not times:
        return ONCE
    zone = play.runbook.timezone
    first = min(times[0], *(phase.offset.due_at(times[0], zone) for phase in play.runbook.phases))
    return from_datetime(to_datetime(plus(first, -BEFORE_S)).replace(second=0, microsecond=0))


def _until(text: str, play: Play) -> Instant:
    """Read `T+7d` (of the last T-0) or a time."""
    if not text.startswith(("T+", "T-")):
        return local_time(text, play.runbook.timezone)[0]
    times = t0s(play)
    if not times:
        raise TminusError("E406", "there is no T-0 to count from", place="--until", hint="write a time")
    return Offset.parse(text).due_at(times[-1], play.runbook.timezone)
