"""`tminus up`: scheduler, orchestrator and workers in one command, until Ctrl-C or until nothing is left to do."""

import signal
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, TypeVar

import typer

from tminus import __version__, bootstrap
from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.reporting import Reporter, ending, named
from tminus.cli.voice import Voice
from tminus.cli.worker_options import Children, Drain, Functions, Isolated, Isolation, Tick, WorkerIds
from tminus.db.connection import DatabaseError
from tminus.domain.errors import TminusError
from tminus.engine.idle import Standing
from tminus.engine.loop import Loop, Settings
from tminus.ports.runner import Runner
from tminus.progression.events import Event
from tminus.store.store import Store

T = TypeVar("T")

# Room may be made and locks are let go, so that these are waited out: nothing is lost meanwhile.
PASSING: Final = frozenset({"E504", "E505"})
RETRY_S: Final = 1.0


def up(
    *,
    functions: Functions = None,
    worker_id: WorkerIds = None,
    tick: Tick = 1.0,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing is left to do: 0 well, 3 failures, 5 held.")
    ] = False,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="Serve no dashboard.")] = False,
    children: Children = None,
    isolation: Isolated = "thread",
    drain: Drain = 10.0,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Run everything in one process; functions run in child processes."""
    del no_ui  # There is no dashboard yet; the option is there for scripts that will not want it.
    files = [str(path) for path in functions or _own_functions()]
    voice = Voice(as_json=shape in {"json", "jsonl"})
    settings = Settings(tick_s=tick, worker_ids=_served_ids(worker_id or ()), drain_s=drain)
    try:
        with _running(files, children, isolation) as runner, _opened(db) as store:
            reporter = Reporter(store, runner, voice, settings.worker_ids)
            loop = bootstrap.make_loop(store, runner, settings, report=_complaining(voice), at_once=until_idle)
            _catch_signals(loop, voice)
            voice.say(_greeting(store, runner, files, settings), "up", database=store.database.path)
            idle = _served(loop, reporter, voice, until_idle=until_idle)
            reporter.look_now()
            code = _code(store, idle=idle, until_idle=until_idle)
            with store.database.read() as tx:
                summary, command = ending(tx)
    finally:
        voice.close()
    said = "nothing is left to do now" if idle else "stopped"
    if shape in {"table", "wide"}:
        telling.say(f"{said}: {summary['message']}")
        telling.suggest(command, db=db)
    else:
        output.one({"idle": idle, "exit_code": code, **summary}, shape, name="exit_code")
    return code


def _served_ids(given: Sequence[str]) -> tuple[str, ...]:
    if not all(one.strip() for one in given):
        hint = "leave the option out to serve all"
        raise TminusError("E406", "an empty text is no worker id", place="--worker-id", hint=hint)
    return tuple(dict.fromkeys(given))


def _own_functions() -> list[Path]:
    found = Path("functions.py")
    return [found] if found.is_file() else []


@contextmanager
def _running(files: Sequence[str], children: int | None, isolation: Isolation) -> Generator[Runner]:
    """Start the children, before any database is made, so that a wrong file leaves nothing behind."""
    runner = bootstrap.start_runner(files, children=children, isolation=isolation)
    try:
        yield runner
    finally:
        runner.close(0)


@contextmanager
def _opened(db: str | None) -> Generator[Store]:
    store = bootstrap.open_store(db)
    try:
        yield store
    finally:
        store.database.close()


def _served(loop: Loop, reporter: Reporter, voice: Voice, *, until_idle: bool) -> bool:
    """Turn the loop until it is told to stop, or until nothing is left to do; tell whether it was that."""
    try:
        _patiently(loop, voice, loop.begin)
        while not loop.stopping:
            busy = _patiently(loop, voice, loop.step)
            _patiently(loop, voice, reporter.look)
            if until_idle and not busy and not loop.work.in_hand and _patiently(loop, voice, loop.is_idle):
                return True
        return False
    finally:
        loop.close()


def _greeting(store: Store, runner: Runner, files: Sequence[str], settings: Settings) -> str:
    ids = named(settings.worker_ids) if settings.worker_ids else "all"
    count = len(runner.functions())
    offered = f"{count} function{'' if count == 1 else 's'} from {', '.join(files)}"
    return f"tminus {__version__} - database {store.database.path} - {offered} - worker ids: {ids} - Ctrl-C stops"


def _code(store: Store, *, idle: bool, until_idle: bool) -> int:
    """Return the exit code: how everything stands where that was waited for, else that it was stopped."""
    if idle:
        return Standing(*store.standing()).exit_code
    return Exit.INTERRUPTED if until_idle else Exit.DONE


def _patiently(loop: Loop, voice: Voice, do: Callable[[], T]) -> T | None:
    """Do something, and where the database fails in a way that passes, wait and do it again.

    What workers have answered waits in memory until it can be written, so that nothing is lost by going on.
    """
    try:
        return do()
    except DatabaseError as error:
        _raise_lasting(error)
        voice.say(f"{error}; trying again every second", "database_fails", code=error.code)
    began = time.monotonic()
    while not loop.stopping:
        time.sleep(RETRY_S)
        try:
            loop.catch_up()
            done = do()
        except DatabaseError as error:
            _raise_lasting(error)
        else:
            voice.say(f"the database works again after {time.monotonic() - began:,.0f} s", "database_mended")
            return done
    return None


def _raise_lasting(error: DatabaseError) -> None:
    if error.code not in PASSING:
        raise error


def _catch_signals(loop: Loop, voice: Voice) -> None:
    """End cleanly at the first Ctrl-C, SIGTERM or hang-up, at once at the second."""

    def stop(number: int, _frame: FrameType | None) -> None:
        if loop.stopping:
            raise KeyboardInterrupt
        name = signal.Signals(number).name
        voice.say(f"stopping ({name}): jobs in hand may finish; again to end at once", "stopping", signal=name)
        loop.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup has it ignored, and means to.
        signal.signal(signal.SIGHUP, stop)


def _complaining(voice: Voice) -> Callable[[Event, Exception], None]:
    def complain(event: Event, error: Exception) -> None:
        voice.say(f"refused {type(event).__name__}: {error}", "refused")

    return complain
