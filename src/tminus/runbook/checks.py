"""What keys mean together: unique names, references that lead somewhere, numbers that fit each other.

Each check looks at fields that were read, points at the place in the file, and leaves alone what was already reported:
a key in error is absent here. What templates name is checked in `naming`. This module must not know YAML.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from tminus.runbook.duration import format_duration
from tminus.runbook.keys import (
    LimitKeys,
    PhaseKeys,
    PollKeys,
    RetryKeys,
    RunbookKeys,
    StepKeys,
)
from tminus.runbook.model import Share
from tminus.runbook.naming import check_names
from tminus.runbook.offset import Offset
from tminus.runbook.source_checks import check_source
from tminus.runbook.wording import did_you_mean, listed, quoted
from tminus.runbook.zones import has_clock_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tminus.runbook.kinds import Located
    from tminus.runbook.problem import Report, Spot
    from tminus.runbook.shapes import Fields, Key

_DAY_S: Final = 86_400

STEP_LISTS: Final = (
    RunbookKeys.init,
    RunbookKeys.on_member_removed,
    RunbookKeys.on_member_failed,
    RunbookKeys.on_batch_finished,
)


def check(book: Fields, report: Report) -> None:
    """Check a whole runbook."""
    source = book.take(RunbookKeys.data_source)
    if source is not None:
        check_source(source, report)
    check_phases(book, report)
    check_rollbacks(book, report)
    for what, steps in step_lists(book):
        unique(((step.value, StepKeys.name) for step in steps), f"step of {what}", report)
        for step in steps:
            check_step(step.value, report)
    if (retry := book.take(RunbookKeys.retry)) is not None:
        check_retry(retry, report)
    check_limits(book, report)
    check_names(book, report)


def check_limits(book: Fields, report: Report) -> None:
    """Check that each limit limits something that the runbook uses."""
    steps = [step.value for _, steps in step_lists(book) for step in steps]
    functions = [function.value for step in steps if (function := step.take(StepKeys.function)) is not None]
    known = {worker for step in steps if (worker := step.take(StepKeys.worker_id)) is not None}
    known |= {function.source for function in functions if function.constant}
    for name, limit in (book.take(RunbookKeys.limits) or {}).items():
        if not (limit.value.stands(LimitKeys.in_flight) or limit.value.stands(LimitKeys.per_minute)):
            report.error("E233", f"limit {quoted(name)} limits nothing", limit.spot, "write in_flight or per_minute")
        elif name not in known and all(function.constant for function in functions):
            hint = "limits are named by worker_id or function"
            hint = hint if report.full else did_you_mean(name, known) or hint
            report.warn("W109", f"no step uses {quoted(name)}, which this limit is for", limit.spot, hint)


def step_lists(book: Fields) -> Iterator[tuple[str, list[Located[Fields]]]]:
    """Yield every list of steps with the words for it."""
    for key in STEP_LISTS:
        yield key.name, book.take(key) or []
    for phase in book.take(RunbookKeys.phases) or []:
        name = phase.value.take(PhaseKeys.name) or ""
        yield f"phase {quoted(name)}", phase.value.take(PhaseKeys.steps) or []
    for name, steps in (book.take(RunbookKeys.rollbacks) or {}).items():
        yield f"rollback {quoted(name)}", steps.value


def unique(named: Iterable[tuple[Fields, Key[str]]], what: str, report: Report) -> None:
    """Report names that stand twice, also those that only look different."""
    places = ((fields.take(key), fields.spot(key)) for fields, key in named)
    no_twins(((name, spot) for name, spot in places if name is not None), what, report)


def no_twins(named: Iterable[tuple[str, Spot]], what: str, report: Report) -> None:
    """Report names that are equal, or equal but for letter case and Unicode forms: people cannot tell them apart."""
    seen: dict[str, tuple[str, Spot]] = {}
    for name, spot in named:
        first, place = seen.setdefault(folded(name), (name, spot))
        if place is spot:
            continue
        hint = f"the first is in line {place.line}; give this one another name"
        if first == name:
            report.error("E210", f"a second {what} is called {quoted(name)}", spot, hint)
        else:
            report.error("E211", f"{what} {quoted(name)} looks like {quoted(first)}", spot, hint)


def folded(name: str) -> str:
    """Return what is left of a name when letter case and Unicode forms do not count."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def check_phases(book: Fields, report: Report) -> None:
    """Check what phases mean: names, offsets that are elapsed time in a zone with clock changes, rings."""
    phases = [phase.value for phase in book.take(RunbookKeys.phases) or []]
    unique(((phase, PhaseKeys.name) for phase in phases), "phase", report)
    zone = book.take(RunbookKeys.timezone) or "UTC"
    for phase in phases:
        offset = phase.take(PhaseKeys.offset)
        if offset is not None and abs(offset.value.seconds) >= _DAY_S and has_clock_changes(zone):
            days, rest = divmod(abs(offset.value.seconds), _DAY_S)
            sign = 1 if offset.value.minutes > 0 else -1
            calendar = Offset(sign * (abs(offset.value.days) + days), sign * rest)
            message = f"{quoted(str(offset.value))} is elapsed time; across a clock change it differs from"
            report.warn("W107", f'{message} "{calendar}"', offset.spot, f"write {calendar} if calendar days are meant")
        check_rings(phase, report)


