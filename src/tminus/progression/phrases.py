"""Phrases: instants, spans and holds in the words of an operator's screen.

One place for them, so that a hold reads the same under a lane, a phase and a batch. Nothing here decides anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import between_s

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Hold
    from tminus.domain.status import HoldKind

_DAY: Final = 10
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_KINDS: Final[dict[HoldKind, str]] = {
    "brake": "brake",
    "freeze": "freeze calendar",
    "one_way": "one-way step",
    "old_t0": "old T-0",
    "rerun_init": "failed init",
    "over_cost": "cost",
}


def clock(at: Instant, now: Instant) -> str:
    """Write an instant: the time alone when it is of today (UTC), else with its day."""
    time = f"{at[_DAY + 1 : _DAY + 9]}Z"
    return time if at[:_DAY] == now[:_DAY] else f"{at[:_DAY]} {time}"


def span(seconds: float) -> str:
    """Write a length of time in the largest unit that fits it exactly."""
    if seconds >= _HOUR_S and seconds % _HOUR_S == 0:
        return f"{seconds / _HOUR_S:g} h"
    if seconds >= _MINUTE_S and seconds % _MINUTE_S == 0:
        return f"{seconds / _MINUTE_S:g} min"
    return f"{seconds:g} s"


def since(start: Instant, now: Instant) -> str:
    """Write for how long something has lasted, to the second."""
    return span(max(0, int(between_s(start, now))))


def hold_code(hold: Hold) -> str:
    """Return the code of waiting for this hold: its kind, and for a gate that was answered the answer."""
    return f"gate_{hold.state}" if hold.kind == "gate" and hold.state != "waiting" else hold.kind


def hold_sentence(hold: Hold) -> str:
    """Say what holds, who is behind it and why."""
    note = f" - {hold.note}" if hold.note else ""
    if hold.kind == "pause":
        return f"held: pause by {hold.opened_by} - {hold.reason}"
    if hold.kind == "gate" and hold.state == "rejected":
        return f"held: the {hold.reason} was rejected by {hold.closed_by}{note}"
    if hold.kind == "gate" and hold.state == "expired":
        return f"held: the {hold.reason} expired unanswered"
    if hold.kind == "gate":
        return f"waits for the {hold.reason}"
    return f"held: {_KINDS.get(hold.kind, hold.kind)} - {hold.reason}"
