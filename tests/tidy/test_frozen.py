"""A migration that is new, changed or gone is found, and freezing never covers up a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tidy import frozen

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

FIRST = f"{frozen.MIGRATIONS}/sqlite/0001_tables.sql"
SECOND = f"{frozen.MIGRATIONS}/sqlite/0002_holds.sql"


def test_a_new_migration_is_frozen_once(tmp_path: Path, write: Write) -> None:
    write(FIRST, "create table a (x);")
    write(frozen.MANIFEST, "")
    assert frozen.thawed_migrations(tmp_path) == [f"{FIRST}:1: not frozen yet: run make freeze"]
    frozen.freeze(tmp_path)
    assert frozen.thawed_migrations(tmp_path) == []


def test_a_changed_migration_stays_a_finding(tmp_path: Path, write: Write) -> None:
    write(FIRST, "create table a (x);")
    write(SECOND, "create table b (x);")
    write(frozen.MANIFEST, "")
    frozen.freeze(tmp_path)
    write(FIRST, "create table a (x, y);")
    frozen.freeze(tmp_path)
    assert [line.split(": ")[1] for line in frozen.thawed_migrations(tmp_path)] == ["a frozen migration changed"]


def test_a_migration_that_is_gone_is_found(tmp_path: Path, write: Write) -> None:
    write(FIRST, "create table a (x);")
    write(frozen.MANIFEST, "")
    frozen.freeze(tmp_path)
    (tmp_path / FIRST).unlink()
    assert frozen.thawed_migrations(tmp_path) == [f"{FIRST}:1: a frozen migration is gone"]
