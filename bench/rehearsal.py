"""Rehearsal benchmark: how much faster than time a month of countdown passes.

Run `make bench-rehearsal`. 340 members pass six steps in four phases over 18 days, on the engine of production over a
database in memory. The last line is one JSON object; the times of the same seed are compared within one run.
"""

from __future__ import annotations

import argparse
import json
import time

import orjson

from tminus import bootstrap
from tminus.bootstrap import Cohort, Play
from tminus.domain.instant import Instant, between_s, plus
from tminus.engine.rehearse.crew import Crew
from tminus.engine.rehearse.fault import parse_fault
from tminus.runbook import load

T0 = Instant("2026-12-04T21:00:00.000Z")
BOOK = """\
name: wave
data_source: {type: manual, primary_key: upn}
retry: {max_retries: 2, interval: 1m}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: w, function: create, params: {u: "{{upn}}"}, output_params: {Id: id}}
      - {name: proxies, worker_id: w, function: proxies, params: {u: "{{Id}}"}}
  - name: verify
    offset: T-1d
    steps:
      - {name: check, worker_id: w, function: check, params: {u: "{{Id}}"}, poll: {interval: 30m, timeout: 20h}}
  - name: cutover
    offset: T-0
    steps:
      - {name: guids, worker_id: w, function: guids, params: {u: "{{Id}}"}}
      - {name: primary, worker_id: w, function: primary, params: {u: "{{Id}}"}}
  - name: care
    offset: T+13d
    steps:
      - {name: survey, worker_id: w, function: survey, params: {u: "{{Id}}"}}
"""
FAULTS = ("w:429@5%", "*:lost@1%", "primary:fail@2%")


def rehearse(members: int, seed: int) -> tuple[float, float, int]:
    """Run one rehearsal; return its seconds, the virtual seconds that passed, and the jobs."""
    keys = [f"user-{k:05}" for k in range(members)]
    cohort = Cohort([(key, orjson.dumps({"upn": key}).decode()) for key in keys], T0)
    play = Play(text=BOOK, runbook=load(BOOK), cohorts=[cohort])
    start = plus(T0, -5 * 86_400.0 - 3_600.0)
    began = time.perf_counter()
    store, rehearsal = bootstrap.stage(play, Crew(seed=seed, faults=[parse_fault(text) for text in FAULTS]), start)
    rehearsal.run()
    spent_s = time.perf_counter() - began
    virtual_s = between_s(start, store.now())
    store.database.close()
    return spent_s, virtual_s, rehearsal.jobs


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=340)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    runs = [rehearse(given.members, seed) for seed in range(given.runs)]
    spent_s, virtual_s, jobs = min(runs)
    found = {
        "members": given.members,
        "virtual_days": round(virtual_s / 86_400, 1),
        "jobs": jobs,
        "seconds": round(spent_s, 2),
        "times_real_time": round(virtual_s / spent_s),
        "jobs_per_s": round(jobs / spent_s),
    }
    for name, value in found.items():
        print(f"{name:<26} {value}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
