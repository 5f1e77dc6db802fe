"""`tminus up`: scheduler, orchestrator and workers in one command, until Ctrl-C or until nothing is left to do."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tminus import bootstrap
from tminus.domain.errors import TminusError
from tminus.engine.idle import Standing
from tminus.engine.loop import Settings

if TYPE_CHECKING:
    from types import FrameType

    from tminus.engine.loop import Loop
    from tminus.progression.events import Event


def up(
    db: Annotated[str | None, typer.Option("--db", help="Database, sqlite:///PATH.", envvar="TMINUS_DB")] = None,
    functions: Annotated[
        list[Path] | None, typer.Option("--functions", help="Python file with functions; may be given again.")
    ] = None,
    worker_id: Annotated[
        list[str] | None, typer.Option("--worker-id", help="Worker id to serve; all that runbooks name by default.")
    ] = None,
    tick: Annotated[float, typer.Option("--tick", help="Seconds between looks for due work.", min=0.05)] = 1.0,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing is left to do: 0 well, 3 failures, 5 held.")
    ] = False,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="Serve no dashboard.")] = False,
    children: Annotated[int | None, typer.Option("--children", help="Processes that run functions.", min=1)] = None,
) -> None:
    """Run everything in one process; functions run in child processes."""
    del no_ui  # There is no dashboard yet; the option is there for scripts that will not want it.
    files = [str(path) for path in functions or _own_functions()]
    for path in files:
        if not Path(path).is_file():
            raise TminusError("E601", "there is no such file", place=path, hint="name a Python file with functions")
    store = bootstrap.open_store(db)
    runner = bootstrap.start_runner(files, children=children)
    offered = runner.functions()
    settings = Settings(tick_s=tick, worker_ids=tuple(worker_id or ()), serves=bool(files))
    loop = bootstrap.make_loop(store, runner, settings, report=_complain)
    _say(f"database {store.database.path} - {len(offered)} functions from {', '.join(files) or 'no file'}")
    _catch_signals(loop)
    code = 0
    try:
        loop.run(loop.is_idle if until_idle else None)
    finally:
        loop.close()
        if until_idle and not loop.stopping:
            code = Standing(*store.standing()).exit_code
        store.database.close()
    _say(f"stopped{'' if loop.stopping else ': nothing is left to do now'}")
    raise typer.Exit(code)


def _own_functions() -> list[Path]:
    found = Path("functions.py")
    return [found] if found.is_file() else []


def _catch_signals(loop: Loop) -> None:
    """End cleanly at the first Ctrl-C or SIGTERM, at once at the second."""

    def stop(number: int, _frame: FrameType | None) -> None:
        if loop.stopping:
            raise KeyboardInterrupt
        _say(f"stopping ({signal.Signals(number).name}): jobs in hand may finish; again to end at once")
        loop.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _complain(event: Event, error: Exception) -> None:
    typer.echo(f"refused {type(event).__name__}: {error}", err=True)


def _say(text: str) -> None:
    typer.echo(text, err=True)
