"""Templates: names are looked up, types are kept, values are never expanded again."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import attempted
from tminus.domain.errors import TminusError
from tminus.runbook.template import Params, Scope, Text, Unresolved

PERSON = Scope(
    [
        {"DisplayName": "Ann", "Tags": ["a", "b"], "Enabled": True, "Quota": 50, "Note": None, "Empty": ""},
        {"Disabled": False, "Price": Decimal("1.50"), "Day": date(2026, 12, 4)},
    ]
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9 ._-]{0,10}[A-Za-z0-9]", fullmatch=True)
plain = st.text().filter(lambda text: "{" not in text and "}" not in text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Hello {{DisplayName}}!", "Hello Ann!"),
        ("{{ DisplayName }} {{Quota}}", "Ann 50"),
        ("on: {{Enabled}} {{Disabled}}", "on: true false"),
        ("{{Price}} on {{Day}}", "1.50 on 2026-12-04"),
        ("[{{Note}}{{Empty}}]", "[]"),
        ('tags={{Tags}} "x"', 'tags=["a","b"] "x"'),
        ("100 % of {{DisplayName}} %s", "100 % of Ann %s"),
        ("{{{DisplayName}}}", "{Ann}"),
        ('{"a": {"b": "{{DisplayName}}"} }', '{"a": {"b": "Ann"} }'),
        ("no names at all %", "no names at all %"),
        ("", ""),
    ],
)
def test_names_are_filled_in(source: str, text: str) -> None:
    template = Text.compile(source)
    assert template.text(PERSON) == text
    assert template.resolve(PERSON) == text


@pytest.mark.parametrize(
    ("source", "value"),
    [("{{Tags}}", ["a", "b"]), ("{{ Enabled }}", True), ("{{Quota}}", 50), ("{{Note}}", ""), ("{{Empty}}", "")],
)
def test_a_whole_expression_keeps_the_type(source: str, value: object) -> None:
    resolved = Text.compile(source).resolve(PERSON)
    assert resolved == value
    assert type(resolved) is type(value)


def test_names_are_told_once_and_in_order() -> None:
    template = Text.compile("{{b}} {{a}} {{ b }}")
    assert template.names == ("b", "a")
    assert not template.constant
    assert Text.compile("plain").constant


def test_the_first_layer_wins_and_the_exact_case_before_any_case() -> None:
    scope = Scope([{"NAME": "pinned"}, {"name": "output"}, {"Name": "column", "other": 1}])
    assert scope.find("Name") == "column"
    assert scope.find("name") == "output"
    # No layer has this case: then the layers count again, from the first.
    assert scope.find("nAmE") == "pinned"
    assert scope.find("OTHER") == 1


def test_a_name_without_a_value_names_its_place() -> None:
    params = Params.compile({"A": "x", "Tags": [{"Inner": "{{Missing}}"}]})
    with pytest.raises(Unresolved) as caught:
        params.render(PERSON)
    assert caught.value.name == "Missing"
    assert caught.value.where == "params.Tags[0].Inner"
    assert caught.value.code == "E237"
    assert "{{Missing}} in params.Tags[0].Inner" in str(caught.value)
    with pytest.raises(Unresolved) as whole:
        Text.compile("a {{Missing}}", place="function").text(PERSON)
    assert whole.value.where == "function"


def test_params_render_a_fresh_tree_each_time() -> None:
    params = Params.compile({"List": ["{{DisplayName}}", 1, None], "Map": {"Deep": {"On": True}}, "Plain": "x"})
    first, second = params.render(PERSON), params.render(PERSON)
    assert first == {"List": ["Ann", 1, None], "Map": {"Deep": {"On": True}}, "Plain": "x"}
    assert first["List"] is not second["List"]
    assert first["Map"] is not second["Map"]
    assert params.render(PERSON) == second
    assert params.names == ("DisplayName",)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{{a", "E223"),
        ("a}}", "E223"),
        ("{{a}", "E223"),
        ("{{a{{b}}}}", "E223"),
        ("}}{{", "E223"),
        ("{{{{a}}}}", "E223"),
        ("{{}}", "E224"),
        ("{{  }}", "E224"),
        ("{{a\u200bb}}", "E224"),
        ("{{a\nb}}", "E224"),
        ("{{" + "n" * 201 + "}}", "E224"),
    ],
)
def test_braces_without_a_partner_and_unusable_names_are_refused(source: str, code: str) -> None:
    with pytest.raises(TminusError) as caught:
        Text.compile(source)
    assert caught.value.code == code


@pytest.mark.parametrize("hostile", ["{{DisplayName}}", "{{7*7}}", "%s %d", "{0.__class__}", "{% if x %}", "}}{{"])
def test_a_value_is_data_and_never_expanded_again(hostile: str) -> None:
    scope = Scope([{"Value": hostile, "DisplayName": "Ann"}])
    assert Text.compile("<{{Value}}>").text(scope) == f"<{hostile}>"
    assert Text.compile("{{Value}}").resolve(scope) == hostile


@given(names, values, plain, plain)
def test_text_around_a_name_stays_as_it_is(name: str, value: object, before: str, after: str) -> None:
    scope = Scope([{name: value}])
    alone = Text.compile(f"{before}{{{{ {name} }}}}{after}").text(scope)
    assert alone == before + Text.compile(f"{{{{{name}}}}}").text(scope) + after
    whole = Text.compile(f"{{{{{name}}}}}").resolve(scope)
    assert whole == ("" if value is None else value)


@given(st.text(alphabet="{}ab %\n") | st.text())
def test_any_text_is_a_template_or_refused_with_a_code(source: str) -> None:
    template, code = attempted(Text.compile, source)
    assert code in {"", "E223", "E224"}
    if template is not None:
        # A single brace may stand before a value; what is replaced leaves no pair behind.
        text = template.text(Scope([dict.fromkeys(template.names, "v")]))
        assert "{{" not in text
        assert "}}" not in text


@given(st.dictionaries(names, values, min_size=1), st.data())
def test_a_name_in_any_case_finds_a_value(layer: dict[str, object], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(layer)))
    found = Scope([{}, layer]).find(name.swapcase())
    assert any(found == value or found is value for key, value in layer.items() if key.casefold() == name.casefold())


def test_templates_of_one_source_are_equal() -> None:
    assert Text.compile("{{a}}") == Text.compile("{{a}}") != Text.compile("{{b}}")
    assert len({Text.compile("{{a}}"), Text.compile("{{a}}")}) == 1
    assert Params.compile({"a": ["{{b}}"]}) == Params.compile({"a": ["{{b}}"]}) != Params.compile({"a": ["{{c}}"]})
