"""The words for states and kinds, spelled once.

Statuses are plain text in rows, messages and tables, so they are literals here: no conversion on the hot path, and the
type checkers still refuse a word that does not exist. Which word may follow which is `tminus.progression.tables`.
"""

from __future__ import annotations

from typing import Final, Literal

BatchStatus = Literal["detected", "init_dispatched", "active", "closing", "completed", "failed", "cancelled"]
MemberStatus = Literal["active", "done", "failed", "removed", "cancelled"]
PhaseStatus = Literal["pending", "dispatched", "completed", "failed", "skipped", "superseded", "cancelled"]
ExecutionStatus = Literal[
    "pending",
    "dispatched",
    "succeeded",
    "failed",
    "polling",
    "poll_timeout",
    "skipped",
    "cancelled",
    "rolled_back",
]
LaneStatus = Literal["waiting", "running", "succeeded", "failed", "cancelled"]
LaneKind = Literal["init", "phase", "rollback", "removal", "member_failed", "finish"]
BatchKind = Literal["source", "manual", "event"]
Entity = Literal["batch", "member", "phase", "lane", "execution", "hold"]
HoldScope = Literal["all", "runbook", "batch", "member", "phase"]
HoldKind = Literal[
    "pause",
    "gate",
    "brake",
    "freeze",
    "leavers",
    "move",
    "one_way",
    "old_t0",
    "rerun_init",
    "rollback",
    "removal",
    "late_success",
    "vanished",
    "over_cost",
]
HoldState = Literal["waiting", "approved", "rejected", "expired", "lifted"]

BATCH_OPEN: Final = frozenset({"detected", "init_dispatched", "active", "closing"})
LANE_OPEN: Final = frozenset({"waiting", "running"})
PHASE_OPEN: Final = frozenset({"pending", "dispatched"})
EXECUTION_OUT: Final = frozenset({"dispatched", "polling"})
EXECUTION_OPEN: Final = frozenset({"pending", "dispatched", "polling"})
EXECUTION_PASSED: Final = frozenset({"succeeded", "skipped"})

# Lower goes first. The order is the semantics': what cleans up goes before what starts something new.
PRIORITY_BY_KIND: Final[dict[LaneKind, int]] = {
    "rollback": 0,
    "removal": 1,
    "member_failed": 2,
    "finish": 2,
    "init": 3,
    "phase": 5,
}
PRIORITY_RETRY: Final = 4
PRIORITY_PHASE: Final = 5
