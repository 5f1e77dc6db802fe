"""Keys: which are twins, and which characters none may hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tminus.domain.members import forbidden, invisible, twin

KEYS = st.text(min_size=1, max_size=40)


@given(KEYS)
@example("\u0390\u0345\u1e9e\u01c5")
@example("\ufb03\u3164\u1d2c")
def test_the_form_of_a_form_is_itself(key: str) -> None:
    assert twin(twin(key)) == twin(key)


@given(KEYS)
def test_letter_case_and_composition_make_twins(key: str) -> None:
    for other in (key.casefold(), unicodedata.normalize("NFD", key), unicodedata.normalize("NFKC", key)):
        assert twin(other) == twin(key)


@given(KEYS, st.sampled_from("\u200b\u200d\u202e\u2066\ufeff\u00ad\ufe0f\u034f\u3164\U000e0101"), st.integers(0, 40))
def test_what_cannot_be_seen_makes_twins(key: str, hidden: str, at: int) -> None:
    assert invisible(hidden)
    spread = key[:at] + hidden + key[at:]
    # A hidden character between two parts of one letter keeps them from being composed; without it they are.
    assert twin(spread) == twin(key)


@pytest.mark.parametrize(("one", "other"), [("ann", "\u0430nn"), ("o", "0"), ("l", "1"), ("a b", "ab"), ("é", "e")])
def test_what_differs_to_the_eye_or_to_a_database_stays_apart(one: str, other: str) -> None:
    assert twin(one) != twin(other)


@pytest.mark.parametrize(
    ("key", "name"),
    [("a\nb", "U+000A"), ("\x7f", "U+007F"), ("\x9b", "U+009B"), ("\u2028", "U+2028"), ("\ud800", "U+D800")],
)
def test_control_characters_are_forbidden(key: str, name: str) -> None:
    assert forbidden(key) == name


@pytest.mark.parametrize("key", ["ann", "a b", "é😀", "a\u200bb", "\u202ea"])
def test_other_characters_are_not(key: str) -> None:
    assert forbidden(key) is None
