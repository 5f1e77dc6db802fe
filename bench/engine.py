"""Engine benchmark: step completions per second of the whole program, and what it costs when nothing happens.

Run `make bench`. One process with everything on that a normal run writes, functions in child processes, a database file
with `synchronous=FULL`; 5,000 members pass 5 no-op steps each. Every figure is measured in this run; the last line is
one JSON object.

- `steps_per_s`: from the wave's creation to the end of its batch, the best of three runs (all three stand beside it).
- `latency_p99_ms_at_half_load`: members arrive twenty times a second, so many that half as many steps are done.
  Counted from the moment at which the function has its answer, in its own process, to the commit that sends the next.
- `idle_percent_of_a_core`: a real `tminus up` and its children over a minute, with a batch that is due tomorrow.
- `restart_to_first_dispatch_s`: from nothing running to the first job in hand, with 100,000 executions open.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tminus import bootstrap
from tminus.domain.instant import plus
from tminus.engine.loop import Settings
from tminus.runbook import load
from tminus.store.cohort import NewBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.engine.loop import Loop
    from tminus.ports.rounds import RoundDone
    from tminus.progression.events import Event
    from tminus.store.store import Store

STEPS = 5
SLICE_S = 0.05
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


@function("stamp")
def stamp(user: str):
    return time.monotonic()
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
    """A store that notes, when a round has committed, how old the answers in it were."""

    def __init__(self, store: Store) -> None:
        """Stand before a store."""
        self.store = store
        self.latencies_s: list[float] = []

    def __getattr__(self, name: str) -> object:
        """Hand everything else through."""
        return getattr(self.store, name)

    def run_round(self, events: Sequence[Event], worker: str, room: Sequence[tuple[str, int]]) -> RoundDone:
        """Run a round; answers are the instants at which functions gave them, by the clock of the whole machine."""
        done = self.store.run_round(events, worker, room)
        now = time.monotonic()
        self.latencies_s += [now - float(event.result_json) for event in events if _is_instant(event)]
        return done


def _is_instant(event: Event) -> bool:
    result = getattr(event, "result_json", None)
    return result is not None and result != "null"


def open_all(folder: Path, name: str) -> tuple[Store, Loop, Timed]:
    """Open a database, start the functions, wire the loop."""
    functions = folder / "functions.py"
    functions.write_text(FUNCTIONS, "utf-8")
    store = bootstrap.open_store(f"sqlite:///{folder / name}")
    runner = bootstrap.start_runner([str(functions)])
    loop = bootstrap.make_loop(store, runner, Settings(drain_s=0.2))
    loop.store = timed = Timed(store)
    return store, loop, timed


def throughput(folder: Path, name: str, members: int, *, beside: bool = False) -> float:
    """Return step completions per second until the wave has ended."""
    store, loop, _ = open_all(folder, name)
    if beside:
        add_wave(store, 1, runbook(1, "busy", "spin", "busy"))
        until = time.monotonic() + 2.0
        loop.begin()
        while time.monotonic() < until:
            loop.step()
    add_wave(store, members, runbook(STEPS))
    start = time.perf_counter()
    loop.begin()
    # The busy function stays in hand, so the loop would never call itself idle.
    while len(loop.work.in_hand) > beside or not _ended(store):
        loop.step()
    spent = time.perf_counter() - start
    loop.close()
    if _succeeded(store) < members * STEPS:
        sys.exit(f"only {_succeeded(store)} of {members * STEPS} steps succeeded")
    store.database.close()
    return members * STEPS / spent


def _ended(store: Store) -> bool:
    with store.database.read() as tx:
        row = tx.one("SELECT 1 FROM batches WHERE runbook_name = 'bench' AND completed_at IS NULL")
    return row is None


def _succeeded(store: Store) -> int:
    with store.database.read() as tx:
        row = tx.one("SELECT count(*) FROM executions WHERE status = 'succeeded'")
    return int(row[0] or 0) if row else 0


def latency_ms(folder: Path, per_s: float, seconds: float) -> dict[str, float]:
    """Return how long answers waited until what follows was committed, when so many steps a second are done."""
    store, loop, timed = open_all(folder, "latency.db")
    text = runbook(STEPS, function="stamp")
    store.publish(load(text), text)
    loop.begin()
    made, owed, start = 0, 0.0, time.monotonic()
    while (now := time.monotonic()) < start + seconds:
        while start + made * SLICE_S <= now:
            owed += per_s * SLICE_S / STEPS
            rows = [(f"m{made}-{k}", json.dumps({"upn": "u"})) for k in range(int(owed))]
            store.create_batch(NewBatch("bench", rows, t0=plus(store.now(), -1.0), kind="manual"))
            owed -= len(rows)
            made += 1
            # What another process writes is seen at the next glance; what is written here, at once.
            loop._tick_at = 0.0  # noqa: SLF001 - see above.
        # The loop sleeps until something is due, and what arrives next is.
        loop._tick_at = min(loop._tick_at, start + made * SLICE_S)  # noqa: SLF001 - see above.
        loop.step()
    loop.close()
    store.database.close()
    found = sorted(timed.latencies_s)
    return {name: round(found[int(len(found) * part)] * 1000, 1) for name, part in (("p50", 0.5), ("p99", 0.99))}


def idle_percent(folder: Path, seconds: float) -> float:
    """Return how much of a core `tminus up` and its children use while nothing happens."""
    store = bootstrap.open_store(f"sqlite:///{folder / 'idle.db'}")
    add_wave(store, 100, runbook(3), t0_in_s=86_400.0)
    store.database.close()
    command = [sys.executable, "-m", "tminus", "up", "--functions", str(folder / "functions.py"), "--db"]
    process = subprocess.Popen([*command, str(folder / "idle.db")], stderr=subprocess.DEVNULL)  # noqa: S603 - ours.
    try:
        time.sleep(3.0)
        start, used = time.monotonic(), _used_s(process.pid)
        time.sleep(seconds)
        return (_used_s(process.pid) - used) / (time.monotonic() - start) * 100
    finally:
        process.terminate()
        process.wait(20)


def _used_s(pid: int) -> float:
    """Return what a process and its children have used of the processor, as Linux counts it."""
    own = Path(f"/proc/{pid}")
    fields = (own / "stat").read_text("utf-8").rpartition(")")[2].split()
    children = (own / "task" / str(pid) / "children").read_text("utf-8").split()
    used_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used_s + sum(_used_s(int(child)) for child in children)


def restart_s(folder: Path, executions: int) -> float:
    """Return how long a new process takes to its first dispatch with so many open executions."""
    store = bootstrap.open_store(f"sqlite:///{folder / 'restart.db'}")
    add_wave(store, executions // STEPS, runbook(STEPS))
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
        waited = latency_ms(folder, max(rates) / 2, 2.0 if small else 10.0)
        figures = {
            "steps_per_s": round(max(rates)),
            "steps_per_s_runs": [round(rate) for rate in rates],
            "steps_per_s_beside_a_busy_function": round(beside),
            "latency_p50_ms_at_half_load": waited["p50"],
            "latency_p99_ms_at_half_load": waited["p99"],
            "idle_percent_of_a_core": round(idle_percent(folder, idle), 2),
            "restart_to_first_dispatch_s": round(restart_s(folder, executions), 2),
            "cores": os.cpu_count(),
        }
    for name, value in figures.items():
        print(f"{name:36} {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
