"""What the rows are measured against: the definitions of their runbooks, each version read once.

A definition that cannot be found is itself a broken promise (P17); everything that would need it is then passed over.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tminus.domain.errors import TminusError
from tminus.store import runbooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.db.connection import Tx
    from tminus.runbook.model import Runbook, Step
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import ExecutionSeen, LaneSeen


class Definitions:
    """Runbooks by name and version."""

    __slots__ = ("_book", "_findings", "_known", "_sequences")

    def __init__(self, tx: Tx, findings: Findings, book: Callable[[str, int], Runbook] | None) -> None:
        """Read from the table of runbooks, unless a book is handed in that knows them already."""
        self._book: Callable[[str, int], Runbook] = book or partial(runbooks.read, tx)
        self._findings = findings
        self._known: dict[tuple[str, int], Runbook | None] = {}
        self._sequences: dict[tuple[str, int, str, str], tuple[Step, ...] | None] = {}

    def runbook(self, name: str, version: int) -> Runbook | None:
        """Return a definition, None when there is none to read."""
        key = (name, version)
        if key in self._known:
            return self._known[key]
        try:
            found: Runbook | None = self._book(name, version)
        except (TminusError, LookupError) as error:
            self._findings.add("P17", f"the definition of runbook {name} version {version} cannot be read: {error}")
            found = None
        self._known[key] = found
        return found

    def steps(self, name: str, version: int, lane: LaneSeen) -> tuple[Step, ...] | None:
        """Return the steps that a version defines for a lane, None when it has no such list."""
        key = (name, version, lane.kind, lane.sequence)
        if key not in self._sequences:
            runbook = self.runbook(name, version)
            self._sequences[key] = None if runbook is None else _steps(runbook, lane)
        return self._sequences[key]

    def step(self, name: str, lane: LaneSeen, row: ExecutionSeen) -> Step | None:
        """Return the step that an execution runs, None when its version does not define it."""
        steps = self.steps(name, row.runbook_version, lane)
        if steps is None:
            return None
        if row.step_index < len(steps) and steps[row.step_index].name == row.step_name:
            return steps[row.step_index]
        return next((step for step in steps if step.name == row.step_name), None)


def _steps(runbook: Runbook, lane: LaneSeen) -> tuple[Step, ...] | None:
    if lane.kind == "phase":
        phase = runbook.phases_by_name.get(lane.sequence)
        return None if phase is None else phase.steps
    if lane.kind == "rollback":
        names = lane.sequence.split("\n")
        if any(name not in runbook.rollbacks for name in names):
            return None
        return tuple(step for name in names for step in runbook.rollbacks[name])
    by_kind = {
        "init": runbook.init,
        "removal": runbook.on_member_removed,
        "member_failed": runbook.on_member_failed,
        "finish": runbook.on_batch_finished,
    }
    return by_kind[lane.kind]
