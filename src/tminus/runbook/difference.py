"""What differs between two runbooks, in words: phases and steps by name, each key with its value before and after.

Runbooks are compared as the engine sees them, so that layout, comments and the spelling of a duration make no
difference. Phases and steps are the same when their names are: a renamed one is a new one to a live batch as well. This
module must not know versions or files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tminus.runbook import fields
from tminus.runbook.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tminus.runbook.model import Phase, Retry, Runbook, Step
    from tminus.runbook.offset import Offset

Kind = Literal["new", "gone", "changed", "order"]

LONGEST: Final = 60
_NAMED: Final = frozenset({"phase", "rollback"})
_HOOKS: Final = ("on_member_removed", "on_member_failed", "on_batch_finished")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: where, which key of it, what happened, and both values as text (empty where there is none)."""

    place: str
    key: str
    kind: Kind
    before: str = ""
    after: str = ""

    @property
    def words(self) -> str:
        """Say it in one line."""
        where, before, after = visible(f"{self.place} {self.key}".strip()), visible(self.before), visible(self.after)
        if self.kind == "new":
            if self.place in _NAMED:
                return f"new {where} ({after})"
            return visible(f"{self.place.removesuffix(':')} gained {self.key} ({self.after})")
        if self.kind == "gone":
            if self.place in _NAMED:
                return f"{where} is gone ({before})"
            return visible(f"{self.place.removesuffix(':')} lost {self.key} ({self.before})")
        if self.kind == "order":
            return f"{where} run in another order: {before} -> {after}"
        if max(len(before), len(after)) > LONGEST:
            return f"{where} changed"
        return f"{where} {before or 'none'} -> {after or 'none'}"


def differences(before: Runbook, after: Runbook) -> list[Change]:
    """Return what differs, in the order of the keys of a runbook."""
    retries = (before.retry, after.retry)
    found = list(_keys("", fields.of_runbook(before), fields.of_runbook(after)))
    found += _keys("source", fields.of_source(before.data_source), fields.of_source(after.data_source))
    found += _keys("limit", fields.of_limits(before.limits), fields.of_limits(after.limits))
    found += _steps("init", before.init, after.init, retries)
    found += _phases(before.phases, after.phases, retries)
    for name in _HOOKS:
        found += _steps(name, getattr(before, name), getattr(after, name), retries)
    found += _rollbacks(before.rollbacks, after.rollbacks, retries)
    return found


def _keys(place: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Yield what differs between two maps of texts; an absent key is one that is empty."""
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, ""), after.get(key, "")
        if old != new:
            yield Change(place, key, "changed", old, new)


def _phases(
    before: Sequence[Phase], after: Sequence[Phase], retries: tuple[Retry | None, Retry | None]
) -> Iterator[Change]:
    old, new = {phase.name: phase for phase in before}, {phase.name: phase for phase in after}
    for name, phase in old.items():
        if name not in new:
            yield Change("phase", name, "gone", before=str(phase.offset))
    for name, phase in new.items():
        known = old.get(name)
        if known is None:
            yield Change("phase", name, "new", after=str(phase.offset))
            continue
        place = f"phase {name}:"
        yield from _keys(place, fields.of_phase(known), fields.of_phase(phase))
        yield from _steps(place, known.steps, phase.steps, retries)
    yield from _order("phases", _ranked(before, new), _ranked(after, old))


def _ranked(phases: Sequence[Phase], others: Mapping[str, Phase]) -> list[str]:
    """Return the names that both have, in the order in which they run: by offset, then as written."""
    ranked = sorted(phases, key=lambda phase: -_distance(phase.offset))
    return [phase.name for phase in ranked if phase.name in others]


def _distance(offset: Offset) -> int:
    return offset.days * 86_400 + offset.seconds


def _steps(
    place: str, before: Sequence[Step], after: Sequence[Step], retries: tuple[Retry | None, Retry | None]
) -> Iterator[Change]:
    """Yield what differs between two lists of steps, step by step."""
    old, new = {step.name: step for step in before}, {step.name: step for step in after}
    for name, step in old.items():
        if name not in new:
            yield Change(place, f"step {name}", "gone", step.function.source)
    for name, step in new.items():
        known = old.get(name)
        if known is None:
            yield Change(place, f"step {name}", "new", "", step.function.source)
            continue
        was, now = fields.of_step(known), fields.of_step(step)
        if retries[0] != retries[1] and (known.retry, step.retry) == retries:
            # The runbook's own retry changed: it is told once, not at every step that follows it.
            was, now = _without_retry(was), _without_retry(now)
        yield from _keys(f"{place} step {name}:", was, now)
    yield from _order(f"{place} steps", [name for name in old if name in new], [name for name in new if name in old])


def _without_retry(said: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in said.items() if not key.startswith("retr")}


def _order(place: str, before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    if list(before) != list(after):
        yield Change(place, "", "order", ", ".join(before), ", ".join(after))


def _rollbacks(
    before: Mapping[str, Sequence[Step]],
    after: Mapping[str, Sequence[Step]],
    retries: tuple[Retry | None, Retry | None],
) -> Iterator[Change]:
    for name, steps in before.items():
        if name not in after:
            yield Change("rollback", name, "gone", ", ".join(step.name for step in steps))
    for name, steps in after.items():
        if name not in before:
            yield Change("rollback", name, "new", "", ", ".join(step.name for step in steps))
        else:
            yield from _steps(f"rollback {name}:", before[name], steps, retries)
