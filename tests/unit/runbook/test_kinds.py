"""Kinds of values at their edges: what each takes, what each refuses, and that nothing is reported twice."""

from __future__ import annotations

import pytest

from tests.unit.runbook.samples import SMALL, small
from tminus.runbook import parse

QUEUE = SMALL.replace("type: manual", "type: csv, connection: X, batch_time_column: D, {0}")

# One place for each kind: lines of a step, of a phase, of the end, or of the source.
PLACES = {
    "text": small(top="description: {0}\n"),
    "name": small().replace("name: create", "name: {0}"),
    "secret name": QUEUE.replace("{0}", "warehouse_id: {0}"),
    "flag": small(step="one_way: {0}"),
    "number": small(step="retry: {{max_retries: {0}, interval: 1s}}".replace("{{", "{").replace("}}", "}")),
    "duration": small(step="timeout: {0}"),
    "offset": SMALL.replace("T-0", "{0}"),
    "zone": small(top="timezone: {0}\n"),
    "choice": QUEUE.replace("{0}", "leavers: {policy: {0}}"),
    "template": SMALL.replace("New-User", "{0}"),
    "condition": small(step="when: {0}"),
    "portion": small(phase="brake: {0}"),
    "record": small(phase="gate: {0}"),
    "shorthand": small(phase="deadline: {0}"),
    "list": small(top="inputs: {0}\n"),
    "list entry": small(top="inputs: [{0}]\n"),
    "map": small(top="limits: {0}\n"),
    "map entry": small(step="output_params: {A: {0}}"),
    "tree": small(step="params: {0}"),
    "tree leaf": small(step="params: {A: [{B: {0}}]}"),
}


def codes(text: str) -> list[str]:
    """Return the codes of everything that is said about a text, in the order of the file."""
    return [problem.code for problem in parse(text).problems]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("value", "code"), [("*alias", "E109"), ("!tag x", "E110"), ("1e999", "E119")])
def test_what_the_reader_reported_is_not_reported_again(place: str, value: str, code: str) -> None:
    assert [found for found in codes(PLACES[place].replace("{0}", value)) if found != "W110"] == [code]


@pytest.mark.parametrize(
    ("place", "value", "code"),
    [
        ("text", "[a]", "E202"),
        ("text", "{a: b}", "E202"),
        ("name", "true", "E202"),
        ("name", "''", "E203"),
        ("secret name", "[a]", "E202"),
        ("secret name", f"{'x' * 201}", "E217"),
        ("flag", "'true'", "E202"),
        ("flag", "[true]", "E202"),
        ("number", "'1'", "E202"),
        ("number", "true", "E202"),
        ("number", "[1]", "E202"),
        ("duration", "[5m]", "E202"),
        ("duration", "true", "E202"),
        ("offset", "[T-0]", "E202"),
        ("offset", "0", "E208"),
        ("zone", "[UTC]", "E202"),
        ("choice", "[ignore]", "E202"),
        ("template", "[a]", "E202"),
        ("condition", "[a]", "E202"),
        ("condition", "'1 ='", "E227"),
        ("portion", "[1]", "E232"),
        ("portion", "true", "E232"),
        ("portion", "-1", "E232"),
        ("portion", "'1.2.3%'", "E232"),
        ("portion", "'\u0661%'", "E232"),
        ("portion", "'%'", "E232"),
        ("record", "[a]", "E202"),
        ("shorthand", "[a]", "E202"),
        ("list", "a", "E202"),
        ("list entry", "[a]", "E202"),
        ("map", "[a]", "E202"),
        ("map entry", "[a]", "E202"),
        ("tree", "[a]", "E202"),
    ],
)
def test_another_kind_of_value_is_refused_once(place: str, value: str, code: str) -> None:
    assert [found for found in codes(PLACES[place].replace("{0}", value)) if found != "W110"] == [code]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("text", "''"),
        ("text", "2026"),
        ("name", "2026"),
        ("name", "'a b'"),
        ("flag", "false"),
        ("number", "0"),
        ("number", "1000"),
        ("number", "2.0"),
        ("duration", "1ms"),
        ("duration", "3650d"),
        ("offset", "T+3650d"),
        ("zone", "Etc/GMT-1"),
        ("zone", "America/Argentina/Buenos_Aires"),
        ("choice", "PROPOSE"),
        ("condition", "false"),
        ("condition", "true"),
        ("portion", "0"),
        ("portion", "'0%'"),
        ("portion", "'100%'"),
        ("portion", "'12.5%'"),
        ("record", "{}"),
        ("shorthand", "8m"),
        ("shorthand", "{after: 8m}"),
        ("list", "[]"),
        ("map", "{}"),
        ("tree", "{}"),
        ("tree", "{A: null, B: [], C: {}, D: 0.1}"),
    ],
)
def test_what_lies_inside_the_bounds_is_taken(place: str, value: str) -> None:
    assert codes(PLACES[place].replace("{0}", value)) == []


def test_a_file_that_is_one_alias_is_told_once() -> None:
    assert codes("*a\n") == ["E109"]


def test_a_value_of_several_lines_is_marked_at_its_beginning() -> None:
    problem = parse(small(step='one_way: "a\n  long text that ends far to the right of where it begins"')).problems[0]
    assert (problem.line, problem.column, problem.width) == (10, 18, 1)


