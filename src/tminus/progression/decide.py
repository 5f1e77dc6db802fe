"""decide: one event over the evolving view. The only door into the state machine.

Each event has one small function, found in one table. A command is decided in the operator's name: the tables then know
the cells that only an operator may use, and the history says who it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tminus.progression import batch, events, leavers, loss, member, phase, step, version
from tminus.progression.commands import holding, passing, retrying, steering, timing
from tminus.progression.tables import ENGINE, OPERATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.progression.decision import Decision
    from tminus.progression.view import View

# The handler's event type follows from its key, which the type system cannot say.
HANDLERS: Final[dict[type, Callable[[View, Any], None]]] = {
    events.ResultArrived: step.on_result,
    events.ExecutionReady: step.on_ready,
    events.PollDue: step.on_poll_due,
    events.JobLost: loss.on_lost,
    events.JobTimedOut: loss.on_timeout,
    events.DeadlinePassed: loss.on_deadline,
    events.Wake: batch.on_wake,
    events.PhaseDue: phase.on_due,
    events.PhaseOpening: phase.on_opening,
    events.PhaseSettled: phase.on_settled,
    events.BatchSettled: batch.on_settled,
    events.BatchStart: batch.on_start,
    events.MemberEnding: batch.on_member_ending,
    events.VersionMove: version.on_move,
    events.Joining: member.on_joining,
    events.Leaving: member.on_leaving,
    events.Absent: leavers.on_absent,
    events.MoveAsked: leavers.on_move_asked,
    events.Moving: member.on_moving,
    events.HoldExpired: holding.on_expired,
    events.OpenHold: holding.on_open,
    events.AnswerHold: holding.on_answer,
    events.ApproveEarly: holding.on_approve_early,
    events.Retry: retrying.on_retry,
    events.RetryInit: retrying.on_retry_init,
    events.RetryCleanup: retrying.on_retry_cleanup,
    events.PassStep: passing.on_pass,
    events.RollBack: passing.on_roll_back,
    events.EditData: passing.on_edit_data,
    events.SetTime: timing.on_set_time,
    events.Remove: passing.on_remove,
    events.CancelBatch: steering.on_cancel,
    events.Advance: steering.on_advance,
    events.Reschedule: steering.on_reschedule,
}


def decide(view: View, happened: Iterable[events.Event]) -> Decision:
    """Decide event after event over one view, and return all that is to be written."""
    for event in happened:
        if isinstance(event, events.Command):
            view.actor, view.who = event.actor, OPERATOR
            HANDLERS[type(event)](view, event)
            view.actor, view.who = None, ENGINE
        else:
            HANDLERS[type(event)](view, event)
    return view.decision
