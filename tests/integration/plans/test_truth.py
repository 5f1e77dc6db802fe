"""A plan says what the engine then sends: every call of a plan is held against the jobs of a rehearsal of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tminus import bootstrap
from tminus.bootstrap import Cohort, Play
from tminus.domain.instant import Instant
from tminus.engine.rehearse.crew import Crew
from tminus.progression.outlook.calls import Course
from tminus.progression.outlook.tally import outlook_of
from tminus.runbook import load
from tminus.runbook.plan import PlannedBatch, SavedPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.runbook.model import Runbook
    from tminus.store.rehearsal import RehearsalStore

BOOK = """\
name: truth
timezone: Europe/Berlin
inputs: [ticket]
data_source: {type: manual, primary_key: upn}
init:
  - {name: group, worker_id: w, function: Group, params: {t: "{{ticket}}"}, output_params: {GroupId: id}}
phases:
  - name: later
    offset: T+1d
    steps:
      - {name: last, worker_id: w, function: Last, params: {made: "{{made}}", seen: "{{Seen}}"}}
      - {name: after, worker_id: w, function: After}
  - name: first
    offset: T-1d
    rings: [1, "50%", "100%"]
    steps:
      - name: make
        worker_id: w
        function: "New-{{kind}}"
        when: "{{kind}} != 'Guest' and not ({{dept}} is empty)"
        params: {a: "{{UPN}}", b: ["{{dept}}", 1, true], c: {d: "x {{GroupId}} y"}, w: "{{_phase}}/{{_step}}"}
        output_params: {Made: id, dept: dept}
      - {name: look, worker_id: w, function: Look, params: {dept: "{{dept}}", n: "{{_attempt}} {{_member_key}}"},
         output_params: {seen: id}}
  - name: same
    offset: T-0
    steps:
      - {name: one, worker_id: w, function: One, when: "{{Made}} == ''", params: {on: "{{_batch_start_time}}"}}
      - {name: two, worker_id: w, function: Two, params: {v: "{{_runbook}} {{_runbook_version}}", t: "{{Ticket}}"}}
on_batch_finished:
  - {name: tell, worker_id: w, function: Tell, params: {g: "{{GroupId}}", p: "{{_outcome}} {{_failed}}"}}
"""
T0 = Instant("2031-12-04T21:00:00.000Z")
NOW = Instant("2031-12-01T10:00:00.000Z")
_SENT = """SELECT coalesce(m.member_key, ''), e.step_name, e.function_name, e.params_json, e.status, p.due_at
  FROM executions e JOIN lanes l ON l.id = e.lane_id LEFT JOIN batch_members m ON m.id = l.member_id
  LEFT JOIN phase_executions p ON p.id = l.phase_id"""

_COMES_LATER = re.compile('"<[^>]*>"|<[^>]*>')

Sent = dict[tuple[str, str], tuple[str, Any, str, str]]


def rehearsed(plan: SavedPlan, book: Runbook) -> Sent:
    """Run the plan on the engine, and return every step: function, parameters, status, due time."""
    cohorts = [Cohort(batch.members, batch.t0) for batch in plan.batches]
    play = Play(text=plan.runbook_text, runbook=book, cohorts=cohorts, data=plan.data)
    store, rehearsal = bootstrap.stage(play, Crew(), NOW)
    rehearsal.run(None)
    found = sent(store)
    store.database.close()
    return found


def sent(store: RehearsalStore) -> Sent:
    with store.database.read() as tx:
        return {
            (str(key), str(step)): (str(function), None if params is None else orjson.loads(str(params)), str(status),
                                    str(due or ""))
            for key, step, function, params, status, due in tx.all(_SENT)
        }  # fmt: skip


def agrees(planned: object, was: object) -> bool:
    """Tell whether what was planned is what was sent; what comes later agrees with anything that came."""
    pattern = ".+".join(re.escape(part) for part in _COMES_LATER.split(written(planned)))
    return re.fullmatch(pattern, written(was)) is not None


def written(value: object) -> str:
    return orjson.dumps(value, default=str).decode()


def plan_of(rows: list[dict[str, str]], data: Mapping[str, object]) -> SavedPlan:
    members = tuple((f"u{turn}", orjson.dumps({"upn": f"u{turn}", **row}).decode()) for turn, row in enumerate(rows))
    return SavedPlan(
        runbook_name="truth",
        runbook_text=BOOK,
        batches=(PlannedBatch(t0=T0, members=members),),
        made_at=NOW,
        data=data,
        columns=("upn", "kind", "dept", "seen"),
    )


def hold(plan: SavedPlan, book: Runbook) -> None:
    """Hold each call of a plan against what was sent."""
    course, was = Course(plan, book, plan.batches[0]), rehearsed(plan, book)
    calls = [("", call) for call in course.of_batch()]
    calls += [(key, call) for key, data in plan.batches[0].members for call in course.of_member(key, data)]
    for key, call in calls:
        function, params, status, due = was[key, call.step.name]
        if call.state == "runs":
            assert (status, function) == ("succeeded", call.function), call
            assert agrees(call.params, params), (call.params, params)
        elif call.state == "depends":
            assert status in {"succeeded", "skipped"}, (call, status)
        elif call.state == "skipped":
            assert status == "skipped", (call, status)
        elif call.state == "unresolved":
            assert status == "failed", (call, status)
        else:
            assert status == "cancelled", (call, status)
        if call.stage.kind == "phase" and call.state != "not reached":
            assert due == call.stage.due_at
    found = outlook_of(plan, book)
    runs = sum(status == "succeeded" for _, _, status, _ in was.values())
    assert found.step_runs - sum(one.total("depends") for one in found.batches[0].stages) <= runs <= found.step_runs


ROWS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["User", "Guest", "{{kind}}"]), "dept": st.sampled_from(["", "Sales", "%s (x"])},
    optional={"seen": st.sampled_from(["", "before"]), "Made": st.sampled_from(["", "by hand"])},
)


@settings(max_examples=25)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from([{"ticket": "C"}, {"ticket": ""}, {"Ticket": "C"}]))
def test_what_is_planned_is_what_is_sent(rows: list[dict[str, str]], data: dict[str, object]) -> None:
    hold(plan_of(rows, data), load(BOOK))


def test_an_init_that_fails_sends_nobody_anything() -> None:
    plan, book = plan_of([{"kind": "User", "dept": "x"}], {}), load(BOOK)
    assert outlook_of(plan, book).would_run == 0
    was = rehearsed(plan, book)
    assert was["", "group"][2] == "failed"
    assert not any(key for key, _ in was), "no member has a step"


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_rings_are_those_that_open(count: int) -> None:
    plan, book = plan_of([{"kind": "User", "dept": "x"}] * count, {"ticket": "C"}), load(BOOK)
    stage = next(one for one in outlook_of(plan, book).batches[0].stages if one.stage.name == "first")
    said = next(one.words for one in stage.waits if one.kind == "rings")
    cohorts = [Cohort(batch.members, batch.t0) for batch in plan.batches]
    play = Play(text=plan.runbook_text, runbook=book, cohorts=cohorts, data=plan.data)
    store, rehearsal = bootstrap.stage(play, Crew(), NOW)
    rehearsal.run(None)
    with store.database.read() as tx:
        found = {int(str(ring)): int(str(size)) for ring, size in tx.all(
            "SELECT ring, count(*) FROM lanes WHERE sequence = 'first' AND kind = 'phase' GROUP BY ring"
        )}  # fmt: skip
    store.database.close()
    assert said == f"rings of {', '.join(str(found.get(ring, 0)) for ring in range(3))}"
