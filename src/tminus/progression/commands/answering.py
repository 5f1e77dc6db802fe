"""How a command answers: one reply and one audit row for each subject, done or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression.decision import Audit, Reply

if TYPE_CHECKING:
    from tminus.progression.events import Command
    from tminus.progression.view import View


def answer(view: View, event: Command, subject: str, why_not: str, *, batch_id: int | None = None) -> None:
    """Record what became of a command for one subject."""
    name = type(event).__name__
    view.decision.replies.append(Reply(subject, not why_not, why_not or "done", "E410" if why_not else ""))
    view.decision.audits.append(
        Audit(
            actor=event.actor,
            action=name,
            scope="" if batch_id is None else f"batch {batch_id}",
            subject=subject,
            reason=event.reason,
            outcome="refused" if why_not else "done",
            detail_json="{}",
        )
    )
