"""Failures of a batch grouped by their cause: two hundred equal errors are one problem.

Members are read page by page and folded into few groups, so that fifty thousand failures are never held at once. What
differs from member to member in a message (keys, identifiers, long numbers) is left out before messages are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tminus.db.connection import Tx, Value
    from tminus.store.insights.records import Record

PAGE: Final = 1_000
SAMPLES: Final = 5
MOST: Final = 200

_FAILED: Final = f"""SELECT m.id, m.member_key, l.sequence, e.step_name, e.error_type, e.error_message
  FROM batch_members m JOIN lanes l ON l.member_id = m.id AND l.kind = 'phase'
  JOIN executions e ON e.lane_id = l.id AND e.status IN ('failed', 'poll_timeout', 'rolled_back')
  WHERE m.batch_id = ? AND m.status = 'failed' AND m.id IN (SELECT id FROM batch_members
    WHERE batch_id = ? AND status = 'failed' AND id > ? ORDER BY id LIMIT {PAGE})
  ORDER BY m.id, e.completed_at, e.id"""
_VARYING: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[\w.+%-]+@[\w.-]+|\b(?:0x)?[0-9a-f]{12,}\b|\b\d{4,}\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Group:
    """One cause: where it happened, what it says, and to how many."""

    phase: str
    step: str
    error_type: str
    message: str
    count: int = 0
    members: list[str] = field(default_factory=list[str])

    def record(self) -> Record:
        """Return the group as faces show it."""
        return {
            "phase": self.phase,
            "step": self.step,
            "error_type": self.error_type,
            "message": self.message,
            "count": self.count,
            "members": list(self.members),
        }


def grouped(reading: Callable[[], AbstractContextManager[Tx]], batch_id: int, *, samples: int = SAMPLES) -> list[Group]:
    """Return the causes of a batch's failures, the most frequent first; `reading` begins one short read."""
    groups: dict[tuple[str, ...], Group] = {}
    after = 0
    while True:
        with reading() as tx:
            rows = tx.all(_FAILED, (batch_id, batch_id, after))
        if not rows:
            break
        # A member may have failed before; the last failure is the one that counts.
        for row in {number(row[0]): row for row in rows}.values():
            _fold(groups, row, samples)
        after = number(rows[-1][0])
    return sorted(groups.values(), key=lambda one: (-one.count, one.phase, one.step, one.message))


def _fold(groups: dict[tuple[str, ...], Group], row: tuple[Value, ...], samples: int) -> None:
    key, phase, step, kind, message = (text(value) for value in row[1:])
    alike = _VARYING.sub("…", message.replace(key, "…"))
    place = (phase, step, kind, alike)
    if place not in groups and len(groups) >= MOST:
        place = (phase, step, kind, "(other messages)")
    group = groups.setdefault(place, Group(phase, step, kind, place[3]))
    group.count += 1
    if len(group.members) < samples:
        group.members.append(key)
