"""The tables that others rely on: their names, their columns, what they refuse.

Foreign dashboards, schedulers and scripts read these by name. The first list is theirs and only ever grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.domain import rows, status
from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from tminus.db.connection import Value

# Columns by table or view, as the systems around have known them before us.
KEPT = {
    "runbooks": "id name version yaml_content data_table_name is_active overdue_behavior ignore_overdue_applied"
    " rerun_init created_at last_error last_error_at",
    "runbook_automation_settings": "runbook_name automation_enabled enabled_at enabled_by disabled_at disabled_by",
    "batches": "id runbook_id batch_start_time status detected_at init_dispatched_at completed_at"
    " runbook_name source_time is_manual created_by current_phase idempotency_key data_json outputs_json round counts",
    "batch_members": "id batch_id member_key status added_at removed_at add_dispatched_at remove_dispatched_at"
    " data_json worker_data_json failed_at generation moved_to pinned_json",
    "phase_executions": "id batch_id phase_name offset_minutes due_at runbook_version status dispatched_at completed_at"
    " open_lanes lanes_total opening_after ring",
    "step_executions": "id phase_execution_id batch_member_id step_name step_index worker_id function_name params_json"
    " status job_id result_json error_message dispatched_at completed_at is_poll_step poll_interval_sec"
    " poll_timeout_sec poll_started_at last_polled_at poll_count"
    " max_retries retry_interval_sec retry_count retry_after kind",
    "init_executions": "id batch_id step_name step_index runbook_version worker_id function_name params_json status"
    " job_id result_json error_message dispatched_at completed_at is_poll_step poll_interval_sec poll_timeout_sec"
    " poll_started_at last_polled_at poll_count max_retries retry_interval_sec retry_count retry_after",
    "source_rows": "member_key batch_time first_seen_at last_seen_at is_current",
}
OURS = (
    *("executions", "lanes", "attempts", "late_results", "source_rows", "messages", "handled_messages", "quarantine"),
    *("holds", "events", "audit", "workers", "limits", "payloads", "idempotency_keys"),
)
WORDS: dict[tuple[str, str], object] = {
    ("batches", "status"): status.BatchStatus,
    ("batches", "kind"): status.BatchKind,
    ("batch_members", "status"): status.MemberStatus,
    ("phase_executions", "status"): status.PhaseStatus,
    ("lanes", "status"): status.LaneStatus,
    ("lanes", "kind"): status.LaneKind,
    ("executions", "status"): status.ExecutionStatus,
    ("holds", "kind"): status.HoldKind,
    ("holds", "scope"): status.HoldScope,
    ("holds", "state"): status.HoldState,
    ("events", "entity"): status.Entity,
}
# One good row of each table that has words or keys of its own; the cases below bend it.
GOOD: dict[str, dict[str, Value]] = {
    "runbooks": {"name": "r", "version": 1, "yaml_content": "", "data_table_name": "d", "created_at": "t"},
    "batches": {"runbook_id": 1, "runbook_name": "r", "runbook_version": 1, "kind": "source", "status": "active",
                "detected_at": "t", "source_time": "2026"},
    "batch_members": {"batch_id": 1, "member_key": "k", "status": "active", "added_at": "t"},
    "phase_executions": {"batch_id": 1, "phase_name": "p", "phase_index": 0, "runbook_version": 1,
                         "offset_minutes": 0, "status": "pending"},
    "lanes": {"batch_id": 1, "member_id": 1, "phase_id": 1, "kind": "phase", "sequence": "p", "runbook_version": 1,
              "status": "waiting", "steps_total": 1},
    "executions": {"lane_id": 1, "batch_id": 1, "step_name": "s", "step_index": 0, "runbook_version": 1,
                   "worker_id": "w", "function_name": "f", "status": "pending"},
    "holds": {"scope": "all", "kind": "pause", "state": "waiting", "reason": "r", "opened_at": "t", "opened_by": "o"},
    "events": {"at": "t", "entity": "batch", "entity_id": 1, "to_status": "active", "cause": "c"},
    "messages": {"id": 5, "topic": "worker-jobs", "route": "w", "message_id": "step-5", "body": "{}",
                 "created_at": "t", "execution_id": 5},
    "late_results": {"job_id": "step-5", "digest": "d", "is_success": 1, "reason": "r", "received_at": "t"},
    "attempt_rows": {"execution_id": 1, "attempt": 0, "job_id": "step-1", "outcome": "failed", "ended_at": "t"},
    "idempotency_keys": {"runbook_name": "r", "idempotency_key": "k", "batch_id": 1, "digest": "d",
                         "created_at": "t"},
    "source_rows": {"runbook_name": "r", "member_key": "k", "member_twin": "k", "first_seen_at": "t",
                    "last_seen_at": "t", "digest": "d", "data_json": "{}"},
    "workers": {"name": "w", "worker_ids": "w", "host": "h", "pid": 1, "process_started_at": "t", "started_at": "t",
                "last_seen_at": "t"},
    "audit": {"at": "t", "actor": "a", "action": "Retry", "scope": "", "subject": "k", "reason": "r",
              "outcome": "done"},
}  # fmt: skip


@pytest.fixture
def database() -> Database:
    fresh = Database(open_sqlite())
    migrate(fresh)
    return fresh


def add(database: Database, table: str, **changes: Value) -> int:
    row = {**GOOD[table], **changes}
    sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' for _ in row)})"  # noqa: S608 - our names
    with database.write() as tx:
        return tx.add(sql, tuple(row.values()))


def columns(database: Database, table: str) -> set[str]:
    with database.read() as tx:
        return {str(row[1]) for row in tx.all(f"PRAGMA table_xinfo({table})")}


@pytest.mark.parametrize("table", KEPT)
def test_the_columns_others_know_are_there(database: Database, table: str) -> None:
    assert set(KEPT[table].split()) - columns(database, table) == set()


@pytest.mark.parametrize("table", OURS)
def test_our_own_tables_are_there(database: Database, table: str) -> None:
    assert columns(database, table)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("batches", rows.Batch),
        ("phase_executions", rows.PhaseRow),
        ("batch_members", rows.Member),
        ("lanes", rows.Lane),
        ("executions", rows.Execution),
        ("holds", rows.Hold),
        ("messages", rows.JobOut),
    ],
)
def test_every_field_of_a_row_has_its_column(database: Database, table: str, row: type[rows.Row]) -> None:
    assert set(rows.columns(row)) - columns(database, table) == set()


@pytest.mark.parametrize("table", GOOD)
def test_a_good_row_is_taken(database: Database, table: str) -> None:
    assert add(database, table) or table == "idempotency_keys"


@pytest.mark.parametrize(("table", "column"), WORDS)
def test_the_words_of_a_column_are_those_of_the_domain(database: Database, table: str, column: str) -> None:
    for number, word in enumerate(get_args(WORDS[table, column])):
        keys: dict[str, Value] = {}
        if table == "batches":
            keys["source_time"] = str(number)
        elif table in {"batch_members", "lanes"}:
            keys["member_id" if table == "lanes" else "batch_id"] = number + 10
        elif table in {"phase_executions", "executions"}:
            keys["batch_id" if table == "phase_executions" else "lane_id"] = number + 10
        add(database, table, **keys, **{column: word})
    for wrong in ("", "Active", "unknown", None):
        with pytest.raises(TminusError) as caught:
            add(database, table, **{column: wrong})
        assert caught.value.code == "E508"


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("runbooks", {"overdue_behavior": "repeat"}),
        ("messages", {"topic": "elsewhere"}),
        ("messages", {"execution_id": 6}),
        ("attempt_rows", {"outcome": "pending"}),
        ("lanes", {"phase_id": None}),
        ("lanes", {"member_id": None}),
    ],
)
def test_what_makes_no_sense_is_refused(database: Database, table: str, changes: dict[str, Value]) -> None:
    with pytest.raises(TminusError) as caught:
        add(database, table, **changes)
    assert caught.value.code == "E508"


@pytest.mark.parametrize(
    ("table", "first", "second"),
    [
        ("runbooks", {}, {"is_active": 0}),
        ("runbooks", {}, {"version": 2}),
        ("batches", {}, {"kind": "manual"}),
        ("batches", {"source_time": None, "idempotency_key": "k"}, {"source_time": None, "idempotency_key": "k"}),
        ("batch_members", {}, {"status": "failed"}),
        ("phase_executions", {}, {"phase_index": 4}),
        ("lanes", {}, {"status": "cancelled"}),
        ("lanes", {"kind": "init", "member_id": None}, {"kind": "init", "member_id": None, "round": 1}),
        ("lanes", {"kind": "finish", "round": 2}, {"kind": "finish", "round": 2}),
        ("lanes", {"kind": "removal"}, {"kind": "removal", "batch_id": 2}),
        ("lanes", {"kind": "member_failed"}, {"kind": "member_failed"}),
        ("lanes", {"kind": "rollback", "cause_execution_id": 3}, {"kind": "rollback", "cause_execution_id": 3}),
        ("executions", {}, {"step_name": "other"}),
        ("messages", {}, {"message_id": "step-5-retry-1"}),
        ("late_results", {}, {"is_success": 0}),
        ("idempotency_keys", {}, {"batch_id": 2}),
        ("source_rows", {}, {"digest": "e"}),
        ("workers", {}, {"pid": 2}),
    ],
)
def test_what_may_be_there_once_is_refused_twice(
    database: Database, table: str, first: dict[str, Value], second: dict[str, Value]
) -> None:
    add(database, table, **first)
    with pytest.raises(TminusError) as caught:
        add(database, table, **second)
    assert caught.value.code == "E508"


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("runbooks", {"version": 2, "is_active": 0}),
        ("batches", {"source_time": None}),
        ("batches", {"runbook_name": "other"}),
        ("batch_members", {"generation": 2}),
        ("phase_executions", {"runbook_version": 2}),
        ("lanes", {"member_id": 2}),
        ("executions", {"step_index": 1}),
        ("late_results", {"digest": "e"}),
    ],
)
def test_what_may_be_there_again_is_taken(database: Database, table: str, changes: dict[str, Value]) -> None:
    add(database, table)
    assert add(database, table, **changes)


def test_the_audit_only_grows(database: Database) -> None:
    add(database, "audit")
    for sql in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 1"):
        with pytest.raises(TminusError, match="append-only"), database.write() as tx:
            tx.run(sql)
    with database.read() as tx:
        assert tx.all("SELECT actor FROM audit") == [("a",)]


def test_computed_columns_follow_what_they_are_made_of(database: Database) -> None:
    add(database, "batches", members_active=3, members_failed=1)
    add(database, "batches", kind="manual", source_time=None)
    add(database, "batch_members", removed_at="later")
    with database.read() as tx:
        assert tx.all("SELECT is_manual FROM batches ORDER BY id") == [(0,), (1,)]
        assert tx.one("SELECT counts ->> 'active', counts ->> 'failed' FROM batches WHERE id = 1") == (3, 1)
        assert tx.all("SELECT add_dispatched_at, remove_dispatched_at FROM batch_members") == [("t", "later")]


def test_a_view_names_the_last_sending_of_what_waits_or_has_ended(database: Database) -> None:
    add(database, "lanes")
    add(database, "lanes", kind="init", member_id=None, phase_id=None)
    add(database, "lanes", kind="rollback", phase_id=None, cause_execution_id=1)
    add(database, "executions")
    add(database, "executions", step_index=1, dispatched_at="t", attempt=2, poll_count=3)
    add(database, "executions", step_index=2, dispatched_at="t", job_id="step-3", status="dispatched")
    add(database, "executions", lane_id=2, dispatched_at="t", attempt=1)
    add(database, "executions", lane_id=3)
    with database.read() as tx:
        jobs = tx.all("SELECT id, phase_execution_id, kind, job_id FROM step_executions ORDER BY id")
        assert tx.all("SELECT id, job_id FROM init_executions") == [(4, "init-4-retry-1")]
    assert jobs == [
        (1, 1, "phase", None),
        (2, 1, "phase", "step-2-retry-2-poll-3"),
        (3, 1, "phase", "step-3"),
        (5, None, "rollback", None),
    ]


def test_attempts_show_what_a_success_has_left_with_its_execution(database: Database) -> None:
    add(database, "executions", params_json='{"now": 1}', result_json='{"r": 1}')
    add(database, "attempt_rows", outcome="succeeded")
    add(database, "attempt_rows", params_json='{"then": 1}')
    with database.read() as tx:
        found = tx.all("SELECT outcome, params_json, result_json FROM attempts ORDER BY id")
    assert found == [("succeeded", '{"now": 1}', '{"r": 1}'), ("failed", '{"then": 1}', None)]
