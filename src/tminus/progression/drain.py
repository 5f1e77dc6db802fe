"""Draining: work is over, but its job is still out at a worker.

A job that nobody has claimed is voided; one that a worker holds drains until its result comes or its lease ends.
Meanwhile the subject starts no rollback, removal, moved or retried lane, so that two jobs never work on one member
against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression import course

if TYPE_CHECKING:
    from tminus.domain.rows import Execution
    from tminus.progression.view import Subject, View


def release(view: View, subject: Subject, row: Execution) -> None:
    """Let go of the current job of an execution whose work is over."""
    job = view.jobs.get(row.id)
    # Sent by an earlier event of this very micro-batch: it has not left, and never will.
    view.decision.jobs.pop(row.id, None)
    if row.job_id is None or job is None:
        row.job_id = None
        return
    row.job_id = None
    view.touch_execution(row)
    if job.claimed_at is None:
        view.decision.job_ends.append(row.id)
        del view.jobs[row.id]
        return
    job.is_draining = 1
    subject.draining[row.id] = job
    view.decision.job_drains.append(row.id)


def ended(view: View, subject: Subject, row: Execution, job: str) -> None:
    """Take note that a draining job has ended, and let those who waited for it go."""
    out = subject.draining.get(row.id)
    if out is None or out.message_id != job:
        return
    del subject.draining[row.id]
    view.jobs.pop(row.id, None)
    view.decision.job_ends.append(row.id)
    course.advance(view, view.whole(subject))
    moved_to = None if subject.member is None else subject.member.moved_to
    heir = None if moved_to is None else view.members.get(moved_to)
    if heir is not None:
        successor = view.subject(heir.batch_id, heir.id)
        successor.draining.pop(row.id, None)
        course.advance(view, view.whole(successor))
