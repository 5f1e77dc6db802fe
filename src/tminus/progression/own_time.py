"""A member's own T-0: for the one who cannot be moved that night.

It is later than its batch's and pinned like an edit. The member's phases open with the batch; its lanes wait for the
offset from its own T-0 and are then looked at again, found by the same look as deadlines. What has started keeps its
time. An earlier T-0 than the batch's is no time of its own but a move to another batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.domain.instant import Instant, plus

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Lane, Member
    from tminus.progression.view import Subject, View

OWN_T0: Final = "_t0"


def own_t0(member: Member) -> Instant | None:
    """Return the member's own T-0, None where that of its batch counts."""
    if OWN_T0 not in member.pinned_json:
        return None
    found = cast("dict[str, str]", orjson.loads(member.pinned_json)).get(OWN_T0)
    return None if found is None else Instant(found)


def due(view: View, subject: Subject, lane: Lane) -> Instant | None:
    """Return when a phase lane is due by its member's own T-0, None where nothing is left to wait for."""
    return due_in(view, subject, lane.runbook_version, lane.sequence)


def due_in(view: View, subject: Subject, version: int, phase: str) -> Instant | None:
    """Return when a phase is due for a member with a T-0 of its own, None where that is over or there is none."""
    t0 = None if subject.member is None else own_t0(subject.member)
    if t0 is None:
        return None
    runbook = view.runbook(subject.batch, version)
    at = runbook.phases_by_name[phase].offset.due_at(t0, runbook.timezone)
    return at if at > view.now else None


def wait(view: View, lane: Lane, at: Instant) -> None:
    """Have a lane looked at again at its own time; a deadline that counts from the due time begins there."""
    if lane.deadline_at != at or lane.deadline_from is not None:
        lane.deadline_at, lane.deadline_from = at, None
        view.touch_lane(lane)


def begin(view: View, batch: Batch, lane: Lane) -> None:
    """End the wait for its own time: what counts from the due time counts from now."""
    lane.deadline_at = lane.deadline_from = None
    deadline = view.runbook(batch, lane.runbook_version).phases_by_name[lane.sequence].deadline
    if deadline is not None and deadline.start == "due":
        lane.deadline_from, lane.deadline_at = view.now, plus(view.now, deadline.after_s)
    view.touch_lane(lane)


def waits(lane: Lane) -> bool:
    """Tell whether a lane waits for its member's own time."""
    return lane.status == "waiting" and lane.deadline_at is not None and lane.deadline_from is None
