"""Parameters become arguments: what fits is converted, what does not is named, and no value is ever shown."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.workers.child.bind import ArgumentError, Binder
from tminus.workers.child.convert import Mismatch, conversion

SECRET = "S3CR3T-value"


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclass
class Address:
    city: str
    number: int = 1
    inside: Address | None = None
    tags: list[str] = field(default_factory=list[str])


class Loose(TypedDict):
    name: str


class Own:
    """A class that means nothing to conversions."""


Upn = NewType("Upn", str)


@pytest.mark.parametrize(
    ("annotation", "given_value", "expected"),
    [
        (str, "x", "x"),
        (str, "", ""),
        (str, 5, "5"),
        (str, 1.5, "1.5"),
        (str, True, "true"),
        (int, 5, 5),
        (int, "5", 5),
        (int, " -5 ", -5),
        (int, "007", 7),
        (int, 5.0, 5),
        (float, 5, 5.0),
        (float, "1.5e3", 1500.0),
        (float, ".5", 0.5),
        (bool, True, True),
        (bool, "True", True),
        (bool, "FALSE", False),
        (bool, "yes", True),
        (bool, "no", False),
        (bool, "1", True),
        (bool, 0, False),
        (Decimal, "12.50", Decimal("12.50")),
        (Decimal, 3, Decimal(3)),
        (datetime, "2026-12-04T22:00:00Z", datetime(2026, 12, 4, 22, tzinfo=UTC)),
        (datetime, "2026-12-04", datetime(2026, 12, 4)),  # noqa: DTZ001 - a naive text stays naive.
        (date, "2026-12-04", date(2026, 12, 4)),
        (date, "2026-12-04T22:00:00", date(2026, 12, 4)),
        (time, "22:00", time(22, 0)),
        (UUID, "12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        (Path, "a/b", Path("a/b")),
        (list[int], ["1", 2], [1, 2]),
        (list[int], '["1", 2]', [1, 2]),
        (list, [1], [1]),
        (tuple[int, ...], ["1"], (1,)),
        (tuple[int, str], ["1", 2], (1, "2")),
        (set[int], ["1", 1], {1}),
        (Sequence[str], [1], ["1"]),
        (dict[str, int], {"a": "1"}, {"a": 1}),
        (dict[int, str], '{"1": 2}', {1: "2"}),
        (Mapping[str, list[int]], {"a": ["1"]}, {"a": [1]}),
        (Optional[int], None, None),  # noqa: UP045 - both ways to write it must be understood.
        (int | None, "", None),
        (int | None, "5", 5),
        (str | None, "", ""),
        (str | None, None, None),
        (Union[int, str], "5", "5"),  # noqa: UP007 - as above.
        (int | str, 5, 5),
        (int | bool, "true", True),
        (int | list[int], ["5"], [5]),
        (date | None, "2026-12-04", date(2026, 12, 4)),
        (Literal["a", "b"], "a", "a"),
        (Literal[1, 2], "2", 2),
        (Literal[True], "true", True),
        (Colour, "red", Colour.RED),
        (Colour, 2, Colour.BLUE),
        (Colour, "2", Colour.BLUE),
        (Colour, "BLUE", Colour.BLUE),
        (Address, {"city": "Ulm", "number": "5"}, Address("Ulm", 5)),
        (Address, {"city": "Ulm", "inside": {"city": "Bonn"}}, Address("Ulm", 1, Address("Bonn"))),
        (Address, '{"city": "Ulm"}', Address("Ulm")),
        (list[Address], [{"city": "Ulm"}], [Address("Ulm")]),
        (Annotated[int, "years"], "5", 5),
        (Upn, "x", "x"),
        (Any, [1], [1]),
        (object, {"a": 1}, {"a": 1}),
        (Own, "x", "x"),
        (Loose, {"name": 1}, {"name": 1}),
    ],
)
def test_what_fits_is_converted(annotation: object, given_value: object, expected: object) -> None:
    convert = conversion(annotation)
    found = convert(given_value) if convert else given_value
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "given_value", "expected", "kind"),
    [
        (str, None, "str", "null"),
        (str, ["x"], "str", "a list"),
        (str, {}, "str", "an object"),
        (int, "5.5", "int", "a text"),
        (int, 5.5, "int", "a number"),
        (int, True, "int", "true or false"),
        (int, "", "int", "an empty text"),
        (int, "1_000", "int", "a text"),
        (int, "٣", "int", "a text"),
        (int, "9" * 5000, "int", "a text"),
        (int, 1e300, "int", "a number"),
        (float, "nan", "float", "a text"),
        (float, "1e9999", "float", "a text"),
        (float, True, "float", "true or false"),
        (bool, "maybe", "bool", "a text"),
        (bool, 2, "bool", "a number"),
        (bool, 1.0, "bool", "a number"),
        (Decimal, "NaN", "Decimal", "a text"),
        (datetime, "tomorrow", "datetime", "a text"),
        (datetime, 5, "datetime", "a number"),
        (date, "2026-02-30", "date", "a text"),
        (UUID, "x", "UUID", "a text"),
        (list[int], "x", "list[int]", "a text"),
        (list[int], "[1", "list[int]", "a text"),
        (set[int], {}, "set[int]", "an object"),
        (set, [[1]], "set", "a list"),
        (tuple[int, str], [1], "tuple[int, str] of 2 items", "a list"),
        (dict[str, int], [], "dict[str, int]", "a list"),
        (int | None, "x", "int", "a text"),
        (int | date, "x", "int | date", "a text"),
        (Literal["a", 1], "c", '"a" or 1', "a text"),
        (Colour, "green", "Colour (RED, BLUE)", "a text"),
        (Address, {"number": 1}, "Address with field city", "an object"),
        (Address, {"city": "x", "town": 1}, "Address without field town", "an object"),
        (Address, "x", "Address", "a text"),
    ],
)
def test_what_does_not_fit_is_named_by_kind(annotation: object, given_value: object, expected: str, kind: str) -> None:
    convert = conversion(annotation)
    assert convert is not None
    with pytest.raises(Mismatch) as caught:
        convert(given_value)
    assert (caught.value.expected, caught.value.given) == (expected, kind)


@pytest.mark.parametrize(
    ("annotation", "given_value", "place"),
    [
        (list[int], [1, SECRET], "[1]"),
        (dict[str, int], {"a": SECRET}, ".a"),
        (dict[str, list[int]], {"a": [1, SECRET]}, ".a[1]"),
        (Address, {"city": "x", "inside": {"city": "y", "number": SECRET}}, ".inside.number"),
        (list[Address], [{"city": None}], "[0].city"),
    ],
)
def test_the_place_inside_is_named_and_the_value_is_not(annotation: object, given_value: object, place: str) -> None:
    def function(**params: object) -> None: ...

    function.__annotations__ = {"params": annotation}
    with pytest.raises(ArgumentError) as caught:
        Binder(function).bound({"user": given_value})
    assert f'"user{place}" takes' in str(caught.value)
    assert SECRET not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ANNOTATIONS = (
    *(str, int, float, bool, Decimal, datetime, date, time, UUID, Path, Colour, Address),
    *(list[int], set[str], dict[str, date], tuple[int, ...], int | None, str | bool, Literal["a", 1, True]),
    *(list[Address] | None, dict[int, list[bool]], Union[date, datetime, None]),  # noqa: UP007 - both ways to write it.
)


@given(annotation=st.sampled_from(ANNOTATIONS), value=JSON)
def test_any_value_is_converted_or_refused(annotation: object, value: object) -> None:
    convert = conversion(annotation)
    assert convert is not None
    try:
        found = convert(value)
    except Mismatch:
        return
    if isinstance(annotation, type) and annotation in {str, int, float, bool, date, Decimal, Colour, Address}:
        assert isinstance(found, annotation)
    if annotation is float:
        assert isinstance(found, float)
        assert math.isfinite(found)


def plain(first: int, second: str = "two") -> tuple[int, str]:
    return first, second


def bound(function: object, params: dict[str, object]) -> object:
    """Bind and call."""
    assert callable(function)
    args, kwargs = Binder(function).bound(params)
    return function(*args, **kwargs)


def test_arguments_are_bound_by_name() -> None:
    assert bound(plain, {"first": "1"}) == (1, "two")
    assert bound(plain, {"second": "x", "first": 1}) == (1, "x")


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ArgumentError) as caught:
        bound(plain, {"Second": "x", "third": SECRET, "second": []})
    message = str(caught.value)
    assert message == (
        'the parameter "second" takes str, not a list; unknown parameter "Second", did you mean "second"?; '
        'unknown parameter "third"; the parameter "first" is missing'
    )


def test_many_problems_are_counted() -> None:
    with pytest.raises(ArgumentError, match="and 1 more") as caught:
        bound(plain, {f"unknown-{number}" * 500: SECRET for number in range(10)})
    assert len(str(caught.value)) < 3000


def test_the_rest_takes_what_is_left() -> None:
    def rest(first: int, **others: int) -> object:
        return first, others

    assert bound(rest, {"first": 1, "a": "2", "b": 3}) == (1, {"a": 2, "b": 3})
    with pytest.raises(ArgumentError, match='"a" takes int'):
        bound(rest, {"first": 1, "a": "x"})


def test_arguments_by_place_only_are_placed() -> None:
    def placed(first: int, second: int = 2, /, third: int = 3, *, fourth: int = 4) -> object:
        return first, second, third, fourth

    assert bound(placed, {"first": "1", "fourth": "5"}) == (1, 2, 3, 5)
    assert bound(placed, {"second": "7", "first": "1", "third": "9"}) == (1, 7, 9, 4)


def test_lists_of_arguments_are_never_filled() -> None:
    def many(*args: int, **kwargs: int) -> object:
        return args, kwargs

    assert bound(many, {"args": 1}) == ((), {"args": 1})


def test_annotations_that_cannot_be_read_convert_nothing_and_hurt_no_others() -> None:
    def partly(a: object, b: object, c: object) -> object:
        return a, b, c

    partly.__annotations__ = {"a": "int", "b": "ForCheckersOnly", "c": "list[int]"}
    assert bound(partly, {"a": "1", "b": "x", "c": ["2"]}) == (1, "x", [2])


def test_a_function_without_a_signature_takes_everything() -> None:
    assert bound(dict, {"a": 1}) == {"a": 1}
