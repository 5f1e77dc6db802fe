"""The view of source rows: whatever a column is called, it is shown under its name, and no name becomes a statement."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.db.connection import Database, open_sqlite
from tminus.db.migrate import migrate
from tminus.domain.members import RESERVED_COLUMNS
from tminus.store.discovery.view import COLUMNS_MAX, alias, ensure_view, literal, quoted, shown
from tminus.testing.world import World

BOOK = """\
name: NAME
data_source: {type: manual, primary_key: Key}
phases: [{name: go, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}]
"""
NASTY = (
    'a"b',
    "a'b",
    "a\\b",
    'a\\"b',
    '"; DROP TABLE source_rows; --',
    "$.x",
    "a.b",
    "a[0]",
    "[0]",
    "#",
    "?1",
    ":name",
    "select",
    " ",
    "é",
    "😀",
    "a\nb",
    "--",
    "/*",
    "%",
    "{name}",
    "a,b",
)


def store(columns: list[str], row: dict[str, object], name: str = "wave") -> Database:
    database = Database(open_sqlite(":memory:"))
    migrate(database)
    with database.write() as tx:
        tx.run(
            "INSERT INTO runbooks (name, version, yaml_content, data_table_name, created_at)"
            " VALUES (?, 1, '', 'runbook_x_v1', 't')",
            (name,),
        )
        tx.run(
            "INSERT INTO source_rows (runbook_name, member_key, member_twin, first_seen_at, last_seen_at, digest,"
            " data_json) VALUES (?, 'k', 'k', 't', 't', 'd', ?)",
            (name, orjson.dumps(row).decode()),
        )
        ensure_view(tx, 1, name, columns)
    return database


def read(database: Database) -> list[object]:
    with database.read() as tx:
        (row,) = tx.all("SELECT * FROM runbook_x_v1")
    return list(row[6:])


def names(database: Database) -> list[str]:
    with database.read() as tx:
        return [str(name) for (name,) in tx.all("SELECT name FROM pragma_table_info('runbook_x_v1')")]


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_a_name(name: str) -> None:
    database = store([name, "other"], {name: "here", "other": "there"})
    assert names(database)[6:] == [name, "other"]
    assert read(database) == ["here", "there"]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@given(st.lists(TEXT, min_size=1, max_size=5, unique_by=str.casefold), TEXT)
def test_any_names_are_names(columns: list[str], runbook: str) -> None:
    columns = shown(columns)
    database = store(columns, {name: number for number, name in enumerate(columns)}, runbook)
    assert read(database) == list(range(len(columns)))
    assert names(database)[6:] == [alias(name) for name in columns]


def test_a_column_that_sqlite_would_rename_is_named_by_us() -> None:
    database = store(["True", "x"], {"True": 1, "x": 2})
    assert (names(database)[6:], read(database)) == (["True_", "x"], [1, 2])


@given(st.text())
def test_quoting_is_undone_by_the_database_alone(text: str) -> None:
    try:
        name, value = quoted(text), literal(text)
    except ValueError:
        assert "\0" in text or any("\ud800" <= c <= "\udfff" for c in text)
        return
    with Database(open_sqlite(":memory:")).read() as tx:
        assert tx.one(f"SELECT {value} AS {name}") == (text,)


def test_values_keep_their_types_and_lists_are_json() -> None:
    row: dict[str, object] = {"n": 7, "f": 1.5, "t": "x", "l": ["a", "b"], "none": None, "b": True}
    assert read(store(list(row), row)) == [7, 1.5, "x", '["a","b"]', None, 1]


def test_names_of_ours_second_spellings_and_too_many_are_left_out() -> None:
    assert shown(["A", "a", "", "_ROW_ID", *RESERVED_COLUMNS, "b", "nul\0", "half\ud800"]) == ["A", "b"]
    many = [f"c{number}" for number in range(COLUMNS_MAX + 9)]
    database = store(many, {"c0": 1, f"c{COLUMNS_MAX - 1}": 2})
    found = read(database)
    assert (len(found), found[0], found[-1]) == (COLUMNS_MAX, 1, 2)


def test_it_is_made_again_only_when_the_columns_change() -> None:
    database = store(["a"], {"a": 1, "b": 2})
    with database.write() as tx:
        assert not ensure_view(tx, 1, "wave", ["a"])
        assert ensure_view(tx, 1, "wave", ["b", "a"])
    assert read(database) == [2, 1]


def test_rows_of_another_runbook_are_not_shown() -> None:
    database = store(["a"], {"a": 1})
    with database.write() as tx:
        tx.run("UPDATE source_rows SET runbook_name = 'other'")
    with database.read() as tx:
        assert tx.all("SELECT * FROM runbook_x_v1") == []


def test_two_runbooks_whose_names_share_their_letters_have_two_views() -> None:
    world = World()
    for name in ("wave one", "wave-one", "Волна", "вага", "wave one"):
        world.publish(BOOK.replace("NAME", name))
    found = [str(view) for (view,) in world.rows("SELECT data_table_name FROM runbooks ORDER BY id")]
    assert found[0] == "runbook_wave_one_v1"
    assert found[4] == "runbook_wave_one_v2"
    assert len(set(found)) == 5
    assert all(view.isascii() and len(view) < 100 for view in found)
