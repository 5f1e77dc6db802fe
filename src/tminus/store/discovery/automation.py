"""Automation: whether a runbook's source is asked at all. Live batches go on either way.

A new runbook is off, so that publishing starts nothing. Switching on forgets what was known: while it was off, anything
may have happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

_ENABLE: Final = """INSERT INTO runbook_automation_settings (runbook_name, automation_enabled, enabled_at, enabled_by)
  VALUES (?1, 1, ?2, ?3) ON CONFLICT (runbook_name) DO UPDATE SET automation_enabled = 1, enabled_at = ?2,
  enabled_by = ?3"""
_DISABLE: Final = """INSERT INTO runbook_automation_settings
  (runbook_name, automation_enabled, disabled_at, disabled_by) VALUES (?1, 0, ?2, ?3)
  ON CONFLICT (runbook_name) DO UPDATE SET automation_enabled = 0, disabled_at = ?2, disabled_by = ?3"""
_ASK_ANEW: Final = """UPDATE runbooks SET source_next_at = NULL, source_fingerprint = NULL, source_failures = 0
  WHERE name = ?"""
_AUDIT: Final = """INSERT INTO audit (at, actor, action, scope, subject, reason, outcome)
  VALUES (?, ?, ?, 'runbook', ?, ?, 'done')"""


def set_automation(tx: Tx, name: str, now: Instant, *, enabled: bool, actor: str, reason: str = "") -> None:
    """Switch the asking of a runbook's source on or off; raises `TminusError` for an unknown name."""
    if tx.one("SELECT 1 FROM runbooks WHERE name = ?", (name,)) is None:
        raise TminusError("E521", f"there is no runbook {name}", hint="publish it first")
    tx.run(_ENABLE if enabled else _DISABLE, (name, now, actor))
    if enabled:
        tx.run(_ASK_ANEW, (name,))
    tx.run(_AUDIT, (now, actor, "EnableAutomation" if enabled else "DisableAutomation", name, reason))
