"""`tminus demo`: a wave from T-5d to T+2d10h on the real engine and a virtual clock, in a database that stays.

On a terminal it is a live picture; in a pipe, or headless, only the end is told. Nothing real is touched: the members,
the source and the workers are a story, and no credential is held.
"""

import os
import shlex
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, cast

import typer

from tminus import bootstrap
from tminus.bootstrap import Play
from tminus.cli import output, telling
from tminus.cli.clocks import t_clock
from tminus.cli.demo import story
from tminus.cli.exits import Exit
from tminus.cli.options import Format
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, between_s, from_datetime, plus, to_datetime
from tminus.engine.rehearse.crew import Crew
from tminus.engine.rehearse.driver import Rehearsal
from tminus.engine.rehearse.listed import ListedSource
from tminus.runbook import load
from tminus.store.discovery import set_automation
from tminus.store.insights.outcome import outcome
from tminus.store.promises import check
from tminus.store.rehearsal import RehearsalStore

Record = dict[str, object]
FILES = ("runbook.yaml", "functions.py")
BEFORE_S = 5 * 86_400.0 + 7_200.0


def demo(
    *,
    headless: Annotated[bool, typer.Option("--headless", help="Draw nothing; tell the end.")] = False,
    speed: Annotated[
        float | None, typer.Option("--speed", metavar="N", min=1.0, help="N virtual seconds in a second; else paced.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where its files go; a temporary folder without it.")
    ] = None,
    shape: Format = "table",
) -> int:
    """See a wave from its first phase to its last; nothing real is touched."""
    began = time.perf_counter()
    home = _home(folder)
    text = resources.files("tminus.cli.demo").joinpath("runbook.yaml").read_text("utf-8")
    t0 = story.t0_before(_now())
    source = ListedSource(story.COLUMNS, story.rows((key for key in story.EVERYBODY if key != story.JOINS), t0))
    play = Play(text=text, runbook=load(text), source=source)
    start = _whole_minute(plus(t0, -BEFORE_S))
    store, rehearsal = bootstrap.stage(play, Crew(script=story.script), start, path=str(home / "demo.db"))
    story.plan_changes(rehearsal, source, t0)
    _write_files(home, t0)
    draws = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    quiet = headless or shape not in {"table", "wide"} or not draws
    if not quiet or shape in {"table", "wide"}:
        telling.paragraph(
            "tminus demo: 12 people move from contoso.example to fabrikam.example. Nothing real is touched."
        )
    try:
        if quiet:
            rehearsal.run()
        else:
            _show(store, rehearsal, speed)
        return _end(store, rehearsal, (start, t0), time.perf_counter() - began, shape)
    finally:
        store.database.close()


def _now() -> Instant:
    """Return the present by this machine: a story that is over by now can be gone on with."""
    return from_datetime(datetime.now(UTC))


def _whole_minute(at: Instant) -> Instant:
    return from_datetime(to_datetime(at).replace(second=0, microsecond=0))


def _home(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="tminus-demo-"))
    if (folder / "demo.db").exists():
        hint = "name another folder: tminus demo --dir DIR"
        raise TminusError("E411", "there is a file already", place=str(folder / "demo.db"), hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _write_files(home: Path, t0: Instant) -> None:
    """Leave what one needs to go on with the story by hand."""
    for name in FILES:
        (home / name).write_bytes(resources.files("tminus.cli.demo").joinpath(name).read_bytes())
    keys = [key for key in story.EVERYBODY if key != story.LEAVES]
    (home / "members.csv").write_text(story.lines(keys, t0), encoding="utf-8")


def _show(store: RehearsalStore, rehearsal: Rehearsal, speed: float | None) -> None:
    from tminus.cli.stage import Stage  # noqa: PLC0415 - Rich costs a terminal alone.

    with Stage(store, speed) as stage:
        rehearsal.watcher = stage.watch
        rehearsal.run()
        stage.draw(store.now())


def _end(
    store: RehearsalStore, rehearsal: Rehearsal, times: tuple[Instant, Instant], spent_s: float, shape: output.Shape
) -> int:
    """Tell the end, and leave a database that nothing asks for members any more."""
    start, t0 = times
    with store.database.write() as tx:
        set_automation(tx, "wave-1", store.now(), enabled=False, actor="demo", reason="the story is over")
    with store.database.read() as tx:
        found, broken = outcome(tx), check(tx)
    if broken or rehearsal.refused:
        raise TminusError("E591", f"the demo broke a promise: {broken or rehearsal.refused}", hint="report it")
    counts = cast("dict[str, int]", found["members"])
    hours = between_s(start, store.now()) / 3600
    record: Record = {
        "members": found["members_total"],
        "succeeded": counts.get("done", 0),
        "failed": counts.get("failed", 0),
        "removed": counts.get("removed", 0),
        "joined_late": found["joined_late"],
        "rolled_back": found["rolled_back"],
        "virtual_hours": round(hours, 1),
        "seconds": round(spent_s, 2),
        "database": store.database.path,
    }
    if shape not in {"table", "wide"}:
        output.one(record, shape, name="database")
        return Exit.DONE
    telling.paragraph(
        f"Done in {spent_s:.1f} s ({t_clock(t0, start)} to {t_clock(t0, store.now())} = {hours:.0f} rehearsed hours).  "
        f"{record['succeeded']} moved · {record['failed']} failed · {record['removed']} left (cleaned up) · "
        f"{record['joined_late']} joined late (caught up)"
    )
    for failure in cast("list[Record]", found["failures"]):
        where = f"{failure['sequence']}/{failure['step_name']}"
        telling.paragraph(f'{story.FAILS} failed at {where}: "{failure["error_message"]}"; rolled back.')
    home = Path(store.database.path).parent
    telling.say(f"its database, runbook and functions are in {home}; what is tried again goes on with")
    telling.say(shlex.join(["tminus", "up", "--db", store.database.path, "--functions", str(home / "functions.py")]))
    telling.suggest(f"tminus why {story.FAILS} --db {store.database.path}")
    return Exit.DONE
