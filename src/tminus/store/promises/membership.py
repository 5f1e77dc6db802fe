"""Who is in: lanes for every member, one living row per key, one removal, and steps as they are defined.

A cohort loses members silently when a phase opens without them, and doubles them when a key lives twice. Both are seen
here from the rows alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from tminus.domain.status import LANE_OPEN
from tminus.progression.lanes import GOES_ON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.runbook.model import Share, Step
    from tminus.store.promises.definitions import Definitions
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.passage import Passage
    from tminus.store.promises.rows import ExecutionSeen, LaneSeen, MemberSeen
    from tminus.store.promises.slices import Slice

_OPENED: Final = frozenset({"dispatched", "completed", "failed"})
_FINAL: Final = frozenset({"failed", "poll_timeout", "rolled_back"})
_LIVING_TWICE: Final = """SELECT b.runbook_name, m.member_key, count(*) FROM batch_members m
  JOIN batches b ON b.id = m.batch_id WHERE b.status IN ('detected', 'init_dispatched', 'active', 'closing')
    AND m.status IN ('active', 'failed') AND m.moved_to IS NULL
  GROUP BY b.runbook_name, m.member_key HAVING count(*) > 1"""
_RETURNED_TWICE: Final = """SELECT batch_id, member_key FROM batch_members GROUP BY batch_id, member_key
  HAVING sum(status IN ('active', 'failed', 'done') AND moved_to IS NULL) > 1"""
_SAME_BATCH: Final = """SELECT runbook_name, source_time, count(*) FROM batches WHERE source_time IS NOT NULL
  GROUP BY runbook_name, source_time HAVING count(*) > 1"""


def check_members(findings: Findings, page: Slice, definitions: Definitions) -> None:
    """Check the lanes of every member against what has opened."""
    batch = page.batch
    cleans_up = _cleans_up(page, definitions)
    opened = {
        phase.id
        for phase in page.phases.values()
        # A skipped phase that a joiner reopened has lanes for joiners alone: it was never opened for everybody.
        if phase.status in _OPENED
        and phase.dispatched_at is not None
        and phase.opening_after is None
        and phase.runbook_version == batch.runbook_version
    }
    for member in page.members.values():
        lanes = page.of_member.get(member.id, [])
        if member.status == "active":
            if batch.status == "active" and not opened.issubset({lane.phase_id for lane in lanes}):
                missing = opened.difference(lane.phase_id for lane in lanes)
                findings.add("P11", f"member {member.id} has no lane in the opened phases {sorted(missing)}")
        elif member.status == "done" and any(lane.kind == "phase" and lane.status != "succeeded" for lane in lanes):
            findings.add("P11", f"member {member.id} is done, but not all of its phases are")
        elif any(lane.kind == "phase" and lane.status in LANE_OPEN for lane in lanes):
            findings.add("P13", f"member {member.id} is {member.status}, but has open phase lanes")
        _removals(findings, member, lanes, cleans_up=cleans_up)
        _unique(findings, member, lanes)


def _cleans_up(page: Slice, definitions: Definitions) -> bool:
    """Tell whether whatever version a member left under has removal steps."""
    versions = {phase.runbook_version for phase in page.phases.values()}
    runbooks = [definitions.runbook(page.batch.runbook_name, version) for version in versions]
    return all(runbook is not None and runbook.on_member_removed for runbook in runbooks)


def _removals(findings: Findings, member: MemberSeen, lanes: Sequence[LaneSeen], *, cleans_up: bool) -> None:
    has_left = member.status == "removed" and member.moved_to is None
    has_lane = any(lane.kind == "removal" for lane in lanes)
    # A failed member that has left may be cleaned up after, once a human says so.
    if has_lane and not has_left and not (member.status == "failed" and member.has_left):
        findings.add("P13", f"member {member.id} is {member.status}, but has removal steps")
    elif has_left and cleans_up and not has_lane:
        findings.add("P13", f"member {member.id} was removed without its removal steps")
    if member.status == "active" and member.moved_to is not None:
        findings.add("P14", f"member {member.id} has moved, but is still active here")


def _unique(findings: Findings, member: MemberSeen, lanes: Sequence[LaneSeen]) -> None:
    """Check what the unique keys promise, in case one of them is gone."""
    names = [(lane.kind, lane.phase_id) for lane in lanes if lane.kind in {"phase", "removal"}]
    if len(names) != len(set(names)):
        findings.add("P24", f"member {member.id} has two lanes of one kind")


def check_phases(findings: Findings, page: Slice, definitions: Definitions) -> list[Share]:
    """Check that a batch has the phases of each version that it was moved to; return those versions' brakes."""
    batch = page.batch
    names: dict[int, list[str]] = defaultdict(list)
    for phase in page.phases.values():
        names[phase.runbook_version].append(phase.phase_name)
        if phase.runbook_version < batch.runbook_version and phase.status == "pending":
            findings.add("P17", f"phase {phase.id} waits, but batch {batch.id} has moved to a newer version")
    names.setdefault(batch.runbook_version, [])
    brakes: list[Share] = []
    for version, found in names.items():
        runbook = definitions.runbook(batch.runbook_name, version)
        if runbook is None:
            continue
        brakes.append(runbook.data_source.leavers.brake)
        if sorted(found) != sorted(runbook.phases_by_name):
            findings.add("P17", f"batch {batch.id} has not the phases of version {version}")
    return brakes


