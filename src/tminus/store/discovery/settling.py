"""Whether every source that is switched on has given a complete answer since a process began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store import runbooks
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

_WAITED_FOR: Final = """SELECT r.name, r.version FROM runbooks r
  JOIN runbook_automation_settings a ON a.runbook_name = r.name AND a.automation_enabled
  WHERE r.is_active AND NOT (coalesce(r.source_is_complete, 0) AND coalesce(r.source_answered_at, '') >= ?)"""
_NEVER_ASKED: Final = frozenset({"manual", "event"})


def settled(tx: Tx, since: Instant) -> bool:
    """Tell whether no source is left that has not answered completely since then."""
    return all(
        runbooks.read(tx, text(name), number(version)).data_source.type in _NEVER_ASKED
        for name, version in tx.all(_WAITED_FOR, (since,))
    )
