"""Whom a command means: keys, stdin, selections; and that nothing said is never everybody.

A key that names nobody is told and costs itself alone; a command that names nobody at all changes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA, BEN, CLEO = "anna@contoso.com", "ben@contoso.com", "cleo@contoso.com"
WHY = ("--reason", "because")

WIDE: list[tuple[str, ...]] = [
    ("retry", "{}", "--batch", "1"),
    ("rollback", "{}", "--batch", "1"),
    ("pause", "{}", "--batch", "1"),
    ("resume", "{}", "--batch", "1"),
    ("skip", "{}", "--batch", "1", "--step", "check"),
    ("mark-done", "{}", "--batch", "1", "--step", "check"),
    ("member", "remove", "1", "{}"),
    ("member", "move", "{}", "--batch", "1", "--to", "1"),
    ("member", "data", "{}", "--batch", "1", "--set", "dept=Sales"),
]


def named(words: tuple[str, ...]) -> str:
    return " ".join(words[:2])


@pytest.fixture(name="failed", scope="module")
def all_failed(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    from tests.acceptance.cli.terminal import Terminal  # noqa: PLC0415 - a fixture of the whole module.

    return Terminal(tmp_path_factory.mktemp("failed")).wave(failing=["F-check"])


@pytest.mark.parametrize(("key", "message"), [("-", "stdin names no member"), ("", "a key is empty")])
@pytest.mark.parametrize("words", WIDE, ids=named)
def test_an_empty_key_never_means_the_whole_batch(
    failed: Terminal, words: tuple[str, ...], key: str, message: str
) -> None:
    before = failed.dump()
    ran = failed.run(*(word.replace("{}", key) for word in words), *WHY, stdin="\n  \n")
    assert (ran.code, ran.err.partition(" - ")[0]) == (2, f"KEY: E401 {message}")
    assert failed.dump() == before


@pytest.mark.parametrize("words", [one for one in WIDE if one[0] in {"skip", "mark-done", "member"}], ids=named)
def test_a_batch_alone_names_nobody_but_for_what_is_meant_for_all(failed: Terminal, words: tuple[str, ...]) -> None:
    before = failed.dump()
    ran = failed.run(*(word for word in words if word != "{}"), *WHY)
    assert (ran.code, ran.err) == (2, "E401 no member is named - give a KEY or --where\n")
    assert failed.dump() == before


@pytest.mark.parametrize(
    ("words", "did"),
    [
        (("retry", "{}"), "tried again"),
        (("rollback", "{}"), "rolled back"),
        (("pause", "{}"), "paused"),
        (("skip", "{}", "--step", "check"), "passed over check"),
        (("mark-done", "{}", "--step", "check"), "counted as done at check"),
        (("member", "data", "{}", "--set", "dept=Sales"), "edited"),
    ],
    ids=["retry", "rollback", "pause", "skip", "mark-done", "data"],
)
def test_a_wrong_key_costs_itself_alone(terminal: Terminal, words: tuple[str, ...], did: str) -> None:
    terminal.wave(failing=["F-check"])
    keys = f"{ANNA}\nanna@contoso.con\n{BEN}\n"
    ran = terminal.run(*(word.replace("{}", "-") for word in words), *WHY, stdin=keys)
    assert (ran.code, ran.out) == (3, f"2 {did}, 1 refused\n")
    assert ran.err.startswith("anna@contoso.con: E404 there is no such member")
    assert ran.err.count("\n") == 1


def test_keys_that_are_all_wrong_are_all_told(failed: Terminal) -> None:
    before = failed.dump()
    ran = failed.run("retry", "nobody", "noone", *WHY)
    assert (ran.code, ran.out) == (7, "0 tried again, 2 refused\n")
    assert [line.partition(":")[0] for line in ran.err.splitlines()] == ["nobody", "noone"]
    assert failed.dump() == before


def test_results_stand_in_the_order_of_the_keys(failed: Terminal) -> None:
    ran = failed.run("retry", BEN, "nobody", ANNA, *WHY, "--dry-run", "-o", "json")
    results = cast("list[dict[str, object]]", ran.fields()["results"])
    assert [(one["subject"], one["ok"], one["code"]) for one in results] == [
        (BEN, True, ""), ("nobody", False, "E404"), (ANNA, True, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("skip", "--step", "check"), "2 passed over check\n"),
        (("mark-done", "--step", "check", "--output", "Id=7"), "2 counted as done at check\n"),
        (("member", "data", "--set", "dept=Research"), "2 edited\n"),
        (("member", "remove", "1"), "2 removed\n"),
    ],
    ids=["skip", "mark-done", "data", "remove"],
)
def test_a_selection_names_many(terminal: Terminal, words: tuple[str, ...], out: str) -> None:
    terminal.wave(failing=["F-check"])
    assert terminal.well(*words, "--where", "dept=Sales", *WHY).out == out


def test_members_are_moved_by_selection(terminal: Terminal) -> None:
    terminal.wave()
    (terminal.folder / "next.csv").write_text("upn,dept\nzoe@contoso.com,Sales\n", encoding="utf-8")
    terminal.well("batch", "create", "wave", "next.csv", "--at", "2030-01-01")
    ran = terminal.run("member", "move", "--where", "dept=Sales", "--batch", "1", "--to", "2", *WHY)
    assert (ran.code, ran.out) == (0, "2 moved to batch 2\n")


def test_one_of_several_that_is_not_paused_is_told(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("pause", ANNA, *WHY)
    ran = terminal.run("resume", ANNA, CLEO, *WHY)
    assert (ran.code, ran.out) == (3, "1 resumed, 1 refused\n")
    assert ran.err.startswith(f"{CLEO}: E410 it is not paused")


def test_live_batches_of_an_inactive_runbook_are_steered_as_ever(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("runbook", "deactivate", "wave")
    assert terminal.well("pause", "--runbook", "wave", *WHY).out == "runbook wave: paused\n"
    assert terminal.well("resume", "--runbook", "wave", *WHY).out == "runbook wave: resumed\n"
    terminal.well("batch", "reschedule", "1", "--at", "2030-01-01 22:00", *WHY)


ONE_WAY = """\
name: cut
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: check, worker_id: w, function: F-check}
      - {name: cut, worker_id: w, function: F-cut, one_way: true}
  - {name: care, offset: T+1d, steps: [{name: care, worker_id: w, function: F-care}]}
