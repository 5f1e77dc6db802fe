"""What a decision wants written: the output side of the state machine.

One Decision gathers all that a micro-batch of events causes. Rows changed are the row objects themselves with the
status they were loaded with (`was`); new rows have negative ids until the store gives real ones. Counters travel as
deltas, so that nothing is proportional to a batch. Nothing here knows SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch, Execution, Hold, Lane, Member, PhaseRow
    from tminus.domain.status import Entity


@dataclass(slots=True)
class History:
    """One move of one row."""

    batch_id: int | None
    member_id: int | None
    entity: Entity
    entity_id: int
    from_status: str | None
    to_status: str
    attempt: int | None
    cause: str
    actor: str | None = None
    detail: str | None = None


@dataclass(slots=True)
class Job:
    """A job to send: becomes a message row in the same transaction."""

    job_id: str
    execution: Execution
    lane: Lane
    batch: Batch
    params_json: str
    function: str
    member_key: str | None
    is_poll: bool = False


@dataclass(slots=True)
class Attempt:
    """An attempt that ended. Worker and claim time are read from its message row when it is written."""

    execution: Execution
    attempt: int
    job_id: str
    outcome: str
    poll_count: int
    dispatched_at: Instant | None
    function_name: str
    params_json: str | None = None
    result_json: str | None = None
    error_message: str | None = None
    error_type: str | None = None
    duration_ms: float | None = None
    log: str | None = None


@dataclass(slots=True)
class Late:
    """A result that is not the current one: kept, counted, and without effect on any status."""

    job_id: str
    digest: str
    execution_id: int | None
    batch_id: int | None
    member_id: int | None
    is_success: bool
    reason: str
    result_json: str | None
    error_message: str | None


@dataclass(slots=True)
class Opening:
    """A phase to be opened for members with ids above a cursor: one INSERT … SELECT per chunk."""

    phase: PhaseRow
    batch: Batch


@dataclass(slots=True)
class Audit:
    """One operator's act on one subject."""

    actor: str
    action: str
    scope: str
    subject: str
    reason: str
    outcome: str
    detail_json: str = "{}"


@dataclass(slots=True)
class Reply:
    """What a command answers for one subject; `note` says more of what was done, `held` what it waits for now."""

    subject: str
    ok: bool
    message: str
    code: str = ""
    note: str = ""
    held: str = ""


@dataclass(slots=True)
class Decision:
    """Everything one transaction writes for a micro-batch."""

    batches: dict[int, Batch] = field(default_factory=dict[int, "Batch"])
    phases: dict[int, PhaseRow] = field(default_factory=dict[int, "PhaseRow"])
    members: dict[int, Member] = field(default_factory=dict[int, "Member"])
    lanes: dict[int, Lane] = field(default_factory=dict[int, "Lane"])
    executions: dict[int, Execution] = field(default_factory=dict[int, "Execution"])
    holds: dict[int, Hold] = field(default_factory=dict[int, "Hold"])
    outputs_only: set[int] = field(default_factory=set[int])
    new_phases: list[PhaseRow] = field(default_factory=list["PhaseRow"])
    new_members: list[Member] = field(default_factory=list["Member"])
    new_lanes: list[Lane] = field(default_factory=list["Lane"])
    new_executions: list[Execution] = field(default_factory=list["Execution"])
    dropped_executions: list[int] = field(default_factory=list[int])
    new_holds: list[Hold] = field(default_factory=list["Hold"])
    results: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    jobs: dict[int, Job] = field(default_factory=dict[int, Job])
    job_ends: list[int] = field(default_factory=list[int])
    job_drains: list[int] = field(default_factory=list[int])
    job_returns: list[int] = field(default_factory=list[int])
    wakes: list[str | None] = field(default_factory=list["str | None"])
    void_batches: list[int] = field(default_factory=list[int])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    late: list[Late] = field(default_factory=list[Late])
    history: list[History] = field(default_factory=list[History])
    openings: list[Opening] = field(default_factory=list[Opening])
    audits: list[Audit] = field(default_factory=list[Audit])
    replies: list[Reply] = field(default_factory=list[Reply])
    phase_counts: dict[int, dict[str, int]] = field(default_factory=dict[int, "dict[str, int]"])
    batch_counts: dict[int, dict[str, int]] = field(default_factory=dict[int, "dict[str, int]"])
    settled_phases: set[int] = field(default_factory=set[int])
    settled_batches: set[int] = field(default_factory=set[int])
