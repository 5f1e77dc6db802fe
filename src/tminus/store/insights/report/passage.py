"""Who came after the others, and who went: the members that a batch did not begin and end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.runbook.masking import masked
from tminus.store.insights.records import Record, plain, records
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx

MOST: Final = 500

_CAME: Final = """FROM batch_members m JOIN batches b ON b.id = m.batch_id
  WHERE m.batch_id = ? AND (m.added_at > b.detected_at OR m.generation > 1)"""
_HOW_CAME: Final = """CASE WHEN m.inherits_from IS NOT NULL THEN 'moved_here' WHEN m.generation > 1 THEN 'came_back'
  ELSE 'joined_late' END"""
_ARRIVAL: Final = (
    *plain("member_key", "generation", "status", of="m"),
    ("at", "m.added_at"),
    ("how", _HOW_CAME),
    ("from_batch", "(SELECT o.batch_id FROM batch_members o WHERE o.id = m.inherits_from)"),
)
_ARRIVALS: Final = f"SELECT {{columns}} {_CAME} ORDER BY m.added_at, m.member_key, m.generation LIMIT {MOST}"

_WENT: Final = """FROM batch_members m WHERE m.batch_id = ?
  AND (m.status = 'removed' OR m.has_left OR m.moved_to IS NOT NULL)"""
_HOW_WENT: Final = """CASE WHEN m.moved_to IS NOT NULL THEN 'moved_on' WHEN m.status = 'removed' THEN 'left'
  ELSE 'missing' END"""
_OF_REMOVAL: Final = """(SELECT v.{what} FROM events v WHERE v.batch_id = m.batch_id AND v.member_id = m.id
  AND v.entity = 'member' AND v.to_status = 'removed' ORDER BY v.id DESC LIMIT 1)"""
_DEPARTURE: Final = (
    *plain("member_key", "generation", "status", of="m"),
    ("at", "coalesce(m.removed_at, " + _OF_REMOVAL.replace("{what}", "at") + ")"),
    ("how", _HOW_WENT),
    ("to_batch", "(SELECT n.batch_id FROM batch_members n WHERE n.id = m.moved_to)"),
    ("cause", _OF_REMOVAL.replace("{what}", "cause")),
    ("actor", _OF_REMOVAL.replace("{what}", "actor")),
    (
        "clean_up",
        """(SELECT CASE l.status WHEN 'succeeded' THEN 'clean' WHEN 'failed' THEN 'not clean' ELSE l.status END
        FROM lanes l WHERE l.member_id = m.id AND l.kind = 'removal')""",
    ),
)
_DEPARTURES: Final = f"SELECT {{columns}} {_WENT} ORDER BY 4, m.member_key, m.generation LIMIT {MOST}"
_COUNTS: Final = (
    f"SELECT {_HOW_CAME}, count(*) {_CAME} GROUP BY 1 UNION ALL SELECT {_HOW_WENT}, count(*) {_WENT} GROUP BY 1"
)
WORDS: Final = ("joined_late", "came_back", "moved_here", "left", "moved_on", "missing")


def arrivals(tx: Tx, batch_id: int) -> list[Record]:
    """Return who came after the batch was made, the first first (at most 500)."""
    return records(tx, _ARRIVAL, _ARRIVALS, (batch_id,))


def departures(tx: Tx, batch_id: int) -> list[Record]:
    """Return who left, moved on, or is no longer named by the source (at most 500)."""
    return [
        one if one["cause"] is None else one | {"cause": masked(str(one["cause"]))}
        for one in records(tx, _DEPARTURE, _DEPARTURES, (batch_id,))
    ]


def counts(tx: Tx, batch_id: int) -> dict[str, int]:
    """Return how many came and went, by how."""
    found = {text(how): number(count) for how, count in tx.all(_COUNTS, (batch_id, batch_id))}
    return {word: found.get(word, 0) for word in WORDS}
