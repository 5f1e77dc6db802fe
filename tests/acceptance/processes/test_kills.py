"""Kill -9 at any moment, then start again: nothing is lost, nothing is recorded twice, no lease is waited for."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.processes.host import book
from tminus.engine.faultpoint import POINTS
from tminus.store.claims import LEASE_S

if TYPE_CHECKING:
    from tests.acceptance.processes.host import Host

KILLS = 10
DIED = 137


def under_way(host: Host, ended: int) -> bool:
    return host.words("end") >= ended and host.words("start") > ended


def test_ten_kills_lose_nothing_and_double_nothing(host: Host) -> None:
    chance = random.Random(20261118)
    # However late a kill comes on a busy machine, only so much can have been done by then.
    host.wave(book(3, takes=0.1) + "limits: {w: {in_flight: 6}}\n", 150)
    for _ in range(KILLS):
        wanted = host.words("end") + chance.randint(0, 20)
        process = host.up()
        host.until(partial(under_way, host, wanted))
        time.sleep(chance.uniform(0, 0.05))
        assert process.poll() is None, "it ended before it could be killed"
        host.kill(process)
    assert host.count("SELECT count(*) FROM executions WHERE status <> 'succeeded'") > 0
    assert host.end(host.up()).code == 0
    host.expect_each_step_once(150, 3)
    host.expect_clean()
    assert host.words("start") > host.words("end"), "no kill met a job that ran"


@pytest.mark.parametrize("point", POINTS)
def test_death_at_a_named_point_is_made_good_at_once(host: Host, point: str) -> None:
    host.wave(book(2, takes=0.02), 6)
    died = host.end(host.up(env={"TMINUS_FAULTPOINT": f"{point}:1" if point == "beat" else f"{point}:2"}))
    assert died.code == DIED, died.err
    began = time.monotonic()
    assert host.end(host.up()).code == 0
    assert time.monotonic() - began < LEASE_S * 0.7, "it waited for the leases of the dead"
    host.expect_each_step_once(6, 2)
    host.expect_clean()
