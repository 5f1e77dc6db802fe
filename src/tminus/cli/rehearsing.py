"""`tminus rehearse`: the whole countdown on a virtual clock, with faults, and a verdict."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from tminus.bootstrap import Play
from tminus.cli import output, telling
from tminus.cli.clocks import span, t_clock
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.playing import Staged, Wanted, play_of, stage, t0s
from tminus.cli.progress import Progress
from tminus.cli.rehearsed import Rehearsed, finish, history_of, tell
from tminus.cli.session import opened, pairs
from tminus.cli.whys import typed
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, between_s
from tminus.runbook.case import Case, parse_case
from tminus.store import plans

LARGEST = 1 << 20

What = Annotated[str, typer.Argument(metavar="FILE|PLAN", help="A runbook, or a saved plan; runbook.yaml without it.")]
Members = Annotated[
    Path | None, typer.Option("--members", metavar="CSV", help="Who takes part; else the runbook's source is asked.")
]
At = Annotated[str | None, typer.Option("--at", metavar="T0", help='T-0, such as "2026-12-04 22:00 Europe/Berlin".')]
Data = Annotated[list[str] | None, typer.Option("--data", metavar="NAME=VALUE", help="What the batch brings.")]
Faults = Annotated[
    list[str] | None,
    typer.Option("--fault", metavar="SPEC", help="STEP:fail@3, WORKER:429@10%, STEP:slow@2m, '*:lost@1%'."),
]
Seed = Annotated[int | None, typer.Option("--seed", help="The same seed gives the same history; 0 without it.")]
Gate = Literal["approve", "reject", "wait"]
Answers = Annotated[Gate | None, typer.Option("--gates", help="What people at the gates say; approve without it.")]
Until = Annotated[str | None, typer.Option("--until", metavar="T+7d", help="Stop there: an offset of T-0, or a time.")]
Start = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Begin there; an hour before the first phase without it.")
]
Speed = Annotated[
    float | None, typer.Option("--speed", metavar="N", min=1.0, help="At most N virtual seconds in a second.")
]
Expect = Annotated[
    Path | None, typer.Option("--expect", metavar="FILE", help="What must come out; exit 1 where it does not.")
]
History = Annotated[
    Path | None, typer.Option("--history", metavar="FILE", help="Write every change of state there, a line each.")
]


def rehearse(
    what: What = "runbook.yaml",
    *,
    members: Members = None,
    at: At = None,
    data: Data = None,
    fault: Faults = None,
    seed: Seed = None,
    gates: Answers = None,
    until: Until = None,
    start: Start = None,
    speed: Speed = None,
    expect: Expect = None,
    history: History = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Rehearse a runbook: nothing real is asked, called or changed."""
    case = Case() if expect is None else read_case(expect)
    beside = Path() if expect is None else expect.parent
    wanted = Wanted(
        file=Path(what),
        members=members or (beside / case.members if case.members else None),
        at=at or case.at,
        data={**case.data, **pairs(data, "--data")},
        seed=seed if seed is not None else case.seed or 0,
        faults=fault or case.faults,
        gates=gates or cast("Gate", case.gates or "approve"),
        until=until or case.until,
        start=start,
    )
    plan = _planned(wanted, db)
    staged = stage(wanted, plan)
    began = time.perf_counter()
    with Progress("rehearsing") as progress:
        staged.rehearsal.watcher = pace(speed) if speed is not None else told(staged, progress)
        staged.rehearsal.run(staged.until)
        progress.say("looking at what came out")
        done = finish(staged, wanted, None if expect is None else case.expect)
    spent_s = time.perf_counter() - began
    if history is not None:
        _write_history(staged, history)
    if shape in {"table", "wide"}:
        tell(done, staged, spent_s)
        if plan is not None:
            telling.suggest(typed(["tminus", "apply", what]), db=db)
    else:
        output.one(done.record, shape, name="runbook_name")
    staged.store.database.close()
    return _exit(done)


def _planned(wanted: Wanted, db: str | None) -> Play | None:
    """Return what a saved plan would make; None where a file was named."""
    if wanted.file.suffix in {".yaml", ".yml"} or wanted.file.exists():
        return None
    if wanted.members is not None or wanted.at is not None or wanted.data:
        hint = "leave them out, or name a runbook's file"
        raise TminusError("E401", "a plan holds its members, times and data", place=str(wanted.file), hint=hint)
    with opened(db) as store, store.database.read() as tx:
        return play_of(plans.read(tx, str(wanted.file)).plan)


def _exit(done: Rehearsed) -> int:
    """Return the exit code; a rehearsal with expectations is judged by them alone."""
    if done.differences is None:
        return done.exit_code
    return Exit.FAILED if done.differences else Exit.DONE


def pace(speed: float) -> Callable[[Instant, Instant], None]:
    """Return a watcher that lets no more than so many virtual seconds pass in one."""
    return lambda now, then: time.sleep(between_s(now, then) / speed)


def told(staged: Staged, progress: Progress) -> Callable[[Instant, Instant], None]:
    """Return a watcher that says where the countdown is."""
    times = t0s(staged.play)
    t0 = times[0] if times else None

    def tell_time(now: Instant, _: Instant) -> None:
        clock = t_clock(t0, now) if t0 is not None else span(between_s(staged.start, now))
        progress.say(f"rehearsing  {clock}  {staged.rehearsal.jobs:,} jobs")

    return tell_time


def read_case(path: Path) -> Case:
    """Read a case; raises the first of its errors, with how many more there are."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise TminusError("E121", f"cannot be opened: {error.strerror}", place=str(path)) from error
    case, problems = parse_case(text)
    if case is None:
        first, count = problems[0], len(problems)
        more = f" (and {count - 1} more)" if count > 1 else ""
        place = f"{path}:{first.line}:{first.column}"
        raise TminusError(first.code, f"{first.message}{more}", place=place, hint=first.hint)
    return case


def _write_history(staged: Staged, path: Path) -> None:
    with path.open("wb") as file:
        for line in history_of(staged):
            file.write(line)
    telling.say(f"history in {path}")
