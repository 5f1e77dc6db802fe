"""Versions, gates, rings, brakes, deadlines and windows: worlds that ran well break no promise at any commit."""

from __future__ import annotations

from tests.unit.promises.test_well import KEYS, begin, of_bob, once, polls
from tests.unit.promises.watched import DAY, HOUR, RUNBOOK, Watched
from tminus.progression import events as ev
from tminus.testing.world import Call, Says, fails, ok, silent

CUTOVER = "  - name: cutover\n    offset: T-0\n"


def phase(more: str, text: str = RUNBOOK) -> str:
    """Add lines to the phase of the cutover."""
    return text.replace(CUTOVER, CUTOVER + "".join(f"    {line}\n" for line in more.splitlines()))


def test_a_version_that_runs_again_what_is_past() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.publish(RUNBOOK)
    world.rest()
    assert len(world.called("Create")) == 6


def test_a_version_in_the_middle_of_a_phase() -> None:
    world = begin()
    world.behaviours["Sync"] = polls(3)
    world.pass_time(HOUR + 100)
    world.publish(RUNBOOK)
    world.rest()
    assert world.batch_status() == "completed"


def test_a_version_that_leaves_the_past_alone() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.publish(RUNBOOK, overdue="ignore")
    world.store.join(1, [("dan", '{"upn":"dan"}')])
    world.rest()
    assert world.batch_status() == "completed"


def test_a_version_that_runs_the_init_again() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.publish(RUNBOOK, rerun_init=True)
    world.rest()
    assert len(world.called("Announce")) == 2


