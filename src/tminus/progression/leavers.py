"""What a source's silence means: members that it no longer names, and moves that it asks for.

Nobody is removed because of an answer that may be wrong. Whatever speaks against it (T-0, a one_way step, the brake, a
doubtful answer, a whole batch gone) makes it a question with a list, and a question that no longer stands is withdrawn.
This module must not know how an answer is counted; it is told who has been absent for long enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.progression import holds
from tminus.progression.events import Leaving
from tminus.progression.member import on_leaving

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch
    from tminus.domain.status import HoldKind
    from tminus.progression.events import Absent, MoveAsked
    from tminus.progression.view import View
    from tminus.runbook.model import Leavers

_ASKING: Final[tuple[HoldKind, ...]] = ("leavers", "vanished")
SMALL: Final = 25
VANISHED: Final = "all rows of the batch are gone from the source"


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
        if not event.member_ids:
            _withdraw(view, batch, _ASKING)
        return
    reason = why_ask(batch, leavers, view.now, event, len(going))
    asked = frozenset(m.id for m in going)
    if reason is None:
        asked &= event.one_way_member_ids
        reason = "a one_way step has been sent"
    for member in going:
        if member.id not in asked:
            on_leaving(view, Leaving(member.id))
    if asked:
        names = [m.member_key for m in going if m.id in asked]
        evidence: dict[str, object] = {"member_ids": sorted(asked), "members": names[:1000], "count": len(names)}
        kind: HoldKind = "vanished" if event.vanished else "leavers"
        _withdraw(view, batch, [other for other in _ASKING if other != kind])
        _propose(view, batch, kind, reason, orjson.dumps(evidence).decode())


def why_ask(batch: Batch, leavers: Leavers, now: Instant, event: Absent, count: int) -> str | None:
    """Return why a human must decide about all of `count` leavers of a batch, None when they may go."""
    if event.vanished:
        return VANISHED
    if event.doubtful is not None:
        return event.doubtful
    if leavers.policy == "propose":
        return "the runbook proposes leavers"
    if batch.batch_start_time is not None and batch.batch_start_time <= now:
        return "T-0 has passed"
    total = batch.members_active + batch.members_failed + batch.members_removed + batch.members_done
    most, percent = leavers.brake.of(total), leavers.brake.percent
    if percent is not None:
        # A small batch may lose one, or none could ever leave it; whoever writes 0% wants to be asked about each.
        most = max(int(percent > 0 and total < SMALL), int(total * percent // 100))
    gone = event.removed_24h + count
    return f"{gone} of {total} within 24 h are more than the brake lets go" if gone > most else None


def on_move_asked(view: View, event: MoveAsked) -> None:
    """Ask a human about rows that name another batch than their members are in, or take the question back."""
    batch = view.batches.get(event.batch_id)
    if batch is None:
        return
    if event.evidence_json:
        _propose(view, batch, "move", event.reason, event.evidence_json)
    else:
        _withdraw(view, batch, ("move",))


def _propose(view: View, batch: Batch, kind: HoldKind, reason: str, evidence_json: str) -> None:
    hold = holds.open_hold(view, scope="batch", kind=kind, reason=reason, batch=batch, evidence_json=evidence_json)
    if hold.evidence_json != evidence_json or hold.reason != reason:
        hold.evidence_json, hold.reason = evidence_json, reason
        view.touch_hold(hold)


def _withdraw(view: View, batch: Batch, kinds: list[HoldKind] | tuple[HoldKind, ...]) -> None:
    for hold in view.holds.values():
        if hold.is_open and hold.kind in kinds and hold.scope == "batch" and hold.batch_id == batch.id:
            view.move_hold(hold, "lifted", "no longer so")
