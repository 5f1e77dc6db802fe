"""The view: the rows that a micro-batch of events touches, and the only place where they change.

The store loads it under locks; events are decided one after another over the same view, so that two events of one
member see each other. Every change goes through here: a status move is checked against the tables, written into the
history and followed by its counters, and the row is marked for writing. Nothing here knows why a row moves; that is for
the modules named after the nouns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tminus.domain.status import BATCH_OPEN, LANE_OPEN, PHASE_OPEN
from tminus.progression.decision import History
from tminus.progression.ledger import Ledger
from tminus.progression.tables import ENGINE, OPERATOR, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.domain.instant import Instant
    from tminus.domain.rows import Batch, Execution, Hold, JobOut, Lane, Member, PhaseRow
    from tminus.domain.status import (
        BatchStatus,
        ExecutionStatus,
        HoldState,
        LaneStatus,
        MemberStatus,
        PhaseStatus,
    )
    from tminus.progression.rooms import Rooms
    from tminus.progression.tables import Who
    from tminus.runbook.model import Runbook, Step


@dataclass(slots=True)
class Subject:
    """Who passes lanes: a member, or the batch itself (`member` None)."""

    batch: Batch
    member: Member | None
    lanes: list[Lane] = field(default_factory=list["Lane"])
    draining: dict[int, JobOut] = field(default_factory=dict[int, "JobOut"])
    is_whole: bool = False


class NeedsWholeError(Exception):
    """A decision must see all of a subject of which only one lane was loaded: load it whole and decide anew."""

    def __init__(self, batch_id: int, member_id: int | None) -> None:
        """Name the subject."""
        super().__init__(f"batch {batch_id}, member {member_id}")
        self.subject = (batch_id, member_id or 0)


class View(Ledger):
    """Rows by id, and the decision that gathers what is to be written."""

    __slots__ = (
        "_books",
        "batches",
        "book",
        "definitions",
        "executions",
        "facts",
        "holds",
        "jobs",
        "lanes",
        "members",
        "now",
        "one_way_sent",
        "phases",
        "ring_open",
        "rooms",
        "steps",
        "subjects",
        "taken",
        "who",
    )

    def __init__(self, now: Instant, book: Callable[[str, int], Runbook], rooms: Rooms) -> None:
        """Start empty; the store fills the maps."""
        super().__init__()
        self.now = now
        self.book = book
        self._books: dict[tuple[str, int], Runbook] = {}
        self.definitions: dict[tuple[int, int, str, str, int, str], Step] = {}
        self.rooms = rooms
        self.batches: dict[int, Batch] = {}
        self.phases: dict[int, PhaseRow] = {}
        self.members: dict[int, Member] = {}
        self.lanes: dict[int, Lane] = {}
        self.executions: dict[int, Execution] = {}
        self.steps: dict[int, dict[int, Execution]] = {}
        self.subjects: dict[tuple[int, int], Subject] = {}
        self.jobs: dict[int, JobOut] = {}
        self.holds: dict[int, Hold] = {}
        self.ring_open: set[int] = set()
        self.one_way_sent: set[int] = set()
        self.taken: set[int] = set()
        self.facts: dict[str, str] = {}
        self.who: Who = ENGINE

    # -- looking ---------------------------------------------------------------------------------------------------

    def subject(self, batch_id: int, member_id: int | None) -> Subject:
        """Return the member's (or the batch's own) lanes and drains."""
        return self.subjects[batch_id, member_id or 0]

    def subject_of(self, lane: Lane) -> Subject:
        """Return whose lane this is."""
        return self.subjects[lane.batch_id, lane.member_id or 0]

    def runbook(self, batch: Batch, version: int) -> Runbook:
        """Return the definition that a lane of this version is bound to."""
        key = (batch.runbook_name, version)
        known = self._books.get(key)
        if known is None:
            known = self._books[key] = self.book(*key)
        return known

    def whole(self, subject: Subject) -> Subject:
        """Return the subject, or stop the decision when only a part of it is loaded."""
        if not subject.is_whole:
            raise NeedsWholeError(subject.batch.id, None if subject.member is None else subject.member.id)
        return subject

    def phases_of(self, batch: Batch) -> list[PhaseRow]:
        """Return the batch's phases of all versions, earliest first."""
        mine = [phase for phase in self.phases.values() if phase.batch_id == batch.id]
        return sorted(mine, key=lambda p: (p.runbook_version, p.phase_index))

    def steps_of(self, lane: Lane) -> list[Execution]:
        """Return the loaded executions of a lane in order."""
        steps = self.steps.get(lane.id, {})
        return [steps[index] for index in sorted(steps)]

    # -- moving ----------------------------------------------------------------------------------------------------

    def move_execution(
        self, row: Execution, to: ExecutionStatus, cause: str, member_id: int | None, detail: str | None = None
    ) -> None:
        """Move an execution."""
        require("execution", row.id, row.status, to, self.who)
        self.decision.history.append(
            History(
                row.batch_id, member_id, "execution", row.id, row.status, to, row.attempt, cause, self.actor, detail
            )
        )
        self.touch_execution(row)
        row.status = to

    def move_lane(self, row: Lane, to: LaneStatus, cause: str) -> None:
        """Move a lane; the counters of its phase and batch follow."""
        require("lane", row.id, row.status, to, self.who)
        self.note(row.batch_id, row.member_id, "lane", row.id, row.status, to, cause)
        self.touch_lane(row)
        was, row.status = row.status, to
        if to in {"succeeded", "failed"}:
            self.begin_lane(row)
        if (was in LANE_OPEN) != (to in LANE_OPEN):
            self._count_lane(row, was, to)
        row.closed_at = None if to in LANE_OPEN else self.now

    def begin_lane(self, row: Lane) -> None:
        """Note that a lane has begun: its first job goes out, or it ends without one."""
        if row.started_at is None:
            row.started_at = self.now
            self.touch_lane(row)
            self._count_start(row)

    def move_phase(self, row: PhaseRow, to: PhaseStatus, cause: str, reason: str | None = None) -> None:
        """Move a phase; the batch's count of open phases follows."""
        require("phase", row.id, row.status, to, self.who)
        self.note(row.batch_id, None, "phase", row.id, row.status, to, cause, reason)
        self.touch_phase(row)
        delta = (to in PHASE_OPEN) - (row.status in PHASE_OPEN)
        row.status, row.reason = to, reason
        row.completed_at = None if to in PHASE_OPEN else self.now
        if delta:
            self.count_batch(row.batch_id, "open_phases", delta)
        self.decision.settled_batches.add(row.batch_id)

    def move_member(self, row: Member, to: MemberStatus, cause: str) -> None:
        """Move a member; the batch's counters follow."""
        require("member", row.id, row.status, to, self.who)
        self.note(row.batch_id, row.id, "member", row.id, row.status, to, cause)
        self.touch_member(row)
        self.count_batch(row.batch_id, f"members_{row.status}", -1)
        self.count_batch(row.batch_id, f"members_{to}", 1)
        row.status = to
        self.decision.settled_batches.add(row.batch_id)

    def move_batch(self, row: Batch, to: BatchStatus, cause: str) -> None:
        """Move a batch."""
        require("batch", row.id, row.status, to, self.who)
        self.note(row.id, None, "batch", row.id, row.status, to, cause)
        self.touch_batch(row)
        row.status = to
        row.completed_at = None if to in BATCH_OPEN else self.now
        self.decision.settled_batches.add(row.id)

    def move_hold(self, row: Hold, to: HoldState, cause: str) -> None:
        """Move a hold; lifted and approved ones are closed."""
        require("hold", row.id, row.state, to, OPERATOR if to == "waiting" else self.who)
        self.note(row.batch_id, row.member_id, "hold", row.id, row.state, to, cause)
        self.touch_hold(row)
        row.state = to
        row.is_open = int(to not in {"approved", "lifted"})
        row.closed_at = None if row.is_open else self.now
        row.closed_by = self.actor or "tminus"

    def _count_start(self, lane: Lane) -> None:
        if lane.phase_id is None or lane.kind != "phase" or lane.is_inherited:
            return
        self.count_phase(lane.phase_id, "lanes_started", 1)
        if lane.ring in {-1, self.phases[lane.phase_id].ring}:
            self.count_phase(lane.phase_id, "ring_started", 1)

    def _count_lane(self, lane: Lane, was: str, to: str) -> None:
        delta = 1 if to in LANE_OPEN else -1
        if lane.kind != "finish":
            self.count_batch(lane.batch_id, "open_lanes", delta)
        self.decision.settled_batches.add(lane.batch_id)
        if lane.phase_id is None or lane.kind != "phase":
            return
        ended = was if delta > 0 else to
        self.count_phase(lane.phase_id, "open_lanes", delta)
        self.count_phase(lane.phase_id, f"lanes_{ended}", -delta)
        if ended == "failed" and lane.ring in {-1, self.phases[lane.phase_id].ring}:
            self.count_phase(lane.phase_id, "ring_failed", -delta)
        self.decision.settled_phases.add(lane.phase_id)
