"""The behavioural suite of the runner port: what every adapter must do, whatever it runs functions with.

An adapter's tests subclass `RunnerSuite`, give a fixture `runner` that was started on the functions of `NEEDED`, and
say in `features` what the adapter can do beyond the least; they are then tested on exactly that. The suite must not
know any adapter.
"""

from __future__ import annotations

import json
import select
import time
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from tminus.ports.runner import Answer, Job, Report, Returned, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEEDED: Final[Mapping[str, str]] = {
    "suite-echo": "returns {echo: text, attempt, member, batch}: its parameter `text` and what it knows of its job",
    "suite-fail": "fails with a failure of type SuiteFailure, whose message is `length` times the letter x",
    "suite-fatal": "fails, and says that trying again cannot help",
    "suite-throttled": "says that it is throttled, for 7 seconds",
    "suite-pending": "returns {complete: false, data: {percent: 40}}",
    "suite-complete": "returns {complete: true, data: {id: 1}}",
    "suite-large": "returns a text of `length` letters x",
    "suite-sleep": "returns after `seconds`",
    "suite-print": "prints its parameter `text`, then fails with type SuiteFailure when `fail` is true",
    "suite-die": "ends the process that it runs in",
}
PATIENCE_S: Final = 20.0
BATCH: Final = 300
MESSAGE_BYTES_MAX: Final = 8 * 1024
LINES: Final = 50
LONG_S: Final = 2.0


class Feature(StrEnum):
    """What an adapter can do beyond the least."""

    LOG = "log"
    """It keeps what functions print."""
    DEATH = "death"
    """Its functions run in processes that may die."""


def job(number: int, function: str, *, attempt: int = 1, **params: object) -> Job:
    """Make a job of batch 7 for member `user-0001`."""
    return Job(f"step-{number}", function, json.dumps(params), attempt, "user-0001", 7)


def gathered(runner: Runner, count: int, patience_s: float = PATIENCE_S) -> dict[str, Report]:
    """Poll until so many reports have come; a second report of one job is a failure of its own."""
    found: dict[str, Report] = {}
    end_s = time.monotonic() + patience_s
    while len(found) < count and time.monotonic() < end_s:
        for report in runner.poll(0.5):
            assert report.job_id not in found, f"{report.job_id} was reported twice"
            found[report.job_id] = report
    assert len(found) >= count, f"{len(found)} of {count} reports within {patience_s} s: {runner.health()}"
    return found


def answer_to(runner: Runner, one: Job) -> Answer:
    """Run one job and return its answer."""
    runner.submit([one])
    report = gathered(runner, 1)[one.job_id]
    assert isinstance(report, Answer), report
    return report


def result_of(answer: Answer) -> object:
    """Parse a result."""
    assert answer.ok, answer.error
    assert answer.error is None
    assert answer.result is not None
    parsed: object = json.loads(answer.result)
    return parsed


def returned(reports: Iterable[Report]) -> dict[str, bool]:
    """Return the jobs that came back, and whether they had started."""
    return {report.job_id: report.started for report in reports if isinstance(report, Returned)}


