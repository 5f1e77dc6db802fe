"""What scripts rely on: the keys of every JSON answer, the same rows in every shape, dry runs that leave nothing."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, cast

import pytest
import yaml

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA = "anna@contoso.com"
WHY = ("--reason", "because")

BATCH = {
    "id", "runbook_name", "runbook_version", "kind", "status", "batch_start_time", "current_phase", "round", "outcome",
    "open_phases", "open_lanes", "is_cancelling", "created_by", "detected_at", "completed_at", "counts",
}  # fmt: skip
MEMBER = {
    "id", "batch_id", "runbook_name", "member_key", "generation", "status", "failed_step", "error_message", "added_at",
    "failed_at", "removed_at", "ended_at", "moved_to",
}  # fmt: skip
PHASE = {
    "id", "batch_id", "phase_name", "phase_index", "runbook_version", "offset_minutes", "due_at", "status", "reason",
    "members_at_opening", "lanes_total", "open_lanes", "lanes_succeeded", "lanes_failed", "lanes_cancelled", "ring",
    "dispatched_at", "completed_at",
}  # fmt: skip
STEP = {
    "id", "member_key", "kind", "phase_name", "step_name", "step_index", "status", "worker_id", "function_name",
    "attempt", "retry_count", "max_retries", "job_id", "retry_after", "dispatched_at", "completed_at", "error_message",
    "error_type",
}  # fmt: skip
EVENT = {
    "id", "at", "batch_id", "member_id", "entity", "entity_id", "from_status", "to_status", "attempt", "cause", "actor",
    "detail", "member_key",
}  # fmt: skip
HOLD = {
    "id", "kind", "scope", "state", "is_open", "batch_id", "runbook_name", "member_id", "member_key", "phase_name",
    "reason", "opened_at", "opened_by", "expires_at", "closed_at", "closed_by", "note", "evidence",
}  # fmt: skip
WHYS = {"kind", "id", "batch_id", "status", "waits", "actions"}
HOME = {"runbook_name", "runbook_version", "batch_status", "t0", "zone", "now", "next_at"}
WHY_CAUSE = WHYS | HOME | {"cause", "is_anybody_at_work"}
WHY_LANES = WHY_CAUSE | {"undone", "drain"}
VERSION = {"name", "version", "is_active", "overdue_behavior", "rerun_init", "created_at", "created_by"}
AUTOMATION = {
    "runbook_name", "automation_enabled", "enabled_at", "enabled_by", "disabled_at", "disabled_by", "last_error",
    "last_error_at", "source_asked_at", "source_answered_at", "source_next_at", "source_failures", "source_row_count",
    "source_problem_count", "left_out_count", "is_complete",
}  # fmt: skip

LISTS: list[tuple[tuple[str, ...], set[str]]] = [
    (("batch", "list"), BATCH),
    (("batch", "members", "1"), MEMBER),
    (("batch", "phases", "1"), PHASE),
    (("batch", "steps", "1"), STEP),
    (("batch", "events", "1"), EVENT),
    (("find", ANNA), MEMBER),
    (
        ("member", "history", ANNA),
        {"id", "at", "batch_id", "generation", "entity", "entity_id", "phase_name", "step_name", "from_status",
         "to_status", "attempt", "cause", "actor", "detail"},
    ),
    (("hold", "list"), HOLD),
    (("gate", "list"), HOLD),
    (
        ("runbook", "list"),
        {"name", "version", "automation_enabled", "open_batches", "created_at", "created_by", "last_error",
         "last_error_at"},
    ),
    (("runbook", "versions", "wave"), VERSION),
    (("explain",), {"code", "title", "cause", "cure", "example", "side", "exit_code", "http_status"}),
    (("validate",), {"file", "valid", "runbook_name", "problems"}),
]  # fmt: skip
THINGS: list[tuple[tuple[str, ...], set[str]]] = [
    (
        ("batch", "get", "1"),
        BATCH | {"source_time", "advanced_at", "idempotency_key", "data", "outputs"},
    ),
    (("member", "get", ANNA), MEMBER | {"data", "worker_data", "pinned"}),
    (("hold", "get", "1"), HOLD),
    (("gate", "get", "1"), HOLD),
    (("why", "batch", "1"), WHY_LANES | {"members", "phases", "phases_ended", "failures", "holds"}),
    (("why", ANNA), WHY_LANES | {"member_key", "failed_at", "moved_to", "retry_from"}),
    (("why", "step", "1"), WHY_CAUSE | {"member_key", "step_name"}),
    (("why", "gate", "1"), WHYS | HOME | {"hold", "stops", "not_by"}),
    (("status",), {"now", "batches", "holds", "pauses", "due", "sources", "workers", "queues", "is_anybody_at_work"}),
    (("doctor",), {"ok", "checks", "violations"}),
    (("version",), {"version", "python", "sqlite"}),
    (("runbook", "get", "wave"), VERSION | {"data_table_name", "yaml_content"}),
    (("automation", "status", "wave"), AUTOMATION | {"problems"}),
    (("template", "wave"), {"runbook_name", "columns"}),
    (("explain", "E410"), {"code", "title", "cause", "cure", "example", "side", "exit_code", "http_status"}),
]
RESULT = {"dry_run", "done", "refused", "results"}
CHANGES: list[tuple[tuple[str, ...], set[str]]] = [
    (("runbook", "publish"), {"name", "version", "automation_enabled", "dry_run"}),
    (("runbook", "deactivate", "wave"), {"name", "version", "is_active", "dry_run"}),
    (("member", "move", ANNA, "--to", "2", "--batch", "1", *WHY), RESULT),
    (("automation", "enable", "wave"), AUTOMATION),
    (("automation", "disable", "wave"), AUTOMATION),
    (
        ("batch", "create", "wave", "more.csv"),
        {"id", "runbook_name", "batch_start_time", "members", "left_out", "dry_run"},
    ),
    (("batch", "cancel", "1", *WHY), RESULT),
    (("batch", "reschedule", "1", "--at", "2031-01-01", *WHY), RESULT),
    (("batch", "advance", "2"), RESULT),
    (("member", "add", "1", "more.csv"), {"batch_id", "added", "left_out", "dry_run"}),
    (("batch", "add-members", "1", "more.csv"), {"batch_id", "added", "left_out", "dry_run"}),
    (("member", "remove", "1", ANNA, *WHY), RESULT),
    (("batch", "remove-member", "1", ANNA, *WHY), RESULT),
    (("member", "data", ANNA, "--set", "dept=x", *WHY), RESULT),
    (("retry", ANNA, "ben@contoso.com", *WHY), RESULT),
    (("retry", "--batch", "1", *WHY), RESULT),
    (("skip", ANNA, "--step", "check", *WHY), RESULT),
    (("mark-done", ANNA, "--step", "check", *WHY), RESULT),
    (("rollback", ANNA, *WHY), RESULT),
    (("pause", "--all", *WHY), RESULT),
    (("resume", "--batch", "1", *WHY), RESULT),
    (("approve", "1/cutover", *WHY, "--as", "ben"), RESULT),
    (("reject", "1", *WHY, "--as", "ben"), RESULT),
    (("hold", "lift", "2", *WHY), RESULT),
]


@pytest.fixture(name="failed", scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """Make a wave whose members failed, with an open gate (1), a pause (2), and a batch to advance."""
    from tests.acceptance.cli.terminal import Terminal  # noqa: PLC0415 - a fixture of the whole module.

    terminal = Terminal(tmp_path_factory.mktemp("failed"))
    terminal.wave(failing=["F-check"])
    terminal.well("batch", "reschedule", "1", "--at", "2026-01-01", *WHY)
    terminal.work()
    terminal.well("pause", "--batch", "1", *WHY)
    (terminal.folder / "more.csv").write_text("upn,dept\ndan@contoso.com,Sales\n", encoding="utf-8")
    (terminal.folder / "else.csv").write_text("upn,dept\neve@contoso.com,Sales\n", encoding="utf-8")
    terminal.well("batch", "create", "wave", "else.csv")
    return terminal


def named(words: tuple[str, ...]) -> str:
    return " ".join(words)[:40]


@pytest.mark.parametrize(("words", "keys"), LISTS, ids=[named(words) for words, _ in LISTS])
def test_a_list_has_its_keys_in_every_shape(failed: Terminal, words: tuple[str, ...], keys: set[str]) -> None:
    found = failed.well(*words, "-o", "json").rows()
    assert found
    assert all(set(row) == keys for row in found)
    lines = [
        cast("dict[str, object]", json.loads(line)) for line in failed.well(*words, "-o", "jsonl").out.splitlines()
    ]
    assert lines == found
    assert yaml.safe_load(failed.well(*words, "-o", "yaml").out) == found
    table = list(csv.reader(io.StringIO(failed.well(*words, "-o", "csv").out)))
    assert table[0] == list(found[0])
    assert len(table) == len(found) + 1
    assert len(failed.well(*words, "-o", "name").out.splitlines()) == len(found)


@pytest.mark.parametrize(("words", "keys"), THINGS, ids=[named(words) for words, _ in THINGS])
def test_one_thing_has_its_keys(failed: Terminal, words: tuple[str, ...], keys: set[str]) -> None:
    found = failed.well(*words, "-o", "json").fields()
    assert set(found) == keys
    assert yaml.safe_load(failed.well(*words, "-o", "yaml").out).keys() == found.keys()
    assert len(failed.well(*words, "-o", "name").out.splitlines()) == 1


@pytest.mark.parametrize(("words", "keys"), CHANGES, ids=[named(words) for words, _ in CHANGES])
def test_a_dry_run_answers_as_the_real_thing_and_leaves_nothing(
    failed: Terminal, words: tuple[str, ...], keys: set[str]
) -> None:
    before = failed.dump()
    ran = failed.run(*words, "--dry-run", "-o", "json")
    assert ran.code in {0, 3}, ran.err
    assert set(ran.fields()) == keys
    assert ran.fields().get("dry_run", True) is True
    assert failed.dump() == before
    assert failed.run(*words, "--dry-run").code == ran.code
    assert failed.dump() == before


def test_empty_lists_are_lists(terminal: Terminal) -> None:
    terminal.published()
    assert terminal.well("batch", "list", "-o", "json").rows() == []
    assert terminal.well("batch", "list", "-o", "csv").out == ""
    ran = terminal.well("batch", "list")
    assert (ran.out, ran.err) == ("", "no batch\n")


def test_batches_are_narrowed(failed: Terminal) -> None:
    def ids(*words: str) -> list[object]:
        return [one["id"] for one in failed.well("batch", "list", *words, "-o", "json").rows()]

    assert ids() == [1, 2]
    assert ids("--status", "detected") == [2]
    assert ids("--runbook", "none") == []
    assert (ids("--manual"), ids("--automatic")) == ([1, 2], [])


def test_many_members_are_written_page_by_page(terminal: Terminal) -> None:
    lines = "".join(f"user-{number:05}@contoso.com,Sales\n" for number in range(4_500))
    (terminal.folder / "members.csv").write_text(f"upn,dept\n{lines}", encoding="utf-8")
    terminal.batch()
    found = terminal.well("batch", "members", "1", "-o", "json").rows()
    assert [row["member_key"] for row in found] == [f"user-{number:05}@contoso.com" for number in range(4_500)]
    assert len(terminal.well("batch", "members", "1").out.splitlines()) == 4_501
    ran = terminal.well("pause", "--batch", "1", *WHY)
    assert ran.out == "batch 1: paused\n"
    removed = terminal.well("member", "remove", "1", "-", *WHY, "-o", "json", stdin="\n".join(
        f"user-{number:05}@contoso.com" for number in range(450)
    )).fields()  # fmt: skip
    assert (removed["done"], removed["refused"]) == (450, 0)
