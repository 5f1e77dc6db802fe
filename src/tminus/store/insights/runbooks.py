"""Published runbooks as a face shows them: the active ones, the versions of one, its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.insights.records import Record, plain, record, records

if TYPE_CHECKING:
    from tminus.db.connection import Tx

_OPEN: Final = """(SELECT count(*) FROM batches b WHERE b.runbook_name = r.name
  AND b.status IN ('detected', 'init_dispatched', 'active', 'closing'))"""
_LISTED: Final = (
    *plain("name", "version", of="r"),
    ("automation_enabled", "coalesce(a.automation_enabled, 0)"),
    ("open_batches", _OPEN),
    *plain("created_at", "created_by", "last_error", "last_error_at", of="r"),
)
_VERSION: Final = plain(
    "name", "version", "is_active", "overdue_behavior", "rerun_init", "created_at", "created_by", of="r"
)
_WHOLE: Final = (*_VERSION, *plain("data_table_name", "yaml_content", of="r"))
_JOINED: Final = "runbooks r LEFT JOIN runbook_automation_settings a ON a.runbook_name = r.name"
_LIST: Final = f"SELECT {{columns}} FROM {_JOINED} WHERE r.is_active ORDER BY r.name"
_VERSIONS: Final = "SELECT {columns} FROM runbooks r WHERE r.name = ? ORDER BY r.version DESC"
_ONE: Final = "SELECT {columns} FROM runbooks r WHERE r.name = ? AND (r.version = ? OR (? IS NULL AND r.is_active))"


def listed(tx: Tx) -> list[Record]:
    """Return the active version of every runbook."""
    return records(tx, _LISTED, _LIST)


def versions(tx: Tx, name: str) -> list[Record]:
    """Return all versions of a runbook, newest first."""
    return records(tx, _VERSION, _VERSIONS, (name,))


def one(tx: Tx, name: str, version: int | None = None) -> Record | None:
    """Return a version with its text; the active one without a number."""
    return record(tx, _WHOLE, _ONE, (name, version, version))


def active_names(tx: Tx) -> list[str]:
    """Return the names of all active runbooks."""
    return [str(name) for (name,) in tx.all("SELECT name FROM runbooks WHERE is_active ORDER BY name")]
