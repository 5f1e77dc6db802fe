"""S01-S15: states that nothing would ever leave again, and faults of one that stopped all.

Whatever is not terminal has a time at which a sweep looks at it, and a fault stays with the member, row or runbook that
has it.
"""

# ruff: noqa: N802 - the tests are named after the defects.

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from tminus.domain.errors import TminusError
from tminus.domain.ids import execution_of
from tminus.ports.source import Question
from tminus.progression import events as ev
from tminus.runbook import load
from tminus.sources.reading import HANDED_IN, read_csv
from tminus.store.cohort import NewBatch
from tminus.store.store import Asking
from tminus.testing.world import DAY, Says, fails, ok, silent

if TYPE_CHECKING:
    from tests.simulation.origin.conftest import Play
    from tests.simulation.origin.stage import Stage

POLLED = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - name: sync
        worker_id: w
        function: Sync
        output_params: {SyncId: id}
        poll: {interval: 10m, timeout: 1h}
      - {name: move, worker_id: w, function: Move, params: {Sync: "{{SyncId}}"}}
"""
TWO_PHASES = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - {name: prepare, offset: T-1h, steps: [{name: make, worker_id: w, function: Make}]}
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
OVERLAPPING = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-1h
    steps:
      - {name: make, worker_id: w, function: Make}
      - {name: check, worker_id: w, function: Check}
  - {name: cutover, offset: T-0, overlap: true, steps: [{name: move, worker_id: w, function: Move}]}
  - {name: care, offset: T+1h, steps: [{name: care, worker_id: w, function: Care}]}
"""
GREETING = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps: [{name: move, worker_id: w, function: Move, params: {To: "{{upn}}"}}]
"""
INIT = """
name: move
data_source: {type: manual, primary_key: upn}
init: [{name: lock, worker_id: w, function: Lock}]
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move}]}
"""
LOST = """
name: move
data_source: {type: manual, primary_key: upn}
phases:
  - name: cutover
    offset: T-0
    steps:
      - name: move
        worker_id: w
        function: Move
        on_failure: undo
        timeout: 30m
        retry: {max_retries: 1, interval: 1m, jitter: false}
rollbacks: {undo: [{name: unmove, worker_id: w, function: Unmove}]}
"""
SOURCE = """
name: move
data_source:
  type: csv
  connection: FILE
  primary_key: upn
  batch_time_column: when
  multi_valued_columns: [{name: tags, format: json_array}]
phases:
  - {name: cutover, offset: T-0, steps: [{name: move, worker_id: w, function: Move, params: {Tags: "{{tags}}"}}]}
"""
UNFINISHED = Says({"complete": False})


def test_S01_an_unfinished_poll_is_recorded_as_success(play: Play) -> None:
    """Origin: a word in another letter case made `complete: false` a success; here only `true` ends a polling step."""
    stage = play(POLLED)
    stage.batch("move", ["ann"])
    stage.says(stage.take_next("Sync"), UNFINISHED)
    for _ in range(3):
        assert stage.steps("ann") == {"sync": "polling", "move": "pending"}
        assert stage.take() == []
        stage.clock.advance(600)
        stage.says(stage.take_next("Sync"), UNFINISHED)
    stage.clock.advance(600)
    stage.says(stage.take_next("Sync"), Says({"complete": True, "data": {"id": 7}}))
    stage.run()
    assert [call.params for call in stage.calls if call.function == "Move"] == [{"Sync": 7}]
    assert stage.batch_status() == "completed"


@pytest.mark.parametrize("claimed", [1, 2])
def test_S02_the_last_open_member_leaves_and_its_phase_stays(play: Play, claimed: int) -> None:
    """Origin: a leaver's steps were cancelled and its phase never looked at; here leaving counts like ending."""
    stage = play(TWO_PHASES)
    stage.batch("move", ["ann", "bob"])
    stage.tick()
    taken = stage.take(claimed)
    stage.says(taken[0], Says({}))
    stage.give(ev.Leaving(stage.member_id("bob"), actor="olga"))
    assert stage.phase_status("prepare") == "completed"
    stage.pass_time(DAY)
    assert (stage.phase_status("prepare"), stage.phase_status("cutover")) == ("completed", "completed")
    assert stage.batch_status() == "completed"
    assert stage.rows("SELECT lanes_succeeded, lanes_cancelled FROM phase_executions WHERE id = 1") == [(1, 1)]


