"""Why: the cause, what was undone, what may be done, and a next command that works as it stands there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, cast

import pytest

from tests.acceptance.screens.waves import BOOK, busy, for_some, taken, upn, wave
from tminus.cli import whys
from tminus.progression import events as ev
from tminus.store.insights import failures, waiting
from tminus.testing.world import DAY, World, fails, ok, silent

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal
    from tminus.store.insights.records import Record

ANNA = "anna@contoso.com"
WHY = ("--reason", "because")


def of_member(world: World, key: str) -> Record:
    member_id = world.member_id(key)
    with world.store.snapshot() as (tx, context):
        return waiting.member(tx, context, member_id)


def of_batch(world: World) -> Record:
    with world.store.snapshot() as (tx, context):
        return waiting.batch(tx, context, 1)


def of_hold(world: World, hold_id: int, actor: str = "zoe") -> Record:
    with world.store.snapshot() as (tx, context):
        return waiting.gate(tx, context, hold_id, actor)


def failed_wave() -> World:
    world = wave(behaviours={"F-primary": for_some({upn(104)}, taken())})
    world.pass_time(5 * DAY)
    return world


def test_a_failure_is_told_from_its_cause_to_the_command_that_mends_it() -> None:
    found = of_member(failed_wave(), upn(104))
    assert whys.lines(found, width=110) == [
        f"{upn(104)} - wave-1 batch 1 - failed at T-0",
        '  cause    cutover/primary failed: 409 address already in use (Conflict) - not tried again: class "Conflict"',
        "           is in its unless",
        "  tried    1. Tue 6 Jan 01:00 failed at worker-1: 409 address already in use",
        "  undone   undo ✓ clear  ✓ notify  state: clean; a retry starts at cutover/primary",
        "  you can  retry from cutover/primary, skip, mark-done, member data, pause",
        "  not now  rollback: what was sent is undone",
        "  not now  member remove, member set-time: membership is frozen",
    ]
    assert whys.next_command(found) == ["tminus", "retry", upn(104), "--reason", "…"]


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("retry: {max_retries: 0, interval: 1m}", "spent"),
        ("timeout: 5m", "none"),
        ("retry: {max_retries: 5, interval: 1m, backoff: 2, total: 90s}", "total"),
        ("retry: {max_retries: 5, interval: 1m, backoff: 2, unless: [busy]}", "unless"),
    ],
)
def test_why_it_was_not_tried_again_is_told(step: str, code: str) -> None:
    book = BOOK.replace("retry: {max_retries: 3, interval: 5m}", step)
    world = wave(members=2, book=book, behaviours={"F-proxies": for_some({upn(101)}, busy())})
    world.pass_time(3_600)
    cause = cast("Record", of_member(world, upn(101))["cause"])
    assert cast("Record", cause["not_retried"])["code"] == code


def test_a_worker_that_says_never_is_named() -> None:
    world = wave(members=2, behaviours={"F-proxies": fails("Gone", "no such mailbox", retryable=False)})
    cause = cast("Record", of_member(world, upn(101))["cause"])
    assert cast("Record", cause["not_retried"])["code"] == "not_retryable"


def test_an_unresolved_name_is_told_as_such() -> None:
    world = wave(members=2, book=BOOK.replace("function: F-proxies", "function: F-{{Missing}}"))
    cause = cast("Record", of_member(world, upn(101))["cause"])
    assert cast("Record", cause["not_retried"])["code"] == "UnresolvedTemplate"


def test_a_rollback_that_is_not_clean_comes_before_the_retry() -> None:
    world = wave(behaviours={"F-primary": for_some({upn(104)}, taken()), "F-notify": fails("Mail", "no mail server")})
    world.pass_time(5 * DAY)
    found = of_member(world, upn(104))
    lane = str(cast("list[Record]", found["undone"])[0]["lane_id"])
    assert any("✗ notify (no mail server)  state: not clean" in line for line in whys.lines(found))
    assert whys.next_command(found) == ["tminus", "retry", "--lane", lane, "--reason", "…"]


def test_a_job_that_must_end_first_is_named() -> None:
    world = wave(members=2, behaviours={"F-create": silent()})
    world.command(ev.Remove(member_id=world.member_id(upn(101)), actor="anna", reason="left"))
    found = of_member(world, upn(101))
    assert [one["job_id"] for one in cast("list[Record]", found["drain"])] == ["step-1"]
    assert any(line.startswith("  drains   job step-1 must end first") for line in whys.lines(found))


def test_the_next_event_is_told_in_the_zone_and_as_a_distance() -> None:
    world = wave(members=2)
    lines = whys.lines(of_member(world, upn(101)))
    assert "  next     Tue 6 Jan 01:00 Europe/Berlin (in 5d)" in lines


def test_a_batch_groups_its_failures_by_cause() -> None:
    world = wave(
        members=30,
        behaviours={
            "F-create": for_some({upn(101), upn(102)}, busy()),
            "F-proxies": lambda call: fails("NotFound", f"no mailbox {call.params['upn']} (7f3a0000aaaa)")(call),
        },
    )
    world.pass_time(3_600)
    found = of_batch(world)
    groups = cast("list[Record]", found["failures"])
    assert [(one["count"], one["phase"], one["step"], one["message"]) for one in groups] == [
        (28, "prepare", "proxies", "no mailbox … (…)"),
        (2, "prepare", "create", "the mailbox is busy"),
    ]
    assert found["phases_ended"] == 1
    shown = "\n".join(whys.lines(found))
    assert "28 x prepare/proxies NotFound: no mailbox … (…) (user-0103@contoso.example, " in shown
    assert "and 23 more" in shown
    assert whys.next_command(found) == ["tminus", "retry", "--batch", "1", "--reason", "…"]


def test_failures_are_folded_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_FAILED", failures._FAILED.replace("LIMIT 1000", "LIMIT 7"))  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - a small page shows what a large batch would.
    world = wave(members=30, behaviours={"F-create": fails("Busy", "busy")})
    groups = failures.grouped(world.store.database.read, 1)
    assert [(one.count, len(one.members)) for one in groups] == [(30, 5)]


def test_a_gate_says_who_may_answer_when_it_expires_and_what_then() -> None:
    book = BOOK.replace("    offset: T-0\n", "    offset: T-0\n    gate: {expires: 12h}\n")
    world = World()
    world.publish(book, actor="ben")
    world.batch("wave-1", [upn(101)], t0_in_s=0, created_by="anna")
    world.run()
    hold = int(world.value("SELECT id FROM holds WHERE kind = 'gate'") or 0)
    found = of_hold(world, hold, "anna")
    shown = "\n".join(whys.lines(found))
    assert "anybody but anna, ben (who made it)" in shown
    assert "unanswered is no-go" in shown
    assert "not now  approve: anna published, created or advanced it and may not approve it" in shown
    assert whys.next_command(found) == ["tminus", "why", "batch", "1"]
    assert whys.next_command(of_hold(world, hold, "zoe")) == ["tminus", "approve", str(hold), "--reason", "…"]


def test_what_waits_behind_a_hold_leads_to_it() -> None:
    world = wave(members=2, behaviours={"F-create": silent()})
    world.command(ev.OpenHold(scope="batch", batch_id=1, actor="anna", reason="wait"))
    world.behaviours["F-create"] = ok()
    found = of_batch(world)
    assert whys.next_command(found) == ["tminus", "why", "hold", "1"]
    assert whys.next_command(of_hold(world, 1)) == ["tminus", "hold", "lift", "1", "--reason", "…"]


def test_lines_fit_the_width_and_hold_no_commands_for_the_terminal() -> None:
    world = wave(members=2, behaviours={"F-proxies": fails("Evil", "\x1b[2J" + "word " * 80)})
    world.pass_time(3_600)
    lines = whys.lines(of_member(world, upn(101)), width=80)
    assert max(map(len, lines)) <= 80
    assert all(char.isprintable() for line in lines for char in line)


@pytest.mark.parametrize(
    "about", [("batch", "1"), (ANNA,), ("hold", "1"), ("step", "1"), ("--batch", "1", ANNA)], ids=str
)
def test_the_suggested_command_works_as_typed(terminal: Terminal, about: tuple[str, ...]) -> None:
    terminal.wave(failing=["F-check", "F-remove"])
    terminal.run("pause", "--batch", "1", *WHY)
    words = ("--db", str(terminal.path))
    ran = terminal.well("why", *about, *words)
    suggested = shlex.split(ran.err.removeprefix("Try:   tminus "))
    assert suggested[-2:] == list(words)
    again = terminal.run(*suggested, *(("--timeout", "1s") if suggested[0] == "watch" else ()))
    assert again.code in {0, 8}, again.err


def test_the_whole_answer_is_there_for_scripts(terminal: Terminal) -> None:
    terminal.wave(failing=["F-check"])
    found = terminal.well("why", ANNA, "-o", "json").fields()
    assert {"cause", "undone", "retry_from", "waits", "next_at", "drain", "actions", "zone", "now"} <= set(found)
    cause = cast("Record", found["cause"])
    assert [one["outcome"] for one in cast("list[Record]", cause["attempts"])] == ["failed"]
