"""Where a runbook of the Toolkit behaves differently here: said once on top, and beside the keys that it is about.

Only what the runbook at hand uses is said. Comments go on lines of their own, before a key and as far in as its line; a
key that shares its line with others is remarked on at the top. Nothing else is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.runbook.intake import lines_of
from tminus.runbook.keys import PhaseKeys, RunbookKeys, SourceKeys, StepKeys
from tminus.runbook.problem import Report
from tminus.runbook.tree import Mapping, Scalar, Sequence, read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.runbook.model import Runbook
    from tminus.runbook.problem import Spot
    from tminus.runbook.tree import Node

GENERAL: Final = (
    "A member that is late finishes a phase before it enters the next; `overlap: true` in a phase lifts that.",
    "A template is resolved when its step is sent, with the newest data; a name without a value fails the step.",
    "A result counts for the attempt that it belongs to; one that comes late changes nothing.",
    "Words without quotes follow YAML 1.2: `yes`, `012` and dates are text, `true` and `42` keep their type.",
)
SOURCE: Final = (
    "A member that two complete answers do not name leaves. Beyond 20 % of a batch within a day, or after T-0, a human",
    "is asked first. `leavers: {policy: propose}` always asks.",
)
IMMEDIATE: Final = ("Leavers are ignored here: such a queue empties because the work is done.",)
TIMES: Final = ("Times without a zone are read in `timezone`, which is UTC until the runbook names one.",)
INIT: Final = ("Init runs once per batch and version; publishing with --rerun-init runs it again in live batches.",)
POLLS: Final = (
    "`complete` is understood in any letter case. A poll that is lost is no failure: the next one follows.",
)
LISTS: Final = (
    'A whole value such as "{{Column}}" keeps its type: a multi-valued column arrives as a list, not as text.',
)
REMOVED: Final = (
    "These steps are tracked like all others. After T-0 or a one-way step a human is asked before they run.",
)
ROLLBACKS: Final = (
    "Rollback steps are tracked: each is waited for, retried and seen; one that fails asks for a human.",
)


def commented(text: str, book: Runbook) -> str:
    """Return the text with comments; it must still be read as the same runbook, which the caller makes sure of."""
    report = Report()
    tree = read_tree(text, report)
    lines, end = lines_of(text), "\r\n" if "\r\n" in text else "\n"
    before: dict[int, list[str]] = {}
    general: list[str] = [*GENERAL]
    for spot, words in _remarks(tree, book) if tree is not None else ():
        line = lines[spot.line - 1]
        if line[: spot.column - 1].strip(" -"):
            general.extend(words)
            continue
        indent = line[: len(line) - len(line.lstrip(" "))]
        before.setdefault(spot.line, []).extend(f"{indent}# {word}" for word in words)
    shown = ["# A runbook of the M&A Toolkit. What is different here, beside the remarks further down:"]
    shown += [f"# - {word}" for word in general]
    for number, line in enumerate(lines, start=1):
        shown += [*before.get(number, ()), line]
    return end.join(shown)


def _remarks(tree: Mapping, book: Runbook) -> Iterator[tuple[Spot, tuple[str, ...]]]:
    """Yield what is to be said, each at the key that it is about, the first of its kind only."""
    source = tree.entries.get(SourceKeys.table.title.replace(" ", "_"))
    if isinstance(source, Mapping):
        yield from _of_source(source, book)
    if RunbookKeys.init.name in tree.key_spots:
        yield tree.key_spots[RunbookKeys.init.name], INIT
    yield from _of_steps(tree, book)
    for key, words in ((RunbookKeys.on_member_removed.name, REMOVED), (RunbookKeys.rollbacks.name, ROLLBACKS)):
        if key in tree.key_spots:
            yield tree.key_spots[key], words


def _of_source(source: Mapping, book: Runbook) -> Iterator[tuple[Spot, tuple[str, ...]]]:
    kind = source.key_spots[SourceKeys.kind.name]
    yield kind, IMMEDIATE if book.data_source.immediate else SOURCE
    column = source.key_spots.get(SourceKeys.batch_time_column.name)
    if column is not None and book.timezone == "UTC":
        yield column, TIMES


def _of_steps(tree: Mapping, book: Runbook) -> Iterator[tuple[Spot, tuple[str, ...]]]:
    """Say something at the first step that polls, and at the first that hands on a list."""
    lists = {f"{{{{{column.name}}}}}".casefold() for column in book.data_source.multi_valued_columns}
    polls = handed = False
    for step in _steps(tree):
        poll = step.key_spots.get(StepKeys.poll.name)
        if poll is not None and not polls:
            polls = True
            yield poll, POLLS
        for spot in _whole(step.entries.get(StepKeys.params.name), lists):
            if not handed:
                handed = True
                yield spot, LISTS


def _steps(tree: Mapping) -> Iterator[Mapping]:
    phases = tree.entries.get(RunbookKeys.phases.name)
    for phase in phases.items if isinstance(phases, Sequence) else ():
        steps = phase.entries.get(PhaseKeys.steps.name) if isinstance(phase, Mapping) else None
        for step in steps.items if isinstance(steps, Sequence) else ():
            if isinstance(step, Mapping):
                yield step


def _whole(params: Node | None, lists: set[str]) -> Iterator[Spot]:
    if isinstance(params, Mapping):
        for name, value in params.entries.items():
            if isinstance(value, Scalar) and value.text.replace(" ", "").casefold() in lists:
                yield params.key_spots[name]
