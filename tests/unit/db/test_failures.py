"""Whatever the driver raises leaves the room as an error with a code, and an open transaction is never left behind."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from tminus.db.connection import Database, DatabaseError, open_sqlite
from tminus.db.migrate import migrate
from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tminus.db.connection import Value

ADD = "INSERT INTO quarantine (topic, body, reason, received_at) VALUES ('worker-results', ?, 'r', 't')"
COUNT = "SELECT count(*) FROM quarantine"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "tminus.db"
    database = Database(open_sqlite(str(place)), path=str(place))
    migrate(database)
    database.close()
    return place


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = Database(open_sqlite(str(path)), path=str(path))
    yield opened
    opened.close()


def run_all(database: Database, *wanted: tuple[str, tuple[Value, ...]]) -> None:
    with database.write() as tx:
        for sql, values in wanted:
            tx.run(sql, values)


def interrupted(database: Database) -> None:
    with database.write() as tx:
        tx.run(ADD, ("x",))
        raise KeyboardInterrupt


def count(database: Database) -> object:
    with database.read() as tx:
        found = tx.one(COUNT)
    return None if found is None else found[0]


def test_a_file_that_may_not_be_written(path: Path) -> None:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    database = Database(connection, path=str(path))
    with pytest.raises(DatabaseError) as caught, database.write() as tx:
        tx.run(ADD, ("x",))
    assert caught.value.code == "E503"
    assert str(path) in caught.value.message
    assert count(database) == 0
    database.close()


def test_a_full_disk_in_the_middle_of_a_transaction(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    database = Database(connection, path=str(path))
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(DatabaseError) as caught:
        run_all(database, (ADD, ("small",)), (ADD, ("x" * 1_000_000,)))
    assert caught.value.code == "E504"
    assert count(database) == 0
    with database.write() as tx:
        tx.run(ADD, ("small",))
    assert count(database) == 1
    database.close()


def test_a_database_that_another_holds(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database = Database(sqlite3.connect(path, isolation_level=None, timeout=0), path=str(path))
    with pytest.raises(DatabaseError) as caught, database.write() as tx:
        tx.run(ADD, ("x",))
    assert caught.value.code == "E505"
    other.execute("ROLLBACK")
    with database.write() as tx:
        tx.run(ADD, ("x",))
    assert count(database) == 1
    other.close()
    database.close()


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    place = tmp_path / "members.csv"
    place.write_text("Key,Wave\n" * 200, encoding="utf-8")
    with pytest.raises(DatabaseError) as caught:
        open_sqlite(str(place))
    assert caught.value.code == "E506"
    assert "another file" in caught.value.hint


def test_a_damaged_file(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(DatabaseError) as caught:
        migrate(Database(open_sqlite(str(path)), path=str(path)))
    assert caught.value.code == "E506"
    assert "backup" in caught.value.hint


@pytest.mark.parametrize("name", ["missing/tminus.db", "."])
def test_a_place_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        open_sqlite(str(tmp_path / name))
    assert caught.value.code == "E506"
    assert "folder" in caught.value.hint


def test_a_statement_that_cannot_be_run(database: Database) -> None:
    with pytest.raises(DatabaseError) as caught, database.write() as tx:
        tx.run("INSERT INTO no_such_table VALUES (1)")
    assert caught.value.code == "E507"


def test_a_database_that_was_closed(path: Path) -> None:
    database = Database(open_sqlite(str(path)), path=str(path))
    database.close()
    with pytest.raises(DatabaseError) as caught:
        database.now()
    assert caught.value.code == "E507"


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("INSERT INTO quarantine (id, topic, body, reason, received_at) VALUES (1, ?, 'b', 'r', 't')", "t"),
        ("INSERT INTO quarantine (id, topic, body, reason, received_at) VALUES (2, ?, 'b', 'r', 't')", None),
        ("INSERT INTO quarantine (id, topic, body, reason, received_at) VALUES (?, 't', 'b', 'r', 't')", "many"),
        ("DELETE FROM quarantine WHERE id IN (SELECT value FROM json_each(?))", "[1,"),
    ],
    ids=["taken id", "missing value", "text for a number", "malformed JSON"],
)
def test_a_row_that_is_refused_is_no_failure_of_the_database(database: Database, sql: str, value: str | None) -> None:
    """So that one bad event can be told from a disk that is full: the first stops itself, the second everything."""
    with database.write() as tx:
        tx.run(ADD, ("first",))
    with pytest.raises(TminusError) as caught:
        run_all(database, (ADD, ("second",)), (sql, (value,)))
    assert caught.value.code == "E508"
    assert not isinstance(caught.value, DatabaseError)
    assert count(database) == 1


def test_any_exception_rolls_back_and_leaves_the_way_free(database: Database) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(database)
    with database.write() as tx:
        assert tx.one(COUNT) == (0,)


def test_a_commit_that_fails_changes_nothing(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    database = Database(connection, path=str(path))
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE boxes (id INTEGER PRIMARY KEY)")
    boxed = "CREATE TABLE things (box_id INTEGER REFERENCES boxes (id) DEFERRABLE INITIALLY DEFERRED)"
    connection.execute(boxed)
    with pytest.raises(TminusError) as caught:
        run_all(database, (ADD, ("x",)), ("INSERT INTO things VALUES (7)", ()))
    assert caught.value.code == "E508"
    assert count(database) == 0
    database.close()


def test_reading_is_one_moment(database: Database, path: Path) -> None:
    other = Database(open_sqlite(str(path)), path=str(path))
    with database.read() as tx:
        assert tx.one(COUNT) == (0,)
        with other.write() as writing:
            writing.run(ADD, ("x",))
        assert tx.one(COUNT) == (0,)
    assert count(database) == 1
    other.close()


def test_reading_writes_nothing(database: Database) -> None:
    with database.read() as tx:
        tx.run(ADD, ("x",))
    assert count(database) == 0


def test_the_clock_is_an_instant(database: Database) -> None:
    first = database.now()
    assert len(first) == len("2026-01-01T00:00:00.000Z")
    assert first.endswith("Z")
    assert first <= database.now()
