"""Which columns a file of members needs: the key, and every name that steps ask for and nobody else brings."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from tminus.domain.members import RESERVED_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.runbook.model import Runbook, Step


def columns(book: Runbook) -> tuple[str, ...]:
    """Return the primary key and the columns that templates name, in the order of the runbook."""
    per_member = [*(step for phase in book.phases for step in phase.steps)]
    per_member += [*book.on_member_removed, *book.on_member_failed]
    per_member += [step for steps in book.rollbacks.values() for step in steps]
    outputs = {name.casefold() for step in [*book.init, *per_member] for name, _ in step.output_params}
    given = outputs | {name.casefold() for name in [*book.inputs, *RESERVED_COLUMNS]}
    found = {book.data_source.primary_key.casefold(): book.data_source.primary_key}
    for name in _named(per_member):
        if name.casefold() not in given:
            found.setdefault(name.casefold(), name)
    for column in book.data_source.multi_valued_columns:
        found.setdefault(column.name.casefold(), column.name)
    return tuple(found.values())


def _named(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        yield from step.function.names
        yield from step.params.names
        if step.when is not None:
            yield from step.when.names


def line(names: Sequence[str]) -> str:
    """Return the header line of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue()
