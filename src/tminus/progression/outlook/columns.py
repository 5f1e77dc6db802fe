"""Names and functions of a runbook against what a plan has: columns that nobody asks for, functions that nobody offers.

Names are compared as templates find them, in any letter case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tminus.runbook.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.runbook.model import Runbook, Step
    from tminus.runbook.plan import SavedPlan
    from tminus.runbook.template import Text


@dataclass(slots=True)
class Missing:
    """A function that nobody offers: by whom it is called, and the offered name that was probably meant."""

    function: str
    worker_ids: list[str] = field(default_factory=list[str])
    steps: list[str] = field(default_factory=list[str])
    meant: str | None = None


def steps_of(book: Runbook) -> Iterator[tuple[str, Step]]:
    """Yield every step with the name of the list that it stands in."""
    lists = [("init", book.init), *((phase.name, phase.steps) for phase in book.phases)]
    lists += [("on_member_removed", book.on_member_removed), ("on_member_failed", book.on_member_failed)]
    lists += [("on_batch_finished", book.on_batch_finished), *book.rollbacks.items()]
    for where, steps in lists:
        yield from ((where, step) for step in steps)


def asked(book: Runbook) -> dict[str, str]:
    """Return every name that a template or a condition asks for: as it is written, by its folded form."""
    found: dict[str, str] = {}
    for _, step in steps_of(book):
        for name in (*sent(step), *(step.when.names if step.when is not None else ())):
            found.setdefault(name.casefold(), name)
    return found


def sent(step: Step) -> tuple[str, ...]:
    """Return the names whose values a step sends."""
    poll = step.poll.function.names if step.poll is not None and step.poll.function is not None else ()
    return (*step.params.names, *step.function.names, *poll)


def unused(plan: SavedPlan, book: Runbook) -> list[tuple[str, str | None]]:
    """Return the columns that nothing asks for, each with the name that was probably meant by it."""
    names = asked(book)
    source = book.data_source
    kept = names.keys() | {source.primary_key.casefold(), (source.batch_time_column or "").casefold()}
    given = {name.casefold() for name in (*plan.columns, *plan.data, *outputs(book))}
    lacking = [name for folded, name in names.items() if folded not in given and not name.startswith("_")]
    found = [column for column in plan.columns if column.casefold() not in kept]
    return [(column, nearest(column, lacking)) for column in found]


def outputs(book: Runbook) -> Iterator[str]:
    """Yield the names of all outputs."""
    for _, step in steps_of(book):
        yield from (name for name, _ in step.output_params)


def sent_columns(plan: SavedPlan, book: Runbook) -> list[str]:
    """Return the columns whose values are sent to a function as they stand."""
    wanted = {name.casefold() for _, step in steps_of(book) for name in sent(step)}
    wanted -= {name.casefold() for name in outputs(book)}
    return [column for column in plan.columns if column.casefold() in wanted]


def functions_of(book: Runbook) -> Iterator[tuple[str, str, str]]:
    """Yield function, worker id and step of every call whose function is known without a member."""
    for where, step in steps_of(book):
        for text in _texts(step):
            if text.constant:
                yield text.source, step.worker_id, f"{where}/{step.name}"


def _texts(step: Step) -> Iterator[Text]:
    yield step.function
    if step.poll is not None and step.poll.function is not None:
        yield step.poll.function


def missing(calls: Iterable[tuple[str, str, str]], offered: Sequence[str]) -> list[Missing]:
    """Return the functions among these calls that are not on offer."""
    known = frozenset(offered)
    found: dict[str, Missing] = {}
    for function, worker_id, step in calls:
        if function in known:
            continue
        one = found.setdefault(function, Missing(function, meant=nearest(function, offered)))
        if worker_id not in one.worker_ids:
            one.worker_ids.append(worker_id)
        if step not in one.steps:
            one.steps.append(step)
    return list(found.values())
