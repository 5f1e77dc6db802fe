"""The view that shows a runbook's source rows to people and their tools, under the names that systems around know.

Its columns are the source's own, so this is the one place where names from outside become part of a statement. They
pass through two small functions, quoted and literal, and through nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.members import RESERVED_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx

# What SQLite takes in one result, less the columns of ours.
COLUMNS_MAX: Final = 1_990

_KNOWN: Final = "SELECT source_columns_json, data_table_name FROM runbooks WHERE id = ?"
_KEEP: Final = "UPDATE runbooks SET source_columns_json = ? WHERE id = ?"
# A row that stands unchanged is not written again, so that its last time is that of the last answer.
_OURS: Final = """SELECT id AS _row_id, member_key AS _member_key, batch_time AS _batch_time,
  first_seen_at AS _first_seen_at, CASE WHEN is_current THEN
    coalesce((SELECT max(source_answered_at) FROM runbooks WHERE name = {name}), last_seen_at)
    ELSE last_seen_at END AS _last_seen_at, is_current AS _is_current"""


def quoted(name: str) -> str:
    """Write a name as an identifier; raises `ValueError` for what can be none."""
    if not showable(name):
        raise ValueError("an identifier holds no NUL and no half character")
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Write text as a literal; raises `ValueError` for what can be none."""
    if not showable(value):
        raise ValueError("a literal holds no NUL and no half character")
    return "'" + value.replace("'", "''") + "'"


def showable(text: str) -> bool:
    """Tell whether a database can be told this text in a statement."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def shown(columns: Sequence[str]) -> list[str]:
    """Return the columns that the view can show: each name once in any letter case, none of ours."""
    found: dict[str, str] = {}
    for name in columns:
        folded = name.casefold()
        if name and showable(name) and folded not in RESERVED_COLUMNS and len(found) < COLUMNS_MAX:
            found.setdefault(folded, name)
    return list(found.values())


def alias(name: str) -> str:
    """Return what a column is called in the view: SQLite lets none be called true or false."""
    return f"{name}_" if name.casefold() in {"true", "false"} else name


def _cell(name: str) -> str:
    """Return the expression of one column. A path cannot spell what JSON escapes; walking the object can."""
    if any(character in '"\\' or character < " " for character in name):
        return f"(SELECT value FROM json_each(data_json) WHERE key = {literal(name)} LIMIT 1)"
    path = f'$."{name}"'
    return f"json_extract(data_json, {literal(path)})"


def statement(view: str, runbook_name: str, columns: Sequence[str]) -> str:
    """Return the statement that makes the view."""
    cells = "".join(f",\n  {_cell(name)} AS {quoted(alias(name))}" for name in shown(columns))
    name = literal(runbook_name)
    return (
        f"CREATE VIEW {quoted(view)} AS {_OURS.format(name=name)}{cells}\nFROM source_rows WHERE runbook_name = {name}"
    )


def ensure_view(tx: Tx, runbook_id: int, runbook_name: str, columns: Sequence[str]) -> bool:
    """Make the view of a runbook's version, unless it has these columns already; tell whether it was made."""
    row = tx.one(_KNOWN, (runbook_id,))
    now = orjson.dumps(shown(columns)).decode()
    if row is None or row[0] == now:
        return False
    view = str(row[1])
    tx.run(f"DROP VIEW IF EXISTS {quoted(view)}")
    tx.run(statement(view, runbook_name, columns))
    tx.run(_KEEP, (now, runbook_id))
    return True