@pytest.mark.parametrize("failing", ["Make", "Check", "Move"])
def test_S03_a_failure_cancels_in_a_phase_that_nobody_checks(play: Play, failing: str) -> None:
    """Origin: only the failing phase was checked, others it cancelled in stayed open; here each touched phase is."""
    stage = play(OVERLAPPING)
    stage.behaviours[failing] = fails()
    stage.batch("move", ["ann"])
    stage.clock.advance(3600)
    stage.tick()
    taken = stage.take()
    assert {call.function for call in taken} == {"Make", "Move"}
    stage.answer([call for call in taken if call.function == failing])
    stage.pass_time(20)
    stage.answer([call for call in taken if call.function != failing])
    stage.pass_time(DAY)
    assert stage.member_status("ann") == "failed"
    statuses = set(stage.names("SELECT status FROM phase_executions"))
    assert statuses <= {"completed", "failed", "cancelled"}
    assert stage.batch_status() in {"completed", "failed"}
    assert stage.names("SELECT DISTINCT status FROM lanes WHERE status IN ('waiting', 'running')") == []


def test_S04_a_phase_without_active_members_is_pending_for_ever(play: Play) -> None:
    """Origin: a phase with nobody left was passed over at each tick; here it is skipped with a reason and all ends."""
    stage = play(TWO_PHASES, Make=fails())
    stage.batch("move", ["ann"], t0_in_s=7200)
    stage.pass_time(DAY)
    assert (stage.phase_status("prepare"), stage.phase_status("cutover")) == ("failed", "skipped")
    assert stage.names("SELECT reason FROM phase_executions WHERE status = 'skipped'") == ["no members at its due time"]
    assert stage.batch_status() == "failed"


def test_S05_a_worker_dies_and_nobody_notices(play: Play) -> None:
    """Origin: a job without an answer was out for ever; here it is delivered anew, then lost and undone."""
    stage = play(LOST, Move=silent())
    stage.batch("move", ["ann"])
    stage.pass_time(DAY)
    assert stage.called("Move") == ["step-1"] * 10 + ["step-1-retry-1"] * 10
    assert stage.names("SELECT outcome FROM attempts WHERE execution_id = 1") == ["lost", "lost"]
    assert (stage.steps("ann"), stage.member_status("ann")) == ({"move": "rolled_back"}, "failed")
    assert stage.batch_status() == "failed"


def test_S05_a_worker_that_hangs_and_a_broker_that_gives_up(play: Play) -> None:
    """Origin: neither a hanging job nor a dead-lettered one ever ended; here the timeout and the broker's word do."""
    stage = play(LOST)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    for _ in range(89):
        stage.clock.advance(20)
        stage.store.beat("worker-1", [(call.execution_id, call.job_id)])
        stage.tick()
        assert stage.steps("ann") == {"move": "dispatched"}
    stage.clock.advance(20)
    stage.tick()
    assert stage.steps("ann") == {"move": "pending"}
    stage.clock.advance(60)
    again = stage.take_next("Move")
    stage.give(ev.JobLost(again.execution_id, call.job_id, dead=True))
    assert stage.steps("ann") == {"move": "dispatched"}
    stage.give(ev.JobLost(again.execution_id, again.job_id, dead=True))
    stage.run()
    assert stage.names("SELECT outcome FROM attempts WHERE execution_id = 1") == ["timeout", "lost"]
    assert (stage.called("Unmove"), stage.batch_status()) == (["step-2"], "failed")


@pytest.mark.parametrize("how", ["published", "deactivated"])
def test_S06_polls_stop_with_the_version_that_began_them(play: Play, how: str) -> None:
    """Origin: publishing or deleting a version ended all polling under it; here a step polls under its own version."""
    stage = play(POLLED)
    stage.batch("move", ["ann", "bob"])
    stage.tick()
    for call in stage.take():
        stage.says(call, UNFINISHED)
    if how == "published":
        stage.publish(POLLED.replace("Sync", "NewSync"), overdue="ignore")
    else:
        deactivate(stage)
    stage.clock.advance(600)
    stage.tick()
    first, second = stage.take()
    assert {first.function, second.function} == {"Sync"}
    stage.says(first, Says({"complete": True, "data": {"id": 7}}))
    stage.says(second, UNFINISHED)
    stage.behaviours["Sync"] = ok({"complete": False})
    stage.pass_time(DAY)
    assert stage.steps("ann") == {"sync": "succeeded", "move": "succeeded"}
    assert stage.steps("bob") == {"sync": "poll_timeout", "move": "cancelled"}
    assert [call.params for call in stage.calls if call.function == "Move"] == [{"Sync": 7}]


def deactivate(stage: Stage) -> None:
    """Deactivate all versions, as the command for it will."""
    with stage.database.write() as tx:
        tx.run("UPDATE runbooks SET is_active = 0")
    stage.restart()


