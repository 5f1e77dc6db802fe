"""Faults: whatever is typed is a fault or an error with a code, and a fault strikes as it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.domain.errors import TminusError
from tminus.engine.rehearse.fault import Fault, parse_fault
from tminus.ports.rehearsal import Part
from tminus.runbook import load

BOOK = load(
    "name: b\ndata_source: {type: manual, primary_key: k}\nphases:\n  - name: go\n    offset: T-0\n    steps:\n"
    "      - {name: move, worker_id: w, function: Move-It}\n"
)


def part(key: str = "anna") -> Part:
    step = BOOK.phases[0].steps[0]
    return Part(execution_id=1, batch_id=1, kind="phase", sequence="go", member_key=key, step=step)


def read(text: str) -> Fault | str:
    try:
        return parse_fault(text)
    except TminusError as error:
        return error.code


@given(st.text(max_size=60))
def test_any_text_is_a_fault_or_an_error_with_a_code(text: str) -> None:
    found = read(text)
    assert found in {"E430", "E206", "E207"} if isinstance(found, str) else found.text == text


@given(
    st.from_regex(r"[A-Za-z*][A-Za-z0-9_/-]{0,20}", fullmatch=True),
    st.sampled_from(["fail", "429", "lost"]),
    st.integers(1, 1000),
)
def test_what_is_written_is_what_is_read(target: str, kind: str, nth: int) -> None:
    found = parse_fault(f"{target}:{kind}@{nth}")
    assert (found.target, found.kind, found.nth, found.share, found.key) == (target, kind, nth, None, None)


@pytest.mark.parametrize("target", ["Move-It", "move-it", "move", "go/move", "w", "*"])
def test_a_target_is_a_function_a_step_a_phase_a_worker_or_all(target: str) -> None:
    assert parse_fault(f"{target}:fail").aims_at(part(), "Move-It")


@pytest.mark.parametrize("target", ["Moved", "go", "stop/move", "v", "mov*"])
def test_anything_else_is_not_meant(target: str) -> None:
    assert not parse_fault(f"{target}:fail").aims_at(part(), "Move-It")


def strikes(fault: Fault, call: int = 1, key: str = "anna", seed: int = 0) -> bool:
    return fault.strikes(part(key), call, seed, f"step-{call}")


def test_a_number_strikes_once() -> None:
    assert [call for call in range(1, 9) if strikes(parse_fault("move:fail@3"), call)] == [3]


def test_a_key_strikes_one_member() -> None:
    fault = parse_fault("move:fail@key=anna")
    assert (strikes(fault), strikes(fault, key="ben")) == (True, False)


def test_a_share_strikes_about_as_often_as_it_says_and_the_seed_chooses() -> None:
    fault = parse_fault("move:429@25%")
    struck = {seed: {call for call in range(2_000) if strikes(fault, call, seed=seed)} for seed in (1, 2)}
    assert 400 < len(struck[1]) < 600
    assert struck[1] != struck[2]
    assert struck[1] == {call for call in range(2_000) if strikes(fault, call, seed=1)}