def test_a_version_whose_init_fails() -> None:
    world = begin()
    world.pass_time(1.5 * HOUR)
    world.behaviours["Announce"] = fails()
    world.publish(RUNBOOK, rerun_init=True)
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    world.behaviours["Announce"] = ok()
    world.command(ev.RetryInit(batch_id=1, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_retry_under_the_version_it_failed_in() -> None:
    world = begin()
    world.behaviours["Sync"] = fails()
    world.pass_time(HOUR + 300)
    world.publish(RUNBOOK)
    world.run()
    world.behaviours["Sync"] = ok()
    for member_id in (1, 2, 3):
        world.command(ev.Retry(member_id=member_id, original=member_id > 1, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_gate_that_is_approved() -> None:
    world = begin(phase("gate: {expires: 12h}"))
    world.pass_time(3 * HOUR)
    assert not world.violations(at_rest=True)
    gate = world.number("SELECT id FROM holds")
    world.command(ev.AnswerHold(hold_id=gate, batch_id=1, answer="approve", actor="eve", reason="go"))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_gate_that_expires_and_is_asked_again() -> None:
    world = begin(phase("gate: {expires: 12h}"))
    world.pass_time(DAY)
    assert world.value("SELECT state FROM holds") == "expired"
    gate = world.number("SELECT id FROM holds")
    world.command(ev.AnswerHold(hold_id=gate, batch_id=1, answer="reopen", actor="eve", reason="again"))
    world.command(ev.AnswerHold(hold_id=gate, batch_id=1, answer="approve", actor="eve", reason="go"))
    world.rest()
    assert world.batch_status() == "completed"


def test_rings_that_open_one_by_one() -> None:
    world = begin(phase("rings: [1, 1, '100%']"))
    world.behaviours["Switch"] = once(fails())
    world.rest()
    assert world.batch_status() == "completed"


def test_a_brake_that_holds_and_is_lifted() -> None:
    world = Watched()
    text = RUNBOOK.replace("offset: T-1h\n", "offset: T-1h\n    rings: [1, '100%']\n    brake: '10%'\n")
    world.publish(text)
    world.batch("wave", ["bob", *KEYS[::2]], t0_in_s=2 * HOUR)
    world.behaviours["Create"] = of_bob(fails())
    world.pass_time(DAY)
    assert not world.violations(at_rest=True)
    hold = world.number("SELECT id FROM holds WHERE kind = 'brake'")
    world.command(ev.AnswerHold(hold_id=hold, batch_id=1, answer="lift", actor="eve", reason="known"))
    world.rest()
    assert world.batch_status() == "completed"


def test_a_deadline_that_passes() -> None:
    world = begin(phase("deadline: 8m", RUNBOOK.replace("T-1h\n", "T-1h\n    deadline: {after: 8m, from: due}\n")))
    world.behaviours["Sync"] = polls(1000)
    world.behaviours["Create"] = of_bob(silent())
    world.rest()
    assert {world.member_status(key) for key in KEYS} == {"failed"}


def test_a_deadline_of_a_ring_that_never_opened() -> None:
    world = begin(RUNBOOK.replace("T-1h\n", "T-1h\n    rings: [1, 1, 1]\n    deadline: {after: 8m, from: due}\n"))
    world.behaviours["Sync"] = polls(1000)
    world.rest()
    assert {world.member_status(key) for key in KEYS} == {"failed"}


def test_phases_that_overlap() -> None:
    world = begin(phase("overlap: true"))
    world.behaviours["Sync"] = polls(40)
    world.behaviours["Switch"] = once(fails())
    world.rest()


def test_an_overlapping_phase_that_waits_for_an_output() -> None:
    text = phase("overlap: true", RUNBOOK.replace("timeout: 1h}}", "timeout: 5h}, output_params: {Id: id}}"))
    world = begin(text.replace("function: Verify", "function: Verify, params: {Id: '{{Id}}'}"))
    world.behaviours["Sync"] = polls(20)
    world.pass_time(2.2 * HOUR)
    assert not world.called("Verify")
    world.rest()


def test_steps_that_are_passed_over() -> None:
    world = begin(RUNBOOK.replace("function: Verify}", "function: Verify, when: \"{{upn}} == 'bob'\"}"))
    world.rest()
    assert len(world.called("Verify")) == 1


def test_a_name_that_nothing_gives() -> None:
    world = begin(RUNBOOK.replace("function: Switch,", "function: Switch, params: {To: '{{nothing}}'},"))
    world.rest()
    assert not world.called("Switch")
    assert world.batch_status() == "completed"


def test_values_that_look_like_templates() -> None:
    world = Watched()
    world.publish(RUNBOOK)
    world.batch("wave", {"ann": {"upn": "{{upn}}"}}, t0_in_s=2 * HOUR)
    world.rest()
    assert world.batch_status() == "completed"


def test_a_one_way_step_that_is_lost() -> None:
    world = begin(RUNBOOK.replace("function: Switch,", "function: Switch, one_way: true,"))
    world.behaviours["Switch"] = silent()
    world.rest()
    assert world.value("SELECT count(*) FROM executions WHERE error_type = 'lost'") == 3


def test_a_poll_with_a_function_of_its_own_that_fails() -> None:
    world = begin(RUNBOOK.replace("timeout: 1h}", "timeout: 1h, function: Ask}"))
    world.behaviours |= {"Sync": polls(9), "Ask": fails()}
    world.rest()
    assert world.batch_status() == "failed"


def test_polls_that_are_lost_and_throttled() -> None:
    world = begin(RUNBOOK.replace("timeout: 1h}", "timeout: 1h, function: Ask}"))
    world.behaviours["Sync"] = polls(9)
    busy = fails("Busy", is_throttled=True, retry_after_s=5.0)

    def ask(call: Call) -> Says:
        number = int(call.job_id.rpartition("-")[2])
        return (silent(), busy, ok())[min(number, 3) - 1](call)

    world.behaviours["Ask"] = ask
    world.rest()
    assert world.batch_status() == "completed"
    assert len(world.called("Ask")) == 9


def test_a_window_of_one_and_chunks_of_one() -> None:
    world = Watched(window=1, chunk=1)
    world.publish(RUNBOOK)
    world.batch("wave", KEYS, t0_in_s=2 * HOUR)
    world.rest()
    assert world.batch_status() == "completed"


def test_a_batch_that_is_rescheduled() -> None:
    world = begin()
    world.command(ev.Reschedule(batch_id=1, t0=world.clock.now, actor="ada", reason="because"))
    world.rest()
    assert world.batch_status() == "completed"
