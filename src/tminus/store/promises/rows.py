"""Rows as the checks read them: only the columns that promises speak of.

Named tuples, because a check reads every row once and changes none: they cost a quarter of a dataclass to make. This
module knows columns, no rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.status import LaneKind


class MemberSeen(NamedTuple):
    """A member."""

    id: int
    batch_id: int
    member_key: str
    generation: int
    status: str
    moved_to: int | None
    inherits_from: int | None
    has_left: int


class LaneSeen(NamedTuple):
    """A lane."""

    id: int
    batch_id: int
    member_id: int | None
    phase_id: int | None
    kind: LaneKind
    sequence: str
    runbook_version: int
    status: str
    steps_total: int
    lane_order: int
    due_at: Instant | None
    ring: int
    round: int
    cause_execution_id: int | None
    is_inherited: int
    is_forced: int
    reason: str | None
    started_at: Instant | None


class ExecutionSeen(NamedTuple):
    """An execution."""

    id: int
    lane_id: int
    batch_id: int
    step_name: str
    step_index: int
    runbook_version: int
    worker_id: str
    function_name: str
    params_json: str | None
    status: str
    job_id: str | None
    attempt: int
    retry_count: int
    max_retries: int
    ready_at: Instant | None
    dispatched_at: Instant | None
    timeout_sec: float
    is_one_way: int
    poll_interval_sec: float | None
    poll_timeout_sec: float | None
    poll_started_at: Instant | None
    poll_due_at: Instant | None
    poll_count: int
    round: int
    error_type: str | None


class EventSeen(NamedTuple):
    """One move in the history; ids are in the order of transactions."""

    id: int
    at: Instant
    batch_id: int | None
    member_id: int | None
    entity: str
    entity_id: int
    from_status: str | None
    to_status: str
    attempt: int | None
    cause: str
    actor: str | None
    detail: str | None


class AttemptSeen(NamedTuple):
    """An attempt that ended."""

    execution_id: int
    attempt: int
    job_id: str
    outcome: str
    claimed_at: Instant | None
    ended_at: Instant


class JobSeen(NamedTuple):
    """A job that is out."""

    id: int
    execution_id: int | None
    lane_id: int | None
    member_id: int | None
    batch_id: int | None
    message_id: str
    route: str
    created_at: Instant
    claimed_by: str | None
    claimed_at: Instant | None
    lease_until: Instant | None
    timeout_at: Instant | None
    delivery: int
    is_draining: int
    is_poll: int
