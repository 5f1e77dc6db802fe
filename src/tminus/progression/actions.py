"""What an operator may do now, and if not, why: computed once, shown by every face, obeyed by every command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.domain.status import BATCH_OPEN, LANE_OPEN
from tminus.progression import lanes

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Execution, Lane
    from tminus.progression.view import Subject, View


NO_SUCH_STEP: Final = "the member has no such step to pass"
_MOVED: Final = "the member has moved to another batch"
# Where a rollback on demand keeps the phase that it goes back to, empty for before all of them.
BACK_TO: Final = "_back_to"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator may do: enabled, or the reason why it is not."""

    name: str
    reason: str = ""

    @property
    def enabled(self) -> bool:
        """Tell whether it may be done now."""
        return not self.reason


def refuse_retry(view: View, subject: Subject) -> str:
    """Return why a member may not be tried again now, empty when it may."""
    member, batch = subject.member, subject.batch
    if member is None:
        return "no such member"
    if member.status not in {"failed", "cancelled"}:
        return f"the member is {member.status}; only a failed or cancelled one can be tried again"
    if member.moved_to is not None or _is_cleaned_up(subject):
        return "its removal steps have been asked for" if member.moved_to is None else _MOVED
    if batch.is_cancelling or batch.status in {"cancelled", "closing"}:
        return "the batch is closing" if batch.status == "closing" else "the batch is cancelled"
    if member.status == "cancelled" and any(ln.kind == "init" and ln.status == "failed" for ln in _own(view, batch)):
        return "the batch's init failed: retry the batch"
    if any(lane.kind == "rollback" and lane.status in LANE_OPEN for lane in subject.lanes):
        return "a rollback is still open"
    if member.id in view.taken:
        return "the key lives in another open batch"
    return ""


def _is_cleaned_up(subject: Subject) -> bool:
    return any(lane.kind == "removal" for lane in subject.lanes)


def _own(view: View, batch: Batch) -> list[Lane]:
    own = view.subjects.get((batch.id, 0))
    return [] if own is None else own.lanes


def _is_at_worker(view: View, row: Execution) -> bool:
    """Tell whether somebody works on a job; one that nobody has claimed can still be taken back."""
    job = view.jobs.get(row.id)
    return job is None or job.claimed_at is not None


def refuse_pass(view: View, subject: Subject, row: Execution | None) -> str:
    """Return why a step may not be skipped or marked done now."""
    if row is None:
        return NO_SUCH_STEP
    if row.status in {"succeeded", "skipped"}:
        return f"the step is {row.status} already"
    if row.status == "dispatched" and _is_at_worker(view, row):
        return "its job is out at a worker"
    if row.status == "polling" and row.job_id is not None:
        return "a poll of it is out at a worker"
    if row.status in {"pending", "polling", "dispatched"}:
        return "" if subject.member is not None and subject.member.status == "active" else refuse_retry(view, subject)
    return refuse_retry(view, subject)


def sent_after(view: View, subject: Subject, to_phase: str | None) -> list[tuple[Lane, Execution]]:
    """Return what a rollback to this phase (None: of everything) has to undo, oldest first."""
    later = lanes_after(subject, to_phase)
    rows = [(lane, row) for lane in later for row in view.steps_of(lane) if row.dispatched_at is not None]
    found = [(lane, row) for lane, row in rows if not _is_undone(view, subject, lane, row)]
    return sorted(found, key=lambda pair: pair[1].dispatched_at or "")


def lanes_after(subject: Subject, to_phase: str | None) -> list[Lane]:
    """Return the member's phase lanes that go after a phase, all of them without one."""
    ordered = sorted((ln for ln in subject.lanes if ln.kind == "phase"), key=lanes.place)
    if to_phase is not None:
        # A newer version's lane of the same phase belongs to what is kept.
        places = [at for at, lane in enumerate(ordered) if lane.sequence == to_phase]
        ordered = ordered[places[-1] + 1 :] if places else []
    return ordered


def _is_undone(view: View, subject: Subject, lane: Lane, row: Execution) -> bool:
    """Tell whether what undoes a step has run to a clean end since the step was sent: it is not run twice."""
    if row.is_one_way:
        return False
    name = lanes.step_of(view, lane, row).on_failure
    return row.status == "rolled_back" or any(
        other.kind == "rollback"
        and other.status == "succeeded"
        and name in other.sequence.split("\n")
        and (other.started_at or "") >= (row.dispatched_at or "")
        for other in subject.lanes
    )


def undoing(view: View, subject: Subject, sent: list[tuple[Lane, Execution]]) -> tuple[int, list[str]]:
    """Return the version by which this is undone, and the rollback sequences, newest first, each once."""
    version = max((lane.runbook_version for lane, _ in sent), default=subject.batch.runbook_version)
    known = view.runbook(subject.batch, version).rollbacks
    names = [lanes.step_of(view, lane, row).on_failure for lane, row in reversed(sent)]
    return version, list(dict.fromkeys(name for name in names if name is not None and name in known))