def check_rings(phase: Fields, report: Report) -> None:
    """Check that only the last ring takes everybody: nobody is left for those behind it."""
    rings = phase.take(PhaseKeys.rings) or []
    for ring in rings[:-1]:
        if ring.value == Share(percent=100.0):
            hint = 'only the last ring takes the rest, such as [1, "10%", "100%"]'
            report.error("E231", "a ring of 100% leaves nobody for the rings after it", ring.spot, hint)


def check_rollbacks(book: Fields, report: Report) -> None:
    """Check that every on_failure leads to a rollback, every rollback is used, and none starts another."""
    rollbacks = book.take(RunbookKeys.rollbacks) or {}
    no_twins(((name, steps.spot) for name, steps in rollbacks.items()), "rollback", report)
    inside = {id(step.value) for steps in rollbacks.values() for step in steps.value}
    written = _written_names(book)
    used: set[str] = set()
    for _, steps in step_lists(book):
        for step in steps:
            name = step.value.take(StepKeys.on_failure)
            if name is None:
                continue
            used.add(name)
            spot = step.value.spot(StepKeys.on_failure)
            if id(step.value) in inside:
                hint = "delete it: a rollback goes on with its next step"
                report.error("E216", "a step of a rollback cannot start a rollback", spot, hint)
            elif name not in written:
                known = f"rollbacks: {listed(written)}" if written else 'add it under "rollbacks"'
                hint = known if report.full else did_you_mean(name, written) or known
                report.error("E215", f"no rollback is called {quoted(name)}", spot, hint)
    for name, sequence in rollbacks.items():
        # While a reference leads nowhere, the rollback that nobody names is most likely the one that was meant.
        if name not in used and used <= written:
            report.warn("W102", f"rollback {quoted(name)} is never used", sequence.spot, "name it in an on_failure")


def _written_names(book: Fields) -> set[str]:
    """Return the names of rollbacks that stand in the file, whether or not their steps are in order."""
    node = book.node.entries.get(RunbookKeys.rollbacks.name)
    return set(getattr(node, "entries", ()))


def check_step(step: Fields, report: Report) -> None:
    """Check one step: its poll, its retry, the outputs that it writes."""
    poll, retry = step.take(StepKeys.poll), step.take(StepKeys.retry)
    if poll is not None:
        check_poll(poll, report)
    if retry is not None:
        check_retry(retry, report)
    outputs = step.take(StepKeys.output_params) or {}
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        first = seen.setdefault(folded(name), name)
        if first != name:
            message = f"outputs {quoted(first)} and {quoted(name)} differ in letter case only"
            report.error("E229", message, path.spot, "templates find names in any letter case; keep one")
        if any(not part.strip() for part in path.value.split(".")):
            hint = "write field or field.inner"
            report.error("E230", f"{quoted(path.value)} is no path into a result", path.spot, hint)


def check_poll(poll: Fields, report: Report) -> None:
    """Check that a poll can ask at least once."""
    interval_s, timeout_s = poll.take(PollKeys.interval), poll.take(PollKeys.timeout)
    if interval_s is not None and timeout_s is not None and timeout_s < interval_s:
        asks, ends = format_duration(interval_s), format_duration(timeout_s)
        message = f"the poll gives up after {ends}, before it first asks after {asks}"
        report.error("E218", message, poll.spot(PollKeys.timeout), f"a timeout of at least {asks}")


def check_retry(retry: Fields, report: Report) -> None:
    """Check that a policy with retries says how long it waits, and that its bounds leave room for one."""
    retries = retry.take(RetryKeys.max_retries)
    if not retry.stands(RetryKeys.max_retries):
        report.warn("W110", "a retry without max_retries retries nothing", retry.node.spot, "write max_retries: 2")
    if retries and not retry.stands(RetryKeys.interval):
        message = f"{retries:g} retries, but no interval between them"
        report.error("E201", message, retry.spot(RetryKeys.max_retries), "write interval: 1m")
    interval_s = retry.take(RetryKeys.interval) or 0.0
    for key, words in ((RetryKeys.max_interval, "the longest wait"), (RetryKeys.total, "the time over all tries")):
        bound_s = retry.take(key)
        if bound_s is not None and bound_s < interval_s:
            message = f"{words}, {format_duration(bound_s)}, is shorter than the first wait"
            report.error("E234", message, retry.spot(key), f"at least {format_duration(interval_s)}")
