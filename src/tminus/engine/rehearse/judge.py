"""What a rehearsal came to, held against what was expected: one sentence for each difference.

Only what is expected is looked at. This module must not know where the numbers come from.
"""

from __future__ import annotations

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


def differences(
    expected: Expected, outcome: Mapping[str, object], members: Mapping[str, str], exit_code: int
) -> list[str]:
    """Return what is not as expected; `members` are the statuses of the members that the expectation names."""
    found: list[str] = []
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
            found.append(f"member {key}: expected {status}, found {members.get(key, 'nobody')}")
    if expected.holds is not None:
        holds = sorted(str(one["kind"]) for one in cast("Sequence[Mapping[str, object]]", outcome["holds"]))
        if sorted(expected.holds) != holds:
            wanted = ", ".join(sorted(expected.holds)) or "none"
            found.append(f"open holds: expected {wanted}, found {', '.join(holds) or 'none'}")
    return found


def _phase(name: str, expected: PhaseExpected, phases: Sequence[Mapping[str, object]]) -> list[str]:
    mine = [phase for phase in phases if phase["phase_name"] == name]
    if not mine:
        return [f"phase {name}: there is none"]
    found: list[str] = []
    if expected.status is not None:
        statuses = sorted({str(phase["status"]) for phase in mine})
        if statuses != [expected.status]:
            found.append(f"phase {name}: expected {expected.status}, found {' and '.join(statuses)}")
    for key, amount in expected.counts.items():
        total = sum(int(str(phase[_LANES[key]])) for phase in mine)
        found += _compared(f"phase {name} {key}", amount, total)
    return found


def _compared(what: str, amount: Amount, found: object) -> list[str]:
    number = int(str(found or 0))
    return [] if amount.fits(number) else [f"{what}: expected {amount}, found {number}"]
