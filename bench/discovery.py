"""Discovery benchmark: what a large answer costs from the file to the members, and what it makes others wait.

Run `make bench-discovery`. Every figure is measured in this run on a database file with `synchronous=FULL`, through the
loop of discovery; the last line is one JSON object. A first sync reads the file, keeps every row and makes batches of
500 with all members and phases. `unchanged_s` is a file that nobody touched, `rewritten_s` one that was written anew
with the same rows; `time_500k_over_50k` says what ten times as many rows take.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import Instant, plus
from tminus.engine.discovery import Discovery
from tminus.runbook import load
from tminus.sources.csv import CsvSource
from tminus.store.discovery import DiscoveryStore, set_automation
from tminus.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator

    from tminus.db.connection import Tx

BOOK = """\
name: bench
data_source: {type: csv, connection: MEMBERS, primary_key: Upn, batch_time_column: Wave}
phases:
  - {name: prepare, offset: T-5d, steps: [{name: make, worker_id: w, function: Make, params: {u: "{{Upn}}"}}]}
  - {name: cut, offset: T-0, steps: [{name: switch, worker_id: w, function: Switch, params: {u: "{{Upn}}"}}]}
"""
BATCH = 500


class Timed(Database):
    """A database that remembers how long its lock was held at a time."""

    longest_s = 0.0

    @contextmanager
    def write(self) -> Generator[Tx]:
        """Time a transaction."""
        start = time.perf_counter()
        with super().write() as tx:
            yield tx
        self.longest_s = max(self.longest_s, time.perf_counter() - start)

    @contextmanager
    def read(self) -> Generator[Tx]:
        """Time a read: it holds the same lock."""
        start = time.perf_counter()
        with super().read() as tx:
            yield tx
        self.longest_s = max(self.longest_s, time.perf_counter() - start)


class Bench:
    """One source, one database, one clock."""

    def __init__(self, folder: Path, rows: int, batch: int = BATCH) -> None:
        """Write the file and publish the runbook."""
        self.path = folder / f"members-{rows}-{batch}.csv"
        self.rows, self.batch, self.now = rows, batch, Instant("2026-01-01T00:00:00.000Z")
        self.writes = 0
        self.database = Timed(open_sqlite(str(folder / f"bench-{rows}-{batch}.db")))
        store = Store.open(self.database, clock=lambda: self.now)
        store.publish(load(BOOK), BOOK)
        with self.database.write() as tx:
            set_automation(tx, "bench", self.now, enabled=True, actor="bench")
        source = CsvSource({"MEMBERS": str(self.path)}.get)
        self.discovery = Discovery(DiscoveryStore(store), lambda _source: source)
        self.write({})

    def write(self, changed: dict[int, str], left: int = 0) -> None:
        """Write the table, some rows with other data, some left out."""
        with self.path.open("w", encoding="utf-8") as out:
            out.write("Upn,Wave,Name,Department,City,Manager,License,Size,Archive\n")
            for number in range(left, self.rows):
                wave = number // self.batch
                when = (
                    f"2026-{2 + wave // 700:02d}-{1 + wave // 25 % 28:02d} {wave % 25 % 24:02d}:{wave // 24 % 60:02d}"
                )
                name = changed.get(number, f"Person {number}")
                out.write(f"user-{number:06d}@contoso.example,{when},{name},Sales,Berlin,boss,E5,{number},true\n")
        self.writes += 1
        os.utime(self.path, (1_600_000_000 + self.writes, 1_600_000_000 + self.writes))

    def sync(self) -> tuple[float, float]:
        """Ask and take; return the seconds, and the longest that the lock was held."""
        self.now = plus(self.now, 300)
        self.database.longest_s = 0.0
        start = time.perf_counter()
        while True:
            pause = self.discovery.tick(self.now)
            if self.discovery.is_idle:
                break
            if pause:
                time.sleep(0.002)
        return time.perf_counter() - start, self.database.longest_s

    def count(self, sql: str) -> int:
        """Count rows."""
        with self.database.read() as tx:
            row = tx.one(sql)
        return int(row[0] or 0) if row else 0


def measure(folder: Path, rows: int) -> dict[str, float]:
    """Measure one size."""
    bench = Bench(folder, rows)
    first_s, longest_s = bench.sync()
    if bench.count("SELECT count(*) FROM batch_members WHERE status = 'active'") != rows:
        raise SystemExit("the first sync did not take every row")
    same_s, _ = bench.sync()
    bench.write({})
    rewritten_s, rewritten_longest_s = bench.sync()
    bench.write({7: "Somebody Else"})
    one_s, one_longest_s = bench.sync()
    bench.write(dict.fromkeys(range(0, rows, 10), "Somebody Else"))
    tenth_s, tenth_longest_s = bench.sync()
    if bench.count("SELECT count(*) FROM batch_members WHERE data_json LIKE '%Somebody%'") != rows // 10:
        raise SystemExit("the members did not follow their rows")
    return {
        "rows": rows,
        "batches": bench.count("SELECT count(*) FROM batches"),
        "first_s": round(first_s, 3),
        "unchanged_s": round(same_s, 4),
        "rewritten_s": round(rewritten_s, 3),
        "one_row_changed_s": round(one_s, 3),
        "tenth_changed_s": round(tenth_s, 3),
        "longest_lock_s": round(max(longest_s, rewritten_longest_s, one_longest_s, tenth_longest_s), 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, to see that it runs")
    rows = 1_000 if parser.parse_args().smoke else 50_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        usual = measure(folder, rows)
        whole_s, whole_longest_s = Bench(folder, rows, batch=rows).sync()
        large = measure(folder, rows * 10)
    figures = {
        "usual": usual,
        "one_batch": {"rows": rows, "first_s": round(whole_s, 3), "longest_lock_s": round(whole_longest_s, 3)},
        "large": large,
        "time_500k_over_50k": round(large["first_s"] / usual["first_s"], 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    for name, value in figures.items():
        print(f"{name:20} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
