"""What must have been true when a job went out: order, membership, holds on time; and what a failure opened.

The passage listens to the replay of the history. At each dispatch it asks the timeline how the lane, its member, its
batch and its earlier steps stood at that moment. What happened later cannot excuse a dispatch, nor accuse it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tminus.domain.instant import plus
from tminus.domain.status import EXECUTION_OUT, EXECUTION_PASSED, LANE_OPEN
from tminus.progression.holds import covers
from tminus.progression.lanes import GOES_ON
from tminus.store.promises.replay import Timeline, first_statuses, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.domain.instant import Instant
    from tminus.domain.rows import Hold, PhaseRow
    from tminus.store.promises.definitions import Definitions
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import EventSeen, ExecutionSeen, LaneSeen
    from tminus.store.promises.slices import Slice

_FAILED: Final = frozenset({"failed", "poll_timeout"})
_ENDED: Final = frozenset({"succeeded", "skipped", "failed", "poll_timeout", "cancelled", "rolled_back"})
STOPS: Final = frozenset({"pause", "old_t0", "rerun_init"})
STOPS_BEGINNING: Final = frozenset({"brake", "freeze", "one_way", "over_cost"})
_INIT_OPEN: Final = frozenset({"detected", "init_dispatched", "active"})


def in_the_way(page: Slice, timeline: Timeline, lane: LaneSeen, *, has_begun: bool) -> Iterator[Hold]:
    """Yield the holds that stopped a lane's dispatches at this point of the history; more stop its first one."""
    kinds = STOPS if has_begun or lane.kind != "phase" else STOPS | STOPS_BEGINNING
    for hold in page.holds:
        state = timeline.holds.get(hold.id)
        if hold.kind == "gate":
            # A gate that was rejected or that expired stops its whole batch.
            stops = state in {"rejected", "expired"} and hold.batch_id == page.batch.id
        else:
            stops = (
                state == "waiting" and hold.kind in kinds and covers(hold, page.batch, lane.member_id, lane.phase_id)
            )
        if stops:
            yield hold


def overtaken(page: Slice, timeline: Timeline, definitions: Definitions, phase: PhaseRow) -> Iterator[PhaseRow]:
    """Yield the phases that go before this one and had not opened at this point of the history."""
    runbook = definitions.runbook(page.batch.runbook_name, phase.runbook_version)
    spec = None if runbook is None else runbook.phases_by_name.get(phase.phase_name)
    if spec is None or spec.overlap:
        return
    for other in page.phases.values():
        same = other.runbook_version == phase.runbook_version and other.due_at is not None
        is_before = (-other.offset_minutes, other.phase_index) < (-phase.offset_minutes, phase.phase_index)
        if same and is_before and timeline.phases.get(other.id, "pending") == "pending":
            yield other


