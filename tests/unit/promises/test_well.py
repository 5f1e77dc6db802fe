"""Worlds that ran well break no promise: not at their end, and not at any commit on the way there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.promises.watched import DAY, HOUR, RUNBOOK, Watched
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.testing.world import Call, Says, fails, ok, silent

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour

KEYS = ["ann", "bob", "cid"]


def begin(text: str = RUNBOOK, *, t0_in_s: float | None = 2 * HOUR) -> Watched:
    world = Watched()
    world.publish(text)
    world.batch("wave", KEYS, t0_in_s=t0_in_s)
    return world


def only(execution_id: int, then: Behaviour) -> Behaviour:
    """Do something else for one execution."""
    return lambda call: then(call) if call.execution_id == execution_id else ok()(call)


def of_bob(then: Behaviour) -> Behaviour:
    """Do something else for one member."""
    return lambda call: then(call) if call.params["User"] == "bob" else ok()(call)


def once(then: Behaviour) -> Behaviour:
    """Do something else for the first attempt of each execution."""
    return lambda call: then(call) if "-retry-" not in call.job_id else ok()(call)


def polls(times: int) -> Behaviour:
    """Answer `complete: false` so often, then end."""
    asked: dict[int, int] = {}

    def answer(call: Call) -> Says:
        asked[call.execution_id] = asked.get(call.execution_id, -1) + 1
        return Says(result={"complete": asked[call.execution_id] >= times})

    return answer


def test_everything_goes_well() -> None:
    world = begin()
    world.rest()
    assert world.batch_status() == "completed"
    assert world.checks > 10


def test_a_step_that_polls() -> None:
    world = begin()
    world.behaviours["Sync"] = polls(3)
    world.rest()
    assert world.batch_status() == "completed"


def test_polling_that_times_out() -> None:
    world = begin()
    world.behaviours["Sync"] = polls(1000)
    world.rest()
    assert world.batch_status() == "failed"


def test_a_failure_that_is_retried() -> None:
    world = begin()
    world.behaviours["Switch"] = once(fails())
    world.rest()
    assert world.batch_status() == "completed"


def test_a_failure_that_is_rolled_back_and_tried_again() -> None:
    world = begin()
    world.behaviours["Switch"] = lambda call: fails()(call) if world.clock.now < plus(start, 5 * DAY) else ok()(call)
    start = world.clock.now
    world.pass_time(4 * DAY)
    assert world.member_status("bob") == "failed"
    world.pass_time(2 * DAY)
    for key in KEYS:
        world.command(ev.Retry(member_id=world.member_id(key), actor="ada", reason="because"))
        world.run()
    world.rest()
    assert {world.member_status(key) for key in KEYS} == {"done"}


def test_a_failure_without_rollback_and_a_retry_from_an_earlier_step() -> None:
    world = begin()
    world.behaviours["Verify"] = fails()
    world.pass_time(DAY)
    world.behaviours["Verify"] = ok()
    world.command(ev.Retry(member_id=world.member_id("ann"), from_step="switch", actor="ada", reason="because"))
    world.command(ev.Retry(member_id=world.member_id("bob"), actor="ada", reason="because"))
    world.rest()
    assert world.member_status("ann") == "done"


def test_a_rollback_that_fails_and_is_tried_again() -> None:
    world = begin()
    world.behaviours |= {"Switch": fails(), "Unlink": fails()}
    world.pass_time(DAY)
    world.behaviours["Unlink"] = ok()
    for (lane_id,) in world.rows("SELECT id FROM lanes WHERE kind = 'rollback'"):
        world.command(ev.RetryCleanup(lane_id=int(lane_id or 0), actor="ada", reason="because"))
    world.rest()
    assert world.steps("ann")["switch"] == "rolled_back"


def test_an_init_that_fails() -> None:
    world = begin()
    world.behaviours["Announce"] = fails()
    world.rest()
    assert world.batch_status() == "failed"


def test_a_failed_init_that_is_tried_again() -> None:
    world = begin()
    world.behaviours["Announce"] = fails()
    world.pass_time(1800)
    world.behaviours["Announce"] = ok()
    world.command(ev.RetryInit(batch_id=1, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"
    assert {world.member_status(key) for key in KEYS} == {"done"}


def test_workers_that_lose_jobs() -> None:
    world = begin()
    world.behaviours["Create"] = silent()
    world.rest()
    assert world.batch_status() == "failed"


def test_a_job_that_is_lost_once_and_comes_late() -> None:
    world = begin()
    lost: list[Call] = []

    def forget(call: Call) -> Says:
        lost.append(call)
        return Says(lost=call.claim.delivery == 1)

    world.behaviours["Create"] = forget
    world.pass_time(DAY)
    world.round([world.result(lost[0], Says(result={}))])
    world.rest()
    assert world.batch_status() == "completed"
    assert world.value("SELECT count(*) FROM late_results") == 1


def test_a_step_that_is_throttled() -> None:
    world = begin()
    world.behaviours["Create"] = once(fails("Busy", is_throttled=True, retry_after_s=90.0))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_batch_without_time_that_is_advanced() -> None:
    world = begin(t0_in_s=None)
    for _ in range(2):
        world.command(ev.Advance(batch_id=1, actor="ada", reason="because"))
        world.run()
        world.pass_time(60)
    world.rest()
    assert world.batch_status() == "completed"


def test_a_joiner_and_a_leaver() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.store.join(1, [("dan", '{"upn":"dan"}')])
    world.store.round([ev.Leaving(world.member_id("ann"))])
    world.run()
    world.rest()
    assert world.member_status("ann") == "removed"
    assert world.called("Clean")


def test_a_leaver_who_returns() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.store.round([ev.Leaving(world.member_id("ann"))])
    world.run()
    world.store.join(1, [("ann", '{"upn":"ann"}')])
    world.rest()
    assert world.member_status("ann") == "done"


def test_a_leaver_whose_job_is_out() -> None:
    world = begin()
    world.behaviours["Create"] = only(2, silent())
    world.pass_time(HOUR)
    world.store.round([ev.Leaving(1)])
    world.run()
    assert not world.called("Clean")
    world.rest()
    assert world.called("Clean")


def test_a_member_that_moves() -> None:
    world = begin()
    world.batch("wave", ["eve"], t0_in_s=4 * HOUR)
    world.pass_time(1.5 * HOUR)
    world.store.move(world.member_id("bob"), 2)
    world.rest()
    assert world.member_status("bob") == "done"
    assert world.value("SELECT count(*) FROM lanes WHERE is_inherited") == 1


def test_a_failed_member_that_moves() -> None:
    world = begin()
    world.behaviours["Create"] = of_bob(fails())
    world.batch("wave", ["eve"], t0_in_s=4 * HOUR)
    world.pass_time(1.5 * HOUR)
    world.store.move(world.member_id("bob"), 2)
    world.pass_time(10)
    assert world.member_status("bob") == "failed"
    world.rest()


def test_a_batch_that_is_cancelled() -> None:
    world = begin()
    world.behaviours["Create"] = only(2, silent())
    world.pass_time(HOUR)
    world.command(ev.CancelBatch(batch_id=1, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "cancelled"


def test_a_pause_of_everything() -> None:
    world = begin()
    world.command(ev.OpenHold(scope="all", actor="ada", reason="because"))
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    hold = world.number("SELECT id FROM holds")
    world.command(ev.AnswerHold(hold_id=hold, batch_id=None, answer="lift", actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_pause_of_one_batch_in_the_middle() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.command(ev.OpenHold(scope="batch", batch_id=1, actor="ada", reason="because"))
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    hold = world.number("SELECT id FROM holds")
    world.command(ev.AnswerHold(hold_id=hold, batch_id=1, answer="lift", actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"


def test_steps_that_an_operator_passes() -> None:
    world = begin()
    world.behaviours["Switch"] = fails()
    world.behaviours["Sync"] = polls(1000)
    world.pass_time(1.4 * HOUR)
    world.command(ev.PassStep(member_id=1, step="sync", done=False, actor="ada", reason="because"))
    world.command(ev.PassStep(member_id=2, step="sync", done=True, actor="ada", reason="because"))
    world.pass_time(DAY)
    world.command(ev.PassStep(member_id=1, step="switch", done=True, outputs={"Id": 7}, actor="ada", reason="because"))
    world.command(ev.PassStep(member_id=2, step="switch", done=False, actor="ada", reason="because"))
    world.rest()
    assert world.member_status("ann") == "done"


def test_a_rollback_on_demand() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.command(ev.RollBack(member_id=1, actor="ada", reason="because"))
    world.rest()
    assert world.member_status("ann") == "failed"
    assert world.called("Unlink")


def test_a_retry_with_a_newer_version_puts_new_executions_in_the_place_of_the_newest() -> None:
    """The ids of executions that are gone are never given again: their job ids would be."""
    text = RUNBOOK.replace("on_member_failed: [{name: tell, worker_id: w, function: Tell}]\n", "")
    world = begin(text)
    world.behaviours["Sync"] = fails()
    world.pass_time(HOUR + 300)
    world.publish(text.replace("function: Sync", "function: Sync2"))
    world.run()
    newest = world.number("SELECT max(id) FROM executions")
    world.command(ev.Retry(member_id=3, actor="ada", reason="because"))
    assert world.number("SELECT max(id) FROM executions") > newest
    world.rest()
    assert world.called("Sync2") == [f"step-{newest + 1}"]


def test_what_cleans_up_waits_for_its_own_jobs_that_drain() -> None:
    retry = "timeout: 10s, retry: {max_retries: 0, interval: 1s}}, {name: delete"
    world = begin(RUNBOOK.replace("function: Unlink}, {name: delete", f"function: Unlink, {retry}"))
    world.behaviours |= {"Switch": fails(), "Unlink": silent()}
    world.rest()
    assert world.called("Delete")


def test_a_forced_removal_whose_job_timed_out() -> None:
    """Forced or not, an execution has one job at a time."""
    retry = "timeout: 10s, retry: {max_retries: 2, interval: 1s}}"
    world = begin(RUNBOOK.replace("function: Clean}", f"function: Clean, {retry}"))
    world.behaviours["Clean"] = once(silent())
    world.pass_time(1.5 * HOUR)
    world.store.round([ev.Leaving(1, force=True)])
    world.step()
    world.clock.advance(10)
    for look in world.store.looks():
        world.store.decide(look(("", 0)).events)
    world.clock.advance(1)
    world.round()
    world.rest()
    assert world.steps("ann", "removal") == {"clean": "succeeded"}


def test_a_cancelled_batch_whose_members_are_past_a_one_way_step() -> None:
    """What is left running keeps its jobs, sent or not."""
    world = begin(RUNBOOK.replace("function: Create,", "function: Create, one_way: true,"))
    world.pass_time(HOUR - 1)
    world.clock.advance(1)
    world.step(most=2)
    world.command(ev.CancelBatch(batch_id=1, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "cancelled"
    assert len(world.called("Verify")) == 3