def check_definitions(findings: Findings, page: Slice, definitions: Definitions) -> None:
    """Check that every lane has the steps that its version defines, and none changed under it."""
    name = page.batch.runbook_name
    for lane in page.lanes.values():
        if lane.is_inherited:
            continue
        rows = page.steps[lane.id]
        steps = definitions.steps(name, lane.runbook_version, lane)
        if steps is None and definitions.runbook(name, lane.runbook_version) is None:
            continue
        if all(row.runbook_version == lane.runbook_version for row in rows):
            if steps is None or [row.step_name for row in rows] != [step.name for step in steps]:
                findings.add("P11", f"lane {lane.id} has not the steps of version {lane.runbook_version}")
                continue
            for row, step in zip(rows, steps, strict=True):
                _as_defined(findings, row, step)
        else:
            _mixed(findings, name, lane, rows, definitions)


def _as_defined(findings: Findings, row: ExecutionSeen, step: Step) -> None:
    retries = step.retry.max_retries if step.retry else 0
    stands = (row.worker_id, row.max_retries, row.timeout_sec, row.is_one_way)
    if stands != (step.worker_id, retries, step.timeout_s, step.one_way):
        findings.add("P17", f"execution {row.id} is not as version {row.runbook_version} defines {step.name}")


def _mixed(
    findings: Findings, name: str, lane: LaneSeen, rows: Sequence[ExecutionSeen], definitions: Definitions
) -> None:
    """Check a lane whose end was replaced by a newer version's: each part in its own order, the last part complete."""
    at: tuple[int, int] | None = None
    steps: tuple[Step, ...] | None = ()
    for row in rows:
        steps = definitions.steps(name, row.runbook_version, lane)
        names = [step.name for step in steps or ()]
        if row.step_name not in names:
            findings.add("P17", f"version {row.runbook_version} does not define execution {row.id}, {row.step_name}")
            return
        index = names.index(row.step_name)
        if at is not None and at[0] == row.runbook_version and index != at[1] + 1:
            findings.add("P11", f"lane {lane.id} leaves out what version {row.runbook_version} has before {row.id}")
        at = (row.runbook_version, index)
    if at is not None and at[1] + 1 != len(steps or ()):
        findings.add("P11", f"lane {lane.id} ends before the last step of version {at[0]}")


def check_rollbacks(findings: Findings, page: Slice, definitions: Definitions, passage: Passage) -> None:
    """Check that each final failure with `on_failure` has exactly its rollback, and no rollback lacks its failure."""
    lanes: dict[int, list[LaneSeen]] = defaultdict(list)
    for lane in page.lanes.values():
        if lane.kind == "rollback" and lane.cause_execution_id is not None:
            lanes[lane.cause_execution_id].append(lane)
    for row in page.executions.values():
        failures = passage.final_failures.get(row.id, 0)
        if not failures and row.id not in lanes and row.status != "rolled_back":
            continue
        home = page.lanes[row.lane_id]
        step = definitions.step(page.batch.runbook_name, home, row)
        if step is None:
            continue
        wanted = failures if step.on_failure is not None and home.kind not in GOES_ON else 0
        found = lanes.get(row.id, [])
        if len(found) != wanted or len({lane.round for lane in found}) != len(found):
            findings.add(
                "P12", f"execution {row.id} failed {failures} times for good: {len(found)} rollbacks of {wanted}"
            )
        _rolled_back(findings, row, found)


def _rolled_back(findings: Findings, row: ExecutionSeen, found: Sequence[LaneSeen]) -> None:
    if row.status not in _FINAL:
        return
    this_round = [lane for lane in found if lane.round == row.round]
    succeeded = any(lane.status == "succeeded" for lane in this_round)
    if succeeded != (row.status == "rolled_back"):
        findings.add(
            "P12", f"execution {row.id} is {row.status}, its rollback {'has' if succeeded else 'has not'} succeeded"
        )


def check_identities(findings: Findings, tx: Tx) -> None:
    """Check over all batches that no key lives twice and no batch was made twice."""
    for name, key, count in tx.all(_LIVING_TWICE):
        findings.add("P14", f"the key {key} lives {count} times in open batches of {name}")
    for batch_id, key in tx.all(_RETURNED_TWICE):
        findings.add("P13", f"the key {key} came back to batch {batch_id} while it was still there")
    for name, time, count in tx.all(_SAME_BATCH):
        findings.add("P24", f"runbook {name} has {count} batches for {time}")
