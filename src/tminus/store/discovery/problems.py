"""Problems: the rows of the last answer that were left out, remarks about it, and keys that no batch took.

They are shown with the runbook. A row problem is the answer's; a key that was left out is ours, and is looked at again
with every answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.ports.source import RowProblem

KEPT_MAX: Final = 1_000

_FORGET: Final = "DELETE FROM source_problems WHERE runbook_name = ? AND kind = ?"
_ADD: Final = """INSERT INTO source_problems (runbook_name, kind, place, code, message, hint, member_key, seen_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


def replace_rows(tx: Tx, name: str, found: Sequence[RowProblem], notes: Iterable[str], now: Instant) -> None:
    """Keep the problems and remarks of an answer in place of those of the one before."""
    tx.run(_FORGET, (name, "row"))
    tx.run(_FORGET, (name, "note"))
    tx.many(_ADD, [(name, "row", p.place, p.code, p.message, p.hint, p.key, now) for p in found[:KEPT_MAX]])
    tx.many(_ADD, [(name, "note", "", "", note, "", None, now) for note in notes])


def replace_left_out(tx: Tx, name: str, found: Sequence[tuple[str, str, str]], now: Instant) -> None:
    """Keep the keys that no batch took (key, code, message) in place of those of the last look."""
    tx.run(_FORGET, (name, "left_out"))
    tx.many(_ADD, [(name, "left_out", "", code, message, "", key, now) for key, code, message in found[:KEPT_MAX]])