def test_S07_a_failed_or_removed_member_is_named_again(play: Play) -> None:
    """Origin: naming it again broke a unique key and froze every batch; here it is known, or a new generation."""
    stage = play(TWO_PHASES, Make=fails())
    stage.batch("move", ["ann", "bob"], t0_in_s=7200)
    stage.batch("move", ["cyd"], t0_in_s=7200)
    stage.give(ev.Leaving(stage.member_id("bob")))
    stage.pass_time(3600)
    assert (stage.member_status("ann"), stage.member_status("bob")) == ("failed", "removed")
    stage.behaviours.clear()
    for _ in range(3):
        stage.store.join(1, [(key, f'{{"upn":"{key}"}}') for key in ("ann", "bob")])
        stage.run()
    assert stage.rows("SELECT member_key, generation FROM batch_members WHERE batch_id = 1 ORDER BY id") == [
        ("ann", 1),
        ("bob", 1),
        ("bob", 2),
    ]
    stage.pass_time(DAY)
    assert stage.steps("bob") == {"make": "succeeded", "move": "succeeded"}
    assert stage.member_status("ann") == "failed"
    assert stage.names("SELECT status FROM batches ORDER BY id") == ["completed", "failed"]


def test_S08_rows_of_a_finished_batch_are_a_second_batch(play: Play) -> None:
    """Origin: they broke a unique key, or after a publish migrated everybody again; here the batch is found."""
    stage = play(TWO_PHASES)
    made = stage.batch("move", ["ann", "bob"], kind="source")
    stage.run()
    assert stage.batch_status() == "completed"
    moved = len(stage.called())
    assert stage.batch("move", ["ann", "bob"], kind="source").batch_id == made.batch_id
    stage.publish(TWO_PHASES.replace("function: M", "function: NewM"))
    again = stage.batch("move", ["ann", "bob", "cyd"], kind="source")
    assert (again.batch_id, again.is_new) == (made.batch_id, False)
    assert stage.store.join(1, [("cyd", "{}"), ("ann", "{}")]) == []
    stage.pass_time(DAY)
    assert stage.value("SELECT count(*) FROM batches") == 1
    assert len(stage.called()) == moved


def test_S08_rows_of_a_reopened_batch_begin_again(play: Play) -> None:
    """Origin: who was done was migrated again when named once more; here it stays done, also in a batch reopened."""
    stage = play(TWO_PHASES)
    stage.behaviours["Move"] = lambda call: fails()(call) if call.execution_id == 4 else ok()(call)
    stage.batch("move", ["ann", "bob"], kind="source")
    stage.run()
    assert (stage.member_status("ann"), stage.member_status("bob")) == ("done", "failed")
    stage.behaviours["Move"] = silent()
    stage.command(ev.Retry(actor="olga", reason="fixed", member_id=stage.member_id("bob")))
    assert stage.batch_status() == "active"
    assert stage.store.join(1, [("ann", "{}"), ("bob", "{}")]) == []
    stage.behaviours.clear()
    stage.pass_time(DAY)
    assert stage.batch_status() == "completed"
    assert stage.called("Make") == ["step-1", "step-2"]


