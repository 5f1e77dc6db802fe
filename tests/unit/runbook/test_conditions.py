"""Conditions: what they compare, how, and that nothing else is understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import attempted
from tminus.domain.errors import TminusError
from tminus.runbook.condition import Condition, equal
from tminus.runbook.template import Scope, as_text

MEMBER = Scope(
    [
        {"Dept": "Sales", "Archive": "true", "On": True, "Count": 5, "Text5": "5", "Zip": "007", "Tags": ["a", "B"]},
        {"Null": None, "Blank": "", "None": [], "Map": {}, "Big": 9_007_199_254_740_993, "Half": 0.5, "Whole": 5.0},
    ]
)


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        # Text, letter by letter.
        ("{{Dept}} == 'Sales'", True),
        ('{{Dept}} == "sales"', False),
        ("{{Dept}} != 'HR'", True),
        ("'{{Dept}}-1' == 'Sales-1'", True),
        ("'it''s' == 'x'", None),
        (r"'it\'s' == " + '"it\'s"', True),
        # Truth and numbers equal their text forms.
        ("{{Archive}} == true", True),
        ("{{On}} == true", True),
        ("{{On}} == 'true'", True),
        ("{{On}} == 'True'", False),
        ("{{On}} == 1", False),
        ("{{Count}} == 5", True),
        ("{{Text5}} == 5", True),
        ("{{Text5}} == 5.0", True),
        ("{{Whole}} == 5", True),
        ("{{Count}} == '5'", True),
        ("{{Text5}} == '5.0'", False),
        ("{{Zip}} == 7", False),
        ("{{Zip}} == '007'", True),
        ("{{Half}} == 0.5", True),
        ("{{Count}} == -5", False),
        ("{{Big}} == 9007199254740992", False),
        # Lists.
        ("{{Dept}} in ['HR', 'Sales']", True),
        ("{{Dept}} in ['HR']", False),
        ("{{Dept}} not in ['HR']", True),
        ("{{Count}} in [1, 5]", True),
        ("'B' in {{Tags}}", True),
        ("'b' in {{Tags}}", False),
        ("'a' in {{Dept}}", False),
        ("'Sales' in {{Dept}}", True),
        ("'' in {{Null}}", False),
        ("{{Dept}} in []", False),
        ("{{Dept}} in [{{Dept}}]", True),
        # Emptiness; a name without a value is empty.
        ("empty {{Null}}", True),
        ("empty ({{Blank}})", True),
        ("{{None}} empty", True),
        ("{{Map}} is empty", True),
        ("{{Dept}} is not empty", True),
        ("empty {{Nowhere}}", True),
        ("{{Nowhere}} == ''", True),
        ("'x{{Nowhere}}' == 'x'", True),
        ("{{Null}} == {{Blank}}", True),
        ("empty {{On}}", False),
        # Joining: not binds closer than and, and closer than or.
        ("not empty {{Dept}} and {{Count}} == 5", True),
        ("{{Count}} == 5 or {{Count}} == 6 and {{Dept}} == 'HR'", True),
        ("({{Count}} == 5 or {{Count}} == 6) and {{Dept}} == 'HR'", False),
        ("not ({{Count}} == 5)", False),
        ("not not true", True),
        ("true", True),
        ("false or true", True),
        ("true == 'true'", True),
    ],
)
def test_a_condition_holds_or_not(source: str, holds: bool | None) -> None:  # noqa: FBT001 - it is the expectation.
    if holds is None:
        with pytest.raises(TminusError):
            Condition.compile(source)
    else:
        assert Condition.compile(source).holds(MEMBER) is holds


def test_names_are_told_once() -> None:
    assert Condition.compile("{{a}} == '{{b}}' or {{ a }} in [{{c}}]").names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{a}} == Sales", "Sales at character 10 is neither text nor a template"),
        ("{{a}} = 1", "= 1 at character 7 is not understood"),
        ("{{a}}", "==, !=, in or empty expected, not the end"),
        ("{{a}} == 1 {{b}}", "and, or, or the end expected, not {{b}} at character 12"),
        ("({{a}} == 1", '")" expected, not the end'),
        ("{{a}} in [1 2]", '"," expected, not 2 at character 13'),
        ("", "a value expected, not the end"),
        ("{{a}} not 1", "in expected"),
        ("{{a}} is 1", "empty expected"),
        ("and {{a}} == 1", "a value expected, not and"),
    ],
)
def test_a_refused_condition_names_the_character(source: str, message: str) -> None:
    with pytest.raises(TminusError) as caught:
        Condition.compile(source)
    assert caught.value.code == "E227"
    assert message in caught.value.message


@pytest.mark.parametrize("deep", ["(" * 3_000, "not " * 1_000 + "true", "empty (" * 500, "{{a}} in " + "[" * 3_000])
def test_depth_is_refused_and_not_endured(deep: str) -> None:
    with pytest.raises(TminusError) as caught:
        Condition.compile(deep)
    assert caught.value.code == "E227"


def test_length_is_refused() -> None:
    with pytest.raises(TminusError, match="longer than"):
        Condition.compile("true or " * 600 + "true")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(scalars, scalars)
def test_equality_goes_both_ways_and_holds_for_equal_texts(left: object, right: object) -> None:
    assert equal(left, left)
    assert equal(left, right) == equal(right, left)
    assert equal(left, as_text(left))
    assert Condition.compile("{{l}} != {{r}}").holds(Scope([{"l": left, "r": right}])) is not equal(left, right)


@given(scalars, scalars)
def test_membership_is_equality_with_one_of_a_list(left: object, right: object) -> None:
    scope = Scope([{"l": left, "r": [right]}])
    assert Condition.compile("{{l}} in {{r}}").holds(scope) is equal(left, right)


tokens = st.sampled_from(
    ["{{a}}", "'x'", "5", "true", "==", "!=", "in", "not", "and", "or", "empty", "(", ")", "[", "]"]
)


@given(st.text() | st.lists(tokens, max_size=12).map(" ".join))
def test_any_text_is_a_condition_or_refused_with_a_code(source: str) -> None:
    condition, code = attempted(Condition.compile, source)
    assert code in {"", "E223", "E224", "E227"}
    assert condition is None or condition.holds(Scope([{"a": "x"}])) in {True, False}


@given(st.booleans(), st.booleans(), st.booleans())
def test_and_or_not_are_those_of_logic(a: bool, b: bool, c: bool) -> None:  # noqa: FBT001 - they are the case.
    scope = Scope([{"a": a, "b": b, "c": c}])
    source = "not {{a}} == true or {{b}} == true and not ({{c}} == true)"
    assert Condition.compile(source).holds(scope) is (not a or (b and not c))