class Passage:
    """One walk through a slice's history."""

    __slots__ = (
        "_born",
        "_definitions",
        "_ended",
        "_failed_at",
        "_findings",
        "_inits",
        "_out",
        "_page",
        "_polling_at",
        "_predecessor",
        "_retries",
        "_sendings",
        "by_deadline",
        "by_hand",
        "final_failures",
        "first",
        "removed_at",
        "started",
        "timeline",
    )

    def __init__(self, page: Slice, definitions: Definitions, findings: Findings) -> None:
        """Make ready to walk."""
        self._page, self._definitions, self._findings = page, definitions, findings
        self.timeline = Timeline()
        self.first = first_statuses(page)
        self.started: set[int] = set()
        self.by_deadline: set[int] = set()
        self.by_hand: set[int] = set()
        self.removed_at: list[Instant] = []
        inits = [lane for lane in page.lanes.values() if lane.kind == "init"]
        self._inits = sorted(inits, key=lambda lane: lane.runbook_version)
        self.final_failures: Counter[int] = Counter()
        self._born: dict[int, int] = {}
        self._predecessor: dict[int, int] = {}
        self._out: dict[int, int] = {}
        self._sendings: Counter[int] = Counter()
        self._retries: Counter[int] = Counter()
        self._failed_at: dict[int, Instant] = {}
        self._polling_at: dict[int, Instant] = {}
        self._ended: Counter[tuple[int, int | None]] = Counter()

    def walk(self) -> None:
        """Replay the history and check each move on the way."""
        maps = self.timeline.by_entity()
        listeners = {"execution": self._execution, "lane": self._lane, "phase": self._phase, "member": self._member}
        first = self.first
        for event in self._page.events:
            if event.from_status is None and event.entity == "execution":
                self._note_birth(event)
        for event in self._page.events:
            entity, row_id = event.entity, event.entity_id
            known = maps[entity]
            before = known.get(row_id, first.get(row_id) if entity == "member" else None)
            judge(self._findings, event, before)
            listener = listeners.get(entity)
            if listener is not None:
                listener(event)
            known[row_id] = event.to_status

    def _note_birth(self, event: EventSeen) -> None:
        self._born[event.entity_id] = event.id
        words = (event.detail or "").split(" ")
        if words[:2] == ["replaces", "execution"] and words[2].isdecimal():
            self._predecessor[event.entity_id] = int(words[2])

    # -- executions ------------------------------------------------------------------------------------------------

    def _execution(self, event: EventSeen) -> None:
        row_id, old, new = event.entity_id, event.from_status, event.to_status
        self.timeline.attempts[row_id] = event.attempt or 0
        row = self._page.executions.get(row_id)
        if row is None:
            return
        if old in EXECUTION_OUT and new not in EXECUTION_OUT and self._out.get(row.lane_id) == row_id:
            del self._out[row.lane_id]
        if new == "dispatched":
            self._dispatched(event, row)
        elif new == "pending":
            self._again(event, row)
        elif new == "polling":
            self._polling_at[row_id] = event.at
        elif new in _FAILED or new == "succeeded":
            self._ended_as(event, row)
        if new != "pending":
            self._failed_at.pop(row_id, None)

    def _ended_as(self, event: EventSeen, row: ExecutionSeen) -> None:
        if event.to_status in _FAILED:
            self.final_failures[row.id] += 1
        if event.to_status == "poll_timeout" and row.id in self._polling_at:
            end = plus(self._polling_at[row.id], row.poll_timeout_sec or 0.0)
            if event.at < end:
                self._findings.add("P16", f"execution {row.id} was timed out at {event.at}, it had until {end}")
        if event.actor is not None:
            self.by_hand.add(row.id)
        elif event.from_status in EXECUTION_OUT:
            self._ended[row.id, event.attempt] += 1
            if self._ended[row.id, event.attempt] > 1:
                self._findings.add("P01", f"execution {row.id} ended twice in attempt {event.attempt}")

    def _again(self, event: EventSeen, row: ExecutionSeen) -> None:
        """Check a return to waiting: only within the retries, and only while the lane runs."""
        if event.actor is not None or event.from_status is None:
            self._retries[row.id] = 0
            return
        if event.from_status == "failed":
            self.final_failures[row.id] -= 1
        if self.timeline.lanes.get(row.lane_id) != "running":
            self._findings.add("P09", f"execution {row.id} came back to pending after lane {row.lane_id} had ended")
        if event.cause == "retry":
            self._retries[row.id] += 1
            self._failed_at[row.id] = event.at
            if self._retries[row.id] > row.max_retries:
                tried = self._retries[row.id]
                self._findings.add(
                    "P05", f"execution {row.id} was retried {tried} times, allowed are {row.max_retries}"
                )

    def _dispatched(self, event: EventSeen, row: ExecutionSeen) -> None:
        lane = self._page.lanes[row.lane_id]
        number = self._sendings[row.id]
        self._sendings[row.id] = number + 1
        if event.attempt != number:
            self._findings.add("P05", f"sending {number} of execution {row.id} is called attempt {event.attempt}")
        other = self._out.get(lane.id)
        if other is not None and other != row.id:
            self._findings.add("P05", f"execution {row.id} was sent while execution {other} of its lane was out")
        self._out[lane.id] = row.id
        if self.timeline.lanes.get(lane.id) != "running":
            self._findings.add("P08", f"execution {row.id} was sent while lane {lane.id} was not running")
        self._steps_before(event, lane, row)
        self._wait_kept(event, lane, row)
        if lane.kind in {"init", "phase"}:
            for hold in in_the_way(self._page, self.timeline, lane, has_begun=lane.id in self.started):
                self._findings.add("P08", f"execution {row.id} was sent while {hold.kind} hold {hold.id} was open")
        self.started.add(lane.id)
        if lane.started_at is None:
            self._findings.add("P03", f"execution {row.id} was sent, and its lane {lane.id} has not begun")
        if lane.kind == "phase":
            self._phase_dispatch(lane, row)
        elif lane.kind == "init":
            status = self.timeline.batches.get(lane.batch_id, "detected")
            if status not in _INIT_OPEN:
                self._findings.add("P08", f"init execution {row.id} was sent while batch {lane.batch_id} was {status}")

    def _steps_before(self, event: EventSeen, lane: LaneSeen, row: ExecutionSeen) -> None:
        fine = _ENDED if lane.kind in GOES_ON else EXECUTION_PASSED
        statuses = self.timeline.executions
        for earlier in self._page.steps[lane.id]:
            if earlier.step_index >= row.step_index:
                return
            row_id: int | None = earlier.id
            while row_id is not None and self._born.get(row_id, event.id) > event.id:
                row_id = self._predecessor.get(row_id)
            if row_id is not None and statuses.get(row_id, "pending") not in fine:
                self._findings.add("P03", f"execution {row.id} was sent before execution {row_id} had passed")

    def _wait_kept(self, event: EventSeen, lane: LaneSeen, row: ExecutionSeen) -> None:
        failed_at = self._failed_at.get(row.id)
        if failed_at is None:
            return
        step = self._definitions.step(self._page.batch.runbook_name, lane, row)
        policy = None if step is None else step.retry
        if policy is None or policy.backoff < 1:
            return
        delay = policy.interval_s * policy.backoff ** min(self._retries[row.id] - 1, 64)
        if policy.max_interval_s is not None:
            delay = min(delay, policy.max_interval_s)
        due = plus(failed_at, delay * 0.8 if policy.jitter else delay)
        if event.at < due:
            self._findings.add("P05", f"execution {row.id} was sent again at {event.at}, before its retry at {due}")

    def _phase_dispatch(self, lane: LaneSeen, row: ExecutionSeen) -> None:
        timeline = self.timeline
        member_id = lane.member_id or 0
        member = timeline.members.get(member_id) or self.first.get(member_id, "active")
        if member != "active":
            self._findings.add("P08", f"execution {row.id} was sent while member {member_id} was {member}")
        batch = timeline.batches.get(lane.batch_id, "detected")
        if batch != "active":
            promise = "P04" if batch in {"detected", "init_dispatched"} else "P08"
            self._findings.add(promise, f"execution {row.id} was sent while batch {lane.batch_id} was {batch}")
        init = self._init_of(lane)
        if init is not None and timeline.lanes.get(init.id) != "succeeded":
            self._findings.add("P04", f"execution {row.id} was sent before init lane {init.id} had succeeded")

    def _init_of(self, lane: LaneSeen) -> LaneSeen | None:
        """Return the init lane that holds for this lane's version: its own, one before, a later where that failed."""
        found: LaneSeen | None = None
        for own in self._inits:
            failed = found is not None and self.timeline.lanes.get(found.id) == "failed"
            if own.runbook_version <= lane.runbook_version or failed:
                found = own
        return found

    # -- lanes, phases, members ------------------------------------------------------------------------------------

    def _lane(self, event: EventSeen) -> None:
        if event.to_status != "running":
            if event.from_status is not None:
                self.started.add(event.entity_id)
            return
        if event.cause == "deadline":
            self.by_deadline.add(event.entity_id)
            return
        lane = self._page.lanes.get(event.entity_id)
        if lane is None or lane.kind != "phase" or lane.member_id is None or event.cause == "inherited":
            return
        runbook = self._definitions.runbook(self._page.batch.runbook_name, lane.runbook_version)
        phase = None if runbook is None else runbook.phases_by_name.get(lane.sequence)
        if phase is None or phase.overlap:
            return
        mine = (lane.due_at or "", lane.lane_order, lane.runbook_version)
        statuses = self.timeline.lanes
        for other in self._page.of_member[lane.member_id]:
            if other.kind != "phase" or (other.due_at or "", other.lane_order, other.runbook_version) >= mine:
                continue
            was_there = other.id < lane.id or other.id in statuses
            if was_there and statuses.get(other.id, "waiting") in LANE_OPEN:
                self._findings.add("P04", f"lane {lane.id} started before lane {other.id}, which goes first, had ended")

    def _phase(self, event: EventSeen) -> None:
        phase = self._page.phases.get(event.entity_id)
        if phase is None or event.to_status != "dispatched" or event.cause != "due":
            return
        if phase.due_at is None or event.at < phase.due_at:
            self._findings.add("P22", f"phase {phase.id} opened at {event.at}, it was due at {phase.due_at}")
        for other in overtaken(self._page, self.timeline, self._definitions, phase):
            self._findings.add("P04", f"phase {phase.id} opened before phase {other.id}, which goes first, had")

    def _member(self, event: EventSeen) -> None:
        """Check that the source's silence alone took nobody out from whom there is no way back (P15)."""
        if event.to_status != "removed" or event.cause != "left the source" or event.actor is not None:
            return
        self.removed_at.append(event.at)
        t0 = self._page.batch.batch_start_time
        if t0 is not None and event.at >= t0 and not self._page.is_rescheduled:
            self._findings.add("P15", f"member {event.entity_id} was removed unasked after T-0")
        for lane in self._page.of_member.get(event.entity_id, ()):
            for row in self._page.steps[lane.id]:
                if row.is_one_way and self._sendings[row.id]:
                    self._findings.add(
                        "P15", f"member {event.entity_id} was removed unasked after its one_way execution {row.id}"
                    )
