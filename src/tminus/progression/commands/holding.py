"""Pause and resume, gates, and the answers to everything that waits for a human."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import orjson

from tminus.domain.instant import between_s, plus
from tminus.progression import course, holds, member, phase
from tminus.progression.actions import refuse_pause
from tminus.progression.commands.answering import answer
from tminus.progression.events import Leaving

if TYPE_CHECKING:
    from tminus.domain.rows import Hold
    from tminus.progression.events import AnswerHold, ApproveEarly, HoldExpired, OpenHold
    from tminus.progression.view import View


def on_open(view: View, event: OpenHold) -> None:
    """Pause a scope."""
    batch = None if event.batch_id is None else view.batches.get(event.batch_id)
    if event.scope in {"batch", "member"}:
        subject = view.subjects.get((event.batch_id or 0, event.member_id or 0))
        why = "no such batch" if batch is None else "no such member" if subject is None else ""
        if batch is not None and subject is not None:
            why = refuse_pause(batch, subject if event.scope == "member" else None)
        if why:
            answer(view, event, f"{event.scope} {event.member_id or event.batch_id}", why)
            return
    holds.open_hold(
        view,
        scope=event.scope,
        kind="pause",
        reason=event.reason,
        batch=batch,
        member_id=event.member_id,
        runbook_name=event.key,
    )
    answer(view, event, f"{event.scope} {event.member_id or event.batch_id or event.key or ''}".strip(), "")


def on_answer(view: View, event: AnswerHold) -> None:
    """Give a hold its answer."""
    hold = view.holds.get(event.hold_id)
    why = "no such hold" if hold is None else ended(hold) or refuse_answer(view, event, hold)
    if hold is not None and not why:
        hold.note = event.reason
        _apply(view, event, hold)
        holds.wake_scope(view, hold)
    answer(view, event, f"hold {event.hold_id}", why, batch_id=event.batch_id)


def ended(hold: Hold) -> str:
    """Say what has become of a hold that is not open any more, empty while it is."""
    return "" if hold.is_open else f"the {hold.kind} is {hold.state} already, by {hold.closed_by}"


def refuse_answer(view: View, event: AnswerHold, hold: Hold) -> str:
    """Return why this answer may not be given to an open hold now."""
    if event.answer in {"approve", "reject", "reopen"} and hold.kind != "gate":
        return f"a {hold.kind} hold is not a gate"
    if event.answer in {"accept", "refuse"} and hold.kind not in {"leavers", "vanished", "move"}:
        return f"a {hold.kind} hold lists no leavers and no moves"
    if event.answer == "accept" and hold.kind == "move" and not _listed(hold):
        return "these rows cannot go where the source puts them: lift it once you have seen it"
    if event.answer == "lift" and hold.kind in {"gate", "rerun_init"}:
        return "approve or reject the gate" if hold.kind == "gate" else "retry the init"
    if event.answer in {"approve", "reject"} and hold.state != "waiting":
        return f"the gate is {hold.state}: reopen it first"
    if event.answer == "reopen" and hold.state == "waiting":
        return "the gate is open already"
    if event.answer == "approve":
        return may_approve(view, event.actor, hold.batch_id)
    return ""


def may_approve(view: View, actor: str, batch_id: int | None) -> str:
    """Return why this person may not approve: whoever published, created or advanced may not."""
    known = {name.casefold() for name in involved(view, batch_id)}
    return f"{actor} published, created or advanced it and may not approve it" if actor.casefold() in known else ""


def involved(view: View, batch_id: int | None) -> set[str]:
    """Return who published, created or advanced a batch."""
    batch = view.batches.get(batch_id or 0)
    found = {name for name in view.facts.get(f"involved:{batch_id}", "").split("\n") if name}
    if batch is not None and batch.created_by:
        found.add(batch.created_by)
    return found


def _apply(view: View, event: AnswerHold, hold: Hold) -> None:
    if event.answer == "approve":
        view.move_hold(hold, "approved", "approved")
    elif event.answer == "reject":
        view.move_hold(hold, "rejected", "rejected")
    elif event.answer == "reopen":
        if hold.expires_at is not None:
            # As long as the runbook gives it: pauses may have moved the end.
            hold.expires_at = plus(view.now, _asked_s(hold) or between_s(hold.opened_at, hold.expires_at))
        hold.opened_at = view.now
        view.move_hold(hold, "waiting", "reopened")
    elif event.answer == "accept":
        view.move_hold(hold, "approved", "accepted")
        for member_id in _leaving(hold):
            member.on_leaving(view, Leaving(member_id, actor=event.actor))
    elif event.answer == "refuse":
        view.move_hold(hold, "lifted", "refused")
        for member_id in _leaving(hold):
            _keep(view, member_id)
    else:
        _lift(view, hold)


def _lift(view: View, hold: Hold) -> None:
    row = view.phases.get(hold.phase_id or 0)
    if hold.kind == "brake" and row is not None:
        row.ring_acknowledged = row.ring_failed
        view.touch_phase(row)
        view.decision.settled_phases.add(row.id)
    view.move_hold(hold, "lifted", "lifted")
    if hold.scope == "member" and hold.batch_id is not None:
        subject = view.subjects.get((hold.batch_id, hold.member_id or 0))
        if subject is not None:
            course.advance(view, view.whole(subject))


def _leaving(hold: Hold) -> list[int]:
    """Return whom a hold would have leave; an accepted move is made by the next look at the source."""
    return [] if hold.kind == "move" else _listed(hold)


def _listed(hold: Hold) -> list[int]:
    evidence = cast("dict[str, list[int]]", orjson.loads(hold.evidence_json))
    return evidence.get("member_ids", [])


def _keep(view: View, member_id: int) -> None:
    """Pin a refused leaver, so that the source's silence is not asked about again."""
    row = view.members.get(member_id)
    if row is None:
        return
    pinned = cast("dict[str, object]", orjson.loads(row.pinned_json))
    row.pinned_json = orjson.dumps(pinned | {"_stay": True}).decode()
    row.absent_count = 0
    view.touch_member(row)


