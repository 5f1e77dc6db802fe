"""Processes that start at once on one new database: each migration runs once, and every one of them can go on."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import known, migrate

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, time
from pathlib import Path
from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate

place, me = sys.argv[1:]
Path(place + ".ready-" + me).touch()
while not Path(place + ".go").exists():
    time.sleep(0.001)
database = Database(open_sqlite(place), path=place)
print(migrate(database))
with database.write() as tx:
    tx.run("INSERT INTO workers (name, worker_ids, host, pid, process_started_at, started_at, last_seen_at)"
           " VALUES (?, 'w', 'h', 1, 't', 't', 't')", (me,))
database.close()
"""
KILLED = """
import os, sys
from tminus.db import connection
from tminus.db.migrate import migrate

place, left = sys.argv[1], int(sys.argv[2])

class Dying(connection.Tx):
    def script(self, sql):
        for number, statement in enumerate(connection.statements(sql)):
            if number == left:
                os._exit(9)
            self.run(statement)

connection.Tx = Dying
migrate(connection.Database(connection.open_sqlite(place), path=place))
"""
TOGETHER = 4


def test_processes_that_migrate_at_once(tmp_path: Path) -> None:
    place = tmp_path / "tminus.db"
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(place), str(me)], stdout=subprocess.PIPE, text=True)
        for me in range(TOGETHER)
    ]
    while len(list(tmp_path.glob("*.ready-*"))) < TOGETHER:
        assert all(process.poll() is None for process in running)
    (tmp_path / "tminus.db.go").touch()
    said = [process.communicate(timeout=60)[0].strip() for process in running]
    assert said == [str(known()[-1][0])] * TOGETHER
    database = Database(open_sqlite(str(place)), path=str(place))
    with database.read() as tx:
        assert tx.one("SELECT count(*) FROM migrations") == (len(known()),)
        assert tx.one("SELECT count(*) FROM workers") == (TOGETHER,)
    database.close()


@pytest.mark.parametrize("left", [1, 40])
def test_a_process_that_is_killed_in_a_migration_leaves_the_next_one_a_whole_database(
    tmp_path: Path, left: int
) -> None:
    place = tmp_path / "tminus.db"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(place), str(left)], check=False)
    assert ended.returncode == 9
    database = Database(open_sqlite(str(place)), path=str(place))
    with database.read() as tx:
        assert tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'") == [("migrations",)]
    assert migrate(database) == known()[-1][0]
    database.close()
