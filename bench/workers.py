"""How many calls a second the pool of child processes carries, for functions that do nothing.

It drives the pool as the engine does: submit what is free, poll, repeat. `--round-ms` puts the pause of a database
transaction between two polls. The last line is one JSON object: `calls_per_s` is one engine process with one child,
plain functions and no pause; the other figures stand beside it.

Run `make bench-workers`, or `python bench/workers.py [--seconds 2] [--round-ms 0] [--children 1]`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from tminus.ports.runner import Answer, Job, Report
from tminus.workers.pool import PoolSettings, PythonPool

FUNCTIONS = """
import time
from tminus import function

@function
def nothing(DisplayName: str, UserPrincipalName: str, **rest):
    return {"id": UserPrincipalName, "created": True}

@function
async def nothing_async(DisplayName: str, UserPrincipalName: str, **rest):
    return {"id": UserPrincipalName, "created": True}

@function
def wait(DisplayName: str, UserPrincipalName: str):
    time.sleep(0.01)

@function
def busy(seconds: float):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
"""
PARAMS = json.dumps({"DisplayName": "User 0001", "UserPrincipalName": "user-0001@contoso.example"})
ROUND = 500


def checked(reports: list[Report]) -> int:
    """Count answers; a measurement of anything but good ones would be worthless."""
    for report in reports:
        if not isinstance(report, Answer) or not report.ok:
            raise SystemExit(f"not a good answer: {report}")
    return len(reports)


def pace(pool: PythonPool, function: str, seconds: float, round_s: float) -> dict[str, float]:
    """Keep the pool fed for a while; return calls a second and what they cost the engine's thread."""
    sent = done = 0
    begun_s, used_s = time.monotonic(), time.process_time()
    end_s = begun_s + seconds
    while time.monotonic() < end_s or done < sent:
        if time.monotonic() < end_s and (count := min(ROUND, pool.free())):
            pool.submit([Job(f"{function}-{sent + i}", function, PARAMS) for i in range(count)])
            sent += count
        done += checked(pool.poll(0.1))
        if round_s:
            time.sleep(round_s)
    spent_s = time.monotonic() - begun_s
    return {"calls_per_s": round(done / spent_s), "engine_us": round((time.process_time() - used_s) / done * 1e6, 1)}


def latency_ms(pool: PythonPool, calls: int) -> list[float]:
    """Make calls one after the other and return how long each took, shortest first."""
    taken: list[float] = []
    for number in range(calls):
        begun_s = time.perf_counter()
        pool.submit([Job(f"one-{begun_s}-{number}", "nothing", PARAMS)])
        while not [report for report in pool.poll(1) if report.job_id.startswith("one-")]:
            pass
        taken.append((time.perf_counter() - begun_s) * 1000)
    return sorted(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--round-ms", type=float, default=0.0)
    parser.add_argument("--children", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "functions.py"
        file.write_text(FUNCTIONS, encoding="utf-8")
        pool = PythonPool(PoolSettings(children=args.children))
        begun_s = time.monotonic()
        pool.start([str(file)])
        start_ms = (time.monotonic() - begun_s) * 1000
        latency_ms(pool, 50)
        found = {
            name: pace(pool, name, args.seconds, args.round_ms / 1000) for name in ("nothing", "nothing_async", "wait")
        }
        quiet = latency_ms(pool, 500)
        pool.submit([Job("busy", "busy", '{"seconds": 3}')])
        time.sleep(0.1)
        beside = latency_ms(pool, 100)
        pool.close(5)
    for name, figures in found.items():
        print(
            f"{name:15} {figures['calls_per_s']:>8} calls/s   {figures['engine_us']:>6} us each in the engine's thread"
        )
    print(
        json.dumps(
            {
                "calls_per_s": found["nothing"]["calls_per_s"],
                "async_calls_per_s": found["nothing_async"]["calls_per_s"],
                "waiting_10ms_calls_per_s": found["wait"]["calls_per_s"],
                "engine_us_per_call": found["nothing"]["engine_us"],
                "latency_ms_p50": round(quiet[len(quiet) // 2], 3),
                "latency_ms_p99": round(quiet[len(quiet) * 99 // 100], 3),
                "latency_ms_p50_beside_busy": round(beside[len(beside) // 2], 3),
                "start_ms": round(start_ms),
                "children": args.children,
                "round_ms": args.round_ms,
            },
        ),
    )


if __name__ == "__main__":
    main()
