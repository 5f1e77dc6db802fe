"""Store benchmark: results applied per second, and what a large phase costs to open.

Run `make bench-store`. Every figure is measured in this run on a database file with `synchronous=FULL`; the last line
is one JSON object. A "result applied" is the whole success path in one transaction of 500: result recorded, next step
dispatched with resolved parameters, attempt, history, counters, outbox.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import Instant, plus
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.store import sweeps
from tminus.store.cohort import NewBatch
from tminus.store.store import Asking, Store

if TYPE_CHECKING:
    from tminus.store.claims import Claim

Sent = tuple[int, str]
"""An execution and the id of its job."""

T0 = Instant("2026-01-01T00:00:00.000Z")
MICRO_BATCH = 500


def runbook(steps: int) -> str:
    """Write a runbook of one phase with this many steps."""
    lines = ["name: bench", "data_source: {type: manual, primary_key: upn}", "phases:", "  - name: go"]
    lines += ["    offset: T-0", "    steps:"]
    for index in range(steps):
        value = "{{upn}}" if index == 0 else "{{Target}}"
        lines.append(
            f'      - {{name: s{index}, worker_id: w, function: "New-User", output_params: {{Target: id}},'
            f' params: {{UserPrincipalName: "{value}", DisplayName: "{{{{name}}}}"}}}}'
        )
    return "\n".join(lines)


class Clock:
    """A clock that the benchmark sets."""

    def __init__(self) -> None:
        """Start at T-0."""
        self.now = T0

    def __call__(self) -> Instant:
        """Return the instant."""
        return self.now


def prepare(folder: Path, name: str, members: int, steps: int, window: int) -> tuple[Store, Clock]:
    """Make a store with one batch whose phase is due."""
    clock = Clock()
    store = Store.open(Database(open_sqlite(str(folder / name))), clock=clock, window=window)
    text = runbook(steps)
    store.publish(load(text), text)
    rows = [
        (f"user-{i:06d}@contoso.example", json.dumps({"upn": f"u{i}", "name": f"User {i}"})) for i in range(members)
    ]
    store.create_batch(NewBatch("bench", rows, t0=T0, kind="manual"))
    clock.now = plus(T0, 1)
    return store, clock


def open_phase(store: Store) -> float:
    """Open the due phase chunk by chunk; return the longest transaction in seconds."""
    longest = 0.0
    for look in (sweeps.phases_due, sweeps.phases_opening):
        while page := store.sweep(look).events:
            start = time.perf_counter()
            store.round(page, turn=False)
            longest = max(longest, time.perf_counter() - start)
    return longest


def start_lanes(store: Store) -> float:
    """Start the waiting lanes; return the longest transaction in seconds."""
    longest = 0.0
    while True:
        start = time.perf_counter()
        if not store.wake():
            return longest
        longest = max(longest, time.perf_counter() - start)


def send_all(store: Store) -> list[Sent]:
    """Dispatch and claim everything that is ready."""
    found: list[Sent] = []
    while claimed := sent(store.round((), [Asking("w", "bench", MICRO_BATCH)]).claimed):
        found += claimed
    return found


def sent(claimed: list[Claim]) -> list[Sent]:
    """Keep of each job what its answer needs: the rest is with the workers, of which this process is none."""
    return [(job.execution_id, job.job_id) for job in claimed]


def answer(store: Store, jobs: list[Sent], *, shuffled: bool = False) -> tuple[int, float]:
    """Answer jobs in micro-batches until nothing comes back; return how many results and the seconds they took."""
    done, spent = 0, 0.0
    chance = random.Random(7)
    waiting = jobs
    while waiting:
        if shuffled:
            chance.shuffle(waiting)
        following: list[Sent] = []
        for at in range(0, len(waiting), MICRO_BATCH):
            part = waiting[at : at + MICRO_BATCH]
            events = [ev.ResultArrived(row_id, job_id, result_json='{"id":"x1"}') for row_id, job_id in part]
            start = time.perf_counter()
            round_ = store.round(events, [Asking("w", "bench", MICRO_BATCH)])
            spent += time.perf_counter() - start
            following += sent(round_.claimed)
            done += round_.handled
            if round_.refused:
                sys.exit(f"refused: {round_.refused[0]}")
        waiting = following
    return done, spent


def throughput(folder: Path, name: str, members: int, steps: int, *, shuffled: bool = False) -> float:
    """Return results applied per second for a batch that runs to its end."""
    window = members if shuffled else MICRO_BATCH
    store, _ = prepare(folder, name, members, steps, window)
    open_phase(store)
    start_lanes(store)
    jobs = send_all(store) if shuffled else sent(store.round((), [Asking("w", "bench", MICRO_BATCH)]).claimed)
    done, spent = answer(store, jobs, shuffled=shuffled)
    if done != members * steps:
        sys.exit(f"{done} results of {members * steps}")
    store.database.close()
    return done / spent


def peak_mb() -> int:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, to see that it runs")
    small = parser.parse_args().smoke
    many, wide, steps = (1_000, 2_000, 3) if small else (20_000, 50_000, 5)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        throughput(folder, "warm.db", 500, 3)
        # What opening takes of memory is looked at before anything else has taken some.
        store, _ = prepare(folder, "open.db", wide, 10, MICRO_BATCH)
        start = time.perf_counter()
        longest = open_phase(store)
        opened_s = time.perf_counter() - start
        start = time.perf_counter()
        longest_wake = start_lanes(store)
        woken_s = time.perf_counter() - start
        store.database.close()
        opening_mb = peak_mb()
        rates = {size: throughput(folder, f"n{size}.db", size, steps) for size in (many, wide)}
        # A hundred members are over in a moment: the middle of many runs makes the figure steady.
        rates[100] = statistics.median(throughput(folder, f"few{i}.db", 100, steps) for i in range(41))
        shuffled = throughput(folder, "shuffled.db", wide, 3, shuffled=True)
    ratio = rates[100] / rates[wide]
    figures = {
        "applied_per_s": round(rates[many]),
        "applied_per_s_100": round(rates[100]),
        "applied_per_s_wide": round(rates[wide]),
        "cost_ratio_wide_to_100": round(ratio, 3),
        "shuffled_per_s": round(shuffled),
        "executions_opened": wide * 10,
        "opened_s": round(opened_s, 2),
        "longest_transaction_s": round(max(longest, longest_wake), 3),
        "lanes_started_s": round(woken_s, 2),
        "opening_peak_mb": opening_mb,
        "peak_mb": peak_mb(),
    }
    for name, value in figures.items():
        print(f"{name:26} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
