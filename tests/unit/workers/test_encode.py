"""Results as JSON text, beyond the corpus: any value at all, and the rule of the key `complete`."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import cast

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tminus.workers.child.encode import ResultNotJson, encoded

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(codec=None)) | st.integers() | st.booleans(), inner, max_size=4)
        | st.frozensets(LEAVES, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_becomes_json_or_a_typed_refusal(value: object) -> None:
    try:
        text, complete = encoded(value)
    except ResultNotJson as refused:
        text, complete = json.dumps(str(refused)), None
        note(text)
    text.encode()
    parsed: object = json.loads(text)
    decides = isinstance(parsed, dict) and any(
        key.lower() == "complete" and isinstance(item, bool) for key, item in cast("dict[str, object]", parsed).items()
    )
    assert (complete is not None) <= decides


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=10))
def test_what_json_holds_stays_as_it_is(value: object) -> None:
    assert json.loads(encoded(value)[0]) == value
    assert json.loads(encoded([value, Decimal(1)])[0]) == [value, "1"]


@given(
    st.dictionaries(
        st.sampled_from(["complete", "Complete", "COMPLETE", "done"]), st.none() | st.booleans() | st.integers(0, 1)
    )
)
def test_both_roads_read_complete_alike(result: dict[str, object]) -> None:
    assert encoded(result)[1] is encoded({**result, "decimal": Decimal(1)})[1]


@pytest.mark.parametrize("count", [1, 1000])
def test_sets_are_written_in_one_order(count: int) -> None:
    numbers = list(range(count))
    assert encoded(set(numbers))[0] == encoded(frozenset(reversed(numbers)))[0]
