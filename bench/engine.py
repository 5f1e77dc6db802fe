"""Engine benchmark: step completions per second of the whole program, and what it costs when nothing happens.

Run `make bench`. One process with everything on that a normal run writes, functions in child processes, a database file
with `synchronous=FULL`; 5,000 members pass 5 no-op steps each. Every figure is measured in this run; the last line is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tminus import bootstrap
from tminus.domain.instant import plus
from tminus.engine.loop import Loop, Settings
from tminus.runbook import load
from tminus.store.cohort import NewBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.ports.rounds import RoundDone
    from tminus.progression.events import Event
    from tminus.store.store import Store

FUNCTIONS = """
import time
from tminus import function


@function("no-op")
def no_op(user: str):
    return None


@function("spin")
def spin(user: str):
    end = time.time() + 600
    while time.time() < end:
        pass
"""


def runbook(steps: int, name: str = "bench", function: str = "no-op", worker_id: str = "w") -> str:
    """Write a runbook of one phase."""
    lines = [f"name: {name}", "data_source: {type: manual, primary_key: upn}", "phases:", "  - name: go"]
    lines += ["    offset: T-0", "    steps:"]
    lines += [
        f'      - {{name: s{k}, worker_id: {worker_id}, function: {function}, params: {{user: "{{{{upn}}}}"}}}}'
        for k in range(steps)
    ]
    return "\n".join(lines)


def add_wave(store: Store, members: int, text: str, *, t0_in_s: float = -1.0) -> None:
    """Publish a runbook and make a batch of it that is due."""
    definition = load(text)
    store.publish(definition, text)
    rows = [(f"user-{k:06d}@contoso.example", json.dumps({"upn": f"user-{k}"})) for k in range(members)]
    store.create_batch(NewBatch(definition.name, rows, t0=plus(store.now(), t0_in_s), kind="manual"))


class Timed:
    """A store whose rounds are timed: from answers in hand to the commit that sends what follows."""

    def __init__(self, store: Store) -> None:
        """Stand before a store."""
        self.store = store
        self.latencies_s: list[float] = []

    def __getattr__(self, name: str) -> object:
        """Hand everything else through."""
        return getattr(self.store, name)

    def run_round(self, events: Sequence[Event], worker: str, room: Sequence[tuple[str, int]]) -> RoundDone:
        """Time a round that has answers."""
        start = time.perf_counter()
        done = self.store.run_round(events, worker, room)
        if events:
            self.latencies_s += [time.perf_counter() - start] * len(events)
        return done


def open_all(folder: Path, name: str) -> tuple[Store, Loop, Timed]:
    """Open a database, start the functions, wire the loop."""
    functions = folder / "functions.py"
    functions.write_text(FUNCTIONS, "utf-8")
    store = bootstrap.open_store(f"sqlite:///{folder / name}")
    runner = bootstrap.start_runner([str(functions)])
    timed = Timed(store)
    return store, Loop(timed, runner, Settings(drain_s=0.2)), timed  # type: ignore[arg-type]


def throughput(folder: Path, name: str, members: int, *, beside: bool = False) -> float:
    """Return step completions per second until the wave has ended."""
    store, loop, _ = open_all(folder, name)
    if beside:
        add_wave(store, 1, runbook(1, "busy", "spin", "busy"))
        until = time.monotonic() + 2.0
        loop.begin()
        while time.monotonic() < until:
            loop.step()
    add_wave(store, members, runbook(5))
    start = time.perf_counter()
    loop.begin()
    # The busy function stays in hand, so the loop would never call itself idle.
    while len(loop.work.in_hand) > beside or not _ended(store):
        loop.step()
    spent = time.perf_counter() - start
    loop.close()
    if _succeeded(store) < members * 5:
        sys.exit(f"only {_succeeded(store)} of {members * 5} steps succeeded")
    store.database.close()
    return members * 5 / spent


def _ended(store: Store) -> bool:
    with store.database.read() as tx:
        row = tx.one("SELECT 1 FROM batches WHERE runbook_name = 'bench' AND completed_at IS NULL")
    return row is None


def _succeeded(store: Store) -> int:
    with store.database.read() as tx:
        row = tx.one("SELECT count(*) FROM executions WHERE status = 'succeeded'")
    return int(row[0] or 0) if row else 0


def latency_ms(folder: Path, per_s: float, seconds: float) -> float:
    """Return the 99th percentile of answer to next dispatch committed, when so many steps a second arrive."""
    store, loop, timed = open_all(folder, "latency.db")
    text = runbook(2)
    store.publish(load(text), text)
    loop.begin()
    made = 0
    stop = time.perf_counter() + seconds
    start = time.perf_counter()
    slice_s = 0.05
    while time.perf_counter() < stop:
        wanted = int((time.perf_counter() - start) / slice_s) + 1
        while made < wanted:
            rows = [(f"m{made}-{k}", json.dumps({"upn": "u"})) for k in range(int(per_s * slice_s / 2))]
            store.create_batch(NewBatch("bench", rows, t0=plus(store.now(), -1.0), kind="manual"))
            loop._tick_at = 0.0  # noqa: SLF001 - what another process writes is seen at the next glance; here at once.
            made += 1
        loop.step()
    loop.close()
    store.database.close()
    found = sorted(timed.latencies_s)
    return found[int(len(found) * 0.99)] * 1000 if found else 0.0


def idle_percent(folder: Path, seconds: float) -> float:
    """Return how much of a core a loop without work uses, its children left out."""
    store, loop, _ = open_all(folder, "idle.db")
    add_wave(store, 100, runbook(3), t0_in_s=86_400.0)
    threading.Timer(seconds + 1.0, loop.stop).start()
    loop.begin()
    loop.step()
    start, used = time.monotonic(), time.process_time()
    while time.monotonic() - start < seconds:
        loop.step()
    percent = (time.process_time() - used) / (time.monotonic() - start) * 100
    loop.stop()
    loop.close()
    store.database.close()
    return percent


def restart_s(folder: Path, executions: int) -> float:
    """Return how long a new process takes to its first dispatch with so many open executions."""
    store = bootstrap.open_store(f"sqlite:///{folder / 'restart.db'}")
    add_wave(store, executions // 5, runbook(5))
    for look in store.looks():
        while (page := look(("", 0))).events:
            store.round(page.events, turn=False)
    store.database.close()
    start = time.perf_counter()
    store, loop, _ = open_all(folder, "restart.db")
    loop.begin()
    while not loop.work.in_hand and _succeeded(store) == 0:
        loop.step()
    spent = time.perf_counter() - start
    loop.stop()
    loop.close()
    store.database.close()
    return spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, to see that it runs")
    small = parser.parse_args().smoke
    members, idle, executions = (300, 2.0, 5_000) if small else (5_000, 60.0, 100_000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        throughput(folder, "warm.db", 200)
        rates = [throughput(folder, f"run{k}.db", members) for k in range(1 if small else 3)]
        beside = throughput(folder, "beside.db", members, beside=True)
        figures = {
            "steps_per_s": round(max(rates)),
            "steps_per_s_runs": [round(rate) for rate in rates],
            "steps_per_s_beside_a_busy_function": round(beside),
            "latency_p99_ms_at_half_load": round(latency_ms(folder, max(rates) / 2, 2.0 if small else 5.0), 1),
            "idle_percent_of_a_core": round(idle_percent(folder, idle), 2),
            "restart_to_first_dispatch_s": round(restart_s(folder, executions), 2),
            "cores": os.cpu_count(),
        }
    for name, value in figures.items():
        print(f"{name:36} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
