"""What the keys of a data source mean together: which type needs which, and what makes T-0.

A source that is asked (Dataverse, Databricks, SQL, CSV, HTTP) needs an address and a rule for T-0; event and manual
batches bring both themselves. A key without meaning for the type is a warning, because it is harmless and files of the
Toolkit have some. This module must not ask any source.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tminus.runbook.keys import ColumnKeys, LeaverKeys, SourceKeys
from tminus.runbook.wording import quoted

if TYPE_CHECKING:
    from tminus.runbook.problem import Report
    from tminus.runbook.shapes import Fields, Key

UNASKED: Final = frozenset({"event", "manual"})
QUERIED: Final = frozenset({"dataverse", "databricks", "sql"})

# A question whose answer changes while a wave runs: members leave it although nobody decided so.
_CLOCK: Final = re.compile(
    r"\b(?:getdate|getutcdate|sysdatetime|sysutcdatetime|current_date|current_timestamp|now|today)\b(?!\s*=)",
    re.IGNORECASE,
)
_COMPARED: Final = re.compile(r"\b(\w{1,128})\b\]?\s{0,8}(?:=|<>|!=|in\b)", re.IGNORECASE)
_STATE: Final = re.compile("status|state|approved|processed|pending", re.IGNORECASE)


def check_source(source: Fields, report: Report) -> None:
    """Check one data source."""
    kind = source.take(SourceKeys.kind)
    if kind is None:
        return
    if kind not in UNASKED:
        _check_time(source, kind, report)
        _need(source, SourceKeys.connection, kind, "write the name of the variable that holds the address", report)
    if kind == "databricks":
        _need(source, SourceKeys.warehouse_id, kind, "write the name of the variable that holds it", report)
    if kind in QUERIED:
        _need(source, SourceKeys.query, kind, "write query: SELECT …", report)
    for key in _meaningless(kind):
        if source.stands(key):
            message = f"{key.name} has no meaning for a source of type {kind}"
            report.warn("W110", message, source.key_spot(key), "delete it")
    _check_columns(source, report)
    _check_leavers(source, report)


def _need(source: Fields, key: Key[object], kind: str, hint: str, report: Report) -> None:
    if not source.stands(key) and key.name not in source.node.key_spots:
        report.error("E201", f"a source of type {kind} needs {key.name}", source.node.spot, hint)
    elif not source.stands(key):
        report.error("E203", f"{key.name} is empty", source.spot(key), hint)


def _meaningless(kind: str) -> list[Key[object]]:
    """Return the keys that a type of source does not look at."""
    keys: list[Key[object]] = []
    if kind != "databricks":
        keys.append(SourceKeys.warehouse_id)
    if kind in UNASKED:
        asked = (SourceKeys.connection, SourceKeys.batch_time_column, SourceKeys.batch_time)
        keys += [*asked, SourceKeys.interval, SourceKeys.leavers]
    if kind in UNASKED or kind == "csv":
        keys.append(SourceKeys.query)
    return keys


def _check_time(source: Fields, kind: str, report: Report) -> None:
    """Check that exactly one rule makes T-0."""
    by_column, at_once = source.stands(SourceKeys.batch_time_column), source.stands(SourceKeys.batch_time)
    if by_column and at_once:
        spot = source.key_spot(SourceKeys.batch_time)
        report.error("E219", "both batch_time_column and batch_time make T-0", spot, "keep one of the two")
    elif not by_column and not at_once:
        message = f"nothing makes T-0 for a source of type {kind}"
        hint = "write batch_time_column: MigrationDate, or batch_time: immediate"
        report.error("E219", message, source.node.spot, hint)


def _check_columns(source: Fields, report: Report) -> None:
    """Check that a column is cut in one way only, and that the key is never a list."""
    key = source.take(SourceKeys.primary_key)
    seen: set[str] = set()
    for column in source.take(SourceKeys.multi_valued_columns) or []:
        name = column.value.take(ColumnKeys.name)
        if name is None:
            continue
        spot = column.value.spot(ColumnKeys.name)
        if name.casefold() in seen:
            report.error("E236", f"multi_valued_columns names {quoted(name)} twice", spot, "keep one")
        seen.add(name.casefold())
        if key is not None and name.casefold() == key.casefold():
            hint = "a member is identified by one text"
            report.error("E235", f"the primary key {quoted(name)} cannot be multi-valued", spot, hint)


def _check_leavers(source: Fields, report: Report) -> None:
    """Warn when members would leave because the question moves, not because somebody decided it."""
    leavers, query = source.take(SourceKeys.leavers), source.take(SourceKeys.query)
    policy = None if leavers is None else leavers.take(LeaverKeys.policy)
    removes = policy == "remove" or (policy is None and not source.stands(SourceKeys.batch_time))
    if query is None or not removes or source.take(SourceKeys.kind) in UNASKED:
        return
    moving = _moving(query)
    if moving is not None:
        message = f"the query filters on {quoted(moving)}, which moves while a wave runs"
        hint = "a member that drops out of it leaves the batch; filter on what stays, or set leavers.policy: propose"
        report.warn("W108", message, source.key_spot(SourceKeys.query), hint)


def _moving(query: str) -> str | None:
    """Return the word of the query's condition that will answer differently later, if there is one."""
    before, _, _ = query.lower().partition("where")
    condition = query[len(before) :]
    clock = _CLOCK.search(condition)
    columns = (match[1] for match in _COMPARED.finditer(condition))
    return clock[0] if clock else next((name for name in columns if _STATE.search(name)), None)
