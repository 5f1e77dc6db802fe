"""The ledger: which rows are to be written, which counters moved, and the moves themselves, gathered in one Decision.

The view is a ledger that also holds the rows and checks the moves. What is written for a row is the row as it stands at
the end; the history keeps every move between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression.decision import Decision, History

if TYPE_CHECKING:
    from tminus.domain.rows import Batch, Execution, Hold, Lane, Member, PhaseRow
    from tminus.domain.status import Entity


class Ledger:
    """Marks rows for writing and counts; knows no rule."""

    __slots__ = ("_fresh", "actor", "decision")

    def __init__(self) -> None:
        """Begin with an empty decision."""
        self.decision = Decision()
        self.actor: str | None = None
        self._fresh = 0

    def fresh_id(self) -> int:
        """Return a negative id for a row that the store will number."""
        self._fresh -= 1
        return self._fresh

    def touch_batch(self, row: Batch) -> None:
        """Have the batch written."""
        if not row.was:
            row.was = row.status
        self.decision.batches[row.id] = row

    def touch_phase(self, row: PhaseRow) -> None:
        """Have the phase written."""
        if row.id > 0:
            if not row.was:
                row.was = row.status
            self.decision.phases[row.id] = row

    def touch_member(self, row: Member) -> None:
        """Have the member written."""
        if not row.was:
            row.was = row.status
        self.decision.outputs_only.discard(row.id)
        self.decision.members[row.id] = row

    def touch_outputs(self, row: Member) -> None:
        """Have the member's outputs written; unless more of it changes, nothing else is."""
        if row.id not in self.decision.members:
            row.was = row.status
            self.decision.members[row.id] = row
            self.decision.outputs_only.add(row.id)

    def touch_lane(self, row: Lane) -> None:
        """Have the lane written."""
        if row.id > 0:
            if not row.was:
                row.was = row.status
            self.decision.lanes[row.id] = row

    def touch_execution(self, row: Execution) -> None:
        """Have the execution written."""
        if row.id > 0:
            if not row.was:
                row.was = row.status
            self.decision.executions[row.id] = row

    def touch_hold(self, row: Hold) -> None:
        """Have the hold written."""
        if row.id > 0:
            if not row.was:
                row.was = row.state
            self.decision.holds[row.id] = row

    def count_batch(self, batch_id: int, column: str, delta: int) -> None:
        """Add to a counter of the batch."""
        counts = self.decision.batch_counts.setdefault(batch_id, {})
        counts[column] = counts.get(column, 0) + delta

    def count_phase(self, phase_id: int, column: str, delta: int) -> None:
        """Add to a counter of the phase."""
        counts = self.decision.phase_counts.setdefault(phase_id, {})
        counts[column] = counts.get(column, 0) + delta

    def count_new_lane(self, lane: Lane) -> None:
        """Count a lane that was just made."""
        if lane.kind != "finish":
            self.count_batch(lane.batch_id, "open_lanes", 1)
        if lane.phase_id is not None and lane.kind == "phase":
            self.count_phase(lane.phase_id, "lanes_total", 1)
            self.count_phase(lane.phase_id, "open_lanes", 1)

    def note(  # noqa: PLR0913, PLR0917 - a history row has these columns.
        self,
        batch_id: int | None,
        member_id: int | None,
        entity: Entity,
        entity_id: int,
        old: str | None,
        new: str,
        cause: str,
        detail: str | None = None,
    ) -> None:
        """Keep one move of one row."""
        self.decision.history.append(
            History(batch_id, member_id, entity, entity_id, old, new, None, cause, self.actor, detail)
        )
