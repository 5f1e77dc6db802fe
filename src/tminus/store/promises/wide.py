"""What belongs to no batch: pauses of everything or of a runbook, and their history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.store.promises.replay import judge, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tminus.domain.rows import Hold
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import EventSeen


def check_wide(
    findings: Findings, events: list[EventSeen], holds: Iterable[Hold], acts: frozenset[tuple[str, str]]
) -> None:
    """Replay the holds that no batch owns, and check that each of them is open as its state says."""
    states: dict[int, str] = {}
    for event in events:
        if event.entity == "hold" and event.batch_id is None:
            judge(findings, event, states.get(event.entity_id))
            states[event.entity_id] = event.to_status
        else:
            findings.add("P24", f"the history has a move of {event.entity} {event.entity_id}, which has no batch")
    for hold in holds:
        if hold.batch_id is None and states.get(hold.id, "waiting") != hold.state:
            findings.add("P25", f"hold {hold.id} is {hold.state}, but its history says otherwise")
        if bool(hold.is_open) != (hold.state not in {"approved", "lifted"}):
            findings.add("P09", f"hold {hold.id} is {hold.state}, but its row says is_open = {hold.is_open}")
    named(findings, events, acts)