def members(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Read members as the CSV source does: the good rows, and what is wrong with the others."""
    question = Question(data_source=load(SOURCE).data_source)
    reading = read_csv(io.BytesIO(text.encode()), question, name="members.csv", limits=HANDED_IN)
    rows = [(row.key, row.data) for row in reading.rows]
    reading.rows.close()
    return rows, [problem.code for problem in reading.problems]


@pytest.mark.parametrize(
    ("line", "code"),
    [("ANN,2026-01-01,[]", "E337"), ("ann,2026-01-01,[]", "E336"), ('cyd,2026-01-01,"[1"', "E340")],
    ids=["S09 twin", "S09 duplicate", "S10 malformed cell"],
)
def test_S09_a_duplicate_key_stops_every_tick(play: Play, line: str, code: str) -> None:
    """Origin: one doubled key or malformed cell threw in each tick; here that row is left out, and told."""
    stage = play(SOURCE)
    rows, problems = members(f"upn,when,tags\nann,2026-01-01,[1]\n{line}\nbob,2026-01-01,[2]\n")
    assert problems == [code]
    stage.store.create_batch(NewBatch("move", rows, t0=stage.clock.now, source_time=stage.clock.now))
    stage.run()
    assert sorted(str(call.params) for call in stage.calls) == ["{'Tags': [1]}", "{'Tags': [2]}"]
    assert stage.batch_status() == "completed"


def test_S10_one_unreadable_member_stops_its_cohort(play: Play) -> None:
    """Origin: one member's broken data threw for the whole phase and stranded it; here the others go their way."""
    stage = play(GREETING)
    stage.batch("move", ["ann", "bob", "cyd"])
    with stage.database.write() as tx:
        tx.run("UPDATE batch_members SET data_json = '{' WHERE member_key = 'bob'")
    for _ in range(5):
        stage.step()
    assert sorted(stage.called("Move")) == ["step-1", "step-3"]
    assert {type(event) for event, _ in stage.refused} == {ev.ExecutionReady}
    stage.refused.clear()
    with stage.database.write() as tx:
        tx.run("UPDATE batch_members SET data_json = '{\"upn\":\"bob\"}' WHERE member_key = 'bob'")
    stage.run()
    assert stage.batch_status() == "completed"
    assert len(stage.called("Move")) == 3


def test_S11_a_lost_definition_completes_the_phase(play: Play) -> None:
    """Origin: without its definition a phase had no steps and was `completed`; here it stays, and others go on."""
    stage = play(TWO_PHASES)
    stage.publish(GREETING.replace("name: move\ndata", "name: other\ndata"))
    stage.batch("move", ["ann"], t0_in_s=3600)
    stage.batch("other", ["bob"], t0_in_s=3600)
    with stage.database.write() as tx:
        text = tx.all("SELECT yaml_content FROM runbooks WHERE name = 'move'")[0][0]
        tx.run("UPDATE runbooks SET yaml_content = '' WHERE name = 'move'")
    stage.restart()
    for _ in range(5):
        stage.step()
        stage.clock.advance(1800)
    assert stage.batch_status(2) == "completed"
    assert (stage.batch_status(1), stage.phase_status("prepare")) == ("active", "pending")
    assert {type(event) for event, _ in stage.refused} <= {ev.PhaseDue}
    stage.refused.clear()
    with stage.database.write() as tx:
        tx.run("UPDATE runbooks SET yaml_content = ? WHERE name = 'move'", (text,))
    stage.run()
    assert stage.batch_status(1) == "completed"


def test_S13_a_deactivated_runbook_freezes_its_batches(play: Play) -> None:
    """Origin: batches in flight stopped without a word; here deactivation stops new batches only."""
    stage = play(TWO_PHASES)
    stage.batch("move", ["ann"], t0_in_s=7200)
    deactivate(stage)
    stage.pass_time(DAY)
    assert (stage.steps("ann"), stage.batch_status()) == ({"make": "succeeded", "move": "succeeded"}, "completed")
    with pytest.raises(TminusError, match="E521"):
        stage.batch("move", ["bob"])


def test_S14_everything_ends_before_the_batch_is_active(play: Play) -> None:
    """Origin: a batch not yet active ignored that all was over; here it is looked at again when init is through."""
    stage = play(INIT)
    stage.batch("move", ["ann", "bob"])
    call = stage.take_next("Lock")
    for key in ("ann", "bob"):
        stage.give(ev.Leaving(stage.member_id(key), actor="olga"))
    stage.give(ev.BatchSettled(1), ev.PhaseDue(1))
    assert stage.batch_status() == "init_dispatched"
    stage.says(call, Says({}))
    stage.run()
    assert (stage.phase_status("cutover"), stage.batch_status()) == ("skipped", "cancelled")


def test_S15_a_refusal_without_correlation_data(play: Play) -> None:
    """Origin: a worker's refusal of a job named no step and was deleted; here the job's id alone finds the step."""
    stage = play(LOST)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    found = execution_of(call.job_id)
    assert found is not None
    refusal = ev.WorkError("no function is called Move", "UnknownFunction", retryable=False)
    stage.give(ev.ResultArrived(found, call.job_id, error=refusal))
    stage.run()
    assert stage.names("SELECT error_type FROM attempts WHERE execution_id = 1") == ["UnknownFunction"]
    assert (stage.called("Unmove"), stage.batch_status()) == (["step-2"], "failed")
    stage.give(ev.ResultArrived(0, "no job of ours", error=refusal))
    assert stage.rows("SELECT job_id, reason FROM late_results") == [("no job of ours", "unknown execution")]


def test_S05_a_job_that_runs_well_is_not_given_away(play: Play) -> None:
    """Origin: as above, the other way round; here a worker that keeps its lease keeps its job, and alone."""
    stage = play(LOST)
    stage.batch("move", ["ann"])
    call = stage.take_next("Move")
    for _ in range(20):
        stage.clock.advance(20)
        stage.store.beat("worker-1", [(call.execution_id, call.job_id)])
        stage.tick()
        assert stage.round((), [Asking("w", "other", 9)]) == []
    stage.says(call, Says({}))
    stage.run()
    assert (stage.called("Move"), stage.batch_status()) == (["step-1"], "completed")