@pytest.mark.parametrize(
    ("leavers", "warned"),
    [
        ("batch_time_column: D", True),
        ("batch_time_column: D, leavers: {grace: 3}", True),
        ("batch_time_column: D, leavers: {policy: propose}", False),
        ("batch_time_column: D, leavers: {policy: ignore}", False),
        ("batch_time: immediate", False),
        ("batch_time: immediate, leavers: {policy: remove}", True),
    ],
)
@pytest.mark.parametrize(
    ("query", "moves"),
    [
        ("SELECT * FROM m WHERE Cr_Status = 1", True),
        ("select * from m where [State] in (1, 2)", True),
        ("SELECT * FROM m WHERE D > CURRENT_DATE", True),
        ("SELECT * FROM m WHERE wave = 1", False),
        ("SELECT status, now() FROM m", False),
        ("SELECT * FROM m WHERE wave = 1 ORDER BY status", False),
    ],
)
def test_a_query_that_moves_is_warned_about_where_leavers_are_removed(
    leavers: str,
    warned: bool,  # noqa: FBT001 - half of the expectation.
    query: str,
    moves: bool,  # noqa: FBT001 - the other half.
) -> None:
    text = SMALL.replace("type: manual", f"type: sql, connection: X, query: '{query}', {leavers}")
    assert codes(text) == (["W108"] if warned and moves else [])


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("type: csv, connection: X, batch_time_column: D, warehouse_id: Y", "warehouse_id"),
        ("type: csv, connection: X, batch_time_column: D, query: SELECT", "query"),
        ("type: event, interval: 5m", "interval"),
        ("type: manual, connection: X", "connection"),
        ("type: manual, leavers: {grace: 1}", "leavers"),
        ("type: manual, query: SELECT", "query"),
    ],
)
def test_a_key_that_the_source_does_not_look_at_is_warned_about(source: str, key: str) -> None:
    verdict = parse(SMALL.replace("type: manual", source))
    assert [(problem.code, problem.message.split()[0]) for problem in verdict.problems] == [("W110", key)]
    assert verdict.ok


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (SMALL.replace("name: wave", "name:"), "write name: wave"),
        (small(phase="brake: much"), 'write 3 or "10%"'),
        (small(phase="rings: [0]"), 'write 1 or "10%", more than 0 and at most "100%"'),
        (small(step="one_way: yes"), "without quotes: true or false"),
        (small(step="params: [a]"), "write Name: value"),
        (small(phase="gate: true"), "with the keys expires"),
        (small(top="inputs: a\n"), "write [a, b] or one entry per line with a dash"),
        (small(top="inputs: {a: b}\n"), "put a dash before it"),
        (small(step="params: {A: Off}"), "write false, or put quotes around it"),
        (small(step="params: {A: On}"), "write true, or put quotes around it"),
        (SMALL.replace("manual", "manua"), 'did you mean "manual"?'),
        (SMALL.replace("manual", "x"), "one of dataverse, databricks, sql, csv, http, event, manual"),
        (small(top="zzz: 1\n"), "runbook has name, description, timezone"),
        (small(step="on-failure: x"), 'did you mean "on_failure"?'),
        (small(step="On_Failure: x"), 'did you mean "on_failure"?'),
        (small(step="on_failure: undo", top="rollbacks: {}\n"), 'add it under "rollbacks"'),
        (SMALL.replace("    offset: T-0\n", ""), "write offset: T-5d"),
        (small(step="params: {A: '{{_x}}'}"), "there are _attempt, _batch_id"),
        (small(step="params: {A: '{{_batch_i}}'}"), 'did you mean "_batch_id"?'),
        (small(step="params: {A: '{{_outcome}}'}"), "it has one in on_batch_finished"),
        (small(top="init: [{name: a, worker_id: w, function: '{{_phase}}'}]\n"), "it has one where there is a member"),
    ],
)
def test_the_hint_says_what_to_write(text: str, hint: str) -> None:
    assert hint in parse(text).problems[0].hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (small(step="one_way: 1"), 'one_way must be true or false, not the number "1"'),
        (small(step="one_way: x"), 'one_way must be true or false, not the text "x"'),
        (small(phase="gate: true"), "gate must be a map, not true (true or false)"),
        (small(phase="gate: [a]"), "gate must be a map, not a list"),
        (small(step="params: x"), 'params must be a map, not the text "x"'),
        (small(top="inputs: {a: b}\n"), "inputs must be a list, not a map"),
        (small(top="inputs: [~]\n"), "inputs entry is empty"),
        (small(step="retry: {max_retries: 1001}"), "max_retries must be a whole number 0 to 1,000, not 1001"),
        (
            small(step="retry: {max_retries: 1, interval: 1s, backoff: 0.5}"),
            "backoff must be a number 1 to 100, not 0.5",
        ),
        (small(top="inputs: [a, b, a]\n"), 'inputs names "a" twice'),
        (small(top="? [a]\n: 1\n"), "a list or map as a key is not text"),
        (small(top="? {a: {b: c}}\n: 1\n"), "a list or map as a key is not text"),
        (small(top="1: 1\n"), '"1" as a key is not text'),
        ("a:\n  b: 1\n c: 2\n", "not YAML: did not find expected key, while parsing a block mapping begun in line 1"),
        ("a: b: c\n", "not YAML: mapping values are not allowed in this context"),
        ("a: 'b\n", "not YAML: found unexpected end of stream, while scanning a quoted scalar"),
        (SMALL.replace("name: create", "naem: create"), 'step has no key "name"'),
        (SMALL.replace("        function: New-User\n", ""), 'step "create" has no key "function"'),
    ],
)
def test_the_message_says_what_stands_there(text: str, message: str) -> None:
    assert message in [problem.message for problem in parse(text).problems]
