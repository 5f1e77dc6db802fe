"""What a plan shows, as maps in the names of the contract: one for the whole, and a row for each call.

Faces write these or lay them out; they compute nothing of their own. Rows are made one by one, so that three hundred
thousand of them never stand in memory together, and with secrets masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tminus.progression.outlook.calls import Course
from tminus.progression.outlook.columns import sent
from tminus.progression.outlook.later import Later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.progression.outlook.calls import Call
    from tminus.progression.outlook.tally import BatchTally, Outlook, StageTally
    from tminus.runbook.model import Runbook
    from tminus.runbook.plan import PlannedBatch, SavedPlan

Record = dict[str, object]


def whole(found: Outlook) -> Record:
    """Return everything but the calls of each member."""
    plan, around = found.plan, found.plan.around
    return {
        "digest": plan.digest,
        "runbook_name": plan.runbook_name,
        "version": plan.version,
        "publishes": plan.publishes,
        "moves_batches": around.moving if plan.publishes else 0,
        "timezone": found.book.timezone,
        "made_at": plan.made_at,
        "valid_until": plan.valid_until,
        "has_changes": found.has_changes,
        "members": found.members,
        "would_run": found.would_run,
        "step_runs": found.step_runs,
        "step_runs_once": found.once,
        "batches": [_batch(one) for one in found.batches],
        "would_not_run": [
            {"member_key": one.member_key, "place": one.place, "phase_name": one.phase_name,
             "step_name": one.step_name, "code": one.code, "reason": one.reason, "batch_id": one.batch_id}
            for one in found.not_running
        ],
        "empty": [{"name": one.name, "count": one.count, "members": one.members} for one in found.empty],
        "unused_columns": [{"name": name, "meant": meant} for name, meant in found.unused],
        "functions_from": around.offered_by or None,
        "functions_known": around.offered is not None,
        "functions_whole": around.offered_whole,
        "missing_functions": [
            {"function": one.function, "worker_ids": one.worker_ids, "steps": one.steps, "meant": one.meant}
            for one in found.missing
        ],
        "computed_functions": found.computed,
        "holds": [{"kind": one.kind, "words": one.words} for one in found.holds],
        "notes": list(plan.notes),
        "data": sorted(plan.data),
        "files": [{"path": one.path, "digest": one.digest} for one in plan.files],
    }  # fmt: skip


def _batch(tally: BatchTally) -> Record:
    batch = tally.batch
    return {
        "batch_start_time": batch.t0,
        "source_time": batch.source_time,
        "members": len(batch.members),
        "would_run": tally.would_run,
        "step_runs": sum(stage.runs for stage in tally.stages),
        "left_out": [{"member_key": key, "batch_id": home} for key, home in batch.left_out],
        "stages": [_stage(stage) for stage in tally.stages],
    }


def _stage(tally: StageTally) -> Record:
    stage = tally.stage
    return {
        "kind": stage.kind,
        "name": stage.name,
        "offset": None if stage.phase is None else str(stage.phase.offset),
        "due_at": stage.due_at,
        "turn": stage.turn or None,
        "members": tally.members if stage.kind == "phase" else None,
        "step_runs": tally.runs,
        "skipped": tally.total("skipped"),
        "depends": tally.total("depends"),
        "unresolved": tally.total("unresolved"),
        "waits": [{"kind": one.kind, "words": one.words} for one in tally.waits],
        "steps": [
            {"name": one.step.name, "worker_id": one.step.worker_id, "function": one.step.function.source,
             "step_runs": one.runs + one.depends, "skipped": one.skipped, "depends": one.depends,
             "unresolved": one.unresolved, "names": list(dict.fromkeys(sent(one.step)))}
            for one in tally.steps
        ],
    }  # fmt: skip


def calls(plan: SavedPlan, book: Runbook, member_key: str | None = None) -> Iterator[Record]:
    """Yield a row for each step of each subject in the order of batches and members; of one member where it is named.

    Without a member the batches' own steps are among them, around those of its members.
    """
    for batch in plan.batches:
        course = Course(plan, book, batch, masks=True)
        if member_key is None:
            own = list(course.of_batch())
            yield from (_call(batch, None, one) for one in own if one.stage.kind == "init")
            if any(one.state == "unresolved" and one.stage.kind == "init" for one in own):
                continue
        else:
            own = []
        for key, data in batch.members:
            if member_key is None or key == member_key:
                yield from (_call(batch, key, one) for one in course.of_member(key, data))
        yield from (_call(batch, None, one) for one in own if one.stage.kind == "finish")


def _call(batch: PlannedBatch, key: str | None, call: Call) -> Record:
    return {
        "batch_start_time": batch.t0,
        "member_key": key,
        "stage": call.stage.name,
        "step_name": call.step.name,
        "due_at": call.stage.due_at,
        "state": call.state,
        "worker_id": call.step.worker_id,
        "function": call.function,
        "params": None if call.params is None else {name: _plain(value) for name, value in call.params.items()},
        "reason": call.reason,
    }


def _plain(value: object) -> object:
    """Write what comes later as its words, at any depth."""
    if isinstance(value, Later):
        return str(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
