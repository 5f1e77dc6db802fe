"""Why is it waiting: the sentences of the state machine for a member, a batch, a step or a gate, and what may be done.

The rows are loaded as a command would load them, so that what is said here is what a command would meet. Nothing is
decided and nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.status import LANE_OPEN, PHASE_OPEN
from tminus.progression import events as ev
from tminus.progression.actions import batch_actions, member_actions
from tminus.progression.commands.holding import may_approve
from tminus.progression.lanes import current_step
from tminus.progression.phrases import hold_sentence
from tminus.progression.reasons import batch_reason, phase_reason, reason
from tminus.store.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tminus.db.connection import Tx
    from tminus.domain.rows import Lane
    from tminus.progression.actions import Action
    from tminus.progression.reasons import Reason
    from tminus.progression.view import Subject, View
    from tminus.store.applying import Context
    from tminus.store.insights.records import Record

_STEP: Final = """SELECT e.batch_id, l.member_id, e.lane_id, e.status, e.error_message, e.step_name, l.sequence, l.kind
  FROM executions e JOIN lanes l ON l.id = e.lane_id WHERE e.id = ?"""


def member(tx: Tx, context: Context, member_id: int) -> Record:
    """Say what a member waits for, in every open lane of it, else in its batch."""
    view = load(tx, [ev.Retry(member_id=member_id, actor="", reason="")], context, set())
    row = view.members[member_id]
    subject = view.subject(row.batch_id, member_id)
    waits = [_wait(lane.kind, lane.sequence, lane.status, reason(view, subject, lane)) for lane in _open(subject)]
    if not waits and row.status == "active":
        waits = _phases(view, subject)[:1] or [_of_batch(view, subject)]
    return {
        "kind": "member",
        "id": member_id,
        "member_key": row.member_key,
        "batch_id": row.batch_id,
        "status": row.status,
        "waits": waits,
        "actions": _actions(member_actions(view, subject)),
    }


def batch(tx: Tx, context: Context, batch_id: int) -> Record:
    """Say what a batch waits for, and each of its open phases."""
    view = load(tx, [ev.Advance(batch_id=batch_id, actor="", reason="")], context, set())
    subject = view.subject(batch_id, None)
    return {
        "kind": "batch",
        "id": batch_id,
        "batch_id": batch_id,
        "status": subject.batch.status,
        "waits": [_of_batch(view, subject), *_phases(view, subject)],
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
        wait |= {"code": "ended", "sentence": f"{status}{f': {error}' if error else ''}", "next_at": None}
    elif current.id != execution_id:
        wait |= {"code": "order", "sentence": f"waits for step {current.step_name}, of which: {why.sentence}"}
    return {
        "kind": "step",
        "id": execution_id,
        "member_key": None if subject.member is None else subject.member.member_key,
        "batch_id": batch_id,
        "step_name": name,
        "status": status,
        "waits": [wait],
        "actions": _actions(member_actions(view, subject) if member_id else batch_actions(view, subject.batch)),
    }


def gate(tx: Tx, context: Context, hold_id: int, actor: str) -> Record:
    """Say what a gate (or any other hold) waits for, and whether this person may answer it."""
    asked = ev.AnswerHold(hold_id=hold_id, batch_id=None, answer="approve", actor=actor, reason="")
    view = load(tx, [asked], context, set())
    hold = view.holds[hold_id]
    ended = "" if hold.is_open else f"the {hold.kind} is {hold.state}"
    if hold.kind == "gate":
        answers = {"approve": ended or may_approve(view, actor, hold.batch_id), "reject": ended}
    else:
        answers = {"lift": ended}
    return {
        "kind": "gate" if hold.kind == "gate" else "hold",
        "id": hold_id,
        "batch_id": hold.batch_id,
        "status": hold.state,
        "waits": [
            {"kind": hold.kind, "sequence": hold.scope, "status": hold.state, "code": hold.kind,
             "sentence": hold_sentence(hold), "next_at": hold.expires_at}
        ],
        "actions": [{"name": name, "enabled": not why, "reason": why} for name, why in answers.items()],
    }  # fmt: skip


def _open(subject: Subject) -> list[Lane]:
    return sorted((lane for lane in subject.lanes if lane.status in LANE_OPEN), key=lambda lane: lane.id)


def _of_batch(view: View, subject: Subject) -> Record:
    return _wait("batch", str(subject.batch.id), subject.batch.status, batch_reason(view, subject.batch))


def _phases(view: View, subject: Subject) -> list[Record]:
    phases = [phase for phase in view.phases_of(subject.batch) if phase.status in PHASE_OPEN]
    phases.sort(key=lambda phase: (phase.due_at or "9", phase.phase_index))
    return [_wait("phase", phase.phase_name, phase.status, phase_reason(view, phase)) for phase in phases]


def _wait(kind: str, sequence: str, status: str, why: Reason) -> Record:
    return {
        "kind": kind,
        "sequence": sequence,
        "status": status,
        "code": why.code,
        "sentence": why.sentence,
        "next_at": why.next_at,
    }


def _actions(actions: Iterable[Action]) -> list[Record]:
    return [{"name": one.name, "enabled": one.enabled, "reason": one.reason} for one in actions]
