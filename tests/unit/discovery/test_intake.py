"""Intake: rows are compared by their twin form, and what is the same is not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.domain.instant import Instant
from tminus.ports.source import SourceRow
from tminus.store.discovery import intake

if TYPE_CHECKING:
    from tminus.store.discovery.intake import Chunk, Seen

FIRST, SECOND = Instant("2026-01-01T00:00:00.000Z"), Instant("2026-01-02T00:00:00.000Z")


def store() -> Database:
    database = Database(open_sqlite(":memory:"))
    migrate(database)
    return database


def take(
    database: Database, *rows: SourceRow, now: Instant = FIRST, failed: tuple[str, ...] = ()
) -> tuple[Seen, Chunk]:
    with database.write() as tx:
        seen = intake.begin(tx, "w")
        chunk = intake.compare(tx, "w", rows, seen)
        intake.write(tx, "w", chunk, now)
        intake.keep_failed(tx, "w", failed, seen, now)
    return seen, chunk


def row(key: str, data: str = "{}", when: Instant | None = FIRST) -> SourceRow:
    return SourceRow(key, when, data, "f:1")


def test_the_same_row_is_not_written_again() -> None:
    database = store()
    take(database, row("a"), row("b"))
    seen, chunk = take(database, row("a"), row("b"), now=SECOND)
    assert (chunk.new, chunk.changed) == ([], [])
    assert (seen.before, seen.kept, seen.ids) == (2, 2, {1, 2})


def test_data_and_time_both_make_a_change() -> None:
    database = store()
    take(database, row("a"), row("b"), row("c"))
    _, chunk = take(database, row("a", '{"x":1}'), row("b", when=SECOND), row("c"))
    assert [found[1].key for found in chunk.changed] == ["a", "b"]


def test_twins_are_one_row_under_its_first_spelling() -> None:
    database = store()
    take(database, row("Ann@X"))
    seen, chunk = take(database, row("ann@x", '{"k":"ann@x"}'))
    assert (chunk.new, len(chunk.changed), seen.kept) == ([], 1, 1)
    with database.read() as tx:
        assert tx.all("SELECT member_key, data_json FROM source_rows") == [("Ann@X", '{"k":"ann@x"}')]


def test_a_failed_key_counts_as_held_once() -> None:
    database = store()
    take(database, row("Ann"), row("bob"))
    seen, _ = take(database, row("bob"), failed=("ann", "bob", "new"))
    assert (seen.ids, seen.kept) == ({1, 2}, 2)


def test_new_rows_are_held_by_being_above_the_top() -> None:
    database = store()
    take(database, row("a"), row("gone"))
    seen, _ = take(database, row("a"), row("new"))
    assert [seen.held(row_id) for row_id in (1, 2, 3)] == [True, False, True]


def test_a_row_is_present_anew_only_after_a_complete_absence() -> None:
    database = store()
    take(database, row("a"), row("b"))
    with database.write() as tx:
        tx.run("UPDATE source_rows SET missed_count = 1 WHERE member_key = 'a'")
        tx.run("UPDATE source_rows SET missed_count = 1, absent_count = 1, is_current = 0 WHERE member_key = 'b'")
    take(database, row("a"), row("b"), now=SECOND)
    with database.read() as tx:
        found = tx.all("SELECT present_since, missed_count, absent_count, is_current FROM source_rows ORDER BY id")
    assert found == [(FIRST, 0, 0, 1), (SECOND, 0, 0, 1)]
