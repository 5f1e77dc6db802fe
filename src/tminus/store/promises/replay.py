"""The history replayed: every move is a cell of the tables, the chain never breaks, and it ends where the rows stand.

One pass in the order of transactions. It keeps every row's status at each point, so that those who listen can ask what
was true when a job went out. It must not know what a move means; that is for the listeners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.progression.tables import FIRST, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import EventSeen
    from tminus.store.promises.slices import Slice

# Rows whose making is a move of its own: a step put in the place of one that ended, a phase that a member brought
# along, and a hold.
_BORN: Final = frozenset({("execution", "pending"), ("lane", "succeeded"), ("hold", "waiting")})
_CATCHES_UP: Final = "a member catches up"
_HUMAN_ONLY: Final = frozenset({("hold", "approved"), ("hold", "rejected")})


class Timeline:
    """Every row's status at one point of the history."""

    __slots__ = ("attempts", "batches", "executions", "holds", "lanes", "members", "phases")

    def __init__(self) -> None:
        """Begin before the first move."""
        self.batches: dict[int, str] = {}
        self.members: dict[int, str] = {}
        self.phases: dict[int, str] = {}
        self.lanes: dict[int, str] = {}
        self.executions: dict[int, str] = {}
        self.holds: dict[int, str] = {}
        self.attempts: dict[int, int] = {}

    def by_entity(self) -> dict[str, dict[int, str]]:
        """Return the maps by the word that the history uses."""
        return {
            "batch": self.batches,
            "member": self.members,
            "phase": self.phases,
            "lane": self.lanes,
            "execution": self.executions,
            "hold": self.holds,
        }


def first_statuses(page: Slice) -> dict[int, str]:
    """Return the members that did not begin active: one that moved here after it had failed."""
    heirs = {member.id for member in page.members.values() if member.inherits_from is not None}
    first: dict[int, str] = {}
    if heirs:
        for event in page.events:
            if event.entity == "member" and event.entity_id in heirs:
                first.setdefault(event.entity_id, event.from_status or "active")
        for member_id in heirs:
            first.setdefault(member_id, page.members[member_id].status)
    return {member_id: status for member_id, status in first.items() if status in {"active", "failed"}}


def judge(findings: Findings, event: EventSeen, before: str | None) -> None:
    """Check one move: does it go on from where the row was, and does the table have its cell for this mover."""
    entity, old, new = event.entity, event.from_status, event.to_status
    if old is None:
        if before is not None or (entity, new) not in _BORN:
            findings.add("P25", f"{entity} {event.entity_id} appears as {new} in the middle of its history")
        return
    known = FIRST[entity] if before is None else before
    if old != known:
        findings.add("P25", f"{entity} {event.entity_id} was {known}, but its next move is from {old} to {new}")
    movers = TABLES[entity].get(old, {}).get(new)
    if movers is None:
        findings.add("P09", f"{entity} {event.entity_id} went from {old} to {new}: there is no such move")
    elif event.actor is None and "engine" not in movers:
        if "joiner" not in movers or event.cause != _CATCHES_UP:
            findings.add("P09", f"{entity} {event.entity_id} went from {old} to {new} in nobody's name")
    elif event.actor is None and (entity, new) in _HUMAN_ONLY:
        findings.add("P09", f"hold {event.entity_id} was {new} by nobody")


def compare(findings: Findings, page: Slice, timeline: Timeline, first: Mapping[int, str]) -> None:
    """Check that the history ends where the rows stand."""
    batch = page.batch
    _end(findings, "batch", batch.id, timeline.batches.get(batch.id, "detected"), batch.status)
    for phase in page.phases.values():
        _end(findings, "phase", phase.id, timeline.phases.get(phase.id, "pending"), phase.status)
    for member in page.members.values():
        ended = timeline.members.get(member.id) or first.get(member.id, "active")
        _end(findings, "member", member.id, ended, member.status)
    lanes, executions, attempts = timeline.lanes, timeline.executions, timeline.attempts
    for lane in page.lanes.values():
        if lanes.get(lane.id, "waiting") != lane.status:
            _end(findings, "lane", lane.id, lanes.get(lane.id, "waiting"), lane.status)
    for row in page.executions.values():
        if executions.get(row.id, "pending") != row.status:
            _end(findings, "execution", row.id, executions.get(row.id, "pending"), row.status)
        if attempts.get(row.id, 0) != row.attempt:
            findings.add(
                "P25", f"execution {row.id} is at attempt {row.attempt}, its history at {attempts.get(row.id, 0)}"
            )
    for hold in page.holds:
        if hold.batch_id is not None:
            _end(findings, "hold", hold.id, timeline.holds.get(hold.id, "waiting"), hold.state)


def _end(findings: Findings, entity: str, row_id: int, ended: str, status: str) -> None:
    if ended != status:
        findings.add("P25", f"{entity} {row_id} is {status}, but its history ends at {ended}")


def named(findings: Findings, events: Iterable[EventSeen], acts: frozenset[tuple[str, str]]) -> None:
    """Check that whoever moved something by hand is in the audit with that act (P29)."""
    for event in events:
        if event.actor is None or (event.at, event.actor) in acts:
            continue
        # A retried init brings its members back in chunks, after the act itself.
        is_chunk = event.cause == "init tried again"
        if not is_chunk or not any(at <= event.at and actor == event.actor for at, actor in acts):
            findings.add(
                "P29",
                f"{event.entity} {event.entity_id} was moved to {event.to_status} by {event.actor} without an audit",
            )
