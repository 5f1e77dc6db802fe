"""Members come, go and move.

A joiner gets a lane for every phase of the current version that has opened; later phases include it by themselves. A
leaver's open work is cancelled, drains, is rolled back where a rollback is open, and then its removal steps run. A
member that moves leaves without removal steps and takes its outputs and its passed phases along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import plus
from tminus.progression import closing, course, lanes
from tminus.progression.holds import open_hold
from tminus.progression.tables import ENGINE, JOINER

if TYPE_CHECKING:
    from tminus.domain.rows import Lane, Member, PhaseRow
    from tminus.progression.events import Joining, Leaving, Moving
    from tminus.progression.view import Subject, View

_OPENED = frozenset({"dispatched", "completed", "failed"})
# Whom an operator has moved stays there, whatever time the source names, until the pin is released.
BATCH_PIN: Final = "_batch"


def on_joining(view: View, event: Joining) -> None:
    """Let a new member catch up with the phases that have opened."""
    member = view.members.get(event.member_id)
    if member is None or member.status != "active":
        return
    batch = view.batches[member.batch_id]
    if batch.status != "active":
        return
    subject = view.whole(view.subject(batch.id, member.id))
    for phase in view.phases_of(batch):
        if phase.runbook_version == batch.runbook_version and has_opened(view, phase):
            catch_up(view, subject, phase)
    course.advance(view, subject)


def has_opened(view: View, phase: PhaseRow) -> bool:
    """Tell whether a joiner has to catch up with this phase."""
    if phase.status in _OPENED or (phase.status == "cancelled" and phase.dispatched_at is not None):
        return True
    return phase.status == "skipped" and phase.due_at is not None and phase.due_at <= view.now


def catch_up(view: View, subject: Subject, phase: PhaseRow) -> Lane | None:
    """Give a member its lane in a phase that has opened; the phase reopens where it had ended."""
    if any(lane.phase_id == phase.id and lane.kind == "phase" for lane in subject.lanes):
        return None
    if phase.status != "dispatched":
        who, view.who = view.who, JOINER if view.who == ENGINE else view.who
        if phase.status == "cancelled":
            view.move_phase(phase, "pending", "a member catches up")
        view.move_phase(phase, "dispatched", "a member catches up")
        view.who = who
    # Where too many have failed already, the brake has somebody to hold again.
    view.decision.settled_phases.add(phase.id)
    runbook = view.runbook(subject.batch, phase.runbook_version)
    spec = runbook.phases_by_name[phase.phase_name]
    inherited = subject.member is not None and phase.phase_name in orjson.loads(subject.member.inherited_json)
    steps = () if inherited else spec.steps
    lane = lanes.open_lane(view, subject, "phase", phase.phase_name, phase.runbook_version, steps, phase=phase)
    lane.ring = phase.ring if spec.rings else -1
    lane.is_inherited = int(inherited)
    if inherited:
        view.move_lane(lane, "running", "inherited")
        view.move_lane(lane, "succeeded", "inherited")
    elif spec.deadline is not None and spec.deadline.start == "due":
        lane.deadline_from = view.now
        lane.deadline_at = plus(view.now, spec.deadline.after_s)
    return lane


def on_leaving(view: View, event: Leaving) -> None:
    """Take a member out of its batch."""
    member = view.members.get(event.member_id)
    if member is None or member.status not in {"active", "failed"}:
        return
    subject = view.whole(view.subject(member.batch_id, member.id))
    if member.status == "failed":
        member.has_left = 1
        view.touch_member(member)
        return
    _remove(view, subject, "removed" if event.actor else "left the source")
    clean_up(view, subject, is_forced=event.force)


def clean_up(view: View, subject: Subject, *, is_forced: bool = False) -> None:
    """Run the removal steps of a member that is gone."""
    version = subject.batch.runbook_version
    steps = view.runbook(subject.batch, version).on_member_removed
    if steps:
        lanes.open_lane(view, subject, "removal", "", version, steps, is_forced=is_forced)
    course.advance(view, subject)


def _remove(view: View, subject: Subject, cause: str) -> None:
    member = subject.member
    if member is None:
        return
    member.removed_at = view.now
    view.move_member(member, "removed", cause)
    closing.cancel_lanes(view, subject, cause)
    for hold in view.holds.values():
        if hold.kind in {"pause", "one_way"} and hold.is_open and hold.member_id == member.id:
            view.move_hold(hold, "lifted", cause)


def _carry_pauses(view: View, origin: Member, heir: Member) -> None:
    """Take a pause along: whom an operator has stopped stays stopped, wherever the source puts it."""
    for hold in list(view.holds.values()):
        if hold.kind == "pause" and hold.is_open and hold.scope == "member" and hold.member_id == origin.id:
            batch = view.batches[heir.batch_id]
            carried = open_hold(view, scope="member", kind="pause", reason=hold.reason, batch=batch, member_id=heir.id)
            carried.opened_by = hold.opened_by
            view.move_hold(hold, "lifted", "moved")


def _ask_again(view: View, source: Subject, heir: Member) -> None:
    """Ask before a step of no return runs again: the heir begins every phase anew that was not passed."""
    for lane in source.lanes:
        rows = view.steps_of(lane) if lane.kind == "phase" and lane.status != "succeeded" else []
        if any(row.is_one_way and row.dispatched_at is not None for row in rows):
            open_hold(
                view,
                scope="member",
                kind="one_way",
                reason=f"{lane.sequence} would run again over a one_way step that was sent in batch {lane.batch_id}",
                batch=view.batches[heir.batch_id],
                member_id=heir.id,
            )


def on_moving(view: View, event: Moving) -> None:
    """Let a member go on in another batch; nothing is cleaned up after it here."""
    origin, heir = view.members.get(event.origin_id), view.members.get(event.member_id)
    if origin is None or heir is None or origin.moved_to is not None or origin.status not in {"active", "failed"}:
        return
    source = view.whole(view.subject(origin.batch_id, origin.id))
    passed = {ln.sequence for ln in source.lanes if ln.kind == "phase" and ln.status == "succeeded"}
    heir.inherited_json = orjson.dumps(sorted(passed | set(orjson.loads(origin.inherited_json)))).decode()
    heir.worker_data_json = origin.worker_data_json
    heir.pinned_json = origin.pinned_json if heir.pinned_json == "{}" else heir.pinned_json
    if event.actor is not None:
        heir.pinned_json = orjson.dumps(orjson.loads(heir.pinned_json) | {BATCH_PIN: True}).decode()
    view.touch_member(heir)
    origin.moved_to = heir.id
    _carry_pauses(view, origin, heir)
    _ask_again(view, source, heir)
    if origin.status == "failed":
        origin.has_left = 1
        view.touch_member(origin)
    else:
        _remove(view, source, "moved")
        course.advance(view, source)
    target = view.subject(heir.batch_id, heir.id)
    target.draining.update(source.draining)
    if heir.status == "active":
        for phase in view.phases_of(target.batch):
            current = phase.runbook_version == target.batch.runbook_version
            if target.batch.status == "active" and current and has_opened(view, phase):
                catch_up(view, target, phase)
        course.advance(view, target)
