"""The language of selections: what is a term, and whom it means."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.domain.errors import TminusError
from tminus.progression import events as ev
from tminus.store.insights.members import selected
from tminus.store.insights.selection import Term, compiled, parse
from tminus.testing.world import World, fails, ok

BOOK = """
name: wave
data_source: {type: manual, primary_key: upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: w, function: F-copy}
  - name: care
    offset: T+1d
    steps:
      - {name: ask, worker_id: w, function: F-ask}
"""
DATA: dict[str, dict[str, object]] = {
    "anna": {"upn": "anna", "Dept": "Sales", "N": 7, "Note": "it's 100 %"},
    "ben": {"upn": "ben", "Dept": "Human Resources"},
    "cleo": {"upn": "cleo", "Dept": "Research"},
}


@pytest.fixture(name="world", scope="module")
def made() -> World:
    world, taken = World(), fails("Conflict", "409 taken")
    world.publish(BOOK)
    world.batch("wave", DATA)
    world.behaviours["F-copy"] = lambda call: (taken if call.job_id == "step-2" else ok())(call)
    world.run()
    pin = ev.EditData(member_id=world.member_id("cleo"), values={"dept": "Pinned"}, actor="op", reason="r")
    world.command(pin)
    return world


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("status=failed", ["ben"]),
        ("status!=failed", ["anna", "cleo"]),
        ("key~N", ["anna", "ben"]),
        ("error~409", ["ben"]),
        ("error!=409", ["anna", "ben", "cleo"]),
        ("error~TAKEN status=failed", ["ben"]),
        ("phase=move", ["ben"]),
        ("step=copy", ["ben"]),
        ("step!=copy", ["anna", "cleo"]),
        ('dept="Human Resources"', ["ben"]),
        ("dept='Human Resources'", ["ben"]),
        ("dept=Sales", ["anna"]),
        ("DEPT~sal", ["anna"]),
        ("dept=Pinned", ["cleo"]),
        ("dept=Research", []),
        ("n=7", ["anna"]),
        ('note="it\'s 100 %"', ["anna"]),
        ("gone=", ["anna", "ben", "cleo"]),
        ("batch=1 runbook=wave", ["anna", "ben", "cleo"]),
        ("batch=2", []),
    ],
)
def test_a_selection_means_these_members(world: World, text: str, keys: list[str]) -> None:
    assert [key for _, key in selected(world.store.database, parse(text))] == keys


def test_a_selection_looks_into_open_batches_only_unless_one_is_named(world: World) -> None:
    with world.store.undone():
        world.command(ev.CancelBatch(batch_id=1, actor="op", reason="r"))
        world.run()
        assert selected(world.store.database, parse("key~a")) == []
        assert [key for _, key in selected(world.store.database, parse("key~a"), 1)] == ["anna"]


@pytest.mark.parametrize("text", ["", "  ", "status", "=x", "a=b c", 'a="b', "a==b", 'a="b"c', "a = = b"])
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(TminusError) as raised:
        parse(text)
    assert raised.value.code == "E403"


@given(st.lists(st.tuples(st.sampled_from(["status", "dept", "n'; DROP TABLE x"]), st.text(max_size=20)), min_size=1))
def test_values_are_only_ever_parameters(pairs: list[tuple[str, str]]) -> None:
    terms = tuple(Term(field, "=", value) for field, value in pairs)
    sql, params = compiled(terms)
    assert sql.count("?") == len(params)
    assert "DROP" not in sql
    assert [params[-1]] == [pairs[-1][1]]


@given(st.text(alphabet=st.characters(exclude_characters="\"'", exclude_categories=["Cs"]), max_size=30))
def test_any_quoted_value_is_read_back(value: str) -> None:
    assert parse(f'key="{value}" status=failed')[0] == Term("key", "=", value)


def test_any_value_at_all_can_be_asked_for(world: World) -> None:
    for value in ("%", "_", "\\", "\u2028", "é", orjson.dumps({"a": 1}).decode()):
        assert selected(world.store.database, (Term("dept", "=", value),)) == []
