"""The names that tminus itself gives to a step's templates: which batch, member, phase and step it is.

One place for them, so that a plan shows what a dispatch will send. Where the values come from, and which layers go
before these, is the caller's affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tminus.domain.status import LaneKind
    from tminus.runbook.model import Step


def names_special(step: Step) -> bool:
    """Tell whether any template of a step names one of tminus's own values: most never do."""
    names = (*step.params.names, *step.function.names, *(step.when.names if step.when else ()))
    return any(name[:1] == "_" for name in names)


def specials(  # noqa: PLR0913 - as many as there are names.
    *,
    batch_id: object,
    start: object,
    runbook_name: str,
    version: int,
    kind: LaneKind,
    sequence: str,
    step_name: str,
    attempt: int,
    member_key: str | None,
) -> dict[str, object]:
    """Return tminus's own values for one step; without a member there is no key."""
    found: dict[str, object] = {
        "_batch_id": batch_id,
        "_batch_start_time": start,
        "_runbook": runbook_name,
        "_runbook_version": version,
        "_phase": sequence if kind == "phase" else kind,
        "_step": step_name,
        "_attempt": attempt,
    }
    if member_key is not None:
        found["_member_key"] = member_key
    return found
