"""Two processes over one database, killed by turns, and a file that is rewritten under their eyes."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

BOOK = """\
name: wave
data_source:
  {type: csv, connection: MEMBERS, primary_key: key, batch_time_column: when, interval: 1s, leavers: {brake: "60%"}}
phases:
  - {name: prepare, offset: T-2d, steps: [{name: s, worker_id: w, function: work, params: {key: "{{key}}", step: p}}]}
  - {name: cut, offset: T-1h, steps: [{name: s, worker_id: w, function: work, params: {key: "{{key}}", step: q}}]}
on_member_removed: [{name: c, worker_id: w, function: work, params: {key: "{{key}}", step: c}}]
"""
ROUNDS = 6


def write(host: Host, rows: dict[str, str], *, slowly: bool) -> None:
    """Rewrite the file: at once and as a whole, or in its place with pauses, as a slow export does."""
    lines = ["key,when\n", *(f"{key},{when}\n" for key, when in rows.items())]
    if not slowly:
        host.write("list.new", "".join(lines)).rename(host.folder / "list.csv")
        return
    with (host.folder / "list.csv").open("w", encoding="utf-8") as stream:
        for at in range(0, len(lines), 50):
            stream.writelines(lines[at : at + 50])
            stream.flush()
            time.sleep(0.1)


def homes(host: Host) -> dict[str, str]:
    """Return where everybody lives, by the time of the batch."""
    sql = """SELECT m.member_key, b.source_time FROM batch_members m JOIN batches b ON b.id = m.batch_id
      WHERE m.status = 'active'"""
    return {str(key): str(time) for key, time in host.rows(sql)}


def test_in_the_end_everybody_is_where_the_file_says(host: Host) -> None:
    chance = random.Random(7)
    start = datetime.now(UTC) + timedelta(hours=20)
    times = [(start + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:00Z") for days in (0, 1, 9)]
    rows = {f"m{number:03d}": chance.choice(times[:2]) for number in range(200)}
    write(host, rows, slowly=False)
    host.well("runbook", "publish", str(host.write("runbook.yaml", BOOK)), "--enable", "--as", "anna")
    env = {"MEMBERS": str(host.folder / "list.csv")}
    running = [host.up(until_idle=False, env=env) for _ in range(2)]
    for number in range(ROUNDS):
        time.sleep(chance.uniform(0.5, 1.5))
        for key in chance.sample(sorted(rows), 6):
            rows[key] = chance.choice(times)
        del rows[chance.choice(sorted(rows))]
        rows[f"n{number}"] = chance.choice(times)
        write(host, rows, slowly=number % 2 == 0)
        host.kill(running.pop(0))
        running.append(host.up(until_idle=False, env=env))
    wanted = {key: f"{when[:-1]}.000Z" for key, when in rows.items()}
    host.until(lambda: homes(host) == wanted, timeout_s=60)
    for process in running:
        process.terminate()
    assert [host.end(process).code for process in running] == [0, 0]
    assert host.count("SELECT count(*) FROM holds WHERE is_open AND kind <> 'late_success'") == 0
    host.expect_clean()
