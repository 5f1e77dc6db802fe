"""The header of a table: which names are columns, and whether they fit the question.

All faults of a header are found at once. A required column is found by its exact name, else by the only name that is
the same in another letter case; two names that a person would take for one are a fault, because a database view cannot
show both. This module must not know whether the names came from a file or a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.members import RESERVED_COLUMNS, forbidden, invisible, name_of, twin
from tminus.ports.source import RowProblem
from tminus.runbook.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.ports.source import Question

NAME_CHARACTERS_MAX: Final = 128
_NAMES_SHOWN: Final = 8


def find(name: str, columns: Sequence[str]) -> str | None:
    """Return the column that a name stands for: exact letter case first, then any."""
    if name in columns:
        return name
    folded = name.casefold()
    return next((column for column in columns if column.casefold() == folded), None)


def required_columns(question: Question, *, timed: bool = True) -> tuple[tuple[str, str], ...]:
    """Return the names that must be there, each with the code of its absence."""
    source = question.data_source
    time = source.batch_time_column if timed else None
    return (("E318", source.primary_key), *((("E319", time),) if time is not None else ()))


def fits(columns: Sequence[str], required: Sequence[tuple[str, str]]) -> bool:
    """Tell whether all required columns are there."""
    return all(find(name, columns) is not None for _, name in required)


def header_problems(
    columns: Sequence[str], required: Sequence[tuple[str, str]], *, place: str, columns_max: int
) -> list[RowProblem]:
    """Return every fault of a header, in the order of the columns, missing ones last."""
    if len(columns) > columns_max:
        message = f"the header has more than {columns_max:,} columns"
        return [RowProblem(place=place, code="E314", message=message)]
    problems: list[RowProblem] = []
    first: dict[str, int] = {}
    for number, name in enumerate(columns, start=1):
        if not name:
            problems.append(RowProblem(place=place, code="E315", message=f"column {number} has no name"))
        elif (fault := _unusable(name)) is not None:
            problems.append(RowProblem(place=place, code="E317", message=f"the name of column {number} {fault}"))
        elif (earlier := first.setdefault(twin(name), number)) != number:
            message = f'columns {earlier} and {number} are both named "{name}"'
            if columns[earlier - 1] != name:
                message = f'column {number}, "{name}", reads the same as column {earlier}, "{columns[earlier - 1]}"'
            problems.append(RowProblem(place=place, code="E316", message=message))
    problems.extend(_missing(columns, required, place))
    return problems


def _missing(columns: Sequence[str], required: Sequence[tuple[str, str]], place: str) -> list[RowProblem]:
    named = [name for name in columns if name]
    shown = ", ".join(name[:NAME_CHARACTERS_MAX] for name in named[:_NAMES_SHOWN])
    if len(named) > _NAMES_SHOWN:
        shown += f" and {len(named) - _NAMES_SHOWN:,} more"
    problems: list[RowProblem] = []
    for code, name in required:
        if find(name, columns) is None:
            guess = nearest(name, named)
            hint = f'did you mean "{guess}"?' if guess is not None else f"the columns are {shown}"
            problems.append(RowProblem(place=place, code=code, message=f'there is no column "{name}"', hint=hint))
    return problems


def _unusable(name: str) -> str | None:
    """Say what is wrong with a name, or nothing."""
    if len(name) > NAME_CHARACTERS_MAX:
        return f"has {len(name):,} characters, at most {NAME_CHARACTERS_MAX} are allowed"
    if (character := forbidden(name)) is not None:
        return f"holds the control character {character}"
    hidden = next((character for character in name if invisible(character)), None)
    if hidden is not None:
        return f"holds the invisible character {name_of(hidden)}"
    if name.casefold() in RESERVED_COLUMNS:
        return f'is "{name}", to which tminus itself gives a meaning'
    return None
