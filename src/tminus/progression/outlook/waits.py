"""What the steps of a stage will wait for: gates, rings, brakes, polls, limits - said before anybody waits.

Each is a kind and a sentence. The sizes of rings are computed by the engine's own function; a limit's duration is a
lower bound, because nobody knows how long a function takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tminus.progression.phase import ring_ends
from tminus.progression.rooms import burst_of
from tminus.runbook.duration import format_duration
from tminus.runbook.fields import share_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tminus.progression.outlook.stages import Stage
    from tminus.runbook.model import Phase, Runbook, Step
    from tminus.runbook.plan import SavedPlan

Limits = dict[str, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that a stage waits for, or that may hold it."""

    kind: str
    words: str


def limits_of(plan: SavedPlan, book: Runbook) -> Limits:
    """Return the limits that will hold: those of the database, and of the runbook where it is published by applying."""
    found: Limits = dict(plan.around.limits)
    if plan.publishes:
        found |= {scope: (limit.in_flight, limit.per_minute) for scope, limit in book.limits.items()}
    return found


def waits_of(stage: Stage, members: int, runs: Sequence[int], limits: Limits) -> list[Wait]:
    """Return what a stage waits for; `runs` are the runs of each of its steps."""
    found: list[Wait] = []
    if stage.phase is not None:
        found += _of_phase(stage.phase, members)
    for step in stage.steps:
        found += _of_step(step)
    found += _of_limits(stage, runs, limits)
    if stage.note:
        found.append(Wait("clock", stage.note))
    return found


def _of_phase(phase: Phase, members: int) -> Iterator[Wait]:
    if phase.gate is not None:
        expires = phase.gate.expires_s
        held = "" if expires is None else f", held unless answered within {format_duration(expires)}"
        yield Wait("gate", f"gate: needs approval{held}")
    if phase.rings and members:
        ends = ring_ends(phase, members)
        sizes = [end - start for start, end in zip((0, *ends), ends, strict=False)]
        yield Wait("rings", f"rings of {', '.join(f'{size:,}' for size in sizes)}")
    if phase.brake is not None:
        yield Wait("brake", f"brake above {share_text(phase.brake)}")
    if phase.deadline is not None:
        start = "its due time" if phase.deadline.start == "due" else "its first step"
        yield Wait("deadline", f"each at most {format_duration(phase.deadline.after_s)} from {start}")
    if phase.overlap:
        yield Wait("overlap", "may begin before the phase before it has ended")


def _of_step(step: Step) -> Iterator[Wait]:
    if step.one_way:
        yield Wait("one_way", f"one-way: {step.name}")
    if step.poll is not None:
        yield Wait("poll", f"{step.name} polls up to {format_duration(step.poll.timeout_s)}")


def _of_limits(stage: Stage, runs: Sequence[int], limits: Mapping[str, tuple[int | None, int | None]]) -> list[Wait]:
    """Say what the limits of worker ids and functions do to so many runs."""
    counts: dict[str, int] = {}
    for step, count in zip(stage.steps, runs, strict=True):
        for scope in {step.worker_id, step.function.source} & limits.keys():
            counts[scope] = counts.get(scope, 0) + count
    found: list[Wait] = []
    for scope, count in sorted(counts.items()):
        in_flight, per_minute = limits[scope]
        if in_flight is not None and count > in_flight:
            found.append(Wait("limit", f"limit {scope}: {in_flight:,} at once"))
        if per_minute is not None and count > burst_of(per_minute):
            waited_s = math.ceil((count - burst_of(per_minute)) * 60 / per_minute)
            found.append(Wait("limit", f"limit {scope}: {per_minute:,} a minute, at least {format_duration(waited_s)}"))
    return found