"""


def test_a_cancel_lists_who_goes_on(terminal: Terminal) -> None:
    (terminal.folder / "cut.yaml").write_text(ONE_WAY, encoding="utf-8")
    terminal.well("runbook", "publish", "cut.yaml")
    terminal.well("batch", "create", "cut", "members.csv", "--at", datetime.now(UTC).isoformat(timespec="seconds"))
    terminal.work()
    told = f"3 are past a one-way step and go on: {ANNA}, {BEN}, {CLEO} - --everyone stops them as well\n"
    ran = terminal.well("batch", "cancel", "1", *WHY, "--dry-run")
    assert (ran.out, ran.err) == ("batch 1: would be cancelled\n", told)
    assert terminal.well("batch", "cancel", "1", *WHY).err == told
    found = terminal.well("batch", "cancel", "1", *WHY, "--everyone", "-o", "json").fields()
    assert cast("list[dict[str, object]]", found["results"])[0]["going_on"] == []


def test_data_are_pinned_with_the_retry(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    words = ("retry", ANNA, "--data", "dept=Research", "--definition", "original", *WHY)
    assert terminal.well(*words).out == f"{ANNA}: tried again from prepare/check\n"
    assert terminal.well("member", "get", ANNA, "-o", "json").fields()["pinned"] == {"dept": "Research"}


def test_a_phase_that_is_not_there_undoes_nothing(terminal: Terminal) -> None:
    terminal.wave()
    before = terminal.value("SELECT count(*) FROM lanes")
    ran = terminal.run("rollback", "--batch", "1", "--to", "prepair", *WHY)
    assert (ran.code, ran.out) == (6, "0 rolled back, 3 refused\n")
    assert 'there is no phase "prepair" (there are: prepare, cutover)' in ran.err
    assert terminal.value("SELECT count(*) FROM lanes") == before
    listed = f"  {ANNA}\n  {BEN}\n  {CLEO}\n3 would be rolled back\n"
    assert terminal.well("rollback", "--batch", "1", "--dry-run", *WHY).out == listed


def test_a_dry_run_lists_whom_it_is_about_and_where_they_would_start(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    ran = terminal.well("retry", "--where", "error~409 dept=Sales", "--dry-run", *WHY)
    assert ran.out == f"  {ANNA}  from prepare/check\n  {BEN}  from prepare/check\n2 would be tried again\n"
    terminal.well("pause", "--batch", "1", "--reason", "tenant down")
    ran = terminal.well("retry", "--batch", "1", *WHY)
    assert (ran.out, ran.err) == ("3 tried again\n", "3 held: pause by anna - tenant down\n")


def test_a_step_that_is_not_there_is_told_with_those_that_are(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    ran = terminal.run("skip", ANNA, "--step", "chek", *WHY)
    message = "the member has no such step to pass (there are: prepare/check)"
    assert (ran.code, ran.err) == (6, f"{ANNA}: E410 {message}\n")


def test_a_paused_member_says_so_before_its_phase_is_due(terminal: Terminal) -> None:
    terminal.batch("--at", "2030-01-01")
    terminal.well("pause", ANNA, "--reason", "the boss travels")
    out = terminal.well("why", ANNA).out
    assert "  waits    held: pause by anna - the boss travels\n" in out
    terminal.well("pause", "--all", "--reason", "storm")
    terminal.well("resume", ANNA, *WHY)
    terminal.well("batch", "reschedule", "1", "--at", datetime.now(UTC).isoformat(timespec="seconds"), *WHY)
    assert terminal.well("why", ANNA).out.count("storm") == 1


def test_a_gate_that_was_rejected_is_offered_for_reopening(terminal: Terminal) -> None:
    terminal.wave()
    terminal.well("approve", "1/cutover", *WHY, "--dry-run", "--as", "boss")
    terminal.well("batch", "reschedule", "1", "--at", datetime.now(UTC).isoformat(timespec="seconds"), *WHY)
    terminal.work()
    assert terminal.well("gate", "list").err == "Try:   tminus approve 1 --reason TEXT\n"
    terminal.well("reject", "1", *WHY)
    assert terminal.well("gate", "list").err == "Try:   tminus gate reopen 1 --reason TEXT\n"
    assert "expires" not in terminal.well("status").out


def test_a_member_is_given_a_t0_of_its_own(terminal: Terminal) -> None:
    terminal.batch("--at", "2030-01-01 22:00")
    later = ("--at", "2030-01-03 22:00")
    ran = terminal.well("member", "set-time", ANNA, *later, *WHY)
    assert ran.out == f"{ANNA}: given a T-0 of its own, 2030-01-03 22:00\n"
    pinned = terminal.well("member", "get", ANNA, "-o", "json").fields()["pinned"]
    assert pinned == {"_t0": "2030-01-03T22:00:00.000Z"}
    assert terminal.well("member", "set-time", "--where", "dept=Sales", *later, *WHY).out.startswith("2 given")
    assert "prepare: waits for its own T-0: due at " in terminal.well("why", ANNA).out
    assert "own T-0" not in terminal.well("why", CLEO).out
    ran = terminal.run("member", "set-time", ANNA, "--at", "2029-01-01", *WHY)
    assert (ran.code, "before the batch's T-0" in ran.err) == (6, True)
    assert terminal.run("member", "set-time", ANNA, *WHY).code == 2
    assert terminal.run("member", "set-time", ANNA, *later, "--release", *WHY).code == 2
    assert terminal.well("member", "set-time", ANNA, "--release", *WHY).out.endswith("the batch's T-0 again\n")