class RunnerSuite:
    """Subclass it, with a fixture `runner`."""

    features: ClassVar[frozenset[Feature]] = frozenset()

    def test_a_function_gets_its_parameters_and_knows_its_job(self, runner: Runner) -> None:
        """The result is the function's own, and so are the facts about its job."""
        answer = answer_to(runner, job(1, "suite-echo", attempt=3, text="Ünal 李 😀"))
        expected = {"echo": "Ünal 李 😀", "job": "step-1", "attempt": 3, "member": "user-0001", "batch": 7}
        assert result_of(answer) == expected
        assert answer.complete is None
        assert abs(answer.started_ms / 1000 - time.time()) < PATIENCE_S

    def test_every_job_is_answered_once_with_its_own_result(self, runner: Runner) -> None:
        """Many at once, more than are welcome."""
        count = BATCH + runner.free()
        runner.submit([job(number, "suite-echo", text=str(number)) for number in range(count)])
        found = gathered(runner, count)
        for number in range(count):
            answer = found[f"step-{number}"]
            assert isinstance(answer, Answer)
            result = result_of(answer)
            assert isinstance(result, dict)
            assert result["echo"] == str(number)
        assert runner.poll(0.1) == []

    def test_the_names_on_offer_are_the_functions(self, runner: Runner) -> None:
        """No more and no fewer."""
        assert runner.functions() == frozenset(NEEDED)

    @pytest.mark.parametrize("name", ["suite-ech0", "", "__import__", "os.system", "suite-echo.__call__", "Suite-Echo"])
    def test_an_unknown_name_is_refused_for_good(self, runner: Runner, name: str) -> None:
        """No name is looked up anywhere but among the functions on offer."""
        answer = answer_to(runner, job(1, name))
        assert answer.error is not None
        assert (answer.error.type, answer.error.retryable) == ("FunctionNotFound", False)

    @pytest.mark.parametrize("params", ["", "{", "[]", "null", '"text"', "{}{}", '{"text": "\ud800"}'])
    def test_parameters_that_are_no_object_are_refused_for_good(self, runner: Runner, params: str) -> None:
        """The answer says so, and the runner goes on."""
        answer = answer_to(runner, Job("step-1", "suite-echo", params))
        assert answer.error is not None
        assert (answer.error.type, answer.error.retryable) == ("ArgumentError", False)
        assert result_of(answer_to(runner, job(2, "suite-echo", text="on")))

    def test_a_failure_has_its_kind_and_a_bounded_message(self, runner: Runner) -> None:
        """A message of any length arrives, cut."""
        short = answer_to(runner, job(1, "suite-fail", length=10)).error
        assert short is not None
        assert (short.type, short.message) == ("SuiteFailure", "x" * 10)
        assert (short.retryable, short.is_throttled, short.retry_after_s) == (True, False, None)
        long = answer_to(runner, job(2, "suite-fail", length=1_000_000))
        assert long.error is not None
        assert long.result is None
        assert MESSAGE_BYTES_MAX // 2 < len(long.error.message.encode()) <= MESSAGE_BYTES_MAX

    def test_throttled_and_fatal_say_when_to_come_back(self, runner: Runner) -> None:
        """Seven seconds, and never."""
        throttled = answer_to(runner, job(1, "suite-throttled")).error
        assert throttled is not None
        assert (throttled.is_throttled, throttled.retry_after_s, throttled.retryable) == (True, 7.0, True)
        fatal = answer_to(runner, job(2, "suite-fatal")).error
        assert fatal is not None
        assert (fatal.is_throttled, fatal.retryable) == (False, False)

    def test_complete_is_read_from_the_result(self, runner: Runner) -> None:
        """Both words decide, and the result stays whole."""
        pending = answer_to(runner, job(1, "suite-pending"))
        assert (pending.ok, pending.complete) == (True, False)
        assert result_of(pending) == {"complete": False, "data": {"percent": 40}}
        complete = answer_to(runner, job(2, "suite-complete"))
        assert complete.complete is True
        assert result_of(complete) == {"complete": True, "data": {"id": 1}}

    def test_a_large_result_arrives_whole_and_a_huge_one_is_refused(self, runner: Runner) -> None:
        """The store keeps large ones apart; nobody keeps huge ones."""
        assert result_of(answer_to(runner, job(1, "suite-large", length=5_000_000))) == "x" * 5_000_000
        huge = answer_to(runner, job(2, "suite-large", length=17 * 1024 * 1024)).error
        assert huge is not None
        assert (huge.type, huge.retryable) == ("ResultTooLarge", False)

    def test_one_that_takes_long_holds_up_nobody(self, runner: Runner) -> None:
        """Others are answered while it runs, and the caller is never kept waiting."""
        begun_s = time.monotonic()
        runner.submit([job(0, "suite-sleep", seconds=LONG_S)])
        runner.submit([job(number, "suite-echo", text="") for number in range(1, 40)])
        assert time.monotonic() - begun_s < 1
        assert "step-0" not in gathered(runner, 39)
        assert time.monotonic() - begun_s < LONG_S - 0.1
        answer = gathered(runner, 1)["step-0"]
        assert isinstance(answer, Answer)
        assert LONG_S - 0.01 < answer.duration_ms / 1000 < PATIENCE_S

    def test_the_descriptor_wakes_a_selector(self, runner: Runner) -> None:
        """It stays the same, is quiet while nothing happens, and readable when an answer has come."""
        descriptor = runner.fileno()
        while select.select([descriptor], [], [], 0.2)[0]:
            runner.poll(0)
        runner.submit([job(1, "suite-sleep", seconds=0.3)])
        found: list[Report] = []
        while not found:
            assert select.select([descriptor], [], [], PATIENCE_S)[0], "an answer came and nothing woke"
            found = runner.poll(0)
        runner.submit([Job("step-2", "suite-echo", '{"text": "\ud800"}')])
        assert select.select([descriptor], [], [], PATIENCE_S)[0], "a refusal at once woke nobody"
        gathered(runner, 1)
        assert runner.fileno() == descriptor

    def test_beats_are_the_jobs_in_hand(self, runner: Runner) -> None:
        """From taking a job until it is reported."""
        assert runner.beats() == []
        runner.submit([job(1, "suite-sleep", seconds=0.5), job(2, "suite-sleep", seconds=0.5)])
        assert sorted(runner.beats()) == ["step-1", "step-2"]
        gathered(runner, 2)
        assert runner.beats() == []

    def test_a_job_in_hand_is_not_started_twice(self, runner: Runner) -> None:
        """A redelivery while the first still runs is the same job; afterwards it is run again."""
        runner.submit([job(1, "suite-sleep", seconds=0.5)])
        runner.submit([job(1, "suite-sleep", seconds=0.5), job(1, "suite-sleep", seconds=0.5)])
        gathered(runner, 1)
        assert runner.poll(0.7) == []
        answer_to(runner, job(1, "suite-sleep", seconds=0))

    def test_free_shrinks_with_what_is_in_hand_and_recovers(self, runner: Runner) -> None:
        """A runner that is full says so, and takes no harm from more."""
        free = runner.free()
        assert free > 0
        runner.submit([job(number, "suite-sleep", seconds=0.5) for number in range(free + 5)])
        assert runner.free() == 0
        gathered(runner, free + 5)
        assert runner.free() >= free

    def test_an_abandoned_job_is_never_heard_of(self, runner: Runner) -> None:
        """Its neighbours are answered, and it keeps no place."""
        free = runner.free()
        end_of_one_s = time.monotonic() + 2
        runner.submit([job(1, "suite-sleep", seconds=2), *(job(n, "suite-sleep", seconds=0.5) for n in range(2, 6))])
        time.sleep(0.2)
        runner.abandon("step-1")
        runner.abandon("step-99")
        assert "step-1" not in runner.beats()
        assert set(gathered(runner, 4)) == {"step-2", "step-3", "step-4", "step-5"}
        end_s = time.monotonic() + PATIENCE_S
        while runner.free() < free and time.monotonic() < end_s:
            assert runner.poll(0.1) == []
        assert runner.free() >= free
        while time.monotonic() < end_of_one_s + 0.3:
            assert runner.poll(0.1) == []

    def test_closing_reports_all_that_was_in_hand(self, runner: Runner) -> None:
        """What runs may finish in time, what does not finish and what has not begun come back."""
        free = runner.free()
        quick = [job(number, "suite-sleep", seconds=0.3) for number in range(3)]
        slow = [job(number, "suite-sleep", seconds=30) for number in range(3, free)]
        late = [job(number, "suite-echo", text="") for number in range(free, free + 50)]
        runner.submit([*quick, *slow, *late])
        time.sleep(0.1)
        begun_s = time.monotonic()
        reports = runner.close(1.5)
        assert time.monotonic() - begun_s < PATIENCE_S
        assert len(reports) == len({report.job_id for report in reports}) == free + 50
        back = returned(reports)
        assert all(back[one.job_id] for one in slow)
        assert all(back.get(one.job_id, True) for one in quick)
        assert sum(not started for started in back.values()) >= len(late) - len(quick)
        assert runner.beats() == []
        assert runner.close(0) == []

    def test_after_draining_nothing_begins(self, runner: Runner) -> None:
        """Jobs that come too late are returned as not started."""
        runner.submit([job(1, "suite-sleep", seconds=0.5)])
        time.sleep(0.2)
        runner.drain()
        runner.submit([job(2, "suite-echo", text="")])
        assert runner.free() == 0
        found = gathered(runner, 2)
        assert isinstance(found["step-1"], Answer)
        assert returned(found.values()) == {"step-2": False}

    def test_what_functions_print_is_in_the_log(self, runner: Runner) -> None:
        """Each attempt has its own, cut in the middle; a failure adds where it happened."""
        if Feature.LOG not in self.features:
            return
        runner.submit([job(number, "suite-print", text=f"line of {number}\n" * LINES) for number in range(20)])
        for number, answer in enumerate(sorted(gathered(runner, 20).values(), key=lambda one: int(one.job_id[5:]))):
            assert isinstance(answer, Answer)
            assert answer.log.count(f"line of {number}\n") == LINES
            assert answer.log.count("line of") == LINES
        failed = answer_to(runner, job(1, "suite-print", text="first" + "x" * 1_000_000 + "last", fail=True))
        assert len(failed.log.encode()) <= 64 * 1024
        assert failed.log.startswith("first")
        assert "last" in failed.log
        assert "SuiteFailure" in failed.log

    def test_a_death_returns_the_jobs_and_is_made_good(self, runner: Runner) -> None:
        """The job is delivered again by others; here all goes on, and the death is told."""
        if Feature.DEATH not in self.features:
            return
        runner.submit([job(1, "suite-die")])
        assert returned(gathered(runner, 1).values()) == {"step-1": True}
        health = runner.health()
        assert (health.deaths, bool(health.last_death)) == (1, True)
        runner.submit([job(number, "suite-echo", text="") for number in range(2, 202)])
        assert all(isinstance(report, Answer) for report in gathered(runner, 200).values())
