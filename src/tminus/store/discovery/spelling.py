"""Spelling: one member has one key, however a file writes it.

Letter case, width and what cannot be seen make no other person. Whoever comes later takes on the spelling that is known
already: members that are handed in that of the source or of those who live, rows of a source that of members who were
handed in before. So everything else may compare keys as they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.members import twin
from tminus.store.reading import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx

IN_SOURCE: Final = """SELECT member_twin, member_key FROM source_rows
  WHERE runbook_name = ? AND member_twin IN (SELECT value FROM json_each(?))"""
_LIVING: Final = """SELECT m.member_key FROM batches b CROSS JOIN batch_members m ON m.batch_id = b.id
  WHERE b.runbook_name = ? AND b.status IN ('detected', 'init_dispatched', 'active', 'closing') ORDER BY m.id"""
_HANDED_IN: Final = """SELECT m.member_key FROM batches CROSS JOIN batch_members m ON m.batch_id = batches.id
  WHERE batches.runbook_name = ? AND batches.kind <> 'source' ORDER BY m.id"""


def as_known(tx: Tx, name: str, members: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return members with the keys by which their runbook knows them already."""
    twins = {twin(key): key for key, _ in members}
    known = {folded: key for folded, key in _spelled(tx, _LIVING, name).items() if folded in twins}
    found = tx.all(IN_SOURCE, (name, orjson.dumps(list(twins)).decode()))
    known |= {text(folded): text(key) for folded, key in found}
    return [(known.get(twin(key), key), data) for key, data in members]


def handed_in(tx: Tx, name: str) -> dict[str, str]:
    """Return the keys of members that people have handed in, by their twins."""
    return _spelled(tx, _HANDED_IN, name)


def _spelled(tx: Tx, sql: str, name: str) -> dict[str, str]:
    return {twin(text(key)): text(key) for (key,) in tx.all(sql, (name,))}
