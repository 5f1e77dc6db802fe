"""A batch's life: started, settled, its members ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression import closing, course, ending, lanes
from tminus.progression.events import Joining
from tminus.progression.member import on_joining
from tminus.progression.tables import ENGINE, OPERATOR

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Member
    from tminus.progression.events import BatchSettled, BatchStart, MemberEnding, Wake
    from tminus.progression.view import View


def on_start(view: View, event: BatchStart) -> None:
    """Begin a new batch: with its init, or active at once where the runbook has none."""
    batch = view.batches.get(event.batch_id)
    if batch is None or batch.status != "detected":
        return
    subject = view.subject(batch.id, None)
    runbook = view.runbook(batch, batch.runbook_version)
    if not runbook.init:
        view.move_batch(batch, "active", "no init")
        return
    if not any(lane.kind == "init" for lane in subject.lanes):
        lanes.open_lane(view, subject, "init", "", batch.runbook_version, runbook.init)
    course.advance(view, subject)


def on_wake(view: View, event: Wake) -> None:
    """Look again at the waiting lanes of one subject."""
    subject = view.subjects.get((event.batch_id, event.member_id or 0))
    if subject is not None:
        course.advance(view, view.whole(subject))


def on_settled(view: View, event: BatchSettled) -> None:
    """Let a batch take the next step of its end, if it is there."""
    batch = view.batches.get(event.batch_id)
    if batch is not None:
        ending.settle(view, batch)


def _follow_back(view: View, batch: Batch, member: Member) -> None:
    """Bring back a member that a failed init had cancelled, in the name of whoever tries the init again."""
    actor = view.facts.get(f"retried:{batch.id}")
    if not actor or batch.is_cancelling or member.id in view.taken:
        return
    member.ended_at = None
    view.actor, view.who = actor, OPERATOR
    view.move_member(member, "active", "init tried again")
    view.actor, view.who = None, ENGINE
    on_joining(view, Joining(member.id))


def on_member_ending(view: View, event: MemberEnding) -> None:
    """End one member of a batch that ends."""
    member, batch = view.members.get(event.member_id), view.batches.get(event.batch_id)
    if member is None or batch is None:
        return
    if member.status == "cancelled" and batch.status in {"init_dispatched", "active"}:
        _follow_back(view, batch, member)
    if member.status not in {"active", "failed"}:
        return
    subject = view.whole(view.subject(batch.id, member.id))
    if batch.is_cancelling and batch.status == "active" and member.id in view.one_way_sent:
        return
    if batch.status == "closing":
        if member.status == "active":
            member.ended_at = view.now
            view.move_member(member, "done" if batch.outcome == "completed" else "cancelled", "batch closing")
        return
    if batch.status in {"cancelled", "failed"} or batch.is_cancelling:
        cause = "batch cancelled" if batch.status != "failed" else "batch failed"
        if member.status == "active":
            member.ended_at = view.now
            view.move_member(member, "cancelled", cause)
        closing.cancel_lanes(view, subject, cause)
        course.advance(view, subject)
