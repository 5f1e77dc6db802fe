"""Members come, go and move.

A joiner gets a lane for every phase of the current version that has opened; later phases include it by themselves. A
leaver's open work is cancelled, drains, is rolled back where a rollback is open, and then its removal steps run. A
member that moves leaves without removal steps and takes its outputs and its passed phases along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tminus.domain.instant import plus
from tminus.progression import closing, course, holds, lanes
from tminus.progression.events import Leaving
from tminus.progression.tables import ENGINE, JOINER

if TYPE_CHECKING:
    from tminus.domain.rows import Lane, PhaseRow
    from tminus.domain.status import HoldKind
    from tminus.progression.events import Absent, Joining, Moving
    from tminus.progression.view import Subject, View
    from tminus.runbook.model import Leavers

_OPENED = frozenset({"dispatched", "completed", "failed"})


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
    if phase.status in _OPENED:
        return True
    return phase.status == "skipped" and phase.due_at is not None and phase.due_at <= view.now


def catch_up(view: View, subject: Subject, phase: PhaseRow) -> Lane | None:
    """Give a member its lane in a phase that has opened; the phase reopens where it had ended."""
    if any(lane.phase_id == phase.id and lane.kind == "phase" for lane in subject.lanes):
        return None
    if phase.status != "dispatched":
        who, view.who = view.who, JOINER if view.who == ENGINE else view.who
        view.move_phase(phase, "dispatched", "a member catches up")
        view.who = who
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
    runbook = view.runbook(subject.batch, subject.batch.runbook_version)
    if runbook.on_member_removed:
        lanes.open_lane(
            view,
            subject,
            "removal",
            "",
            subject.batch.runbook_version,
            runbook.on_member_removed,
            is_forced=event.force,
        )
    course.advance(view, subject)


def _remove(view: View, subject: Subject, cause: str) -> None:
    member = subject.member
    if member is None:
        return
    member.removed_at = view.now
    view.move_member(member, "removed", cause)
    closing.cancel_lanes(view, subject, cause)
    for hold in view.holds.values():
        if hold.kind == "pause" and hold.is_open and hold.scope == "member" and hold.member_id == member.id:
            view.move_hold(hold, "lifted", cause)


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
    view.touch_member(heir)
    origin.moved_to = heir.id
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


def on_absent(view: View, event: Absent) -> None:
    """Decide about members that a source has stopped naming: remove them, or ask a human."""
    batch = view.batches.get(event.batch_id)
    if batch is None or batch.status not in {"detected", "init_dispatched", "active"}:
        return
    leavers = view.runbook(batch, batch.runbook_version).data_source.leavers
    if leavers.policy == "ignore":
        return
    absent = [view.members[i] for i in event.member_ids if i in view.members]
    going = [m for m in absent if m.status == "active" or (m.status == "failed" and not m.has_left)]
    going = [m for m in going if "_stay" not in orjson.loads(m.pinned_json)]
    if not going:
        return
    reason, asked = _why_ask(view, event, leavers, [m.id for m in going])
    for member in going:
        if member.id not in asked:
            on_leaving(view, Leaving(member.id))
    if reason is None:
        return
    names = [m.member_key for m in going if m.id in asked]
    evidence: dict[str, object] = {"member_ids": sorted(asked), "members": names[:1000], "count": len(names)}
    _propose(view, event, reason, evidence)


def _why_ask(view: View, event: Absent, leavers: Leavers, ids: list[int]) -> tuple[str | None, frozenset[int]]:
    """Return why a human must decide, and about whom; the others may go."""
    batch = view.batches[event.batch_id]
    everyone = frozenset(ids)
    if event.vanished:
        return "all rows of the batch are gone from the source", everyone
    if event.doubtful is not None:
        return event.doubtful, everyone
    if leavers.policy == "propose":
        return "the runbook proposes leavers", everyone
    if batch.batch_start_time is not None and batch.batch_start_time <= view.now:
        return "T-0 has passed", everyone
    total = batch.members_active + batch.members_failed + batch.members_removed + batch.members_done
    most = leavers.brake.of(total)
    if leavers.brake.percent is not None:
        most = max(1, int(total * leavers.brake.percent // 100))
    if event.removed_24h + len(ids) > most:
        return f"{event.removed_24h + len(ids)} of {total} within 24 h are more than the brake lets go", everyone
    sent = everyone & event.one_way_member_ids
    return ("a one_way step has been sent", sent) if sent else (None, frozenset())


def _propose(view: View, event: Absent, reason: str, evidence: dict[str, object]) -> None:
    batch = view.batches[event.batch_id]
    kind: HoldKind = "vanished" if event.vanished else "leavers"
    text = orjson.dumps(evidence).decode()
    hold = holds.open_hold(view, scope="batch", kind=kind, reason=reason, batch=batch, evidence_json=text)
    if hold.evidence_json != text or hold.reason != reason:
        hold.evidence_json, hold.reason = text, reason
        view.touch_hold(hold)
