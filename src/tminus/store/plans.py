"""Saved plans: kept under a name, read, listed, marked as applied.

A name stands for one content: what somebody has looked at is what will be applied. Saving the same content again only
makes it valid for longer; another content under a name that is still valid is refused. A plan that has expired and was
never applied gives its name free, and is forgotten a month later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, plus
from tminus.runbook.plan import SHORTEST, default_name, from_json, to_json
from tminus.runbook.wording import did_you_mean, quoted
from tminus.store.insights.records import plain, records
from tminus.store.reading import maybe, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.runbook.plan import SavedPlan
    from tminus.store.insights.records import Record

NAME_CHARACTERS_MAX: Final = 80
KEPT_S: Final = 30 * 86_400.0

_ONE: Final = """SELECT id, name, digest, made_by, valid_until, body_json, applied_at, applied_by, applied_version,
  applied_batches_json FROM plans WHERE name = ?"""
_NAMES: Final = "SELECT name FROM plans ORDER BY id DESC LIMIT 1000"
_ADD: Final = """INSERT INTO plans (name, digest, runbook_name, made_at, made_by, valid_until, batches, members,
  step_runs, body_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_FREE: Final = "DELETE FROM plans WHERE name = ? AND applied_at IS NULL"
_FORGET: Final = "DELETE FROM plans WHERE applied_at IS NULL AND valid_until < ?"
_APPLIED: Final = """UPDATE plans SET applied_at = ?, applied_by = ?, applied_version = ?, applied_batches_json = ?
  WHERE id = ? AND applied_at IS NULL"""
_COLUMNS: Final = plain(
    "name", "digest", "runbook_name", "batches", "members", "step_runs", "made_at", "made_by", "valid_until",
    "applied_at", "applied_by", "applied_version", "applied_batches_json",
)  # fmt: skip
_LIST: Final = "SELECT {columns} FROM plans ORDER BY id"


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan as it is kept: under its name, with who made it, until when it holds, and what it has become."""

    id: int
    name: str
    digest: str
    made_by: str
    valid_until: Instant
    plan: SavedPlan
    applied_at: Instant | None
    applied_by: str
    applied_version: int | None
    applied_batches: tuple[int, ...]


def read(tx: Tx, name: str) -> KeptPlan:
    """Return the plan of a name, or raise `TminusError`."""
    found = find(tx, name)
    if found is None:
        near = did_you_mean(name, [text(known) for (known,) in tx.all(_NAMES)], most=1_000)
        raise TminusError("E451", "there is no such plan", place=name, hint=near or "`tminus plan list` shows them")
    return found


def find(tx: Tx, name: str) -> KeptPlan | None:
    """Return the plan of a name, None when there is none."""
    row = tx.one(_ONE, (name,))
    if row is None:
        return None
    applied_at, version = maybe(row[6]), row[8]
    return KeptPlan(
        number(row[0]),
        text(row[1]),
        text(row[2]),
        text(row[3]),
        Instant(text(row[4])),
        from_json(text(row[5])),
        None if applied_at is None else Instant(applied_at),
        text(row[7]),
        None if version is None else number(version),
        tuple(orjson.loads(text(row[9]))) if row[9] is not None else (),
    )


def save(tx: Tx, plan: SavedPlan, *, name: str | None, step_runs: int, now: Instant, actor: str) -> str:
    """Keep a plan under this name, or under one of its own; return the name."""
    tx.run(_FORGET, (plus(now, -KEPT_S),))
    chosen = _free_name(tx, plan.digest, now) if name is None else name
    if name is not None:
        check_name(name)
        _check_free(tx, name, plan.digest, now)
    tx.run(_FREE, (chosen,))
    members = sum(len(batch.members) for batch in plan.batches)
    tx.run(
        _ADD,
        (
            chosen, plan.digest, plan.runbook_name, plan.made_at, actor, plan.valid_until, len(plan.batches), members,
            step_runs, to_json(plan),
        ),
    )  # fmt: skip
    return chosen


def check_name(name: str) -> None:
    """Refuse a name that is none."""
    if not name or name != name.strip() or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
        hint = f"1 to {NAME_CHARACTERS_MAX} characters that can be seen"
        raise TminusError("E455", f"{quoted(name)} is no name for a plan", place="--save", hint=hint)


def _check_free(tx: Tx, name: str, digest: str, now: Instant) -> None:
    """Refuse a name that stands for something else."""
    known = find(tx, name)
    if known is None or _gives_way(known, digest, now):
        return
    state = "was applied" if known.applied_at is not None else "holds something else"
    raise TminusError("E452", f"there is a plan {quoted(name)} that {state}", place="--save", hint="choose a new name")


def _gives_way(known: KeptPlan, digest: str, now: Instant) -> bool:
    """Tell whether a plan may be written over: it is the same, or it has expired; never one that was applied."""
    return known.applied_at is None and (known.digest == digest or known.valid_until <= now)


def _free_name(tx: Tx, digest: str, now: Instant) -> str:
    """Return the shortest name of a digest that nothing else has; one that was applied keeps its name."""
    candidates = [default_name(digest, digits) for digits in range(SHORTEST, len(digest) + 1)]
    for candidate in candidates:
        known = find(tx, candidate)
        if known is None or _gives_way(known, digest, now):
            return candidate
    raise TminusError("E452", "this plan was applied under each of its names", hint="choose one: --save NAME")


def mark_applied(tx: Tx, plan_id: int, *, now: Instant, actor: str, version: int, batches: Sequence[int]) -> None:
    """Note what a plan has become; only the first time counts."""
    tx.run(_APPLIED, (now, actor, version, orjson.dumps(list(batches)).decode(), plan_id))


def state(kept: KeptPlan, now: Instant) -> str:
    """Return what has become of a plan: `valid`, `expired` or `applied`; a valid one may still be stale."""
    return _state(applied=kept.applied_at is not None, valid_until=kept.valid_until, now=now)


def _state(*, applied: bool, valid_until: str, now: Instant) -> str:
    if applied:
        return "applied"
    return "valid" if valid_until > now else "expired"


def listed(tx: Tx, now: Instant) -> list[Record]:
    """Return every plan without its body, oldest first."""
    return [
        row | {"state": _state(applied=row["applied_at"] is not None, valid_until=str(row["valid_until"]), now=now)}
        for row in records(tx, _COLUMNS, _LIST)
    ]
