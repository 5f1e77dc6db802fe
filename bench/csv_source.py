"""How fast a CSV becomes rows: parse, normalise and hash, and what 500,000 rows cost in memory.

Run `make bench-csv`. Each size runs in a process of its own, so that the peak of memory is that size's. The last line
is a JSON object.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.ports.source import Answer, Question, Unchanged
from tminus.runbook.model import DataSource, MultiValued
from tminus.sources.csv import CsvSource

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

COLUMNS = (
    "UserPrincipalName",
    "Wave",
    "DisplayName",
    "Department",
    "Site",
    "Manager",
    "Licence",
    "Quota",
    "Archive",
    "Proxies",
)
ROUNDS = 5


def write(path: Path, rows: int) -> None:
    """Write a table of ten columns with a plausible width, 200 different times and one multi-valued column."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for number in range(rows):
            wave = f"2026-{1 + number % 12:02d}-{1 + number % 17:02d} 22:00"
            name = f"user-{number:06d}"
            proxies = f"smtp:{name}@contoso.example;smtp:{name}@fabrikam.example"
            writer.writerow(
                (
                    f"{name}@contoso.example",
                    wave,
                    f"Sample, Person {number}",
                    "Sales",
                    "Düsseldorf",
                    "boss",
                    "E5",
                    number,
                    "true",
                    proxies,
                )
            )
    old = time.time() - 60
    os.utime(path, (old, old))


def question(known: str | None = None) -> Question:
    """Ask as a runbook does."""
    source = DataSource(
        type="csv",
        primary_key="UserPrincipalName",
        connection="MEMBERS",
        batch_time_column="Wave",
        multi_valued_columns=(MultiValued(name="Proxies", format="semicolon_delimited"),),
    )
    return Question(data_source=source, timezone="Europe/Berlin", known=known)


def measure(rows: int, rounds: int, pipe: Connection) -> None:
    """Time whole answers and unchanged ones, and send the numbers back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "members.csv"
        write(path, rows)
        source = CsvSource({"MEMBERS": str(path)}.get)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        whole_s: list[float] = []
        same_s: list[float] = []
        for _ in range(rounds):
            start = time.perf_counter()
            answer = source.ask(question())
            whole_s.append(time.perf_counter() - start)
            if not isinstance(answer, Answer):
                raise TypeError("the first reply must be an answer")
            with answer:
                if sum(len(chunk) for chunk in answer.rows.chunks()) != rows or answer.problem_count:
                    raise ValueError("the answer is not the table")
            start = time.perf_counter()
            if not isinstance(source.ask(question(answer.fingerprint)), Unchanged):
                raise TypeError("the file did not change")
            same_s.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pipe.send(
            {
                "rows": rows,
                "file_bytes": path.stat().st_size,
                "answer_s": round(statistics.median(whole_s), 4),
                "rows_per_s": round(rows / statistics.median(whole_s)),
                "unchanged_ms": round(statistics.median(same_s) * 1000, 3),
                "peak_rss_mb": round(peak / 1024),
                "peak_over_start_mb": round((peak - before) / 1024),
            }
        )


def apart(rows: int, rounds: int) -> dict[str, float]:
    """Measure in a fresh process."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=measure, args=(rows, rounds, theirs))
    process.start()
    theirs.close()
    result: dict[str, float] = mine.recv()
    process.join()
    return result


def main() -> None:
    """Measure both sizes and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--large", type=int, default=500_000)
    options = parser.parse_args()
    usual, large = apart(options.rows, ROUNDS), apart(options.large, 1)
    for result in (usual, large):
        print(f"{result['rows']:>9,} rows  {result['answer_s']:.3f} s  {result['peak_rss_mb']:,} MB")
    print(json.dumps({"bench": "csv_source", "columns": len(COLUMNS), "usual": usual, "large": large}))


if __name__ == "__main__":
    main()
