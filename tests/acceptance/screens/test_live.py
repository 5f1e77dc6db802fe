"""The live screen, with a real terminal in front of it: each key does what the help says, and nothing more."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import BOOK
from tests.acceptance.screens.glass import Glass

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA = "anna@contoso.com"
UP, DOWN, END, ESC = "\x1b[A", "\x1b[B", "\x1b[F", "\x1b"


@pytest.fixture
def failed(terminal: Terminal) -> Terminal:
    return terminal.wave(failing=["F-check"])


def test_the_grid_shows_members_steps_and_the_countdown(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        shown = glass.shows("member", ANNA, "create", "check", "q quit")
        assert "wave · batch 1 · active" in shown
        assert "T-29m" in shown or "T-30m" in shown
        assert "✗" in shown
        glass.press("q")
        assert glass.ends() == 0
        assert "Try:   tminus why batch 1" in glass.shown
        assert glass.echoes()


def test_why_member_and_help_lie_over_the_grid_and_go_away(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("w")
        glass.shows("cause", "prepare/check failed: 409", "you can", "Esc back")
        glass.press(ESC)
        glass.shows("q quit")
        glass.press("\r")
        glass.shows("prepare/create", "succeeded", "prepare/check")
        glass.press(ESC)
        glass.shows("q quit")
        glass.press("?")
        glass.shows("retry all failed ones", "tried again")
        glass.press("q")
        glass.shows("q quit")


def test_retry_asks_for_a_reason_and_takes_the_member_under_the_cursor(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press(DOWN)
        glass.shows(">ben@contoso.com")
        glass.press("r")
        glass.shows("retry ben@contoso.com from prepare/check - reason:")
        glass.press("\r")
        glass.shows("a reason is needed")
        glass.press("freed the address\r")
        glass.shows("1 tried again")
        glass.press("q")
        assert glass.ends() == 0
    audited = "SELECT count(*) FROM audit WHERE action = 'Retry' AND actor = 'anna' AND reason = 'freed the address'"
    assert failed.value(audited) == 1
    assert failed.value("SELECT count(*) FROM batch_members WHERE status = 'active' AND member_key LIKE 'ben%'") == 1


def test_retry_of_all_says_how_many_and_escape_does_nothing(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("R")
        glass.shows("retry 3 members from the failed step - reason:")
        glass.press(ESC)
        glass.shows("nothing was done")
        assert failed.value("SELECT count(*) FROM audit WHERE action = 'Retry'") == 0
        glass.press("/")
        glass.press("cleo\r")
        glass.shows("[find cleo; Esc for all]")
        glass.press("R")
        glass.shows("retry 1 member from the failed step - reason:")
        glass.press("once more\r")
        glass.shows("1 tried again")
    assert failed.value("SELECT count(*) FROM audit WHERE action = 'Retry'") == 1


def test_a_healthy_member_is_not_retried(terminal: Terminal) -> None:
    terminal.wave()
    with Glass(terminal.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("r")
        glass.shows("only a failed or cancelled one can be tried again")


def test_pause_and_resume_ask_for_reasons(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("p")
        glass.shows("pause batch 1: nothing new is sent - reason:")
        glass.press("the target is down\r")
        glass.shows("batch 1 paused", "held: pause by anna - the target is down")
        glass.press("p")
        glass.shows("resume batch 1 - reason:")
        glass.press("it is back\r")
        glass.shows("batch 1 resumed")
    assert failed.value("SELECT count(*) FROM holds WHERE is_open") == 0


def test_what_is_pasted_presses_no_keys(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("\x1b[200~R\rall of them\rq\x1b[201~")
        glass.press("f")
        glass.shows("[failed only; Esc for all]")
        assert failed.value("SELECT count(*) FROM audit WHERE action = 'Retry'") == 0


def test_a_search_finds_by_key_and_by_selection_and_tells_a_wrong_one(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("/")
        glass.press("dept=\x7f\x7f\x7f\x7f\x7f=Sales\r")
        glass.shows("is not a selection")
        glass.press('\x15dept="Human Resources"\r')
        assert "1-1 of 1" in glass.shows("cleo@contoso.com", "1-1 of 1")
        glass.press(ESC)
        glass.shows("1-3 of 3")


def test_what_changes_meanwhile_is_shown(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("failed 3")
        glass.press(DOWN)
        glass.shows(">ben@contoso.com")
        failed.well("retry", ANNA, "--reason", "because")
        # The cursor stays on its member, although the list has moved under it.
        glass.shows("active 1  failed 2", ">ben@contoso.com")


def test_the_window_may_change_its_size(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.press("")
        glass.resize(40, 8)
        glass.shows("anna@contoso… ")


def test_without_a_batch_the_open_ones_are_listed(failed: Terminal) -> None:
    with Glass(failed.folder, "watch") as glass:
        glass.shows("open batches", "wave", "failed 3")
        glass.press("\r")
        glass.shows("wave · batch 1")
        glass.press(ESC)
        glass.shows("open batches")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_terminal_is_given_back_whatever_ends_it(failed: Terminal, number: signal.Signals, code: int) -> None:
    with Glass(failed.folder, "watch", "1") as glass:
        glass.shows("q quit")
        glass.tell(number)
        assert glass.ends() == code
        assert glass.echoes()
        assert "\x1b[?1049l" in glass.shown
        assert "\x1b[?25h" in glass.shown
        assert "Traceback" not in glass.shown


def test_no_colour_and_letters_for_shapes(failed: Terminal) -> None:
    with Glass(failed.folder, "watch", "1", NO_COLOR="1", PYTHONIOENCODING="ascii") as glass:
        glass.shows("q quit")
        assert "\x1b[31m" not in glass.shown
        assert glass.shown.isascii()
        assert "\\u" not in glass.shown
        assert "\\x" not in glass.shown


def test_a_batch_that_has_ended_stays_on_the_screen(terminal: Terminal) -> None:
    (terminal.folder / "runbook.yaml").write_text(BOOK.replace("    gate: {expires: 2d}\n", ""), encoding="utf-8")
    terminal.batch("--at", (datetime.now(UTC) - timedelta(minutes=5)).isoformat(timespec="seconds"))
    terminal.work()
    with Glass(terminal.folder, "watch", "1") as glass:
        glass.shows("batch 1 · completed", "q quit")
        glass.press("q")
        assert glass.ends() == 0
