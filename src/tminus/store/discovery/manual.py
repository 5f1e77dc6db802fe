"""Members that a person hands in: a batch of their own, or joiners of a batch that is open.

They are the operator's from then on; no source is asked about them, so that nobody leaves by silence. A key that lives
in another open batch of the runbook is left out and named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from tminus.domain.errors import TminusError
from tminus.store import cohort, runbooks
from tminus.store.discovery import spelling
from tminus.store.reading import number, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tminus.domain.instant import Instant
    from tminus.ports.source import SourceRow
    from tminus.store.cohort import Made
    from tminus.store.store import Store

CHUNK: Final = 200
_ACTIVE: Final = "SELECT version FROM runbooks WHERE name = ? AND is_active"
_BATCH: Final = "SELECT status, is_cancelling, runbook_name FROM batches WHERE id = ?"
_ADDED: Final = "SELECT member_key FROM batch_members WHERE id IN (SELECT value FROM json_each(?))"


class Members(Protocol):
    """The verdict on a file of members: its rows, or why it was refused."""

    @property
    def ok(self) -> bool:
        """Tell whether the rows may be used."""
        ...

    @property
    def rows(self) -> Sequence[SourceRow]:
        """Return the rows."""
        ...

    def error(self) -> TminusError:
        """Return the one error that stands for the whole verdict."""
        ...


@dataclass(frozen=True, slots=True)
class Added:
    """What became of members handed in for an open batch: ids of the new rows, and keys that were left out."""

    member_ids: tuple[int, ...]
    left_out: tuple[str, ...]


def create_manual(
    store: Store, runbook: str, members: Members, t0: Instant | None, data: Mapping[str, object], actor: str
) -> Made:
    """Make a manual batch of a runbook; without T-0 it waits to be advanced. Raises `TminusError`."""
    if not members.ok:
        raise members.error()
    with store.database.read() as tx:
        row = tx.one(_ACTIVE, (runbook,))
        inputs = runbooks.read(tx, runbook, number(row[0])).inputs if row else ()
        pairs = spelling.as_known(tx, runbook, [(row.key, row.data) for row in members.rows])
        taken = cohort.taken_keys(tx, runbook, [key for key, _ in pairs])
    missing = [name for name in inputs if name not in data]
    if missing:
        raise TminusError(
            "E364", f"the batch brings no {', '.join(missing)}", place=runbook, hint="give them with --data NAME=VALUE"
        )
    if len(taken) == len(pairs):
        hint = "`tminus find KEY` names it; nothing was made"
        raise TminusError("E362", "every key lives in another open batch", place=runbook, hint=hint)
    return store.create_batch(cohort.NewBatch(runbook, pairs, t0=t0, kind="manual", data=data, created_by=actor))


def add_members(store: Store, batch_id: int, members: Members, *, actor: str = "", reason: str = "") -> Added:
    """Let members join an open batch; they catch up with what has opened. Raises `TminusError`."""
    if not members.ok:
        raise members.error()
    with store.database.read() as tx:
        row = tx.one(_BATCH, (batch_id,))
        name = text(row[2]) if row else ""
        pairs = spelling.as_known(tx, name, [(one.key, one.data) for one in members.rows])
    status = text(row[0]) if row else "not there"
    if row is None or row[1] or status not in {"detected", "init_dispatched", "active"}:
        why = "being cancelled" if row is not None and row[1] else status
        raise TminusError("E365", f"batch {batch_id} takes no members: it is {why}")
    made: list[int] = []
    for at in range(0, len(pairs), CHUNK):
        made += store.join(batch_id, pairs[at : at + CHUNK], actor=actor, reason=reason)
    with store.database.read() as tx:
        joined = {text(key) for (key,) in tx.all(_ADDED, (orjson.dumps(made).decode(),))}
    return Added(tuple(made), tuple(key for key, _ in pairs if key not in joined))
