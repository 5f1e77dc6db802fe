"""Why is it waiting: the sentences of the state machine for a member, a batch, a step or a gate, and what may be done.

The rows are loaded as a command would load them, so that what is said here is what a command would meet. Nothing is
decided and nothing is written.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, Literal

from tminus.domain.status import LANE_OPEN, PHASE_OPEN
from tminus.progression import events as ev
from tminus.progression import own_time
from tminus.progression.actions import batch_actions, member_actions
from tminus.progression.commands.holding import ended, involved, refuse_answer
from tminus.progression.holds import blocking, strength
from tminus.progression.lanes import current_step
from tminus.progression.phrases import hold_sentence
from tminus.progression.reasons import batch_reason, of_hold, of_own_time, phase_reason, reason
from tminus.store.insights import batches, causes, failures, holds, workers
from tminus.store.loading import load

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tminus.db.connection import Tx
    from tminus.domain.rows import Batch, Lane, PhaseRow
    from tminus.progression.actions import Action
    from tminus.progression.reasons import Reason
    from tminus.progression.view import Subject, View
    from tminus.store.applying import Context
    from tminus.store.insights.records import Record

Answer = Literal["lift", "approve", "reject", "reopen", "accept", "refuse"]
_LIFT: Final[tuple[Answer, ...]] = ("lift",)
_ANSWERS: Final[dict[str, tuple[Answer, ...]]] = {
    "gate": ("approve", "reject", "reopen"),
    "leavers": ("accept", "refuse", "lift"),
    "vanished": ("accept", "refuse", "lift"),
    "move": ("accept", "refuse", "lift"),
}

_STEP: Final = """SELECT e.batch_id, l.member_id, e.lane_id, e.status, e.error_message, e.step_name, l.sequence, l.kind
  FROM executions e JOIN lanes l ON l.id = e.lane_id WHERE e.id = ?"""


def member(tx: Tx, context: Context, member_id: int) -> Record:
    """Say what a member waits for, in every open lane of it, else in its batch."""
    view = load(tx, [ev.Retry(member_id=member_id, actor="", reason="")], context, set())
    row = view.members[member_id]
    subject = view.subject(row.batch_id, member_id)
    waits = [_wait(lane.kind, lane.sequence, lane.status, reason(view, subject, lane)) for lane in _open(subject)]
    if not waits and row.status == "active":
        passed = {lane.phase_id for lane in subject.lanes}
        waits = _phases(view, subject, passed)[:1] or [_of_batch(view, subject)]
        hold = blocking(view, subject.batch, member_id, None, starting=True)
        if hold is not None and hold.id not in {wait["hold_id"] for wait in waits}:
            waits = [_wait("member", row.member_key, row.status, of_hold(hold)), *waits]
    return {
        "kind": "member",
        "id": member_id,
        "member_key": row.member_key,
        **_home(view, subject.batch),
        "is_anybody_at_work": workers.is_anybody(tx, context.now),
        "status": row.status,
        "failed_at": row.failed_at,
        "moved_to": row.moved_to,
        "cause": causes.cause(tx, view, subject),
        "undone": causes.undone(view, subject),
        "retry_from": causes.retry_start(view, subject),
        "waits": waits,
        "next_at": _soonest(waits),
        "drain": causes.drains(view, subject),
        "actions": _actions(member_actions(view, subject)),
    }


def batch(tx: Tx, context: Context, batch_id: int) -> Record:
    """Say what a batch waits for, and each of its open phases."""
    view = load(tx, [ev.Advance(batch_id=batch_id, actor="", reason="")], context, set())
    subject = view.subject(batch_id, None)
    phases = [one for one in batches.phases(tx, batch_id) if one["status"] != "superseded"]
    waits = [_of_batch(view, subject), *_phases(view, subject)]
    return {
        "kind": "batch",
        "id": batch_id,
        **_home(view, subject.batch),
        "is_anybody_at_work": workers.is_anybody(tx, context.now),
        "status": subject.batch.status,
        "members": _members(subject.batch),
        "phases": phases,
        "phases_ended": sum(one["status"] not in PHASE_OPEN for one in phases),
        "cause": causes.cause(tx, view, subject),
        "undone": causes.undone(view, subject),
        "failures": [group.record() for group in failures.grouped(lambda: nullcontext(tx), batch_id)],
        "holds": holds.listed(tx, batch_id=batch_id),
        "waits": waits,
        "next_at": _soonest(waits),
        "drain": causes.drains(view, subject),
        "actions": _actions(batch_actions(view, subject.batch)),
    }


def step(tx: Tx, context: Context, execution_id: int) -> Record | None:
    """Say what a step waits for: its own turn, or the step before it."""
    found = tx.one(_STEP, (execution_id,))
    if found is None:
        return None
    batch_id, member_id, lane_id = (int(value or 0) for value in found[:3])
    status, error, name, sequence, kind = (None if value is None else str(value) for value in found[3:])
    event = (
        ev.Retry(member_id=member_id, actor="", reason="")
        if member_id
        else ev.Advance(batch_id=batch_id, actor="", reason="")
    )
    view = load(tx, [event], context, set())
    subject = view.subject(batch_id, member_id)
    lane = next(one for one in subject.lanes if one.id == lane_id)
    current = current_step(view, lane) if lane.status in LANE_OPEN else None
    why = reason(view, subject, lane)
    wait = _wait(str(kind), str(sequence), str(status), why)
    if current is None or status not in {"pending", "dispatched", "polling"}:
        wait |= {
            "code": "ended",
            "sentence": f"{status}{f': {error}' if error else ''}",
            "next_at": None,
            "hold_id": None,
        }
    elif current.id != execution_id:
        wait |= {"code": "order", "sentence": f"waits for step {current.step_name}, of which: {why.sentence}"}
    return {
        "kind": "step",
        "id": execution_id,
        "member_key": None if subject.member is None else subject.member.member_key,
        **_home(view, subject.batch),
        "is_anybody_at_work": workers.is_anybody(tx, context.now),
        "step_name": name,
        "status": status,
        "cause": causes.cause(tx, view, subject) if status in {"failed", "poll_timeout", "rolled_back"} else None,
        "waits": [wait],
        "next_at": _soonest([wait]),
        "actions": _actions(member_actions(view, subject) if member_id else batch_actions(view, subject.batch)),
    }


def gate(tx: Tx, context: Context, hold_id: int, actor: str) -> Record:
    """Say what a gate (or any other hold) waits for, whether this person may answer it, and what its expiry does."""
    view = load(tx, [_asked(hold_id, "approve", actor)], context, set())
    hold = view.holds[hold_id]
    batch = view.batches.get(hold.batch_id or 0)
    answers = {
        name: ended(hold) or refuse_answer(view, _asked(hold_id, name, actor), hold)
        for name in _ANSWERS.get(hold.kind, _LIFT)
    }
    wait: Record = {
        "kind": hold.kind, "sequence": hold.scope, "status": hold.state, "code": hold.kind,
        "sentence": hold_sentence(hold), "next_at": hold.expires_at, "hold_id": hold_id,
    }  # fmt: skip
    return {
        "kind": "gate" if hold.kind == "gate" else "hold",
        "id": hold_id,
        **(_home(view, batch) if batch is not None else {"batch_id": None, "now": context.now, "zone": "UTC"}),
        "hold": holds.one(tx, hold_id),
        "status": hold.state,
        "stops": strength(hold),
        "not_by": sorted(involved(view, hold.batch_id)) if hold.kind == "gate" else [],
        "waits": [wait],
        "next_at": hold.expires_at if hold.is_open else None,
        "actions": [{"name": name, "enabled": not why, "reason": why} for name, why in answers.items()],
    }


def _asked(hold_id: int, answer: Answer, actor: str) -> ev.AnswerHold:
    return ev.AnswerHold(hold_id=hold_id, batch_id=None, answer=answer, actor=actor, reason="")


def _home(view: View, batch: Batch) -> Record:
    """Return the batch that something lives in, and the countdown that it lives on."""
    return {
        "batch_id": batch.id,
        "runbook_name": batch.runbook_name,
        "runbook_version": batch.runbook_version,
        "batch_status": batch.status,
        "t0": batch.batch_start_time,
        "zone": view.runbook(batch, batch.runbook_version).timezone,
        "now": view.now,
    }


def _members(batch: Batch) -> Record:
    names = ("active", "done", "failed", "removed", "cancelled")
    return {name: getattr(batch, f"members_{name}") for name in names}


def _soonest(waits: Iterable[Record]) -> str | None:
    return min((str(wait["next_at"]) for wait in waits if wait["next_at"]), default=None)


def _open(subject: Subject) -> list[Lane]:
    return sorted((lane for lane in subject.lanes if lane.status in LANE_OPEN), key=lambda lane: lane.id)


def _of_batch(view: View, subject: Subject) -> Record:
    return _wait("batch", str(subject.batch.id), subject.batch.status, batch_reason(view, subject.batch))


def _phases(view: View, subject: Subject, passed: Collection[int | None] = ()) -> list[Record]:
    """Say what the open phases wait for, but for those that the subject has come through already."""
    phases = [one for one in view.phases_of(subject.batch) if one.status in PHASE_OPEN and one.id not in passed]
    phases.sort(key=lambda phase: (phase.due_at or "9", phase.phase_index))
    return [_wait("phase", phase.phase_name, phase.status, _of_phase(view, subject, phase)) for phase in phases]


def _of_phase(view: View, subject: Subject, phase: PhaseRow) -> Reason:
    """Say what a phase waits for; for a member with a T-0 of its own until then it is that."""
    own = own_time.due_in(view, subject, phase.runbook_version, phase.phase_name)
    return phase_reason(view, phase) if own is None else of_own_time(view, own)


def _wait(kind: str, sequence: str, status: str, why: Reason) -> Record:
    return {
        "kind": kind,
        "sequence": sequence,
        "status": status,
        "code": why.code,
        "sentence": why.sentence,
        "next_at": why.next_at,
        "hold_id": why.hold_id,
    }


def _actions(actions: Iterable[Action]) -> list[Record]:
    return [{"name": one.name, "enabled": one.enabled, "reason": one.reason} for one in actions]
