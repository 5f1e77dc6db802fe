"""Whatever functions return or raise becomes the answer that the corpus says, and the child lives on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.workers import results
from tests.integration.workers.results import CASES, Case
from tminus.ports.runner import Answer, Job, Report
from tminus.testing.runner_suite import gathered
from tminus.workers.pool import PoolSettings, PythonPool

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIXES = ("", "async-")


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, Report]]:
    """Run the whole corpus once, in one child that must outlive it."""
    pool = PythonPool(PoolSettings(children=1))
    pool.start([str(Path(results.__file__))])
    pool.submit([Job(prefix + case.name, prefix + case.name, "{}") for case in CASES for prefix in PREFIXES])
    yield gathered(pool, len(CASES) * len(PREFIXES), 60)
    assert pool.health().deaths == 0
    pool.close(0)


def test_the_corpus_is_as_large_as_was_promised() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 100


@pytest.mark.parametrize("prefix", PREFIXES, ids=["plain", "async"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_answer_is_what_the_corpus_says(answers: dict[str, Report], case: Case, prefix: str) -> None:
    answer = answers[prefix + case.name]
    assert isinstance(answer, Answer)
    assert answer.complete is case.complete
    if case.error:
        assert answer.error is not None
        assert answer.result is None
        assert not answer.ok
        assert answer.error.type == case.error
        assert case.words in answer.error.message
        assert len(answer.error.message.encode()) <= 8 * 1024
        flags = (answer.error.retryable, answer.error.is_throttled, answer.error.retry_after_s)
        assert flags == (case.retryable, case.throttled, case.after_s)
    else:
        assert answer.error is None
        assert answer.ok
        assert answer.result is not None
        assert json.loads(answer.result, parse_constant=lambda _: math.nan) == case.result
        assert answer.log == ""


@pytest.mark.parametrize("case", [case for case in CASES if case.error], ids=lambda case: case.name)
def test_a_traceback_is_in_the_log_and_nowhere_else(answers: dict[str, Report], case: Case) -> None:
    answer = answers[case.name]
    assert isinstance(answer, Answer)
    assert answer.error is not None
    assert "Traceback" not in answer.error.message
    own_finding = case.error in {"ResultNotJson", "ResultTooLarge"}
    assert ("Traceback (most recent call last)" in answer.log) is not own_finding
    assert "tminus/workers/child" not in answer.log
