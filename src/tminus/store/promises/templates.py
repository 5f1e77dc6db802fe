"""No unfilled template leaves: what was sent has none of the names that its own step asks for (P18).

A value may hold braces, that is data. So only names of the step's own template count, and only where no data of the
member or the batch holds braces itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.store.promises.definitions import Definitions
    from tminus.store.promises.findings import Findings
    from tminus.store.promises.rows import ExecutionSeen, LaneSeen
    from tminus.store.promises.slices import Slice

_NAME: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_DATA: Final = """SELECT instr(b.data_json || b.outputs_json || coalesce(l.context_json, '')
    || coalesce(m.data_json || m.worker_data_json || m.pinned_json, ''), '{{')
  FROM lanes l JOIN batches b ON b.id = l.batch_id LEFT JOIN batch_members m ON m.id = l.member_id WHERE l.id = ?"""


def check_templates(findings: Findings, tx: Tx, page: Slice, definitions: Definitions) -> None:
    """Check the parameters and the function of every execution that was sent."""
    for row in page.executions.values():
        if row.dispatched_at is None:
            continue
        if "{{" in row.function_name or (row.params_json is not None and "{{" in row.params_json):
            _look(findings, tx, page.lanes[row.lane_id], row, definitions, page.batch.runbook_name)


def _look(
    findings: Findings, tx: Tx, lane: LaneSeen, row: ExecutionSeen, definitions: Definitions, runbook: str
) -> None:
    step = definitions.step(runbook, lane, row)
    if step is None:
        return
    asked = {*step.params.names, *step.function.names}
    left = asked.intersection(_NAME.findall(f"{row.params_json or ''} {row.function_name}"))
    if row.status == "pending":
        left = asked.intersection(_NAME.findall(row.params_json or ""))
    holds_braces = tx.one(_DATA, (lane.id,))
    if left and not (holds_braces and holds_braces[0]):
        findings.add("P18", f"execution {row.id} was sent with {sorted(left)} unfilled")
