"""What discovery looks for at every answer is found by index: a source of half a million rows is not read for ten."""

from __future__ import annotations

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.store.discovery import absence, intake, leavers, moves, pending, places

T, KEYS = "2026-01-01T00:00:00.000Z", '["a"]'
QUERIES = {
    "next time": (pending.NEXT_TIME, ("w", ""), "source_rows_pending"),
    "page of a time": (pending.NEXT_PAGE, ("w", T, 0, 9), "source_rows_pending"),
    "page without a time": (pending.NEXT_PAGE, ("w", None, 0, 9), "source_rows_pending"),
    "new keys": (places.ANY_NEW, ("w", T), "source_rows_pending"),
    "known rows": (intake.KNOWN, ("w", KEYS), "sqlite_autoindex_source_rows_1"),
    "how many there are": (intake.CURRENT, ("w",), "source_rows_current"),
    "rows that were there": (absence.NOT_MISSED, ("w", 0, 9), "source_rows_current"),
    "how many were there": (absence.THERE, ("w",), "source_rows_current"),
    "rows missed before": (absence.MISSED.format(count="absent_count"), ("w", 2, 0, 9), "source_rows_missed"),
    "a doubt": (absence.DOUBTED, ("w",), "source_rows_missed"),
    "absent members": (leavers.ABSENT, ("w",), "source_rows_missed"),
    "settled absences": (leavers.SETTLE, ("w", 2, 9), "source_rows_missed"),
    "keys of an ended batch": (moves.STILL_PUT, ("w", KEYS, T), "sqlite_autoindex_source_rows_1"),
    "movers": (moves.MOVERS, ("w", T), "source_rows_pending"),
    "where keys live": (pending.LIVING, (KEYS, "w"), "batch_members_key"),
    "what became of keys": (pending.PAST, (KEYS, "w"), "batch_members_key"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_it_is_found_by_index(name: str) -> None:
    sql, params, index = QUERIES[name]
    database = Database(open_sqlite(":memory:"))
    migrate(database)
    with database.read() as tx:
        plan = [str(row[3]) for row in tx.all(f"EXPLAIN QUERY PLAN {sql}", params)]
    assert any(index in line for line in plan), plan
    assert [line for line in plan if line.startswith("SCAN") and "json_each" not in line and " j" not in line] == []
