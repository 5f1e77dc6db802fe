"""At rest and beside the logs: what got lost, and what the rows say that nobody did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.promises.test_broken import flagged, middle
from tests.unit.promises.test_well import begin, polls
from tests.unit.promises.watched import DAY, HOUR, RUNBOOK, Watched
from tminus.progression import events as ev
from tminus.store.promises import Received, Started, check
from tminus.testing.world import fails, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.store.promises import Logs


def well() -> Watched:
    world = begin(RUNBOOK.replace("function: Verify", "function: Verify, one_way: true"))
    world.behaviours["Sync"] = polls(2)
    world.rest()
    assert not world.violations(at_rest=True)
    return world


def paused() -> Watched:
    """Everything waits: a batch under a pause before its cutover, at rest for a reason."""
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.command(ev.OpenHold(scope="batch", batch_id=1, actor="ada", reason="wait"))
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    return world


def ringed() -> Watched:
    """Stop before the second ring: a member failed in the first, and the brake holds."""
    world = begin(RUNBOOK.replace("T-1h\n", "T-1h\n    rings: [1, '100%']\n    brake: '10%'\n"))
    world.behaviours["Create"] = fails()
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    return world


REST: list[tuple[str, Callable[[], Watched], str]] = [
    ("P06 is still out", middle, "UPDATE messages SET is_poll = is_poll"),
    ("P06 is still dispatched", middle, "DELETE FROM messages"),
    ("P06 is still polling", middle, "UPDATE messages SET is_poll = is_poll"),
    ("P06 is still pending", middle, "UPDATE messages SET is_poll = is_poll"),
    ("P06 and says not for what", ringed, "UPDATE lanes SET reason = NULL WHERE status = 'waiting'"),
    ("P06 which is not there", ringed, "UPDATE holds SET is_open = 0, state = 'lifted' WHERE kind = 'brake'"),
    ("P10 phase 2 never opened", paused, "UPDATE holds SET is_open = 0, state = 'lifted'"),
    ("P10 opened to its end", ringed, "UPDATE phase_executions SET opening_after = 1 WHERE id = 1"),
    ("P10 walked to its end", paused, "UPDATE batches SET wake_after = 0"),
    ("P10 walked to its end", paused, "UPDATE batches SET ending_after = 0"),
    ("P10 but is active", well, "UPDATE batches SET status = 'active'"),
    ("P10 nothing closes it", well, "UPDATE batches SET status = 'closing'"),
    ("P10 nothing starts it", well, "UPDATE batches SET status = 'init_dispatched'"),
    ("P10 nothing starts it", well, "UPDATE batches SET status = 'detected'"),
]


@pytest.mark.parametrize(("wanted", "scene", "sql"), REST)
def test_what_was_lost_is_seen_at_rest(wanted: str, scene: Callable[[], Watched], sql: str) -> None:
    world = scene()
    world.corrupt(sql)
    assert flagged(world, wanted, at_rest=True)


def forget(job: str) -> Callable[[Logs], object]:
    def strike(logs: Logs) -> None:
        logs.ended = [line for line in logs.ended if line.job_id != job]

    return strike


def late(execution_id: int) -> Callable[[Logs], object]:
    """Let a worker have begun an effect before everything else."""

    def strike(logs: Logs) -> None:
        logs.started = [
            Started(s.job_id, s.execution_id, s.attempt, -1, s.at) if s.execution_id == execution_id else s
            for s in logs.started
        ]

    return strike


def unheard(logs: Logs) -> None:
    logs.received = [line for line in logs.received if line.job_id != "step-2"]


VERIFY = 9


LOGS: list[tuple[str, Callable[[Logs], object]]] = [
    ("P02 no worker said so", forget("step-2")),
    ("P02 no result of it", unheard),
    ("P02 no worker said so", forget("init-1")),
    ("P03 began before", late(3)),
    ("P07 never sent", lambda logs: logs.started.append(Started("step-2-retry-5", 2, 5, 99, ""))),
    ("P07 was begun as", lambda logs: logs.started.append(Started("step-2-retry-0", 2, 0, 1, ""))),
    ("P07 was begun twice", lambda logs: logs.started.append(Started(f"step-{VERIFY}", VERIFY, 0, 999, ""))),
    (
        "P19 step-2 was received 2",
        lambda logs: logs.received.append(Received("step-2", ok=True, polling=False, applied=True)),
    ),
    (
        "P19 step-99 was received",
        lambda logs: logs.received.append(Received("step-99", ok=True, polling=False, applied=True)),
    ),
    (
        "P19 was received 3 times",
        lambda logs: logs.received.extend([Received("step-3", ok=True, polling=True, applied=True)] * 2),
    ),
]


@pytest.mark.parametrize(("wanted", "strike"), LOGS)
def test_rows_and_logs_that_disagree_are_seen(wanted: str, strike: Callable[[Logs], object]) -> None:
    world = well()
    strike(world.logs)
    assert flagged(world, wanted)


def test_a_result_that_the_engine_refused_is_not_missed() -> None:
    world = well()
    world.logs.received.append(Received("step-2", ok=True, polling=False, applied=False))
    assert not world.violations(at_rest=True)


def test_a_late_result_counted_too_often_is_seen() -> None:
    world = well()
    world.corrupt(
        "INSERT INTO late_results (job_id, digest, is_success, reason, received_at) VALUES ('step-2', 'x', 1, '', '')"
    )
    assert flagged(world, "P01 1 times late")


def test_without_logs_only_rows_are_judged() -> None:
    world = well()
    with world.store.database.read() as tx:
        assert not check(tx, at_rest=True)
    world.logs.ended.clear()
    assert world.violations()


def test_what_cleans_up_beside_a_job_that_drains() -> None:
    world = begin()
    world.behaviours |= {"Create": silent(), "Clean": silent()}
    world.pass_time(HOUR)
    world.store.round([ev.Leaving(1, force=True)])
    world.step()
    world.corrupt("UPDATE lanes SET is_forced = 0")
    assert flagged(world, "P05 is out while another job of its subject drains")
