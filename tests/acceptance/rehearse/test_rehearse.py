"""`tminus rehearse`: what comes out, what faults do to it, and that the same seed repeats it to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Ran, Terminal

AT = ("--members", "members.csv", "--at", "2026-12-04 22:00")


def rehearse(terminal: Terminal, *words: str) -> Ran:
    return terminal.run("rehearse", *AT, *words, "-o", "json")


def counts(ran: Ran, what: str) -> dict[str, int]:
    return cast("dict[str, int]", ran.fields()[what])


def phases(ran: Ran) -> dict[str, dict[str, object]]:
    found = cast("list[dict[str, object]]", ran.fields()["phases"])
    return {str(phase["phase_name"]): phase for phase in found}


def test_a_month_passes_in_which_everything_works(terminal: Terminal) -> None:
    ran = rehearse(terminal)
    assert ran.code == 0, ran.err
    assert counts(ran, "members") == {"done": 4}
    assert counts(ran, "steps") == {"succeeded": 16}
    assert phases(ran)["care"]["due_at"] == "2026-12-07T07:00:00.000Z"
    assert ran.fields()["verdict"] == "all of it would work: 4 moved"


def test_nothing_is_left_behind(terminal: Terminal) -> None:
    before = {path: path.read_bytes() for path in terminal.folder.iterdir()}
    rehearse(terminal, "--fault", "*:lost@20%")
    assert {path: path.read_bytes() for path in terminal.folder.iterdir()} == before


def test_the_same_seed_gives_the_same_history_byte_for_byte(terminal: Terminal) -> None:
    faults = ("--fault", "w:429@30%", "--fault", "*:lost@10%", "--fault", "move:fail@20%")
    for name in ("one", "two"):
        terminal.run("rehearse", *AT, *faults, "--seed", "7", "--history", name)
    again, other = (rehearse(terminal, *faults, "--seed", seed) for seed in ("7", "8"))
    assert (terminal.folder / "one").read_bytes() == (terminal.folder / "two").read_bytes()
    assert len((terminal.folder / "one").read_bytes().splitlines()) > 50
    assert again.out == rehearse(terminal, *faults, "--seed", "7").out
    assert again.fields()["history_sha256"] != other.fields()["history_sha256"]


def test_a_failure_is_tried_again_and_then_rolled_back(terminal: Terminal) -> None:
    once = rehearse(terminal, "--fault", "create:fail@1")
    assert (once.code, counts(once, "attempts")["failed"]) == (0, 1)
    for_good = rehearse(terminal, "--fault", "create:fail@key=ben@contoso.com")
    assert for_good.code == 3
    assert counts(for_good, "members") == {"done": 3, "failed": 1}
    assert (counts(for_good, "attempts")["failed"], for_good.fields()["rolled_back"]) == (2, 1)


def test_a_kind_of_failure_that_is_not_tried_again(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--fault", "create:fail=Conflict@key=ben@contoso.com")
    assert counts(ran, "attempts")["failed"] == 1


def test_throttling_waits_and_spends_no_retry(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--fault", "w:429@40%")
    assert ran.code == 0
    assert counts(ran, "attempts")["throttled"] > 0
    assert "failed" not in counts(ran, "attempts")


def test_what_is_lost_is_delivered_again(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--fault", "F-survey:lost@1")
    assert (ran.code, counts(ran, "members")) == (0, {"done": 4})
    assert cast("int", ran.fields()["jobs"]) > cast("int", rehearse(terminal).fields()["jobs"])


def test_what_is_too_slow_times_out(terminal: Terminal) -> None:
    slow = rehearse(terminal, "--fault", "prepare/create:slow@40m")
    assert (slow.code, counts(slow, "attempts")["succeeded"]) == (0, 16)
    too_slow = rehearse(terminal, "--fault", "prepare/create:slow@2h")
    assert counts(too_slow, "attempts")["timeout"] == 8
    assert too_slow.fields()["verdict"] == "4 of 4 would fail, 0 would be moved"


def test_a_brake_stops_the_rings_behind_it(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--fault", "move:fail=Conflict@1")
    assert ran.code == 3
    assert str(ran.fields()["verdict"]).startswith("your brake would stop this at cutover")
    assert counts(ran, "members") == {"active": 3, "failed": 1}


@pytest.mark.parametrize(("answer", "code"), [("approve", 0), ("wait", 5), ("reject", 5)])
def test_gates_are_answered_as_it_is_said(terminal: Terminal, answer: str, code: int) -> None:
    ran = rehearse(terminal, "--gates", answer)
    assert ran.code == code
    assert phases(ran)["cutover"]["status"] == ("completed" if answer == "approve" else "pending")


def test_it_stops_where_it_is_told_to(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--until", "T+1d")
    assert ran.code == 5
    assert (phases(ran)["cutover"]["status"], phases(ran)["care"]["status"]) == ("completed", "pending")
    assert ran.fields()["verdict"] == "it would not have ended by then"


def test_it_begins_where_it_is_told_to(terminal: Terminal) -> None:
    ran = rehearse(terminal, "--from", "2026-12-01 08:00")
    assert ran.fields()["start"] == "2026-12-01T07:00:00.000Z"
    assert phases(ran)["prepare"]["dispatched_at"] == "2026-12-01T07:00:00.000Z"


def test_without_t0_the_phases_are_advanced_one_by_one(terminal: Terminal) -> None:
    ran = terminal.run("rehearse", "--members", "members.csv", "-o", "json")
    assert (ran.code, counts(ran, "members")) == (0, {"done": 4})


def test_a_source_is_asked_once_and_each_of_its_times_is_a_batch(terminal: Terminal) -> None:
    book = (terminal.folder / "runbook.yaml").read_text("utf-8")
    source = "{type: csv, connection: WAVES, primary_key: upn, batch_time_column: at, interval: 1s}"
    text = book.replace("{type: manual, primary_key: upn}", source)
    (terminal.folder / "runbook.yaml").write_text(text, encoding="utf-8")
    rows = "upn,at\nanna@contoso.com,2026-12-04 22:00\nben@contoso.com,2026-12-11 22:00\n,2026-12-11 22:00\n"
    (terminal.folder / "waves.csv").write_text(rows, encoding="utf-8")
    ran = terminal.run("rehearse", "-o", "json", env={"WAVES": "waves.csv"})
    assert ran.code == 0, ran.err
    assert counts(ran, "batches") == {"completed": 2}
    told = terminal.run("rehearse", env={"WAVES": "waves.csv"})
    assert "waves.csv:4" in told.err


def test_a_rate_spreads_the_work_over_time(terminal: Terminal) -> None:
    book = (terminal.folder / "runbook.yaml").read_text("utf-8")
    (terminal.folder / "runbook.yaml").write_text(f"limits: {{w: {{per_minute: 1}}}}\n{book}", encoding="utf-8")
    ran = rehearse(terminal)
    assert (ran.code, counts(ran, "members")) == (0, {"done": 4})
    first = phases(ran)["prepare"]
    assert str(first["completed_at"]) > str(rehearse(terminal).fields()["start"])[:11] + "22:05"


def test_the_picture_for_a_person(terminal: Terminal) -> None:
    ran = terminal.run("rehearse", *AT, "--fault", "create:fail=Conflict@1", "--fault", "w:429@20%", "--seed", "3")
    lines = ran.out.splitlines()
    assert lines[0].startswith("7d 11h of schedule in ")
    assert [line.split()[4:6] for line in lines[1:4]] == [["T-5d", "prepare"], ["T-0", "cutover"], ["T+2d10h", "care"]]
    assert any("failed 1x  prepare/create: rehearsed failure" in line for line in lines)
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("words", "code", "place"),
    [
        (["--members", "nobody.csv"], "E3", "nobody.csv"),
        ([], "E432", "runbook.yaml"),
        ([*AT, "--fault", "create"], "E430", "--fault"),
        ([*AT, "--fault", "create:fial"], "E430", "--fault"),
        ([*AT, "--fault", "create:slow"], "E430", "--fault"),
        ([*AT, "--fault", "create:fail@0"], "E430", "--fault"),
        ([*AT, "--fault", "create:fail@101%"], "E430", "--fault"),
        ([*AT, "--fault", "create:429=Type"], "E430", "--fault"),
        ([*AT, "--until", "T+x"], "E2", ""),
        (["--members", "members.csv", "--until", "T+1d"], "E406", "--until"),
        (["nothing.yaml", *AT], "E121", "nothing.yaml"),
        (["no-such-plan"], "E509", ""),
        ([*AT, "--expect", "nothing.yaml"], "E121", "nothing.yaml"),
    ],
)
def test_wrong_inputs_are_one_line_with_a_code(terminal: Terminal, words: list[str], code: str, place: str) -> None:
    ran = terminal.run("rehearse", *words)
    assert ran.code not in {0, 1, 3, 5}
    assert code in ran.err
    assert place in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.err


# -- expectations ------------------------------------------------------------------------------------------------------

CASE = """\
members: members.csv
at: 2026-12-04 22:00
seed: 3
faults: ["create:fail=Conflict@key=ben@contoso.com"]
expect:
  exit: 3
  members: {done: 3, failed: 1}
  attempts: {failed: ">= 1", lost: 0}
  phases:
    prepare: {status: completed, succeeded: 3, failed: "< 2"}
    cutover: completed
  rolled_back: 1
  holds: []
  member: {ben@contoso.com: failed, anna@contoso.com: done}
