"""What a rehearsal came to, held against what was expected: each difference with both sides.

Only what is expected is looked at. This module must not know where the numbers come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tminus.runbook.case import Amount, Expected, PhaseExpected

_LANES = {
    "succeeded": "lanes_succeeded",
    "failed": "lanes_failed",
    "cancelled": "lanes_cancelled",
    "total": "lanes_total",
    "open": "open_lanes",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that came out otherwise."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"{self.what}: expected {self.expected}, found {self.found}"


def differences(
    expected: Expected, outcome: Mapping[str, object], members: Mapping[str, str], exit_code: int
) -> list[Difference]:
    """Return what is not as expected; `members` are the statuses of the members that the expectation names."""
    found: list[Difference] = []
    numbers = {**{name: outcome.get(name) for name in expected.numbers}, "exit": exit_code}
    for name, amount in expected.numbers.items():
        found += _compared(name, amount, numbers[name])
    for group, amounts in expected.counts.items():
        counts = cast("Mapping[str, int]", outcome[group])
        for name, amount in amounts.items():
            found += _compared(f"{group} {name}", amount, counts.get(name, 0))
    for name, phase in expected.phases.items():
        found += _phase(name, phase, cast("Sequence[Mapping[str, object]]", outcome["phases"]))
    for key, status in expected.members.items():
        if members.get(key) != status:
            found.append(Difference(f"member {key}", status, members.get(key, "nobody")))
    if expected.holds is not None:
        holds = sorted(str(one["kind"]) for one in cast("Sequence[Mapping[str, object]]", outcome["holds"]))
        if sorted(expected.holds) != holds:
            wanted = ", ".join(sorted(expected.holds)) or "none"
            found.append(Difference("open holds", wanted, ", ".join(holds) or "none"))
    return found


def _phase(name: str, expected: PhaseExpected, phases: Sequence[Mapping[str, object]]) -> list[Difference]:
    mine = [phase for phase in phases if phase["phase_name"] == name]
    if not mine:
        return [Difference(f"phase {name}", expected.status or "one of that name", "no such phase")]
    found: list[Difference] = []
    if expected.status is not None:
        statuses = sorted({str(phase["status"]) for phase in mine})
        if statuses != [expected.status]:
            found.append(Difference(f"phase {name}", expected.status, " and ".join(statuses)))
    for key, amount in expected.counts.items():
        total = sum(int(str(phase[_LANES[key]])) for phase in mine)
        found += _compared(f"phase {name} {key}", amount, total)
    return found


def _compared(what: str, amount: Amount, found: object) -> list[Difference]:
    number = int(str(found or 0))
    return [] if amount.fits(number) else [Difference(what, str(amount), str(number))]
