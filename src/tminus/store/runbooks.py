"""Runbooks: published once and for ever; the active version of a name is the newest that was published."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from tminus.domain.errors import TminusError
from tminus.runbook import load
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant
    from tminus.runbook.model import Runbook

_NEWEST: Final = "SELECT coalesce(max(version), 0) FROM runbooks WHERE name = ?"
_RETIRE: Final = "UPDATE runbooks SET is_active = 0 WHERE name = ? AND is_active"
_ADD: Final = """INSERT INTO runbooks (name, version, yaml_content, data_table_name, is_active, overdue_behavior,
  rerun_init, created_at, created_by) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)"""
_TEXT: Final = "SELECT yaml_content FROM runbooks WHERE name = ? AND version = ?"
_SET_LIMIT: Final = """INSERT INTO limits (scope, in_flight, per_minute, set_by) VALUES (?, ?, ?, ?)
  ON CONFLICT (scope) DO UPDATE SET in_flight = excluded.in_flight, per_minute = excluded.per_minute,
  set_by = excluded.set_by"""
_VIEW_OF_ANOTHER: Final = "SELECT 1 FROM runbooks WHERE data_table_name = ? AND name <> ? LIMIT 1"
_AUTOMATION: Final = "INSERT INTO runbook_automation_settings (runbook_name) VALUES (?) ON CONFLICT DO NOTHING"


def publish(  # noqa: PLR0913 - what a publisher says, and when.
    tx: Tx,
    runbook: Runbook,
    yaml_content: str,
    now: Instant,
    *,
    overdue: Literal["rerun", "ignore"] = "rerun",
    rerun_init: bool = False,
    actor: str = "",
) -> int:
    """Publish the next version of a runbook; live batches move to it at the next tick. Return the version."""
    row = tx.one(_NEWEST, (runbook.name,))
    version = number(row[0] if row else 0) + 1
    tx.run(_RETIRE, (runbook.name,))
    tx.run(
        _ADD,
        (
            runbook.name, version, yaml_content, _free_view(tx, runbook.name, version), overdue, int(rerun_init), now,
            actor,
        ),
    )  # fmt: skip
    tx.run(_AUTOMATION, (runbook.name,))
    if actor:
        tx.run(_AUDIT, (now, actor, "Publish", runbook.name, f"v{version}"))
    for scope, limit in runbook.limits.items():
        tx.run(_SET_LIMIT, (scope, limit.in_flight, limit.per_minute, f"runbook {runbook.name} v{version}"))
    return version


_ACTIVATE: Final = """UPDATE runbooks SET is_active = 1 WHERE name = ?1
  AND version = (SELECT max(version) FROM runbooks WHERE name = ?1)
  AND NOT EXISTS (SELECT 1 FROM runbooks WHERE name = ?1 AND is_active)"""
_AUDIT: Final = """INSERT INTO audit (at, actor, action, scope, subject, reason, outcome)
  VALUES (?, ?, ?, 'runbook', ?, ?, 'done')"""


def set_active(tx: Tx, name: str, now: Instant, *, active: bool, actor: str, reason: str) -> bool:
    """Let the newest version be the active one, or none at all; tell whether that changed anything.

    A runbook without an active version is asked nothing and makes no batch; batches that live go on to their end.
    """
    changed = tx.run(_ACTIVATE if active else _RETIRE, (name,)) > 0
    if changed:
        tx.run(_AUDIT, (now, actor, "Activate" if active else "Deactivate", name, reason))
    return changed


def _free_view(tx: Tx, name: str, version: int) -> str:
    """Return a view's name that no other runbook has: names that differ in signs alone share their letters."""
    plain = view_name(name, version)
    if tx.one(_VIEW_OF_ANOTHER, (plain, name)) is None:
        return plain
    return view_name(f"{name[:60]} {hashlib.sha256(name.encode()).hexdigest()[:8]}", version)


def view_name(name: str, version: int) -> str:
    """Return the name of the view of a runbook's source rows."""
    return f"runbook_{re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_')[:80]}_v{version}"


def read(tx: Tx, name: str, version: int) -> Runbook:
    """Return the definition of one version."""
    row = tx.one(_TEXT, (name, version))
    if row is None:
        raise TminusError("E520", f"runbook {name} has no version {version}", hint="`doctor` shows what is missing")
    return load(text(row[0]))


_LIVE: Final = """SELECT name, version FROM runbooks WHERE is_active
  UNION SELECT runbook_name, runbook_version FROM batches
    WHERE status IN ('detected', 'init_dispatched', 'active', 'closing')
  UNION SELECT b.runbook_name, l.runbook_version FROM lanes l JOIN batches b ON b.id = l.batch_id
    WHERE l.status = 'waiting'"""
_READY_IDS: Final = """SELECT DISTINCT worker_id FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL
  UNION SELECT DISTINCT route FROM messages WHERE topic = 'worker-jobs'"""


def worker_ids(tx: Tx, book: Callable[[str, int], Runbook]) -> list[str]:
    """Return every worker id that a definition in use names, or that work waits for."""
    found = {text(name) for (name,) in tx.all(_READY_IDS)}
    for name, version in tx.all(_LIVE):
        runbook = book(text(name), number(version))
        lists = [runbook.init, runbook.on_member_removed, runbook.on_member_failed, runbook.on_batch_finished]
        lists += [phase.steps for phase in runbook.phases]
        lists += list(runbook.rollbacks.values())
        found |= {step.worker_id for steps in lists for step in steps}
    return sorted(found)
