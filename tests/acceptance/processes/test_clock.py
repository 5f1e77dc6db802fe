"""The clock is set back while a wave runs: what is ready goes on, what is due later waits for the true time.

The database's clock is the process's; Python that is loaded before anything else moves it by what a file says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.processes.host import book
from tminus.db.clock import WAITED_FOR_S, SteadyClock
from tminus.domain.instant import Instant, plus
from tminus.testing.clock import ManualClock

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

SHIM = """\
import os
from pathlib import Path

import tminus.db.connection as connection
from tminus.domain.instant import plus

real = connection.Database.now
connection.Database.now = lambda self: plus(real(self), float(Path(os.environ["CLOCK"]).read_text() or 0))
"""
HOUR = 3600.0


@pytest.fixture(name="env")
def shimmed(host: Host) -> dict[str, str]:
    (host.folder / "shim").mkdir()
    host.write("shim/sitecustomize.py", SHIM)
    return {"PYTHONPATH": str(host.folder / "shim"), "CLOCK": str(host.write("clock", "0"))}


def test_a_running_wave_goes_on_when_the_clock_is_set_back(host: Host, env: dict[str, str]) -> None:
    host.wave(book(3, takes=0.3), 120)
    process = host.up(env=env)
    host.until(lambda: host.words("end") > 20)
    host.write("clock", str(-HOUR))
    ended = host.end(process)
    assert ended.code == 0, ended.err
    assert len([line for line in ended.lines if "the clock was set back by 3,600 s" in line]) == 1
    host.expect_each_step_once(120, 3)
    host.expect_clean()


def test_who_starts_after_it_was_set_back_finishes_what_was_begun_and_opens_nothing_early(
    host: Host, env: dict[str, str]
) -> None:
    later = "  - {name: later, offset: T+20m, steps: [{name: l, worker_id: w, function: fail}]}\n"
    host.wave(book(3, takes=0.2) + later, 60)
    process = host.up(env=env)
    host.until(lambda: host.words("end") > 20)
    host.kill(process)
    host.write("clock", str(-HOUR))
    ended = host.end(host.up(env=env))
    assert ended.code == 0, ended.err
    assert host.rows("SELECT phase_name, status FROM phase_executions ORDER BY phase_index") == [
        ("cutover", "completed"),
        ("later", "pending"),
    ]
    assert {line.step for line in host.account()} == {"s1", "s2", "s3"}
    host.expect_clean()


def test_who_was_asleep_does_not_give_up_what_is_in_hand(host: Host, env: dict[str, str]) -> None:
    """A laptop that is opened again: the lease is long over, and the job goes on where it was."""
    host.wave(book(1, takes=2, more=", one_way: true"), 3)
    process = host.up(env=env)
    host.until(lambda: host.words("start") == 3)
    host.write("clock", str(HOUR / 2))
    ended = host.end(process)
    assert ended.code == 0, ended.err
    assert host.rows("SELECT DISTINCT outcome, delivery FROM attempts") == [("succeeded", 1)]
    host.expect_each_step_once(3, 1)


def test_a_clock_stands_still_until_it_has_caught_up_but_never_for_more_than_a_day() -> None:
    real = ManualClock(Instant("2026-06-01T12:00:00.000Z"))
    clock = SteadyClock(real, plus(real.now, -HOUR))
    first = clock()
    assert first == real.now
    real.advance(-HOUR)
    assert clock() == first
    assert real.advance(HOUR + 1) == clock()
    latest = clock()
    real.advance(-WAITED_FOR_S)
    assert clock() == latest
    assert real.advance(-1) == clock()
