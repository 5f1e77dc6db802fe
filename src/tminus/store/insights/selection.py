"""Selections: `status=failed error~409 dept="Human Resources"`, one small language for every face.

Terms stand beside each other and must all hold. `=` and `!=` compare the whole value, `~` looks for a part of it in any
letter case. A few words name what the engine knows; any other word is a column of the member's data, where an
operator's pin counts before a worker's output and that before the source. Values are only ever bound parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.runbook.wording import quoted

if TYPE_CHECKING:
    from tminus.db.connection import Value

_TERM: Final = re.compile(r"""\s*([^\s=!~"']+)\s*(!=|=|~)\s*(?:"([^"]*)"|'([^']*)'|(?!=)([^\s"']*))(?=\s|$)""")
_HINT: Final = 'write terms such as status=failed error~409 dept="Human Resources"'
LONGEST: Final = 2_000

# Failed, out at a worker, or next to go: where a member stands now.
_STANDS: Final = """(e.status IN ('failed', 'poll_timeout', 'rolled_back', 'dispatched', 'polling')
  OR (e.status = 'pending' AND e.ready_at IS NOT NULL))"""
_OF_MEMBER: Final = "FROM lanes l JOIN executions e ON e.lane_id = l.id WHERE l.member_id = m.id"
_COLUMNS: Final = {
    "status": "m.status",
    "key": "m.member_key",
    "batch": "CAST(m.batch_id AS TEXT)",
    "runbook": "b.runbook_name",
}
_EXISTS: Final = {
    "phase": (
        """SELECT 1 FROM lanes l WHERE l.member_id = m.id AND l.kind = 'phase'
  AND l.status IN ('waiting', 'running', 'failed') AND """,
        "l.sequence",
    ),
    "step": (f"SELECT 1 {_OF_MEMBER} AND {_STANDS} AND ", "e.step_name"),
    "error": (
        f"SELECT 1 {_OF_MEMBER} AND e.status IN ('failed', 'poll_timeout', 'rolled_back', 'pending') AND ",
        "coalesce(e.error_type, '') || ' ' || coalesce(e.error_message, '')",
    ),
}
FIELDS: Final = (*_COLUMNS, *_EXISTS)
_DATA: Final = """coalesce(
  (SELECT CAST(j.value AS TEXT) FROM json_each(m.pinned_json) j WHERE lower(j.key) = ?),
  (SELECT CAST(j.value AS TEXT) FROM json_each(m.worker_data_json) j WHERE lower(j.key) = ?),
  (SELECT CAST(j.value AS TEXT) FROM json_each(m.data_json) j WHERE lower(j.key) = ?), '')"""


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: what is looked at, how, and for what."""

    field: str
    operator: str
    value: str


def parse(text: str) -> tuple[Term, ...]:
    """Read a selection; whatever is not a term is an error that shows where."""
    if len(text) > LONGEST:
        raise TminusError("E403", f"the selection is longer than {LONGEST:,} characters")
    terms: list[Term] = []
    at = 0
    while text[at:].strip():
        found = _TERM.match(text, at)
        if found is None:
            raise TminusError("E403", f"{quoted(text[at:].strip())} is not a selection", hint=_HINT)
        value = next((part for part in found.group(3, 4, 5) if part is not None), "")
        terms.append(Term(found[1].casefold(), found[2], value))
        at = found.end()
    if not terms:
        raise TminusError("E403", "the selection is empty", hint=_HINT)
    return tuple(terms)


def names(terms: tuple[Term, ...], field: str) -> bool:
    """Tell whether a selection says anything about a field."""
    return any(term.field == field for term in terms)


def compiled(terms: tuple[Term, ...]) -> tuple[str, list[Value]]:
    """Return the condition over `batch_members m` joined with `batches b`, and its parameters; no terms fit all."""
    parts: list[str] = []
    params: list[Value] = []
    for term in terms:
        sql, values = _compiled(term)
        parts.append(sql)
        params += values
    return " AND ".join(parts) or "TRUE", params


def _compiled(term: Term) -> tuple[str, list[Value]]:
    wanted: list[Value] = [term.value]
    if term.field in _COLUMNS:
        return _compare(_COLUMNS[term.field], term.operator), wanted
    if term.field in _EXISTS:
        head, expression = _EXISTS[term.field]
        negated = "NOT " if term.operator == "!=" else ""
        return f"{negated}EXISTS ({head}{_compare(expression, term.operator.removeprefix('!'))})", wanted
    return _compare(_DATA, term.operator), [term.field, term.field, term.field, *wanted]


def _compare(expression: str, operator: str) -> str:
    if operator == "~":
        return f"instr(lower({expression}), lower(?)) > 0"
    return f"{expression} {'<>' if operator == '!=' else '='} ?"
