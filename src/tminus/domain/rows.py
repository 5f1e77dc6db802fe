"""Rows as the state machine holds them: slotted, mutable, one class per table.

They are the accumulator of a fold and sit on the hot path, so they are not frozen (a frozen slotted dataclass costs
seven times as much to make). `was` is the status a row had when it was loaded: it is what the writing statement
compares with. Only `tminus.progression.view` changes rows. Field order is column order of the loading statements.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.status import (
        BatchKind,
        BatchStatus,
        ExecutionStatus,
        HoldKind,
        HoldScope,
        HoldState,
        LaneKind,
        LaneStatus,
        MemberStatus,
        PhaseStatus,
    )


@dataclass(slots=True)
class Batch:
    """One run of a runbook for the members that share a T-0."""

    id: int
    runbook_id: int
    runbook_name: str
    runbook_version: int
    kind: BatchKind
    status: BatchStatus
    batch_start_time: Instant | None
    source_time: Instant | None
    created_by: str
    current_phase: str | None
    data_json: str
    outputs_json: str
    round: int
    advanced_at: Instant | None
    wake_after: int | None
    ending_after: int | None
    is_cancelling: int
    outcome: str | None
    ignored_version: int | None
    init_dispatched_at: Instant | None
    completed_at: Instant | None
    open_lanes: int
    open_phases: int
    members_active: int
    members_done: int
    members_failed: int
    members_removed: int
    members_cancelled: int
    was: str = ""


@dataclass(slots=True)
class PhaseRow:
    """A phase of one batch at one version. `opening_after` is the member cursor while lanes are being made."""

    id: int
    batch_id: int
    phase_name: str
    phase_index: int
    runbook_version: int
    offset_minutes: int
    due_at: Instant | None
    status: PhaseStatus
    reason: str | None
    dispatched_at: Instant | None
    completed_at: Instant | None
    opening_after: int | None
    members_at_opening: int
    lanes_total: int
    open_lanes: int
    lanes_succeeded: int
    lanes_failed: int
    lanes_cancelled: int
    lanes_started: int
    ring: int
    ring_started: int
    ring_failed: int
    ring_acknowledged: int
    was: str = ""


@dataclass(slots=True)
class Member:
    """One thing moved. A return or a move makes a new generation with its own row."""

    id: int
    batch_id: int
    member_key: str
    generation: int
    status: MemberStatus
    data_json: str
    worker_data_json: str
    pinned_json: str
    absent_count: int
    has_left: int
    moved_to: int | None
    inherits_from: int | None
    inherited_json: str
    failures: int
    added_at: Instant
    removed_at: Instant | None
    failed_at: Instant | None
    ended_at: Instant | None
    was: str = ""


@dataclass(slots=True)
class Lane:
    """One subject's pass through an ordered list of steps, bound to one runbook version."""

    id: int
    batch_id: int
    member_id: int | None
    phase_id: int | None
    kind: LaneKind
    sequence: str
    runbook_version: int
    status: LaneStatus
    steps_total: int
    lane_order: int
    due_at: Instant | None
    ring: int
    round: int
    cause_execution_id: int | None
    cancelled_by: str | None
    is_inherited: int
    is_forced: int
    reason: str | None
    next_at: Instant | None
    deadline_at: Instant | None
    deadline_from: Instant | None
    context_json: str | None
    started_at: Instant | None
    closed_at: Instant | None
    was: str = ""


@dataclass(slots=True)
class Execution:
    """One step in one lane: the row that has a status. `job_id` is the current sending's, None while none is out."""

    id: int
    lane_id: int
    batch_id: int
    step_name: str
    step_index: int
    runbook_version: int
    worker_id: str
    function_name: str
    params_json: str | None
    status: ExecutionStatus
    job_id: str | None
    attempt: int
    retry_count: int
    max_retries: int
    retry_interval_sec: float | None
    retry_after: Instant | None
    throttled_sec: float
    ready_at: Instant | None
    priority: int
    first_dispatched_at: Instant | None
    dispatched_at: Instant | None
    completed_at: Instant | None
    timeout_sec: float
    is_one_way: int
    is_poll_step: int
    poll_interval_sec: float | None
    poll_timeout_sec: float | None
    poll_started_at: Instant | None
    last_polled_at: Instant | None
    poll_due_at: Instant | None
    poll_count: int
    round: int
    error_message: str | None
    error_type: str | None
    cancelled_by: str | None
    was: str = ""


@dataclass(slots=True)
class Hold:
    """Something that waits for a human, and what it stops meanwhile."""

    id: int
    scope: HoldScope
    kind: HoldKind
    state: HoldState
    is_open: int
    runbook_name: str | None
    batch_id: int | None
    member_id: int | None
    phase_id: int | None
    reason: str
    evidence_json: str
    opened_at: Instant
    opened_by: str
    expires_at: Instant | None
    closed_at: Instant | None
    closed_by: str | None
    note: str | None
    was: str = ""


@dataclass(slots=True)
class JobOut:
    """A job that has left: the part of its message row that decisions look at."""

    id: int
    execution_id: int
    lane_id: int
    member_id: int | None
    batch_id: int
    message_id: str
    claimed_at: Instant | None
    lease_until: Instant | None
    timeout_at: Instant | None
    delivery: int
    is_draining: int
    is_poll: int


Row = Batch | PhaseRow | Member | Lane | Execution | Hold


def columns(row: type[Row | JobOut]) -> tuple[str, ...]:
    """Return the columns of a row class in loading order."""
    return tuple(f.name for f in fields(row) if f.name != "was")
