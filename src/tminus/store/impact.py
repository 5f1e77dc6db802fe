"""What a version would do to live batches: it is published, the batches are moved, the rows are read, all taken back.

Nothing is estimated: what is told is what the move itself has written, under the same rules and in the same moment. The
write lock is held for as long as it takes to move the batches, which writes phases and no lanes; members are counted,
not touched. Counting who is past a phase reads before the move, so that the lock is not held for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from tminus.store import sweeps
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.runbook.model import Runbook
    from tminus.store.store import Store

Overdue = Literal["rerun", "ignore"]

_LIVE: Final = """SELECT b.id, b.kind, b.status, b.runbook_version, b.batch_start_time, b.members_active,
  EXISTS (SELECT 1 FROM lanes l WHERE l.batch_id = b.id AND l.member_id IS NULL AND l.kind = 'init'
    AND l.status IN ('waiting', 'running'))
  FROM batches b WHERE b.runbook_name = ? AND b.status IN ('detected', 'init_dispatched', 'active', 'closing')
  ORDER BY b.id"""
_STANDING: Final = """SELECT p.id, p.phase_name, p.status, p.open_lanes,
  (SELECT count(*) FROM lanes l JOIN batch_members m ON m.id = l.member_id
    WHERE l.phase_id = p.id AND l.kind = 'phase' AND l.status = 'succeeded' AND m.status = 'active')
  FROM phase_executions p WHERE p.batch_id = ? AND p.status NOT IN ('superseded') ORDER BY p.runbook_version, p.id"""
_AFTER: Final = """SELECT p.phase_name, p.status, p.due_at, p.runbook_version,
  EXISTS (SELECT 1 FROM holds h WHERE h.phase_id = p.id AND h.is_open AND h.kind = 'one_way')
  FROM phase_executions p WHERE p.batch_id = ? ORDER BY p.runbook_version, p.phase_index, p.id"""
_VERSION: Final = "SELECT runbook_version FROM batches WHERE id = ?"
_INIT: Final = "SELECT 1 FROM lanes WHERE batch_id = ? AND kind = 'init' AND runbook_version = ?"
_MODE: Final = "UPDATE runbooks SET overdue_behavior = ?, rerun_init = ? WHERE name = ? AND is_active"


@dataclass(slots=True)
class Fate:
    """What becomes of a phase in one batch: its status right after the move, and how many members will run it."""

    status: str
    members: int
    again: int
    is_held: bool
    due_at: str | None
    is_overdue: bool


@dataclass(slots=True)
class PhaseImpact:
    """One phase of one batch: who is in it and past it now, and its fate by what is done with overdue phases."""

    name: str
    inside: int = 0
    past: int = 0
    fates: dict[str, Fate] = field(default_factory=dict[str, Fate])


@dataclass(slots=True)
class BatchImpact:
    """One live batch: whether it would move, why not, and its phases."""

    id: int
    version: int
    status: str
    t0: str | None
    members: int
    stays: str = ""
    runs_init: bool = False
    phases: dict[str, PhaseImpact] = field(default_factory=dict[str, PhaseImpact])


def impact(store: Store, book: Runbook, content: str, *, is_active: bool) -> list[BatchImpact]:
    """Return what publishing a runbook would do; `is_active` if it is published and batches have only to move."""
    with store.database.read() as tx:
        found = [_standing(tx, row) for row in tx.all(_LIVE, (book.name,))]
    for overdue in ("rerun", "ignore"):
        _try(store, book, content, found, overdue, is_active=is_active)
    if book.init:
        _try_init(store, book, content, found, is_active=is_active)
    return found


def _standing(tx: Tx, row: tuple[object, ...]) -> BatchImpact:
    """Return a batch as it is; only its own kind and state can keep it from moving."""
    batch_id, kind, status, version, t0, members, in_init = row
    batch = BatchImpact(
        int(str(batch_id)), int(str(version)), str(status), None if t0 is None else str(t0), int(str(members))
    )
    if kind == "event":
        batch.stays = "a batch that came by request never moves"
    elif status == "closing":
        batch.stays = "it is closing"
    elif in_init:
        batch.stays = "its init is running; it moves when that has ended"
    for _, name, _, inside, past in tx.all(_STANDING, (batch.id,)):
        phase = batch.phases.setdefault(text(name), PhaseImpact(text(name)))
        phase.inside += number(inside)
        phase.past = max(phase.past, number(past))
    return batch


def _publish(store: Store, book: Runbook, content: str, overdue: Overdue, *, rerun_init: bool, is_active: bool) -> None:
    """Publish inside of what is taken back, and move every batch that moves."""
    if is_active:
        with store.database.write() as tx:
            tx.run(_MODE, (overdue, int(rerun_init), book.name))
    else:
        store.publish(book, content, overdue=overdue, rerun_init=rerun_init, actor="tminus")
    before: list[int] = []
    while True:
        with store.database.read() as tx:
            behind = [event.batch_id for event in sweeps.behind(tx)]
        if not behind or behind == before:
            return
        before = behind
        store.move_versions()


def _try(
    store: Store, book: Runbook, content: str, found: list[BatchImpact], overdue: Overdue, *, is_active: bool
) -> None:
    with store.undone():
        _publish(store, book, content, overdue, rerun_init=False, is_active=is_active)
        now = store.now()
        with store.database.read() as tx:
            for batch in found:
                version = _version(tx, batch)
                if version == batch.version and not batch.stays:
                    batch.stays = "it runs this version already" if is_active else "it does not move"
                if version == batch.version:
                    continue
                for name, status, due_at, at_version, is_held in tx.all(_AFTER, (batch.id,)):
                    if number(at_version) == version or (status == "superseded" and text(name) not in _names(book)):
                        fate = _fate(batch, text(name), text(status), maybe(due_at), now, is_held=bool(is_held))
                        batch.phases.setdefault(text(name), PhaseImpact(text(name))).fates[overdue] = fate


def _fate(batch: BatchImpact, name: str, status: str, due_at: str | None, now: str, *, is_held: bool) -> Fate:
    phase = batch.phases.get(name)
    runs = status == "pending"
    return Fate(
        status=status,
        members=batch.members if runs else 0,
        again=phase.past if runs and phase is not None else 0,
        is_held=is_held,
        due_at=due_at,
        is_overdue=due_at is not None and due_at <= now,
    )


def _try_init(store: Store, book: Runbook, content: str, found: list[BatchImpact], *, is_active: bool) -> None:
    with store.undone():
        _publish(store, book, content, "rerun", rerun_init=True, is_active=is_active)
        with store.database.read() as tx:
            for batch in found:
                version = _version(tx, batch)
                if version != batch.version:
                    batch.runs_init = tx.one(_INIT, (batch.id, version)) is not None


def _version(tx: Tx, batch: BatchImpact) -> int:
    row = tx.one(_VERSION, (batch.id,))
    return batch.version if row is None else number(row[0])


def _names(book: Runbook) -> set[str]:
    return {phase.name for phase in book.phases}
