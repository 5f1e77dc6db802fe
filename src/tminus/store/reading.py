"""Rows out of tables: one select per class of row, columns in the order of its fields.

Ids travel as one JSON array, so that a statement has the same text for one row and for five hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

import orjson

from tminus.domain.rows import Batch, Execution, Hold, JobOut, Lane, Member, PhaseRow, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.db.connection import Tx, Value

R = TypeVar("R", Batch, PhaseRow, Member, Lane, Execution, Hold, JobOut)

IDS: Final = "(SELECT value FROM json_each(?))"


def _select(row: type[R], alias: str = "") -> str:
    prefix = f"{alias}." if alias else ""
    return ", ".join(prefix + name for name in columns(row))


BATCHES: Final = f"SELECT {_select(Batch)} FROM batches WHERE id IN {IDS}"
PHASES: Final = f"SELECT {_select(PhaseRow)} FROM phase_executions WHERE batch_id IN {IDS}"
MEMBERS: Final = f"SELECT {_select(Member)} FROM batch_members WHERE id IN {IDS}"
LANES: Final = f"SELECT {_select(Lane)} FROM lanes WHERE id IN {IDS}"
MEMBER_LANES: Final = f"SELECT {_select(Lane)} FROM lanes WHERE member_id IN {IDS}"
BATCH_LANES: Final = f"SELECT {_select(Lane)} FROM lanes WHERE member_id IS NULL AND batch_id IN {IDS}"
EXECUTIONS: Final = f"SELECT {_select(Execution)} FROM executions WHERE id IN {IDS}"
FOLLOWING: Final = (
    f"SELECT {_select(Execution, 'n')} FROM executions e JOIN executions n"
    f" ON n.lane_id = e.lane_id AND n.step_index = e.step_index + 1 WHERE e.id IN {IDS}"
)
LANE_EXECUTIONS: Final = f"SELECT {_select(Execution)} FROM executions WHERE lane_id IN {IDS}"
FIRST_OPEN: Final = (
    f"SELECT {_select(Execution, 'e')} FROM json_each(?) j JOIN executions e ON e.id = (SELECT x.id FROM executions x"
    " WHERE x.lane_id = j.value AND x.status IN ('pending', 'dispatched', 'polling') ORDER BY x.step_index LIMIT 1)"
)
HOLDS: Final = (
    f"SELECT {_select(Hold)} FROM holds WHERE batch_id IN {IDS} AND (is_open OR kind IN ('gate', 'pause'))"
    f" UNION ALL SELECT {_select(Hold)} FROM holds WHERE scope IN ('all', 'runbook') AND batch_id IS NULL"
)
HOLDS_BY_ID: Final = f"SELECT {_select(Hold)} FROM holds WHERE id IN {IDS}"
JOBS: Final = f"SELECT {_select(JobOut)} FROM messages WHERE id IN {IDS}"
DRAINING: Final = f"SELECT {_select(JobOut)} FROM messages WHERE is_draining AND batch_id IN {IDS}"


def ids(values: Iterable[int]) -> str:
    """Write ids as the one parameter that `IDS` takes."""
    return orjson.dumps(sorted(set(values))).decode()


def fetch(tx: Tx, row: type[R], sql: str, wanted: Iterable[int]) -> list[R]:
    """Run one of the selects above for these ids."""
    known = set(wanted)
    if not known:
        return []
    make = cast("Callable[..., R]", row)
    return [make(*values) for values in tx.all(sql, (ids(known),))]


def hold(values: tuple[Value, ...]) -> Hold:
    """Make a hold from a row of `HOLDS`."""
    make = cast("Callable[..., Hold]", Hold)
    return make(*values)


def number(value: Value) -> int:
    """Read a column that holds a whole number; NULL is 0."""
    return int(value or 0)


def text(value: Value) -> str:
    """Read a column that holds text; NULL is empty."""
    return "" if value is None else str(value)


def maybe(value: Value) -> str | None:
    """Read a column that holds text or NULL."""
    return None if value is None else str(value)
