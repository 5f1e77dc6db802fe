"""Sources as a face shows them: what the last answer held, and which of its rows and keys no batch follows.

A row that cannot be read and a key that is left out cost nobody else anything, so that they would never be noticed if
they were not shown. Their numbers stand with the runbook, they themselves in a list of at most a thousand of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.store.insights.records import Record, plain, record, records
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx

LEFT_OUT: Final = """(SELECT count(*) FROM source_problems p
  WHERE p.runbook_name = r.name AND p.kind = 'left_out')"""
_AUTOMATION: Final = (
    ("runbook_name", "a.runbook_name"),
    *plain("automation_enabled", "enabled_at", "enabled_by", "disabled_at", "disabled_by", of="a"),
    *plain("last_error", "last_error_at", "source_failures", "source_asked_at", "source_answered_at", of="r"),
    *plain("source_next_at", "source_row_count", "source_problem_count", of="r"),
    ("left_out_count", LEFT_OUT),
    ("is_complete", "coalesce(r.source_is_complete, 0)"),
)
_STATUS: Final = """SELECT {columns} FROM runbooks r
  LEFT JOIN runbook_automation_settings a ON a.runbook_name = r.name WHERE r.is_active AND r.name = ?"""
_PROBLEM: Final = plain("kind", "place", "code", "member_key", "message", "hint", "seen_at")
_PROBLEMS: Final = "SELECT {columns} FROM source_problems WHERE runbook_name = ? ORDER BY kind DESC, id"
_ANSWERS: Final = """SELECT r.name, r.source_answered_at FROM runbooks r
  JOIN runbook_automation_settings a ON a.runbook_name = r.name AND a.automation_enabled
  WHERE r.is_active AND r.source_answered_at IS NOT NULL ORDER BY r.name"""
_STAND: Final = f"""SELECT r.source_problem_count, {LEFT_OUT}, coalesce(r.source_is_complete, 0)
  FROM runbooks r WHERE r.is_active AND r.name = ?"""
_FIRST: Final = """SELECT place, code, message, kind, member_key FROM source_problems
  WHERE runbook_name = ? AND kind <> 'note' ORDER BY kind DESC, id LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Untaken:
    """What of a source's last answer no batch follows; `first` is one of it, in a sentence."""

    runbook: str
    rows: int
    keys: int
    complete: bool
    first: str

    @property
    def anything(self) -> bool:
        """Tell whether there is anything to say."""
        return bool(self.rows or self.keys) or not self.complete


def automation(tx: Tx, name: str) -> Record | None:
    """Return whether a runbook's source is asked, since when, and what came of the last answer."""
    return record(tx, _AUTOMATION, _STATUS, (name,))


def problems(tx: Tx, name: str) -> list[Record]:
    """Return the rows of the last answer that could not be read, the keys left out, and remarks about it."""
    return records(tx, _PROBLEM, _PROBLEMS, (name,))


def answers(tx: Tx) -> dict[str, str]:
    """Return when each source that is asked has last answered."""
    return {text(name): text(at) for name, at in tx.all(_ANSWERS)}


def untaken(tx: Tx, name: str) -> Untaken:
    """Return what of a source's last answer no batch follows."""
    rows, keys, complete = tx.one(_STAND, (name,)) or (0, 0, 1)
    first = tx.one(_FIRST, (name,))
    return Untaken(name, number(rows), number(keys), bool(complete), "" if first is None else _sentence(*first))


def _sentence(place: object, code: object, message: object, kind: object, key: object) -> str:
    about = f"{key}: " if kind == "left_out" else f"{place}: " if place else ""
    return f"{about}{code} {message}"