def on_approve_early(view: View, event: ApproveEarly) -> None:
    """Approve a gate before its phase is due."""
    row = view.phases.get(event.phase_id)
    if row is None or row.status != "pending":
        answer(view, event, f"phase {event.phase_id}", "the phase is not pending")
        return
    batch = view.batches[row.batch_id]
    gate = phase.definition(view, batch, row).gate
    why = "the phase has no gate" if gate is None else may_approve(view, event.actor, batch.id)
    if not why and gate is not None:
        known = holds.gate_of(view, row) or phase.ask(view, batch, row, None)
        if known.state == "waiting":
            known.note = event.reason
            view.move_hold(known, "approved", "approved early")
        else:
            why = f"the gate is {known.state}"
    answer(view, event, row.phase_name, why, batch_id=batch.id)


def _asked_s(hold: Hold) -> float:
    """Return for how long a gate may stay unanswered; 0 where nobody said."""
    return float(cast("dict[str, float]", orjson.loads(hold.evidence_json)).get("expires_s", 0.0))


def on_expired(view: View, event: HoldExpired) -> None:
    """Let a gate that nobody answered expire. Expiry never approves; a pause has stopped its clock.

    A freeze is a window of the calendar, not a question: its end lifts it, paused or not.
    """
    hold = view.holds.get(event.hold_id)
    if hold is None or not hold.is_open or hold.state != "waiting" or hold.expires_at is None:
        return
    if hold.expires_at > view.now:
        return
    if hold.kind == "freeze":
        view.move_hold(hold, "lifted", "the window has ended")
        holds.wake_scope(view, hold)
        return
    batch = view.batches.get(hold.batch_id or 0)
    if batch is not None:
        if holds.is_paused(view, batch, None):
            hold.expires_at = plus(view.now, 60.0)
            view.touch_hold(hold)
            return
        asked_s = _asked_s(hold)
        later = holds.moved_end(view, batch, None, hold.opened_at, asked_s) if asked_s else hold.expires_at
        if later > view.now:
            hold.expires_at = later
            view.touch_hold(hold)
            return
    view.move_hold(hold, "expired", "expired")
