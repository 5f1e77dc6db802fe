"""Migrations: each once, whole or not at all, and never by a program that does not know them."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tminus.db.connection import Database, open_sqlite, statements
from tminus.db.migrate import known, migrate
from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tminus.db.connection import Value

SCHEMA = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
LEDGER = "SELECT number, name, digest FROM migrations ORDER BY number"
NEXT = """-- A later migration, as there will be many.
CREATE TABLE colours (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO colours (name) VALUES ('red; not a statement of its own');
CREATE TRIGGER colours_stay BEFORE DELETE ON colours
BEGIN SELECT RAISE(ABORT, 'colours stay'); SELECT 1; END;
ALTER TABLE quarantine ADD COLUMN colour_id INTEGER;
UPDATE quarantine SET colour_id = 1;
"""


class StoppedError(Exception):
    """The process ended here."""


class Stopping(sqlite3.Connection):
    """A connection that ends the process at its n-th statement."""

    left = 10**9

    def execute(self, sql: str, parameters: Sequence[Value] = (), /) -> sqlite3.Cursor:  # type: ignore[override]
        if sql != "ROLLBACK":
            self.left -= 1
            if self.left < 0:
                raise StoppedError
        return super().execute(sql, parameters)


def opened(place: str | Path = ":memory:") -> Database:
    return Database(open_sqlite(str(place)), path=str(place))


def told(database: Database, sql: str) -> list[tuple[object, ...]]:
    with database.read() as tx:
        return [tuple(row) for row in tx.all(sql)]


@pytest.fixture
def two_known(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, str]]:
    both = [*known(), (len(known()) + 1, "9999_colours.sql", NEXT)]
    monkeypatch.setattr("tminus.db.migrate.known", lambda: both)
    return both


def with_one_row(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO quarantine (topic, body, reason, received_at) VALUES ('worker-results', '{', 'no JSON', 'then')"
    )


def test_a_fresh_database_gets_all_of_them() -> None:
    database = opened()
    assert migrate(database) == known()[-1][0]
    assert [row[:2] for row in told(database, LEDGER)] == [(number, name) for number, name, _ in known()]


def test_the_second_time_nothing_happens(tmp_path: Path) -> None:
    place = tmp_path / "tminus.db"
    migrate(opened(place))
    before = place.read_bytes(), told(opened(place), SCHEMA)
    assert migrate(opened(place)) == known()[-1][0]
    assert (place.read_bytes(), told(opened(place), SCHEMA)) == before


def test_numbers_have_no_gap_and_no_double() -> None:
    assert [number for number, _, _ in known()] == list(range(1, len(known()) + 1))


def test_an_old_database_gets_what_is_new_and_keeps_its_rows(two_known: list[tuple[int, str, str]]) -> None:
    connection = open_sqlite()
    database = Database(connection)
    with pytest.MonkeyPatch.context() as older:
        older.setattr("tminus.db.migrate.known", lambda: two_known[:-1])
        migrate(database)
    with_one_row(connection)
    assert migrate(database) == two_known[-1][0]
    assert told(database, "SELECT body, colour_id FROM quarantine") == [("{", 1)]
    assert told(database, "SELECT name FROM colours") == [("red; not a statement of its own",)]


def test_a_newer_database_is_refused_and_left_alone(two_known: list[tuple[int, str, str]]) -> None:
    database = opened()
    migrate(database)
    before = told(database, SCHEMA)
    with pytest.MonkeyPatch.context() as older:
        older.setattr("tminus.db.migrate.known", lambda: two_known[:-1])
        with pytest.raises(TminusError) as caught:
            migrate(database)
    assert caught.value.code == "E501"
    assert told(database, SCHEMA) == before


def test_a_database_made_by_another_text_of_a_migration_is_refused(two_known: list[tuple[int, str, str]]) -> None:
    database = opened()
    migrate(database)
    number, name, text = two_known[0]
    two_known[0] = (number, name, text + "\n-- changed")
    with pytest.raises(TminusError) as caught:
        migrate(database)
    assert caught.value.code == "E502"
    assert name in caught.value.message


def tables_of(database: Database) -> frozenset[str]:
    return frozenset(str(row[1]) for row in told(database, SCHEMA) if row[0] == "table")


def test_stopped_at_any_statement_a_fresh_database_has_whole_migrations_and_then_all() -> None:
    whole, all_known = opened(), known()
    stages = {0: {frozenset({"migrations"}), frozenset[str]()}}
    for count in range(1, len(all_known) + 1):
        with pytest.MonkeyPatch.context() as older:
            older.setattr("tminus.db.migrate.known", partial(list[tuple[int, str, str]], all_known[:count]))
            migrate(whole)
        stages[count] = {tables_of(whole)}
    wanted = told(whole, SCHEMA)
    stops = 0
    for left in range(10_000):
        connection = sqlite3.connect(":memory:", isolation_level=None, factory=Stopping)
        database = Database(connection)
        connection.left = left
        try:
            migrate(database)
        except StoppedError:
            stops += 1
        else:
            break
        finally:
            connection.left = 10**9
        tables = tables_of(database)
        assert tables in stages[len(told(database, LEDGER)) if tables else 0]
        migrate(database)
        assert told(database, SCHEMA) == wanted
    assert stops > sum(1 for _, _, text in known() for _ in statements(text))


def test_stopped_at_any_statement_an_old_database_is_as_it_was(two_known: list[tuple[int, str, str]]) -> None:
    stops = 0
    for left in range(1_000):
        connection = sqlite3.connect(":memory:", isolation_level=None, factory=Stopping)
        database = Database(connection)
        with pytest.MonkeyPatch.context() as older:
            older.setattr("tminus.db.migrate.known", lambda: two_known[:-1])
            migrate(database)
        with_one_row(connection)
        before = told(database, SCHEMA), told(database, LEDGER), told(database, "SELECT * FROM quarantine")
        connection.left = left
        try:
            migrate(database)
        except StoppedError:
            stops += 1
        else:
            break
        finally:
            connection.left = 10**9
        assert (told(database, SCHEMA), told(database, LEDGER), told(database, "SELECT * FROM quarantine")) == before
        migrate(database)
        assert told(database, "SELECT body, colour_id FROM quarantine") == [("{", 1)]
    assert stops > sum(1 for _ in statements(NEXT))


def test_a_script_is_cut_where_its_statements_end() -> None:
    cut = list(statements(NEXT))
    assert len(cut) == 5
    assert cut[2].rstrip().endswith("SELECT 1; END;")
    assert "".join(cut) == NEXT


def test_a_last_statement_without_its_semicolon_still_counts() -> None:
    assert [part.strip() for part in statements("SELECT 1;\nSELECT 2")] == ["SELECT 1;", "SELECT 2"]
