"""Multi-valued cells: text that is a list, in one of three formats.

A delimited list is split, its parts are trimmed, empty parts dropped. A JSON array is checked and then kept letter for
letter, because reading and writing it again would change long numbers. An empty cell or NULL is the empty list; a cell
that came as a list already stays one. This module must not know which column it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tminus.runbook.model import MultiFormat

# The array will be read again inside a row's object and inside a job's parameters, where the parser's limit of levels
# comes earlier. An array that could be that deep is therefore tried with some levels around it.
_DEEP_FROM: Final = 900
_MARGIN: Final = 32

_HINT: Final = 'write ["a", "b"]'


def _delimited(delimiter: str) -> Callable[[object], object]:
    def read(cell: object) -> object:
        if isinstance(cell, str):
            return [part for part in map(str.strip, cell.split(delimiter)) if part]
        return _given(cell)

    return read


def _json_array(cell: object) -> object:
    if not isinstance(cell, str):
        return _given(cell)
    text = cell.strip()
    if not text:
        return []
    try:
        value: object = orjson.loads(text)
        if text.count("[") + text.count("{") > _DEEP_FROM:
            orjson.loads("[" * _MARGIN + text + "]" * _MARGIN)
    except orjson.JSONDecodeError as error:
        raise TminusError("E340", f"not JSON: {error.msg} at character {error.colno}", hint=_HINT) from error
    if not isinstance(value, list):
        raise TminusError("E340", f"JSON, but not an array: {text[:40]}", hint=_HINT)
    if "\\u0000" in text and _holds_nul(cast("list[object]", value)):
        raise TminusError("E332", "the array holds a NUL character")
    return orjson.Fragment(text)


def _given(cell: object) -> object:
    """Take a cell that is no text: NULL is the empty list, a list stays, a single value is a list of one."""
    if cell is None:
        return []
    return cast("list[object]", cell) if isinstance(cell, list) else [cell]


def _holds_nul(value: object) -> bool:
    """Tell whether any text inside a JSON value holds a NUL. Without recursion: the value may be deep."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if "\0" in item:
                return True
        elif isinstance(item, list):
            waiting.extend(cast("list[object]", item))
        elif isinstance(item, dict):
            members = cast("dict[str, object]", item)
            waiting.extend(members)
            waiting.extend(members.values())
    return False


LIST_READERS: Final[Mapping[MultiFormat, Callable[[object], object]]] = {
    "semicolon_delimited": _delimited(";"),
    "comma_delimited": _delimited(","),
    "json_array": _json_array,
}
