"""A member's own T-0: set, changed, released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression import course, own_time
from tminus.progression.actions import refuse_set_time
from tminus.progression.commands.answering import answer
from tminus.progression.commands.pinning import pin

if TYPE_CHECKING:
    from tminus.progression.events import SetTime
    from tminus.progression.view import Subject, View


def on_set_time(view: View, event: SetTime) -> None:
    """Give a member a T-0 of its own, or (None) that of its batch again."""
    member = view.members.get(event.member_id)
    if member is None:
        answer(view, event, f"member {event.member_id}", "no such member")
        return
    subject = view.whole(view.subject(member.batch_id, member.id))
    t0 = subject.batch.batch_start_time
    why = refuse_set_time(subject)
    if not why and event.t0 is None and own_time.own_t0(member) is None:
        why = "it has no T-0 of its own"
    if not why and event.t0 is not None and t0 is not None and event.t0 < t0:
        why = f"that is before the batch's T-0, {t0}: move it to a batch of that time"
    if not why:
        pin(view, member, {own_time.OWN_T0: event.t0})
        reconsider(view, subject)
    answer(view, event, member.member_key, why, batch_id=member.batch_id)


def reconsider(view: View, subject: Subject) -> None:
    """Look at the lanes that waited for a time which counts no more."""
    for lane in subject.lanes:
        if own_time.waits(lane):
            own_time.begin(view, subject.batch, lane)
    course.advance(view, subject)