def refuse_rollback(view: View, subject: Subject, to_phase: str | None) -> str:
    """Return why a member may not be rolled back now."""
    member = subject.member
    if member is None or member.status not in {"active", "failed"}:
        return f"the member is {'gone' if member is None else member.status}"
    if subject.batch.status == "closing":
        return "the batch is closing"
    if any(lane.kind == "rollback" and lane.status in LANE_OPEN for lane in subject.lanes):
        return "a rollback is open already"
    names = [phase.name for phase in view.runbook(subject.batch, subject.batch.runbook_version).phases]
    if to_phase is not None and to_phase not in {*names, *(ln.sequence for ln in subject.lanes if ln.kind == "phase")}:
        return f'there is no phase "{to_phase}" (there are: {", ".join(names)})'
    sent = sent_after(view, subject, to_phase)
    if any(row.is_one_way for _, row in sent):
        return "a one_way step has been sent: there is no way back across it"
    return "" if undoing(view, subject, sent)[1] else _nothing_to_undo(view, subject, to_phase, sent)


def _nothing_to_undo(view: View, subject: Subject, to_phase: str | None, left: list[tuple[Lane, Execution]]) -> str:
    """Say why there is nothing to undo: it is undone, it names no way back, or it was never sent."""
    after = "" if to_phase is None else f" after {to_phase}"
    rows = [row for lane in lanes_after(subject, to_phase) for row in view.steps_of(lane) if row.dispatched_at]
    if len(rows) > len(left):
        return f"what was sent{after} is undone"
    if rows:
        return "none of the steps that were sent names an on_failure"
    return f"nothing has been sent{after} that could be undone"


def refuse_pause(batch: Batch, subject: Subject | None) -> str:
    """Return why a batch, or (with a subject) a member of it, may not be paused now."""
    if subject is not None:
        return refuse_edit(subject)
    return "" if batch.status in BATCH_OPEN else f"the batch is {batch.status}"


def failed_init(view: View, batch: Batch) -> Lane | None:
    """Return the batch's newest init that has failed."""
    return next((ln for ln in reversed(_own(view, batch)) if ln.kind == "init" and ln.status == "failed"), None)


def refuse_retry_init(view: View, batch: Batch) -> str:
    """Return why a batch's init may not be tried again now."""
    if failed_init(view, batch) is None or batch.status not in {"failed", "active", "init_dispatched"}:
        return "no init has failed"
    if any(lane.kind == "rollback" and lane.status in LANE_OPEN for lane in _own(view, batch)):
        return "a rollback is still open"
    return ""


def refuse_leave(subject: Subject) -> str:
    """Return why a member may not be removed now."""
    member = subject.member
    if member is None or member.status not in {"active", "failed"}:
        return f"the member is {'gone' if member is None else member.status}"
    if _is_cleaned_up(subject):
        return "its removal steps have been asked for already"
    return "" if subject.batch.status in {"detected", "init_dispatched", "active"} else "membership is frozen"


def refuse_edit(subject: Subject) -> str:
    """Return why a member's data may not be edited now."""
    member = subject.member
    return "the member has ended" if member is not None and member.status in {"done", "removed"} else ""


def refuse_set_time(subject: Subject) -> str:
    """Return why a member may not have a T-0 of its own now."""
    if subject.batch.batch_start_time is None:
        return "the batch has no T-0: it is advanced by hand"
    return refuse_leave(subject)


def refuse_cancel(batch: Batch) -> str:
    """Return why a batch may not be cancelled now."""
    return "" if batch.status in BATCH_OPEN else f"the batch is {batch.status}"


def refuse_advance(view: View, batch: Batch) -> str:
    """Return why a batch may not be advanced now."""
    if batch.batch_start_time is not None:
        return "the batch has a T-0 and runs by itself"
    if batch.status not in {"detected", "init_dispatched", "active"}:
        return f"the batch is {batch.status}"
    mine = [p for p in view.phases_of(batch) if p.runbook_version == batch.runbook_version]
    for phase in mine:
        if phase.status == "dispatched" or (phase.status == "pending" and phase.due_at is not None):
            return f"phase {phase.phase_name} is still open"
    return "" if any(p.status == "pending" for p in mine) else "all phases have run"


def refuse_reschedule(batch: Batch) -> str:
    """Return why a batch may not get another T-0 now."""
    return "" if batch.status in {"detected", "init_dispatched", "active"} else f"the batch is {batch.status}"


def member_actions(view: View, subject: Subject) -> tuple[Action, ...]:
    """Return what may be done to a member."""
    rows = [row for lane in subject.lanes if lane.kind == "phase" for row in view.steps_of(lane)]
    failed = next((r for r in rows if r.status in {"failed", "poll_timeout", "rolled_back"}), None)
    current = failed or next((r for r in rows if r.status in {"pending", "dispatched", "polling"}), None)
    passing = refuse_pass(view, subject, current)
    return (
        Action("retry", refuse_retry(view, subject)),
        Action("skip", passing),
        Action("mark-done", passing),
        Action("rollback", refuse_rollback(view, subject, None)),
        Action("leave", refuse_leave(subject)),
        Action("edit-data", refuse_edit(subject)),
        Action("set-time", refuse_set_time(subject)),
        Action("pause", refuse_pause(subject.batch, subject)),
    )


def batch_actions(view: View, batch: Batch) -> tuple[Action, ...]:
    """Return what may be done to a batch."""
    return (
        Action("advance", refuse_advance(view, batch)),
        Action("cancel", refuse_cancel(batch)),
        Action("pause", refuse_pause(batch, None)),
        Action("reschedule", refuse_reschedule(batch)),
        Action("retry-init", refuse_retry_init(view, batch)),
    )
