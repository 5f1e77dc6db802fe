"""What happens inside `undone` is taken back, is seen by what follows inside, and fails part by part."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tminus.db.connection import Database, open_sqlite

if TYPE_CHECKING:
    from pathlib import Path

ADD = "INSERT INTO t VALUES (?)"
ALL = "SELECT n FROM t ORDER BY n"


@pytest.fixture(name="database")
def made(tmp_path: Path) -> Database:
    path = str(tmp_path / "t.db")
    database = Database(open_sqlite(path), path=path)
    with database.write() as tx:
        tx.run("CREATE TABLE t (n INTEGER)")
        tx.run(ADD, (1,))
    return database


def read(database: Database) -> list[int]:
    with database.read() as tx:
        return [int(n or 0) for (n,) in tx.all(ALL)]


def add_and_fail(database: Database, number: int) -> None:
    with database.write() as tx:
        tx.run(ADD, (number,))
        raise KeyError


def fail_inside(database: Database) -> None:
    with database.undone():
        with database.write() as tx:
            tx.run(ADD, (2,))
        raise KeyError


def test_what_is_written_inside_is_seen_inside_and_gone_after(database: Database) -> None:
    with database.undone():
        with database.write() as tx:
            tx.run(ADD, (2,))
        assert read(database) == [1, 2]
    assert read(database) == [1]
    with database.write() as tx:
        tx.run(ADD, (3,))
    assert read(database) == [1, 3]


def test_a_part_that_fails_takes_only_itself_back(database: Database) -> None:
    with database.undone():
        with database.write() as tx:
            tx.run(ADD, (2,))
        with pytest.raises(KeyError):
            add_and_fail(database, 4)
        assert read(database) == [1, 2]
    assert read(database) == [1]


def test_an_error_inside_takes_everything_back(database: Database) -> None:
    with pytest.raises(KeyError):
        fail_inside(database)
    assert read(database) == [1]


def test_another_thread_waits_and_is_kept(database: Database) -> None:
    def other() -> None:
        with database.write() as tx:
            tx.run(ADD, (9,))

    with database.undone():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
    thread.join()
    assert read(database) == [1, 9]
