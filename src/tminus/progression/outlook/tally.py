"""A whole plan counted: every member walked once, and what came of it by stage and step.

Fifty thousand members are walked one after another and none is kept but those who would not run, so that a large plan
costs seconds and little memory. The walk is the one that a single member is shown by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from tminus.progression.holds import is_old
from tminus.progression.outlook import columns
from tminus.progression.outlook.calls import Course
from tminus.progression.outlook.waits import Wait, limits_of, waits_of

if TYPE_CHECKING:
    from tminus.progression.outlook.calls import Call
    from tminus.progression.outlook.columns import Missing
    from tminus.progression.outlook.stages import Stage
    from tminus.progression.outlook.waits import Limits
    from tminus.runbook.model import Runbook, Step
    from tminus.runbook.plan import PlannedBatch, SavedPlan

PLACES_KEPT: Final = 3
_EMPTY: Final[tuple[object, ...]] = (None, "", [])


@dataclass(slots=True)
class StepTally:
    """What becomes of one step: for how many subjects it runs, may run, is skipped, or has no value for a name."""

    step: Step
    runs: int = 0
    depends: int = 0
    skipped: int = 0
    unresolved: int = 0


@dataclass(slots=True)
class StageTally:
    """One stage: how many subjects come to it, and its steps."""

    stage: Stage
    steps: list[StepTally]
    members: int = 0
    waits: list[Wait] = field(default_factory=list[Wait])

    @property
    def runs(self) -> int:
        """Return the step runs, those that depend on an outcome among them."""
        return sum(one.runs + one.depends for one in self.steps)

    def total(self, what: str) -> int:
        """Return the sum of one count over the steps."""
        return sum(int(getattr(one, what)) for one in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRunning:
    """A member that would not come through; without a key it is the whole batch. `batch_id` is where a key lives."""

    member_key: str
    place: str
    reason: str
    code: str
    phase_name: str = ""
    step_name: str = ""
    batch_id: int | None = None


@dataclass(slots=True)
class Empty:
    """A column that is sent and empty for some members; the first few of them with their places."""

    name: str
    count: int = 0
    members: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class BatchTally:
    """One planned batch counted. `would_run` are the members whose every name has a value."""

    batch: PlannedBatch
    stages: list[StageTally]
    would_run: int = 0


@dataclass(slots=True)
class Outlook:
    """All that a plan shows."""

    plan: SavedPlan
    book: Runbook
    batches: list[BatchTally] = field(default_factory=list[BatchTally])
    not_running: list[NotRunning] = field(default_factory=list[NotRunning])
    empty: list[Empty] = field(default_factory=list[Empty])
    unused: list[tuple[str, str | None]] = field(default_factory=list["tuple[str, str | None]"])
    missing: list[Missing] = field(default_factory=list["Missing"])
    computed: list[str] = field(default_factory=list[str])
    holds: list[Wait] = field(default_factory=list[Wait])

    @property
    def members(self) -> int:
        """Return how many members were named, those who live elsewhere among them."""
        return sum(len(one.batch.members) + len(one.batch.left_out) for one in self.batches) + len(self.plan.faulty)

    @property
    def would_run(self) -> int:
        """Return how many would come through if every function did."""
        return sum(one.would_run for one in self.batches)

    @property
    def step_runs(self) -> int:
        """Return the step runs of all batches."""
        return sum(stage.runs for one in self.batches for stage in one.stages)

    @property
    def once(self) -> int:
        """Return those of them that run once for a batch: init and end."""
        return sum(stage.runs for one in self.batches for stage in one.stages if stage.stage.kind != "phase")

    @property
    def has_changes(self) -> bool:
        """Tell whether applying would do anything."""
        return self.plan.publishes or any(one.batch.members for one in self.batches)


class _Count:
    """The walk over a plan."""

    def __init__(self, plan: SavedPlan, book: Runbook) -> None:
        self.outlook = Outlook(plan, book)
        self._limits: Limits = limits_of(plan, book)
        self._sent = columns.sent_columns(plan, book)
        self._empty = {name: Empty(name) for name in self._sent}
        self._calls: dict[tuple[str, str, str], None] = {}
        self._computed: dict[str, None] = {}

    def all(self) -> Outlook:
        found, plan, book = self.outlook, self.outlook.plan, self.outlook.book
        found.not_running += [
            NotRunning(member_key=key, place=place, code=code, reason=reason)
            for key, place, code, reason in plan.faulty
        ]
        for batch in plan.batches:
            found.batches.append(self._batch(batch))
        found.empty = [one for one in self._empty.values() if one.count]
        found.unused = columns.unused(plan, book)
        found.computed = list(self._computed)
        if plan.around.offered is not None:
            found.missing = columns.missing([*columns.functions_of(book), *self._calls], plan.around.offered)
        found.holds = self._holds()
        return found

    def _batch(self, batch: PlannedBatch) -> BatchTally:
        found, course = self.outlook, Course(self.outlook.plan, self.outlook.book, batch)
        tally = BatchTally(batch, [StageTally(one, [StepTally(step) for step in one.steps]) for one in course.stages])
        found.not_running += [
            NotRunning(member_key=key, place="", code="E362", reason=f"in batch {home} already", batch_id=home)
            for key, home in batch.left_out
        ]
        if self._own(course, tally):
            self._members(course, tally)
        for one in tally.stages:
            one.waits = waits_of(one.stage, one.members, [step.runs + step.depends for step in one.steps], self._limits)
        return tally

    def _own(self, course: Course, tally: BatchTally) -> bool:
        """Count the batch's own steps; tell whether its init can succeed."""
        places = {(id(one.stage), index): step for one in tally.stages for index, step in enumerate(one.steps)}
        well = True
        for call in course.of_batch():
            index = next(i for i, step in enumerate(call.stage.steps) if step is call.step)
            self._take(places[id(call.stage), index], call)
            if call.state == "unresolved":
                well = well and call.stage.kind != "init"
                self._not_running("", "", call)
        return well

    def _members(self, course: Course, tally: BatchTally) -> None:
        stages = [one for one in tally.stages if one.stage.kind == "phase"]
        flat = [(one, step) for one in stages for step in one.steps]
        entered = {id(one): 0 for one in stages}
        places = tally.batch.places
        for turn, (key, data) in enumerate(tally.batch.members):
            place = places[turn] if turn < len(places) else ""
            if self._sent:
                self._look_for_empty(key, place, data)
            well, last = True, None
            for (stage, step), call in zip(flat, course.of_member(key, data), strict=True):
                if call.state == "not reached":
                    break
                if stage is not last:
                    entered[id(stage)] += 1
                    last = stage
                self._take(step, call)
                if call.state == "unresolved":
                    well = False
                    self._not_running(key, place, call)
                    break
            tally.would_run += well
        for one in stages:
            one.members = entered[id(one)]

    def _take(self, step: StepTally, call: Call) -> None:
        state = call.state
        if state == "runs":
            step.runs += 1
        elif state == "depends":
            step.depends += 1
        elif state == "skipped":
            step.skipped += 1
        elif state == "unresolved":
            step.unresolved += 1
        if not call.step.function.constant and state in {"runs", "depends"}:
            if call.computed:
                self._computed[call.step.function.source] = None
            else:
                self._calls[call.function, call.step.worker_id, f"{call.stage.name}/{call.step.name}"] = None

    def _not_running(self, key: str, place: str, call: Call) -> None:
        where = (call.stage.name, call.step.name)
        self.outlook.not_running.append(
            NotRunning(
                member_key=key, place=place, code="E237", reason=call.reason, phase_name=where[0], step_name=where[1]
            )
        )

    def _look_for_empty(self, key: str, place: str, data: str) -> None:
        row: dict[str, object] = orjson.loads(data)
        for name in self._sent:
            if row.get(name, "-") in _EMPTY:
                found = self._empty[name]
                found.count += 1
                if len(found.members) < PLACES_KEPT:
                    found.members.append(f"{key} ({place})" if place else key)

    def _holds(self) -> list[Wait]:
        """Say what will hold whole batches."""
        plan = self.outlook.plan
        found = [Wait("pause", words) for words in plan.around.pauses]
        old = [one for one in plan.batches if one.t0 is not None and is_old(one.t0, plan.made_at)]
        if old:
            count = "" if len(plan.batches) == 1 else f"{len(old):,} batches: "
            found.append(Wait("old_t0", f"{count}T-0 is more than 7 days ago: held until somebody lifts it"))
        return found


def outlook_of(plan: SavedPlan, book: Runbook) -> Outlook:
    """Return all that a plan shows."""
    return _Count(plan, book).all()
