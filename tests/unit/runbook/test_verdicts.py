"""Verdicts: every error at once, at its place, with a hint; and how a terminal shows them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runbook.samples import SMALL, small
from tminus.domain.errors import TminusError
from tminus.runbook import load, parse, render
from tminus.runbook.problem import MOST_PROBLEMS

TYPO = small(
    step="on_failur: undo-cutover\ntimeout: 0s\nparams: {A: '{{b'}",
    phase="brake: much",
    top="timezone: Europe/Berlin\n",
).replace("T-0", "T-36h")


def test_all_errors_are_told_at_once_in_the_order_of_the_file() -> None:
    verdict = parse(TYPO)
    assert not verdict.ok
    assert verdict.runbook is None
    assert [(problem.code, problem.line, problem.column, problem.width) for problem in verdict.problems] == [
        ("W107", 5, 13, 5),
        ("E232", 6, 12, 4),
        ("E214", 11, 9, 9),
        ("E207", 12, 18, 2),
        ("E223", 13, 21, 5),
    ]
    assert [problem.code for problem in verdict.warnings] == ["W107"]
    assert len(verdict.errors) == 4


def test_a_terminal_sees_place_code_hint_and_the_line() -> None:
    assert render(parse(TYPO, place="wave.yaml"), TYPO) == (
        'wave.yaml:5:13  warning W107  "T-36h" is elapsed time; across a clock change it differs from "T-1d12h"'
        "  - write T-1d12h if calendar days are meant\n"
        'wave.yaml:6:12  error E232  brake is no number of members: the text "much"  - write 3 or "10%"\n'
        "    5 |     offset: T-36h\n"
        "    6 |     brake: much\n"
        "      |            ^^^^\n"
        'wave.yaml:11:9  error E214  unknown key "on_failur"  - did you mean "on_failure"?\n'
        "   10 |         function: New-User\n"
        "   11 |         on_failur: undo-cutover\n"
        "      |         ^^^^^^^^^\n"
        'wave.yaml:12:18 error E207  timeout: "0s" is no time at all  - must be more than zero\n'
        "   11 |         on_failur: undo-cutover\n"
        "   12 |         timeout: 0s\n"
        "      |                  ^^\n"
        'wave.yaml:13:21 error E223  params.A: braces "{{" are never closed by "}}"  - a template is {{ name }}\n'
        "   12 |         timeout: 0s\n"
        "   13 |         params: {A: '{{b'}\n"
        "      |                     ^^^^^\n"
        "4 errors, 1 warning."
    )


def test_a_valid_file_is_told_what_it_holds() -> None:
    assert render(parse(SMALL), SMALL, "wave.yaml") == "wave.yaml: valid, 1 phase, 1 step."


def test_nothing_reaches_the_terminal_but_what_can_be_seen() -> None:
    text = small(top='"\\e[31mred\\u202e": 1\n')
    shown = render(parse(text), text)
    assert '"\\x1b[31mred\\u202e"' in shown
    assert all(line.isprintable() for line in shown.splitlines())
    raw = "name: \x1b[31m\n"
    assert "\x1b" not in render(parse(raw), raw)


def test_what_may_be_a_password_is_not_shown() -> None:
    text = SMALL.replace("type: manual", "type: csv, batch_time: immediate, connection: 'Password=hunter2'")
    verdict = parse(text)
    assert [problem.code for problem in verdict.problems] == ["E217"]
    assert "hunter2" not in render(verdict, text)


def test_a_long_line_is_cut_around_the_spot() -> None:
    text = SMALL.replace("name: wave", "name: wave # " + "x" * 500).replace("manual", "manula")
    text = text.replace("data_source: {", "data_source: {" + " " * 300)
    lines = render(parse(text), text).splitlines()
    mark = next(line for line in lines if line.rstrip().endswith("^"))
    line = lines[lines.index(mark) - 1]
    assert max(map(len, lines[1:])) < 120
    assert line[mark.index("^") : mark.index("^") + mark.count("^")] == "manula"


def test_a_line_that_fits_is_shown_whole() -> None:
    text = small(
        top="description: " + "x" * 50 + "\n\nlimits: {" + "cloud: {in_flight: 5}, " * 2 + "unused: {in_flght: 1}}\n"
    )
    lines = render(parse(text), text).splitlines()
    assert "   12 | limits: {cloud: {in_flight: 5}, cloud: {in_flight: 5}, unused: {in_flght: 1}}" in lines
    # An empty line before it would tell nothing.
    assert not any(line.startswith("   11 |") for line in lines)


def test_a_verdict_can_be_shown_without_its_text() -> None:
    assert render(parse(TYPO), "").count("error E") == 4


def test_the_list_of_problems_ends_and_says_how_many_more_there_are() -> None:
    verdict = parse(small(top="".join(f"unknown-{number}: 1\n" for number in range(MOST_PROBLEMS + 50))))
    assert len(verdict.problems) == MOST_PROBLEMS + 1
    assert verdict.problems[-1].code == "E120"
    assert verdict.problems[-1].message == "and 50 more problems, not listed"


def test_thousands_of_unknown_references_cost_no_more_than_the_first() -> None:
    step = "      - {{name: s{0}, worker_id: w, function: f, on_failure: rollbakc-{0}}}\n"
    rollback = "  rollback-{0}: [{{name: s, worker_id: w, function: f}}]\n"
    text = SMALL + "".join(step.format(number) for number in range(900)) + "rollbacks:\n"
    text += "".join(rollback.format(number) for number in range(900))
    start = time.perf_counter()
    verdict = parse(text)
    assert time.perf_counter() - start < 1
    assert verdict.problems[0].code == "E215"


def test_every_error_says_how_to_mend_it_or_what_is_expected() -> None:
    verdict = parse("name: [a]\nphases: {}\nfoo: 1\n")
    assert [(problem.code, bool(problem.hint)) for problem in verdict.problems] == [
        ("E201", True),
        ("E202", False),
        ("E202", True),
        ("E214", True),
    ]
    assert verdict.problems[1].message == "name must be text, not a list"


def test_loading_gives_the_runbook_or_raises_the_first_error() -> None:
    assert load(SMALL).name == "wave"
    assert load(SMALL.encode()).name == "wave"
    with pytest.raises(TminusError) as caught:
        load(TYPO)
    assert str(caught.value).startswith("runbook.yaml:6:12: E232 ")


def test_a_byte_order_mark_is_skipped_with_a_warning() -> None:
    for source in ("\ufeff" + SMALL, b"\xef\xbb\xbf" + SMALL.encode()):
        verdict = parse(source)
        assert verdict.ok
        assert [problem.code for problem in verdict.warnings] == ["W101"]


@given(st.text() | st.binary())
def test_any_input_has_a_verdict(source: str | bytes) -> None:
    verdict = parse(source)
    assert verdict.ok == (not verdict.errors)
    assert render(verdict, source)


pieces = st.sampled_from(
    [
        "name",
        "phases",
        "offset",
        ": ",
        "- ",
        "\n",
        "  ",
        "T-0",
        "{",
        "}",
        "[",
        "]",
        "&a",
        "*a",
        "!!x",
        '"',
        "'",
        "#",
        "1",
    ]
)


@given(st.lists(pieces, max_size=40).map("".join))
def test_any_pieces_of_yaml_have_a_verdict_whose_places_are_in_the_file(source: str) -> None:
    verdict = parse(source)
    last = source.count("\n") + 1
    assert all(1 <= problem.line <= last and problem.column >= 1 for problem in verdict.problems)


@given(st.integers(min_value=0, max_value=len(SMALL) - 1), st.sampled_from("\t:-{}[]&*!|>'\"%@`#,\x00\u2028é "))
def test_one_wrong_character_never_crashes(index: int, char: str) -> None:
    verdict = parse(SMALL[:index] + char + SMALL[index + 1 :])
    assert verdict.ok == (not verdict.errors)
