"""What templates may name, and where: tminus's own names, and the data of a member only where there is one.

Names with a leading underscore are tminus's own, so that an unknown one is a slip and an error. Every other name may be
a column of a source that is not asked here; only where no member is in sight (init and finish steps, and rollbacks that
they start) a name that no batch brings is worth a warning. This module must not resolve anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.runbook.keys import PhaseKeys, PollKeys, RunbookKeys, StepKeys
from tminus.runbook.wording import did_you_mean, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.runbook.kinds import Located
    from tminus.runbook.problem import Report, Spot
    from tminus.runbook.shapes import Fields

SPECIALS: Final = (
    *("_batch_id", "_batch_start_time", "_member_key", "_runbook", "_runbook_version", "_phase", "_step", "_attempt"),
)
FINISH_SPECIALS: Final = ("_outcome", "_succeeded", "_failed", "_round", "_members")
MEMBER_SPECIALS: Final = frozenset({"_member_key", "_phase"})

# Signs of an expression; a column may still be called so, which is why they only warn.
_EXPRESSION_SIGNS: Final = ("|", "(", "==", "'", '"', "+", "*")


@dataclass(frozen=True, slots=True)
class _Place:
    """Which names there are in one list of steps."""

    words: str
    specials: frozenset[str]
    member: bool
    data: frozenset[str]


def check_names(book: Fields, report: Report) -> None:
    """Check every name of every template."""
    common = frozenset(SPECIALS)
    brought = frozenset(name.value.casefold() for name in book.take(RunbookKeys.inputs) or [])
    brought |= frozenset(_outputs(book.take(RunbookKeys.init) or []))
    alone = _Place("init", common - MEMBER_SPECIALS, member=False, data=brought)
    finish = _Place("on_batch_finished", alone.specials | set(FINISH_SPECIALS), member=False, data=brought)
    usual = _Place("this step", common, member=True, data=frozenset())
    lists: list[tuple[list[Located[Fields]], _Place]] = [
        (book.take(RunbookKeys.init) or [], alone),
        (book.take(RunbookKeys.on_batch_finished) or [], finish),
        (book.take(RunbookKeys.on_member_removed) or [], usual),
        (book.take(RunbookKeys.on_member_failed) or [], usual),
    ]
    lists += [(phase.value.take(PhaseKeys.steps) or [], usual) for phase in book.take(RunbookKeys.phases) or []]
    memberless = _rollbacks_of(book.take(RunbookKeys.init) or [])
    memberless |= _rollbacks_of(book.take(RunbookKeys.on_batch_finished) or [])
    for name, sequence in (book.take(RunbookKeys.rollbacks) or {}).items():
        words = f"rollback {quoted(name)}, which init or finish steps start"
        place = _Place(words, alone.specials, member=False, data=brought) if name in memberless else usual
        lists.append((sequence.value, place))
    for steps, place in lists:
        for step in steps:
            for name, spot in _asked(step.value):
                _check_name(name, spot, place, report)


def _check_name(name: str, spot: Spot, place: _Place, report: Report) -> None:
    """Check one name where it stands."""
    lower = name.lower()
    if name.startswith("_"):
        if lower in place.specials:
            return
        if lower in SPECIALS or lower in FINISH_SPECIALS:
            where = "where there is a member" if lower in MEMBER_SPECIALS else "in on_batch_finished"
            report.error("E226", f"{{{{{name}}}}} has no value in {place.words}", spot, f"it has one {where}")
            return
        hint = did_you_mean(name, place.specials) or f"there are {', '.join(sorted(place.specials))}"
        report.error("E225", f"{{{{{name}}}}} is none of tminus's own names", spot, hint)
        return
    if any(sign in name for sign in _EXPRESSION_SIGNS):
        hint = "templates look names up and compute nothing"
        report.warn("W106", f"{quoted(name)} is taken as the name of a column", spot, hint)
    elif not place.member and name.casefold() not in place.data:
        hint = "only batch data, inputs and outputs of init have a value there"
        report.warn("W103", f"{quoted(name)} is no value that {place.words} can count on", spot, hint)


def _asked(step: Fields) -> Iterator[tuple[str, Spot]]:
    """Yield every name that a step asks for, with the place of the text that names it."""
    poll = step.take(StepKeys.poll)
    texts = [step.take(StepKeys.function), None if poll is None else poll.take(PollKeys.function)]
    for text in texts:
        if text is not None:
            yield from ((name, text.spot) for name in text.value.names)
    when, params = step.take(StepKeys.when), step.take(StepKeys.params)
    if when is not None:
        yield from ((name, when.spot) for name in when.value.names)
    for leaf in () if params is None else params.leaves:
        yield from ((name, leaf.spot) for name in leaf.text.names)


def _outputs(steps: list[Located[Fields]]) -> Iterator[str]:
    """Yield the outputs that steps write, folded as templates find them."""
    for step in steps:
        yield from (name.casefold() for name in step.value.take(StepKeys.output_params) or {})


def _rollbacks_of(steps: list[Located[Fields]]) -> set[str]:
    """Return the rollbacks that steps start."""
    names = (step.value.take(StepKeys.on_failure) for step in steps)
    return {name for name in names if name is not None}
