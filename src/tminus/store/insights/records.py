"""Records: rows of a query as maps, in the names of the contract.

A column that ends in `_json` is read and loses the ending; one that begins with `is_` or ends with `_enabled` becomes a
boolean. Everything else is handed on as the database has it. This module must not know any table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tminus.db.connection import Tx, Value

Record = dict[str, object]

PAGE: Final = 1_000
_JSON: Final = "_json"


def select(columns: Sequence[tuple[str, str]]) -> str:
    """Return the list of a SELECT from pairs of name and expression."""
    return ", ".join(f"{expression} AS {name}" for name, expression in columns)


def names(columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of a column list, as they are in a record."""
    return tuple(name.removesuffix(_JSON) for name, _ in columns)


def records(tx: Tx, columns: Sequence[tuple[str, str]], sql: str, params: Sequence[Value] = ()) -> list[Record]:
    """Run a query whose `{columns}` is the column list, and return its rows."""
    readers = [_reader(name) for name, _ in columns]
    keys = names(columns)
    rows = tx.all(sql.replace("{columns}", select(columns)), params)
    return [{key: read(value) for key, read, value in zip(keys, readers, row, strict=True)} for row in rows]


def record(tx: Tx, columns: Sequence[tuple[str, str]], sql: str, params: Sequence[Value] = ()) -> Record | None:
    """Return the first row of such a query."""
    found = records(tx, columns, sql, params)
    return found[0] if found else None


def plain(*wanted: str, of: str = "") -> tuple[tuple[str, str], ...]:
    """Return columns that are called as they are stored; `of` is the alias of their table."""
    prefix = f"{of}." if of else ""
    return tuple((name, prefix + name) for name in wanted)


def paged(page: Callable[[int], list[Record]], key: str = "id") -> Iterator[list[Record]]:
    """Yield page after page; `page` is handed the key behind which the next one begins."""
    after = 0
    while True:
        found = page(after)
        if found:
            yield found
            last = found[-1][key]
            after = last if isinstance(last, int) else after
        if len(found) < PAGE:
            return


def _reader(name: str) -> Callable[[Value], object]:
    if name.endswith(_JSON):
        return lambda value: None if value is None else orjson.loads(str(value))
    if name.startswith("is_") or name.endswith("_enabled"):
        return bool
    return lambda value: value
