"""Skip, mark done, roll back, edit data, remove: an operator's word about one member's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tminus.progression import course, drain, lanes, step
from tminus.progression import member as members
from tminus.progression.actions import (
    BACK_TO,
    NO_SUCH_STEP,
    refuse_edit,
    refuse_leave,
    refuse_pass,
    refuse_rollback,
    sent_after,
    undoing,
)
from tminus.progression.closing import cancel_lanes, fail_member
from tminus.progression.commands.answering import answer
from tminus.progression.commands.pinning import pin
from tminus.progression.commands.retrying import reopen
from tminus.progression.commands.timing import reconsider
from tminus.progression.events import Leaving
from tminus.progression.own_time import OWN_T0

if TYPE_CHECKING:
    from tminus.domain.rows import Execution, Lane
    from tminus.progression.events import EditData, PassStep, Remove, RollBack
    from tminus.progression.view import Subject, View

_FIRST_LOOK = ({"failed", "poll_timeout", "rolled_back"}, {"polling", "dispatched", "pending"}, {"cancelled"})


def on_pass(view: View, event: PassStep) -> None:
    """Skip a step or mark it done, then let its lane go on."""
    member = view.members.get(event.member_id)
    if member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    subject = view.whole(view.subject(member.batch_id, member.id))
    lane, row = _find(view, subject, event.step)
    why = refuse_pass(view, subject, row) if row is not None else _no_such_step(view, subject, event.step)
    if why or lane is None or row is None:
        answer(view, event, member.member_key, why, batch_id=member.batch_id)
        return
    if member.status != "active":
        reopen(view, subject, None, original=True)
    row = view.steps[lane.id][row.step_index]
    _pass(view, subject, lane, row, event)
    course.advance(view, subject)
    answer(view, event, member.member_key, "", batch_id=member.batch_id)


def _find(view: View, subject: Subject, name: str) -> tuple[Lane | None, Execution | None]:
    """Find the step by its name or by phase/step: a failed one first, then an open, then a cancelled one."""
    phase, _, bare = name.rpartition("/")
    for wanted in _FIRST_LOOK:
        for lane in subject.lanes:
            if lane.kind != "phase" or (phase and lane.sequence != phase):
                continue
            for row in view.steps_of(lane):
                if row.step_name == bare and row.status in wanted:
                    return lane, row
    return None, None


def _no_such_step(view: View, subject: Subject, name: str) -> str:
    """Say why no step of this name can be passed, and which can."""
    phase, _, bare = name.rpartition("/")
    rows = [(lane.sequence, row) for lane in subject.lanes if lane.kind == "phase" for row in view.steps_of(lane)]
    for sequence, row in rows:
        if row.step_name == bare and phase in {"", sequence}:
            return f"the step is {row.status} already"
    left = [f"{sequence}/{row.step_name}" for sequence, row in rows if not refuse_pass(view, subject, row)]
    return NO_SUCH_STEP + (f" (there are: {', '.join(left)})" if left else "")


def _pass(view: View, subject: Subject, lane: Lane, row: Execution, event: PassStep) -> None:
    row.ready_at = row.retry_after = row.poll_due_at = None
    row.error_message = row.error_type = None
    row.completed_at = view.now
    job = step.last_job(lane, row)
    was_out = row.status in {"dispatched", "polling"}
    drain.release(view, subject, row)
    if event.done:
        view.move_execution(row, "succeeded", "marked done", lane.member_id, event.reason)
        view.decision.results[row.id] = orjson.dumps(event.outputs).decode() if event.outputs else None
        step.note_attempt(view, row, job, "marked_done")
        if row.is_one_way and row.dispatched_at is None:
            # Done by hand before it was ever sent: the point of no return has been passed all the same.
            row.dispatched_at = view.now
        step.keep_outputs(view, subject, event.outputs)
    else:
        if was_out:
            step.note_attempt(view, row, job, "cancelled")
            view.move_execution(row, "cancelled", "skipped", lane.member_id, event.reason)
            view.move_execution(row, "pending", "skipped", lane.member_id)
        view.move_execution(row, "skipped", "skipped", lane.member_id, event.reason)
    current = lanes.current_step(view, lane)
    if lane.status == "running" and (current is None or (current.status == "pending" and current.ready_at is None)):
        step.follow_up(view, subject, lane, row)


def on_roll_back(view: View, event: RollBack) -> None:
    """Undo a member's work: the on_failure sequences of what was sent, newest first, as one lane."""
    member = view.members.get(event.member_id)
    if member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    subject = view.whole(view.subject(member.batch_id, member.id))
    why = refuse_rollback(view, subject, event.to_phase)
    if not why:
        version, names = undoing(view, subject, sent_after(view, subject, event.to_phase))
        rollbacks = view.runbook(subject.batch, version).rollbacks
        steps = [one for name in names for one in rollbacks[name]]
        lanes.open_lane(
            view,
            subject,
            "rollback",
            "\n".join(names),
            version,
            steps,
            lane_round=member.failures + 1,
            context_json=orjson.dumps({BACK_TO: event.to_phase or ""}).decode(),
        )
        if member.status == "active":
            fail_member(view, subject, version, "rolled back by operator")
        else:
            cancel_lanes(view, subject, "rolled back by operator")
        course.advance(view, subject)
    answer(view, event, member.member_key, why, batch_id=member.batch_id)


def on_edit_data(view: View, event: EditData) -> None:
    """Pin values over the source's, or release pins."""
    member = view.members.get(event.member_id)
    if member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    why = refuse_edit(view.subject(member.batch_id, member.id))
    ours = next((name for name, value in event.values.items() if name[:1] == "_" and value is not None), None)
    if ours is not None and not why:
        why = f"{ours} begins with an underscore: such names are tminus's own"
    if why:
        answer(view, event, member.member_key, why, batch_id=member.batch_id)
        return
    pin(view, member, event.values)
    if OWN_T0 in event.values:
        reconsider(view, view.whole(view.subject(member.batch_id, member.id)))
    answer(view, event, member.member_key, "", batch_id=member.batch_id)


def on_remove(view: View, event: Remove) -> None:
    """Take a member out: what it has open is cancelled, and its removal steps run.

    One that has failed stays failed and is flagged; that somebody asks for it is the word its removal steps wait for.
    """
    member = view.members.get(event.member_id)
    if member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    subject = view.whole(view.subject(member.batch_id, member.id))
    why = refuse_leave(subject)
    if not why:
        has_failed = member.status == "failed"
        members.on_leaving(view, Leaving(member.id, actor=event.actor, force=event.force))
        if has_failed:
            members.clean_up(view, subject, is_forced=event.force)
    answer(view, event, member.member_key, why, batch_id=member.batch_id)
