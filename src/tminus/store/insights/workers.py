"""The processes that run jobs, as a face shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import Instant, between_s
from tminus.store.insights.records import Record, plain, records

if TYPE_CHECKING:
    from tminus.db.connection import Tx

SILENT_S: Final = 30.0
_COLUMNS: Final = (
    *plain("name", "host", "pid", "version", "process_started_at", "started_at", "last_seen_at"),
    ("worker_ids_json", "worker_ids"),
    *plain("functions_json"),
)
_AT_WORK: Final = "SELECT {columns} FROM workers WHERE stopped_at IS NULL ORDER BY id LIMIT 1000"


def at_work(tx: Tx, now: Instant) -> list[Record]:
    """Return the processes that have not ended, as far as is known; one that is silent may be dead or cut off."""
    found = records(tx, _COLUMNS, _AT_WORK)
    return [one | {"is_silent": between_s(Instant(str(one["last_seen_at"])), now) > SILENT_S} for one in found]


def is_anybody(tx: Tx, now: Instant) -> bool:
    """Tell whether some process has been heard of lately: without one, nothing that is due goes on."""
    return any(not one["is_silent"] for one in at_work(tx, now))
