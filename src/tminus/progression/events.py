"""What can happen: one small class per event. An event says that something may be due; the rows say whether it is.

Events carry ids and facts, never statuses: nothing is trusted from a message. Commands of operators are events too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.status import HoldScope


@dataclass(slots=True)
class WorkError:
    """Why a worker's attempt failed."""

    message: str
    type: str = ""
    is_throttled: bool = False
    retryable: bool | None = None
    retry_after_s: float | None = None
    log: str | None = None


@dataclass(slots=True)
class ResultArrived:
    """A worker answered. `complete` is the polling word: False goes on polling, True ends it, None says nothing."""

    execution_id: int
    job_id: str
    error: WorkError | None = None
    result_json: str | None = None
    complete: bool | None = None
    duration_ms: float | None = None
    log: str | None = None
    digest: str = ""


@dataclass(slots=True)
class ExecutionReady:
    """The dispatcher chose this execution: its turn has come."""

    execution_id: int


@dataclass(slots=True)
class PollDue:
    """An interval has passed since the last answer, or the poll's timeout has."""

    execution_id: int


@dataclass(slots=True)
class JobLost:
    """A claim's lease ended without a result; `dead`: a broker gave it up; `returned`: its worker's process died."""

    execution_id: int
    job_id: str
    dead: bool = False
    returned: bool = False
    reason: str = ""
    log: str = ""


@dataclass(slots=True)
class JobTimedOut:
    """The step's timeout has passed since the claim."""

    execution_id: int
    job_id: str


@dataclass(slots=True)
class DeadlinePassed:
    """A lane's deadline has passed."""

    lane_id: int


@dataclass(slots=True)
class Wake:
    """Something that lanes of this member (or of the batch itself) waited for may have come."""

    batch_id: int
    member_id: int | None = None


@dataclass(slots=True)
class PhaseDue:
    """A pending phase's due time has passed, or what held it has gone."""

    phase_id: int


@dataclass(slots=True)
class PhaseOpening:
    """A phase is still being opened: the next chunk."""

    phase_id: int


@dataclass(slots=True)
class PhaseSettled:
    """A phase's counters changed so that it, its ring or its brake must be looked at."""

    phase_id: int


@dataclass(slots=True)
class BatchSettled:
    """A batch's counters changed so that it may close."""

    batch_id: int


@dataclass(slots=True)
class BatchStart:
    """A batch was just made: start its init, or make it active."""

    batch_id: int


@dataclass(slots=True)
class MemberEnding:
    """A batch is ending, and this member of it ends with it."""

    batch_id: int
    member_id: int


@dataclass(slots=True)
class VersionMove:
    """A newer version is active: this live batch moves to it. `one_way` names phases whose one_way steps were sent."""

    batch_id: int
    runbook_id: int
    version: int
    overdue: Literal["rerun", "ignore"]
    rerun_init: bool
    one_way_phases: frozenset[str] = frozenset()


@dataclass(slots=True)
class Joining:
    """A new member row was made in a live batch: it catches up."""

    member_id: int


@dataclass(slots=True)
class Leaving:
    """A member is to leave now: the source dropped it for good, or a human removed or accepted it."""

    member_id: int
    actor: str | None = None
    moved_to: int | None = None
    force: bool = False


@dataclass(slots=True)
class Absent:
    """Members missing in as many successive complete answers as the grace asks for, in one batch.

    `doubtful` says why a human must decide about all of them; without members, a question that stands is withdrawn.
    """

    batch_id: int
    member_ids: tuple[int, ...]
    removed_24h: int
    vanished: bool = False
    doubtful: str | None = None
    one_way_member_ids: frozenset[int] = frozenset()


@dataclass(slots=True)
class MoveAsked:
    """Rows name another batch than their members are in: a human decides. No evidence withdraws the question."""

    batch_id: int
    reason: str = ""
    evidence_json: str = ""


@dataclass(slots=True)
class Moving:
    """A member continues in another batch: `member_id` is the row that was made there and inherits from `origin_id`."""

    origin_id: int
    member_id: int
    actor: str | None = None


@dataclass(slots=True)
class HoldExpired:
    """A hold's time is over. Expiry never approves."""

    hold_id: int
    batch_id: int | None


@dataclass(slots=True, kw_only=True)
class Command:
    """What an operator wants, from whom and why."""

    actor: str
    reason: str


@dataclass(slots=True, kw_only=True)
class OpenHold(Command):
    """Pause at one of four levels. `key` is the runbook's name where the scope is a runbook."""

    scope: HoldScope
    batch_id: int | None = None
    member_id: int | None = None
    key: str | None = None


@dataclass(slots=True, kw_only=True)
class AnswerHold(Command):
    """Lift, approve, reject or reopen a hold; accept or refuse the leavers or the move that it lists."""

    hold_id: int
    batch_id: int | None
    answer: Literal["lift", "approve", "reject", "reopen", "accept", "refuse"]


@dataclass(slots=True, kw_only=True)
class ApproveEarly(Command):
    """Approve a phase's gate before it is due."""

    phase_id: int


@dataclass(slots=True, kw_only=True)
class Retry(Command):
    """Try a member's failed work again, by the current definition unless `original`; `values` are pinned first."""

    member_id: int
    from_step: str | None = None
    original: bool = False
    values: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True, kw_only=True)
class RetryInit(Command):
    """Try a failed batch's init again."""

    batch_id: int


@dataclass(slots=True, kw_only=True)
class RetryCleanup(Command):
    """Try the failed steps of a rollback, removal or hook lane again."""

    lane_id: int


@dataclass(slots=True, kw_only=True)
class PassStep(Command):
    """Skip a step, or mark it done with outputs."""

    member_id: int
    step: str
    done: bool
    outputs: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True, kw_only=True)
class RollBack(Command):
    """Undo a member's work on demand, back to a phase (None: all of it)."""

    member_id: int
    to_phase: str | None = None


@dataclass(slots=True, kw_only=True)
class EditData(Command):
    """Pin values over the source's; None releases a pin."""

    member_id: int
    values: dict[str, object]


@dataclass(slots=True, kw_only=True)
class SetTime(Command):
    """Give a member a T-0 of its own, later than its batch's; None releases it."""

    member_id: int
    t0: Instant | None


@dataclass(slots=True, kw_only=True)
class Remove(Command):
    """Take a member out of its batch; `force` lets its removal steps overtake a job that is out."""

    member_id: int
    force: bool = False


@dataclass(slots=True, kw_only=True)
class CancelBatch(Command):
    """Stop a batch. Members past a one_way step go on unless `everyone`."""

    batch_id: int
    everyone: bool = False


@dataclass(slots=True, kw_only=True)
class Advance(Command):
    """Let a batch without T-0 take its next step: init and the first phase, then one phase each."""

    batch_id: int


@dataclass(slots=True, kw_only=True)
class Reschedule(Command):
    """Give a batch another T-0: what has not opened gets new due times."""

    batch_id: int
    t0: Instant


Event = (
    ResultArrived
    | ExecutionReady
    | PollDue
    | JobLost
    | JobTimedOut
    | DeadlinePassed
    | Wake
    | PhaseDue
    | PhaseOpening
    | PhaseSettled
    | BatchSettled
    | BatchStart
    | MemberEnding
    | VersionMove
    | Joining
    | Leaving
    | Absent
    | MoveAsked
    | Moving
    | HoldExpired
    | OpenHold
    | AnswerHold
    | ApproveEarly
    | Retry
    | RetryInit
    | RetryCleanup
    | PassStep
    | RollBack
    | EditData
    | SetTime
    | Remove
    | CancelBatch
    | Advance
    | Reschedule
)
