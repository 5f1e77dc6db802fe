"""The story of a wave as an operator types it: make it, watch it fail, find out why, mend it, decide, end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import BOOK

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA = "anna@contoso.com"
WHY = ("--reason", "because")


def statuses(terminal: Terminal) -> dict[str, str]:
    return {str(m["member_key"]): str(m["status"]) for m in terminal.well("batch", "members", "1", "-o", "json").rows()}


def test_a_batch_is_made_from_a_file_and_waits_to_be_advanced(terminal: Terminal) -> None:
    terminal.batch()
    assert "waits for its first advance" in terminal.well("why", "batch", "1").out
    terminal.well("batch", "advance", "1")
    terminal.work()
    found = terminal.well("batch", "phases", "1", "-o", "json").rows()
    assert [(p["phase_name"], p["status"]) for p in found] == [("prepare", "completed"), ("cutover", "pending")]


def test_t0_is_read_in_the_zone_that_it_names(terminal: Terminal) -> None:
    terminal.published()
    made = terminal.well(
        "batch", "create", "wave", "members.csv", "--at", "2030-12-04 22:00 Europe/Berlin", "-o", "json"
    ).fields()
    assert made["batch_start_time"] == "2030-12-04T21:00:00.000Z"
    assert made["members"] == 3


def test_failed_members_are_retried_by_key_by_selection_and_by_batch(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    assert set(statuses(terminal).values()) == {"failed"}
    assert terminal.well("retry", ANNA, *WHY).out == f"{ANNA}: tried again from prepare/check\n"
    selected = terminal.well("retry", "--where", 'dept="Human Resources" error~409', *WHY, "-o", "json").fields()
    assert selected["results"] == [
        {
            "subject": "cleo@contoso.com", "ok": True, "code": "", "message": "done", "note": "from prepare/check",
            "held": "",
        },
    ]  # fmt: skip
    assert terminal.well("retry", "--batch", "1", *WHY).out == "ben@contoso.com: tried again from prepare/check\n"
    assert set(statuses(terminal).values()) == {"active"}
    assert terminal.value("SELECT count(*) FROM audit WHERE action = 'Retry' AND actor = 'anna'") == 3


def test_keys_come_from_stdin_too(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    ran = terminal.well("retry", "-", *WHY, stdin=f"{ANNA}\n\nben@contoso.com\n")
    assert ran.out == "2 tried again\n"


def test_one_of_a_selection_that_is_refused_is_told_and_costs_three(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    terminal.well("retry", ANNA, *WHY)
    ran = terminal.run("retry", ANNA, "ben@contoso.com", *WHY)
    assert (ran.code, ran.out) == (3, "1 tried again, 1 refused\n")
    assert ran.err.startswith(f"{ANNA}: E410 the member is active")
    again = terminal.run("retry", ANNA, "ben@contoso.com", *WHY)
    assert (again.code, again.out) == (6, "0 tried again, 2 refused\n")


def test_why_names_the_cause_and_what_can_be_done(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    ran = terminal.well("why", ANNA)
    assert "cause    prepare/check failed: 409 address already in use" in ran.out
    assert "you can  retry" in ran.out
    assert ran.err == f'Try:   tminus retry {ANNA} --reason "…"\n'
    step = terminal.well("batch", "steps", "1", "--failed", "-o", "jsonl").out.splitlines()[0]
    assert '"step_name":"check"' in step


def test_skip_and_mark_done_let_a_member_go_on(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    terminal.well("skip", ANNA, "--step", "check", *WHY)
    terminal.well("mark-done", "ben@contoso.com", "--step", "prepare/check", "--output", "Id=7", *WHY)
    found = statuses(terminal)
    assert (found[ANNA], found["ben@contoso.com"]) == ("active", "active")
    assert terminal.well("member", "get", "ben@contoso.com", "-o", "json").fields()["worker_data"] == {"Id": "7"}


def test_data_are_pinned_and_released(terminal: Terminal) -> None:
    terminal.batch()
    terminal.well("member", "data", ANNA, "--set", "dept=Research", *WHY)
    assert terminal.well("member", "get", ANNA, "-o", "json").fields()["pinned"] == {"dept": "Research"}
    terminal.well("pause", "--batch", "1", *WHY)
    assert terminal.run("retry", "--where", "dept=Research status=failed", *WHY).code == 7
    terminal.well("member", "data", ANNA, "--release", "dept", *WHY)
    assert terminal.well("member", "get", ANNA, "-o", "json").fields()["pinned"] == {}


def test_a_member_is_rolled_back_on_demand(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("rollback", ANNA, *WHY)
    terminal.work()
    assert statuses(terminal)[ANNA] == "failed"
    assert '"step_name":"remove"' in terminal.well("batch", "steps", "1", "-o", "jsonl").out


@pytest.mark.parametrize(
    "scope", [("--all",), ("--runbook", "wave"), ("--batch", "1"), (ANNA,), ("--batch", "1", ANNA)], ids=str
)
def test_a_pause_holds_its_scope_until_it_is_lifted(terminal: Terminal, scope: tuple[str, ...]) -> None:
    terminal.batch()
    terminal.well("pause", *scope, *WHY)
    assert [h["kind"] for h in terminal.well("hold", "list", "-o", "json").rows()] == ["pause"]
    terminal.well("resume", *scope, *WHY)
    assert terminal.well("hold", "list", "-o", "json").rows() == []
    ran = terminal.run("resume", *scope, *WHY)
    assert (ran.code, "E410 it is not paused" in ran.err) == (6, True)


def test_a_gate_is_answered_by_somebody_else(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("batch", "reschedule", "1", "--at", "2026-01-01", *WHY)
    terminal.work()
    gates = terminal.well("gate", "list", "-o", "json").rows()
    assert [(g["phase_name"], g["state"]) for g in gates] == [("cutover", "waiting")]
    number = str(gates[0]["id"])
    refused = terminal.run("approve", number, *WHY)
    assert (refused.code, "may not approve it" in refused.err) == (6, True)
    assert "not now  approve: anna published" in terminal.well("why", "gate", number).out
    terminal.well("reject", number, *WHY, "--as", "ben")
    terminal.well("gate", "reopen", "1/cutover", *WHY, "--as", "ben")
    terminal.well("approve", "1/cutover", *WHY, "--as", "ben")
    terminal.work()
    assert set(statuses(terminal).values()) == {"done"}
    assert terminal.well("watch", "1", "--timeout", "10s").code == 0


def test_a_gate_is_approved_before_it_is_due(terminal: Terminal) -> None:
    terminal.batch("--at", "2030-01-01")
    terminal.well("approve", "1/cutover", *WHY, "--as", "ben")
    found = terminal.well("gate", "list", "--closed", "-o", "json").rows()
    assert [(g["state"], g["closed_by"]) for g in found] == [("approved", "ben")]


def test_members_join_and_leave_a_live_batch(terminal: Terminal) -> None:
    terminal.wave()
    (terminal.folder / "more.csv").write_text(f"upn,dept\ndan@contoso.com,Sales\n{ANNA},Sales\n", encoding="utf-8")
    ran = terminal.run("member", "add", "1", "more.csv", "-o", "json")
    assert ran.code == 3
    assert ran.fields() == {"batch_id": 1, "added": 1, "left_out": [ANNA], "dry_run": False}
    terminal.well("batch", "remove-member", "1", ANNA, *WHY)
    terminal.work()
    found = statuses(terminal)
    assert (found[ANNA], found["dan@contoso.com"]) == ("removed", "active")


def test_a_cancelled_batch_is_over(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("batch", "cancel", "1", *WHY)
    terminal.work()
    assert terminal.well("batch", "get", "1", "-o", "json").fields()["status"] == "cancelled"


def test_a_new_version_is_listed_and_fetched(terminal: Terminal) -> None:
    terminal.published()
    (terminal.folder / "runbook.yaml").write_text(BOOK.replace("name: check", "name: verify"), encoding="utf-8")
    terminal.well("runbook", "publish", "--overdue", "ignore", "--enable")
    found = terminal.well("runbook", "versions", "wave", "-o", "json").rows()
    assert [(v["version"], v["is_active"], v["overdue_behavior"]) for v in found] == [
        (2, True, "ignore"),
        (1, False, "rerun"),
    ]
    assert terminal.well("runbook", "get", "wave", "--version", "1").out == BOOK
    assert terminal.well("automation", "status", "wave", "-o", "json").fields()["automation_enabled"] is True
    off = terminal.well("automation", "disable", "wave", "-o", "json").fields()
    assert (off["automation_enabled"], off["disabled_by"]) == (False, "anna")


def test_find_tells_the_life_of_a_key(terminal: Terminal) -> None:
    terminal.batch()
    terminal.well("batch", "cancel", "1", *WHY)
    terminal.work()
    terminal.well("batch", "create", "wave", "members.csv")
    found = terminal.well("find", ANNA, "-o", "json").rows()
    assert [(m["batch_id"], m["status"]) for m in found] == [(2, "active"), (1, "cancelled")]
    near = terminal.run("find", "ANNA")
    assert (near.code, f"did you mean {ANNA}?" in near.err) == (7, True)
