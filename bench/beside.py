"""Fairness benchmark: how long a small batch takes beside a large one, over how long it takes alone.

Run `make bench-beside`. One `tminus up` serves both. Ten members pass three steps that take 50 ms each, first alone,
then while 50,000 others wait for the same worker. Times are those of the rows; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

FUNCTIONS = """
import time
from tminus import function


@function
def work(key: str):
    time.sleep(0.05)
"""
STEP = '{name: %s, worker_id: w, function: work, params: {key: "{{key}}"}}'
BOOK = (
    "name: {name}\ndata_source: {{type: manual, primary_key: key}}\n"
    "phases:\n  - name: p\n    offset: T-0\n    steps: [{steps}]\n"
)


def run(folder: Path, *words: str) -> None:
    """Run a command to its end."""
    subprocess.run([sys.executable, "-m", "tminus", *words], cwd=folder, check=True, capture_output=True)  # noqa: S603 - ours.


def batch(folder: Path, name: str, members: int) -> int:
    """Make a batch that is due now, and return its number."""
    path = folder / f"{name}-{time.monotonic_ns()}.csv"
    path.write_text("key\n" + "".join(f"{path.stem}-{k}\n" for k in range(members)), encoding="utf-8")
    run(folder, "batch", "create", name, path.name, "--at", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    return int(asked(folder, "SELECT max(id) FROM batches")[0])


def asked(folder: Path, sql: str) -> tuple[str, ...]:
    """Ask the database for one row."""
    with sqlite3.connect(folder / "tminus.db") as connection:
        row: tuple[str, ...] = connection.execute(sql).fetchone()
    return row


def taken_s(folder: Path, number: int) -> float:
    """Wait for a batch's end, and return how long it took by its rows."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        began, ended = asked(folder, f"SELECT detected_at, completed_at FROM batches WHERE id = {number}")  # noqa: S608 - a number of ours.
        if ended:
            return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
        time.sleep(0.2)
    raise TimeoutError(f"batch {number} did not end")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, to see that it runs")
    many, times = (300, 1) if parser.parse_args().smoke else (50_000, 5)
    os.environ.pop("TMINUS_DB", None)
    with tempfile.TemporaryDirectory(prefix="tminus-bench-") as place:
        folder = Path(place)
        (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
        steps = ", ".join(STEP % name for name in "abc")
        for name in ("small", "large"):
            (folder / f"{name}.yaml").write_text(BOOK.format(name=name, steps=steps), encoding="utf-8")
            run(folder, "runbook", "publish", f"{name}.yaml")
        engine = subprocess.Popen([sys.executable, "-m", "tminus", "up"], cwd=folder, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            alone = [taken_s(folder, batch(folder, "small", 10)) for _ in range(times)]
            batch(folder, "large", many)
            time.sleep(1 if many < 1_000 else 8)
            beside = [taken_s(folder, batch(folder, "small", 10)) for _ in range(times)]
        finally:
            engine.send_signal(signal.SIGKILL)
            engine.wait()
    found = {"alone_s": statistics.median(alone), "beside_s": statistics.median(beside)}
    found["ratio"] = round(found["beside_s"] / found["alone_s"], 2)
    for name, value in found.items():
        print(f"{name:<10} {value}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