"""


def expecting(terminal: Terminal, case: str) -> Ran:
    (terminal.folder / "case.yaml").write_text(case, encoding="utf-8")
    return terminal.run("rehearse", "--expect", "case.yaml")


def test_what_is_expected_comes_out(terminal: Terminal) -> None:
    ran = expecting(terminal, CASE)
    assert ran.code == 0, ran.out + ran.err
    assert "as expected" in ran.out


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("exit: 3", "exit: 0"), "exit: expected 0, found 3"),
        (("done: 3", "done: 4"), "members done: expected 4, found 3"),
        (('failed: ">= 1"', 'failed: ">= 2"'), "attempts failed: expected >= 2, found 1"),
        (("succeeded: 3", "succeeded: 4"), "phase prepare succeeded: expected 4, found 3"),
        (("cutover: completed", "cutover: failed"), "phase cutover: expected failed, found completed"),
        (("cutover: completed", "cut-over: failed"), "phase cut-over: expected failed, found no such phase"),
        (("rolled_back: 1", "rolled_back: 0"), "rolled_back: expected 0, found 1"),
        (("holds: []", "holds: [brake]"), "open holds: expected brake, found none"),
        (
            ("anna@contoso.com: done", "anna@contoso.com: failed"),
            "member anna@contoso.com: expected failed, found done",
        ),
        (("anna@contoso.com: done", "zoe@contoso.com: done"), "member zoe@contoso.com: expected done, found nobody"),
    ],
)
def test_what_does_not_come_out_is_named(terminal: Terminal, changed: tuple[str, str], said: str) -> None:
    ran = expecting(terminal, CASE.replace(*changed))
    assert ran.code == 1
    assert f"NOT AS EXPECTED  {said}" in ran.out


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        (("seed: 3", "sede: 3"), "case.yaml:3:1: E214"),
        (("seed: 3", "seed: three"), "case.yaml:3:7: E431"),
        (("done: 3", "dun: 3"), "E214"),
        (("done: 3", "done: many"), "E431"),
        (("holds: []", "holds: none"), "E431"),
        (("ben@contoso.com: failed", "ben@contoso.com: broken"), "E431"),
        (("expect:", "expects:"), "E214"),
        (("members: members.csv", "members: [a"), "E10"),
    ],
)
def test_a_case_that_cannot_be_read_says_where(terminal: Terminal, changed: tuple[str, str], code: str) -> None:
    ran = expecting(terminal, CASE.replace(*changed, 1))
    assert ran.code == 2
    assert code in ran.err


def test_options_come_before_the_case(terminal: Terminal) -> None:
    (terminal.folder / "case.yaml").write_text(CASE, encoding="utf-8")
    ran = terminal.run("rehearse", "--expect", "case.yaml", "--fault", "survey:fail=Conflict@1", "-o", "json")
    assert ran.code == 1
    assert ran.fields()["faults"] == ["survey:fail=Conflict@1"]
