"""Members from a CSV file that a running `up` follows: waves to their end, joiners, leavers, corrections, new times."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

STEP = "{name: %s, worker_id: w, function: work, params: {key: '{{key}}', step: %s}}"
SOURCE = "type: csv, connection: MEMBERS_CSV, primary_key: key, interval: 1s"


def line(name: str) -> str:
    return STEP % (name, name)


def book(time: str, *, phases: str = "", more: str = "") -> str:
    """Write a runbook over the file of members."""
    whole = phases or f"  - {{name: cutover, offset: T-0, steps: [{line('move')}, {line('tell')}]}}\n"
    return (
        f"name: wave\ndata_source: {{{SOURCE}, {time}}}\nphases:\n{whole}"
        f"on_member_removed:\n  - {line('clean')}\n{more}"
    )


TIMED = "batch_time_column: when"
NOW = "batch_time: immediate"


def at(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat(timespec="seconds")


@pytest.fixture(name="env")
def environment(host: Host) -> dict[str, str]:
    return {"MEMBERS_CSV": str(host.folder / "members.csv")}


def members(host: Host, rows: dict[str, str], dept: dict[str, str] | None = None) -> None:
    """Put the file of members there, at once and as a whole."""
    text = "".join(f"{key},{when},{(dept or {}).get(key, 'Sales')}\n" for key, when in rows.items())
    host.write("members.new", f"key,when,dept\n{text}").rename(host.folder / "members.csv")


def publish(host: Host, text: str) -> None:
    host.well("runbook", "publish", str(host.write("runbook.yaml", text)), "--enable", "--as", "anna")


def steps(host: Host) -> set[tuple[str, str]]:
    return {(entry.key, entry.step) for entry in host.account() if entry.word == "end"}


def found(host: Host, *words: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", json.loads(host.well(*words, "-o", "json")))


def test_a_wave_out_of_a_file_runs_to_its_end(host: Host, env: dict[str, str]) -> None:
    members(host, {"a": at(-60), "b": at(-60)})
    publish(host, book(TIMED))
    ended = host.end(host.up(env=env))
    assert ended.code == 0, ended.err
    assert host.statuses() == {"done": 2}
    assert steps(host) == {(key, step) for key in "ab" for step in ("move", "tell")}
    host.expect_clean()


def test_a_runbook_is_off_until_it_is_switched_on(host: Host, env: dict[str, str]) -> None:
    members(host, {"a": at(-60)})
    host.well("runbook", "publish", str(host.write("runbook.yaml", book(TIMED))), "--as", "anna")
    assert host.end(host.up(env=env)).code == 0
    assert host.statuses() == {}
    host.well("automation", "enable", "wave", "--as", "anna")
    assert host.end(host.up(env=env)).code == 0
    assert host.statuses() == {"done": 1}


def test_a_running_wave_follows_its_file(host: Host, env: dict[str, str]) -> None:
    """Somebody joins late, somebody is corrected, somebody leaves, somebody gets another time: all while `up` runs."""
    phases = (
        f"  - {{name: prepare, offset: T-1h, steps: [{line('prepare')}]}}\n"
        f"  - {{name: cutover, offset: T-0, steps: [{line('move')}]}}\n"
    )
    first, second = at(30), at(45)
    rows = dict.fromkeys("abcdef", first)
    members(host, rows)
    publish(host, book(TIMED, phases=phases))
    process = host.up(until_idle=False, env=env)
    host.until(lambda: steps(host) == {(key, "prepare") for key in "abcdef"})

    members(host, {**rows, "g": first}, {"b": "Research"})
    host.until(lambda: ("g", "prepare") in steps(host))
    whole = json.loads(host.well("member", "get", "b", "-o", "json"))
    assert whole["data"]["dept"] == "Research"

    del rows["c"]
    members(host, {**rows, "g": first}, {"b": "Research"})
    host.until(lambda: ("c", "clean") in steps(host))
    assert [row["status"] for row in found(host, "find", "c")] == ["removed"]

    members(host, {**rows, "g": first, "a": second}, {"b": "Research"})
    host.until(lambda: len(found(host, "batch", "list")) == 2)
    newest, oldest = found(host, "find", "a")
    assert (oldest["status"], oldest["moved_to"], newest["batch_id"]) == ("removed", newest["id"], 2)
    process.terminate()
    ended = host.end(process)
    assert ended.code == 0, ended.err
    told = [text[11:] for text in ended.lines if text[11:].startswith("batch 1: ")]
    assert told == ["batch 1: g joined", "batch 1: c left the source", "batch 1: a moved to batch 2"]
    assert host.count("SELECT count(*) FROM executions WHERE step_name = 'clean'") == 1
    assert sum(entry.step == "prepare" for entry in host.account() if entry.word == "end") == 7
    host.expect_clean()


def test_a_file_that_loses_most_of_its_lines_removes_nobody(host: Host, env: dict[str, str]) -> None:
    rows = dict.fromkeys("abcdef", at(-5))
    members(host, rows)
    later = f"  - {{name: care, offset: T+1d, steps: [{line('care')}]}}\n"
    cutover = f"  - {{name: cutover, offset: T-0, steps: [{line('move')}]}}\n"
    publish(host, book(TIMED, phases=cutover + later))
    process = host.up(until_idle=False, env=env)
    host.until(lambda: len(steps(host)) == 6)
    members(host, {"a": rows["a"]})
    host.until(lambda: host.count("SELECT count(*) FROM holds WHERE kind = 'leavers' AND is_open") == 1)
    process.terminate()
    assert host.end(process).code == 0
    assert host.statuses() == {"active": 6}
    assert "refuse" in host.well("why", "hold", "1")
    assert host.end(host.up(env=env)).code == 5
    host.expect_clean()


def test_immediate_rows_are_taken_as_they_come_and_once(host: Host, env: dict[str, str]) -> None:
    members(host, {"a": "", "b": ""})
    publish(host, book(NOW))
    assert host.end(host.up(env=env)).code == 0
    assert host.statuses() == {"done": 2}
    assert host.end(host.up(env=env)).code == 0
    assert host.statuses() == {"done": 2}, "who has been through was taken again"
    members(host, {"a": "", "c": ""})
    ended = host.end(host.up(env=env))
    assert ended.code == 0, ended.err
    assert host.rows("SELECT member_key, batch_id FROM batch_members ORDER BY 1") == [("a", 1), ("b", 1), ("c", 2)]
    assert ("b", "clean") not in steps(host)
    host.expect_clean()


def test_a_batch_made_by_hand_goes_on_with_each_advance(host: Host) -> None:
    phases = (
        f"  - {{name: prepare, offset: T-1h, steps: [{line('prepare')}]}}\n"
        f"  - {{name: cutover, offset: T-0, steps: [{line('move')}]}}\n"
    )
    text = f"name: wave\ndata_source: {{type: manual, primary_key: key}}\nphases:\n{phases}init:\n  - {line('begin')}\n"
    publish(host, text.replace("'{{key}}', step: begin", "all, step: begin"))
    file = host.write("members.csv", "key\na\nb\n")
    host.well("batch", "create", "wave", str(file), "--as", "anna")
    assert host.end(host.up()).code == 0
    assert steps(host) == set()
    seen: list[set[tuple[str, str]]] = []
    for _ in range(2):
        host.well("batch", "advance", "1", "--as", "anna")
        assert host.end(host.up()).code == 0
        seen.append(steps(host))
    assert seen[0] == {("all", "begin"), ("a", "prepare"), ("b", "prepare")}
    assert seen[1] == seen[0] | {("a", "move"), ("b", "move")}
    assert host.statuses() == {"done": 2}
    host.expect_clean()


def test_until_idle_asks_at_once_and_not_when_the_interval_has_passed(host: Host, env: dict[str, str]) -> None:
    members(host, {"anna": "2031-01-01"})
    publish(host, book(TIMED).replace("interval: 1s", "interval: 1h"))
    assert host.end(host.up(env=env)).code == 0
    members(host, {"anna": "2031-01-01", "ben": "2031-01-01"})
    assert host.end(host.up(env=env), timeout_s=30).code == 0
    assert host.statuses() == {"active": 2}


def test_what_was_missing_is_asked_for_again_when_a_process_begins(host: Host, env: dict[str, str]) -> None:
    members(host, {"anna": "2031-01-01"})
    publish(host, book(TIMED).replace("interval: 1s", "interval: 1h"))
    process = host.up(until_idle=False, env={"MEMBERS_CSV": ""})
    host.until(lambda: host.count("SELECT source_failures FROM runbooks") == 1)
    process.terminate()
    assert host.end(process).code == 0
    process = host.up(until_idle=False, env=env)
    host.until(lambda: host.statuses() == {"active": 1}, timeout_s=30)
    process.terminate()
    assert host.end(process).code == 0
