"""The one screen as lines: open batches, what needs a human, the next 24 hours, sources, workers, pauses.

A pure function from the record of `status -o json` to spans of text and style, so that the command prints them and the
live screen draws them. Eighty columns hold every line; what is longer is wrapped or cut by whoever shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from tminus.cli.clocks import distance, t_clock, wall
from tminus.cli.telling import visible
from tminus.cli.whys import answer_to, typed
from tminus.domain.instant import Instant

if TYPE_CHECKING:
    from tminus.store.insights.records import Record

Span = tuple[str, str]
Line = list[Span]

MOST: Final = 10
_BAR: Final = 12
_STATES: Final = (("done", "█", "#", "green"), ("active", "▒", "=", "cyan"), ("failed", "▓", "X", "red"))


def lines(found: Record, *, again: str = "", plain: bool = False) -> list[Line]:
    """Lay out the screen; `again` is put behind every command that it names."""
    at = Instant(str(found["now"]))
    shown: list[Line] = []
    batches = _records(found, "batches")
    for one in batches[:MOST]:
        shown += batch_lines(one, at, plain=plain)
    shown += _more(len(batches), "batches", "tminus batch list")
    if not batches:
        shown.append([("no batch is open", "")])
    for title, part in (
        ("needs you", _needs(found, at, again)),
        ("paused", _pauses(found, at)),
        ("within 24 hours", _due(found, at)),
        ("sources with errors", _sources(found, at, again)),
        ("workers", _workers(found, at, again)),
    ):
        if part:
            shown += [[], [(title, "bold")], *part]
    return shown


def batch_lines(one: Record, at: Instant, *, plain: bool) -> list[Line]:
    """Lay out one batch on two lines: where it stands, and what comes next."""
    counts = cast("dict[str, int]", one["counts"])
    words = "  ".join(f"{name} {count:,}" for name, count in counts.items() if count) or "no members"
    t0 = None if one["batch_start_time"] is None else Instant(str(one["batch_start_time"]))
    status = "" if one["status"] == "active" else f"{one['status']}  "
    status = "being cancelled  " if one["is_cancelling"] else status
    first: Line = [
        (f"{one['id']:>4}  ", "bold"),
        (f"{visible(str(one['runbook_name'])):<20} ", "bold"),
        (f"{t_clock(t0, at):<10} ", "cyan"),
        *_stack(counts, plain=plain),
        (f" {status}{words}", ""),
    ]
    return [first, [("      ", ""), (_comes(one, at), "dim")]]


def _stack(counts: dict[str, int], *, plain: bool) -> list[Span]:
    """Stack done, active and failed members in one bar; whatever there is has at least one cell."""
    have = {name: counts.get(name, 0) for name, *_ in _STATES}
    total = sum(have.values())
    cells = {name: max(count * _BAR // total, int(count > 0)) if total else 0 for name, count in have.items()}
    while sum(cells.values()) > _BAR:
        cells[max(cells, key=lambda name: cells[name])] -= 1
    while total and sum(cells.values()) < _BAR:
        cells[max(have, key=lambda name: have[name])] += 1
    rest = _BAR - sum(cells.values())
    found = [(sign[int(plain)] * cells[name], style) for name, *sign, style in _STATES]
    return [*found, (("-" if plain else "░") * rest, "dim")]


def _comes(one: Record, at: Instant) -> str:
    parts: list[str] = []
    running, following = cast("Record | None", one["running_phase"]), cast("Record | None", one["next_phase"])
    if running is not None:
        failed = f", {running['lanes_failed']} failed" if running["lanes_failed"] else ""
        parts.append(f"{running['phase_name']} {running['lanes_succeeded']}/{running['lanes_total']}{failed}")
    if following is not None and following["due_at"] is not None:
        due = Instant(str(following["due_at"]))
        parts.append(f"{following['phase_name']} {wall(due, str(one['zone']), at)} {one['zone']} ({distance(due, at)})")
    elif following is not None:
        parts.append(f"{following['phase_name']} waits to be advanced")
    return visible(" · ".join(parts) or "no phase is open")


def _needs(found: Record, at: Instant, again: str) -> list[Line]:
    holds = _records(found, "holds")
    shown: list[Line] = []
    for one in holds[:MOST]:
        home = f"batch {one['batch_id']}" if one["batch_id"] else str(one["runbook_name"] or "everything")
        asks = one["expires_at"] and one["state"] == "waiting"
        expires = f", expires {distance(Instant(str(one['expires_at'])), at)}" if asks else ""
        who = f" {one['member_key']}" if one["member_key"] else ""
        state = f" {one['state']}" if one["state"] != "waiting" else ""
        text = f"  {one['kind']}{state}  {home}{who}: {one['reason']}{expires}"
        shown.append([(visible(text), "yellow")])
        shown.append([(f"      {typed(answer_to(one))}{again}", "")])
    return [*shown, *_more(len(holds), "holds", "tminus hold list")]


def _pauses(found: Record, at: Instant) -> list[Line]:
    pauses = _records(found, "pauses")
    shown: list[Line] = []
    for one in pauses[:MOST]:
        scopes = {"all": "everything", "runbook": f"runbook {one['runbook_name']}", "batch": f"batch {one['batch_id']}"}
        scope = scopes.get(str(one["scope"]), f"batch {one['batch_id']} {one['member_key']}")
        since = distance(Instant(str(one["opened_at"])), at)
        shown.append([(visible(f"  {scope}: {one['reason']} ({one['opened_by']}, {since})"), "yellow")])
    return [*shown, *_more(len(pauses), "pauses", "tminus hold list --kind pause")]


def _due(found: Record, at: Instant) -> list[Line]:
    due = _records(found, "due")
    shown: list[Line] = []
    for one in due[:MOST]:
        when = Instant(str(one["due_at"]))
        late = "overdue" if when <= at else distance(when, at)
        text = f"  {wall(when, str(one['zone']), at)}  {late:<12} batch {one['batch_id']} {one['phase_name']}"
        shown.append([(visible(text), "")])
    return [*shown, *_more(len(due), "phases", "tminus batch list")]


def _sources(found: Record, at: Instant, again: str) -> list[Line]:
    shown: list[Line] = []
    for one in _records(found, "sources"):
        when = f" ({distance(Instant(str(one['last_error_at'])), at)})" if one["last_error_at"] else ""
        said = f"{one['last_error']}{when}" if one["last_error"] else _untaken(one)
        shown.append([(visible(f"  {one['name']}: {said}"), "red")])
        shown.append([(f"      {typed(['tminus', 'automation', 'status', str(one['name'])])}{again}", "")])
    return shown


def _untaken(one: Record) -> str:
    rows, keys = int(str(one["source_problem_count"])), int(str(one["left_out_count"]))
    parts = [f"{rows:,} row{'' if rows == 1 else 's'} cannot be read"] if rows else []
    parts += [f"{keys:,} key{'' if keys == 1 else 's'} left out"] if keys else []
    parts += [] if one["is_complete"] else ["the answer is not complete"]
    return ", ".join(parts)


def _workers(found: Record, at: Instant, again: str) -> list[Line]:
    shown: list[Line] = []
    for one in _records(found, "workers"):
        lost = "" if one["is_alive"] else ", lease ended: its jobs are delivered again"
        shown.append([(visible(f"  {one['worker']}: {one['jobs']} jobs of {one['worker_id']}{lost}"), "")])
    for one in _records(found, "queues"):
        since = distance(Instant(str(one["oldest_at"])), at)
        text = f"  {one['waiting']} jobs wait for a worker of {one['worker_id']}, the oldest sent {since}"
        shown.append([(visible(text), "yellow")])
    if _records(found, "batches") and not found["is_anybody_at_work"]:
        shown.append([("  nobody is at work on this database: whatever is due waits", "yellow")])
        shown.append([(f"      tminus up{again}", "")])
    return shown


def _more(count: int, noun: str, command: str) -> list[Line]:
    return [[(f"  and {count - MOST:,} more {noun}: {command}", "dim")]] if count > MOST else []


def _records(found: Record, key: str) -> list[Record]:
    return cast("list[Record]", found[key])
