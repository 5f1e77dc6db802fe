"""The doctor: is this database what it may be, and does this machine have what tminus needs? It only looks."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tminus.cli import output, telling
from tminus.cli.codes import PROMISE_BROKEN
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.reporting import named
from tminus.cli.session import opened
from tminus.db.migrate import known
from tminus.domain.instant import between_s, from_datetime
from tminus.store.insights import workers
from tminus.store.insights.records import Record
from tminus.store.promises import check
from tminus.store.store import Store

OLDEST_SQLITE = (3, 38, 0)
CLOCK_S_MAX = 5.0
Check = dict[str, object]


def doctor(*, shape: Format = "table", db: Db = None) -> int:
    """Check the database and its surroundings."""
    with opened(db) as store:
        checks = [_python(), _sqlite(), *_database(store), _clock(store)]
        with store.database.read() as tx:
            broken = check(tx)
            processes = workers.at_work(tx, store.now())
    checks.append(_workers(processes))
    checks.append(_said("promises", not broken, f"{len(broken):,} broken" if broken else "all hold"))
    violations = [{"promise": one.promise, "message": one.message} for one in broken]
    well = all(bool(one["ok"]) for one in checks)
    if shape in {"table", "wide"}:
        for one in checks:
            telling.write(f"{'ok   ' if one['ok'] else 'BAD  '} {one['name']:<10} {one['message']}")
        for found in broken:
            telling.say(f"{PROMISE_BROKEN.code} {found.promise}: {found.message}")
    else:
        output.one({"ok": well, "checks": checks, "violations": violations}, shape, name="ok")
    return Exit.DONE if well else Exit.FAILED


def _said(name: str, ok: bool, message: str) -> Check:
    return {"name": name, "ok": ok, "message": message}


def _python() -> Check:
    return _said("python", sys.version_info >= (3, 11), sys.version.split()[0])


def _sqlite() -> Check:
    return _said("sqlite", sqlite3.sqlite_version_info >= OLDEST_SQLITE, sqlite3.sqlite_version)


def _database(store: Store) -> list[Check]:
    path = Path(store.database.path)
    with store.database.read() as tx:
        at = tx.one("SELECT max(number) FROM migrations")
        mode = tx.one("PRAGMA journal_mode")
        sound = tx.one("PRAGMA quick_check(1)")
    version = int(at[0] or 0) if at else 0
    newest = known()[-1][0]
    can_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return [
        _said("database", sound is not None and sound[0] == "ok", f"{path}, {path.stat().st_size / 1e6:,.1f} MB"),
        _said("version", version == newest, f"{version} of {newest}"),
        _said("journal", mode is not None and mode[0] == "wal", str(mode[0]) if mode else "unknown"),
        _said("writable", can_write, "yes" if can_write else "this account may not write the file or its folder"),
    ]


def _clock(store: Store) -> Check:
    """Compare the clock that decides, the database's, with this machine's: far apart, every screen looks wrong."""
    apart = abs(between_s(store.now(), from_datetime(datetime.now(UTC))))
    return _said("clock", apart <= CLOCK_S_MAX, f"{apart:.1f} s from this machine's")


def _workers(processes: Sequence[Record]) -> Check:
    """Say who is at work. Nobody is no fault: whatever is due waits until somebody is."""
    heard = [str(one["name"]) for one in processes if not one["is_silent"]]
    silent = [str(one["name"]) for one in processes if one["is_silent"]]
    said = f"at work: {named(heard)}" if heard else "nobody is at work; `tminus up` starts"
    return _said("workers", ok=True, message=f"{said}; not heard of: {named(silent)}" if silent else said)
