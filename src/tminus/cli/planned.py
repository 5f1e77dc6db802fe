"""A plan as a screen: who times what, when, what it will wait for, and what would not run.

A pure function from what was computed to lines. Notes are wrapped, so that eighty columns hold every line but names
that are longer themselves; the rest of what is many is counted, and `-o json` has it all.
"""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Final

import orjson

from tminus.cli.clocks import wall
from tminus.cli.telling import visible
from tminus.progression.outlook.later import Later
from tminus.runbook.plan import digest_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.domain.instant import Instant
    from tminus.progression.outlook.calls import Call
    from tminus.progression.outlook.tally import BatchTally, NotRunning, Outlook, StageTally
    from tminus.runbook.plan import PlannedBatch, SavedPlan

BATCHES_SHOWN: Final = 3
NAMED: Final = 3
NARROWEST: Final = 40
_LONGEST: Final = 28
_LEAST: Final = 24
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}


def lines(found: Outlook, width: int) -> Iterator[str]:
    """Lay a plan out."""
    plan = found.plan
    yield from _wrapped(" · ".join(_head(found)), width, "  ")
    many = len(found.batches) > 1
    for tally in found.batches[:BATCHES_SHOWN]:
        if many:
            yield _title(tally, plan, found.book.timezone)
        if tally.batch.members:
            yield from _table(tally, found, width)
    for tally in found.batches[BATCHES_SHOWN : BATCHES_SHOWN + 5]:
        yield f" {_title(tally, plan, found.book.timezone).strip()}"
    if len(found.batches) > BATCHES_SHOWN + 5:
        yield f" and {len(found.batches) - BATCHES_SHOWN - 5:,} more batches; -o json lists them"
    for title, part in _parts(found):
        yield from _titled(title, part, width)
    if not found.has_changes:
        yield " Nothing would be made."


def _head(found: Outlook) -> list[str]:
    plan = found.plan
    batches = f"{len(found.batches):,} batches" if len(found.batches) > 1 else ""
    once = found.once
    runs = f" ({once:,} once + {found.step_runs - once:,})" if once else ""
    word = "publishes" if plan.publishes else "runbook"
    version = f"{word} v{plan.version} ({digest_of(plan)})"
    members = f"{found.would_run:,} of {found.members:,} {_members(found.members)}"
    parts = [
        f"Plan for {visible(plan.runbook_name)}",
        batches,
        members,
        f"{_step_runs(found.step_runs)}{runs}",
        version,
    ]
    return [part for part in parts if part]


def digest_of(plan: SavedPlan) -> str:
    """Return the first letters of what stands for a runbook's text."""
    return digest_of_text(plan.runbook_text)[:4]


def _title(tally: BatchTally, plan: SavedPlan, zone: str) -> str:
    runs, count = sum(stage.runs for stage in tally.stages), len(tally.batch.members)
    when = "no T-0" if tally.batch.t0 is None else f"T-0 {wall(tally.batch.t0, zone, plan.made_at)}"
    if not count:
        return f"{when}  nobody new"
    return f"{when}  {tally.would_run:,} of {count:,} {_members(count)}, {_step_runs(runs)}"


def _table(tally: BatchTally, found: Outlook, width: int) -> Iterator[str]:
    zone, now = found.book.timezone, found.plan.made_at
    rows = [
        (_when(one, zone, now), _offset(one), _cut(one.stage.name), _runs(one), _notes(one)) for one in tally.stages
    ]
    heads = (f"when ({zone})", "", "phase", "steps x members")
    cells = [heads, *(row[:4] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    widths[0] = max(len(row[0]) for row in rows) if rows else 0
    # The zone may reach over the offsets: no head stands above them.
    widths[1] = max(widths[1], len(heads[0]) - widths[0] - 2)
    head = f" {heads[0]:<{widths[0] + widths[1] + 2}}  {heads[2]:<{widths[2]}}  {heads[3]}"
    yield head.rstrip()
    for row in rows:
        prefix = " " + "  ".join(f"{cell:<{size}}" for cell, size in zip(row[:4], widths, strict=True))
        yield from _with_notes(prefix, row[4], width)


def _with_notes(prefix: str, notes: str, width: int) -> Iterator[str]:
    """Put notes behind a row, wrapped under their beginning, or below it where no room is left."""
    room = width - len(prefix) - 2
    if not notes:
        yield prefix.rstrip()
    elif room >= _LEAST:
        first, *rest = _wrapped(notes, room, "")
        yield f"{prefix}  {first}"
        yield from (" " * (len(prefix) + 2) + line for line in rest)
    else:
        yield prefix.rstrip()
        yield from _wrapped(f"      {notes}", width, "      ")


def _when(tally: StageTally, zone: str, now: Instant) -> str:
    stage = tally.stage
    if stage.kind == "finish":
        return "at the end"
    if stage.turn:
        return f"{stage.turn}{_ORDINALS.get(stage.turn, 'th')} advance"
    if stage.due_at is None or stage.due_at <= now:
        return "now"
    return wall(stage.due_at, zone, now)


def _offset(tally: StageTally) -> str:
    return "" if tally.stage.phase is None else str(tally.stage.phase.offset)


def _cut(name: str) -> str:
    shown = visible(name)
    return f"{shown[: _LONGEST - 1]}…" if len(shown) > _LONGEST else shown


def _runs(tally: StageTally) -> str:
    if tally.stage.kind != "phase":
        return f"{tally.runs:,}"
    steps = len(tally.steps)
    product = f"{steps:,} x {tally.members:,}"
    return f"{product} = {tally.runs:,}" if tally.runs == steps * tally.members else f"{product}, {tally.runs:,} run"


def _notes(tally: StageTally) -> str:
    found = [one.words for one in tally.waits]
    if tally.stage.kind != "phase":
        found = [", ".join(visible(one.step.name) for one in tally.steps), *found]
    if tally.total("skipped"):
        found.append(f"{tally.total('skipped'):,} skipped by when")
    if tally.total("depends"):
        found.append(f"{tally.total('depends'):,} run if their condition holds then")
    return visible("; ".join(found))


def _parts(found: Outlook) -> Iterator[tuple[str, list[str]]]:
    """Yield what stands below the table, each with its title."""
    plan, around = found.plan, found.plan.around
    yield "Would not run:", [*_not_running(found.not_running)]
    yield (
        "Empty:",
        [
            f"{{{{{one.name}}}}} of {one.count:,} {_members(one.count)}: {_listed(one.members, one.count)}"
            for one in found.empty
        ],
    )
    yield (
        "Unused column:" if len(found.unused) == 1 else "Unused columns:",
        [name if meant is None else f'{name} - did you mean "{meant}"?' for name, meant in found.unused],
    )
    yield (
        "Not offered:",
        [
            f"{one.function} (worker {', '.join(one.worker_ids)}; {_listed(one.steps, len(one.steps))})"
            + (f' - did you mean "{one.meant}"?' if one.meant else "")
            for one in found.missing
        ],
    )
    if found.missing and not around.offered_whole:
        yield "", [f"{around.offered_by} may offer more than its text tells"]
    yield "Held:", [one.words for one in found.holds]
    if plan.publishes and around.moving:
        yield (
            "Note:",
            [f"publishing moves open batches ({around.moving:,}) to the new version; see tminus runbook impact"],
        )
    yield "Note:", list(plan.notes)


def _not_running(found: Sequence[NotRunning]) -> Iterator[str]:
    """Group those who would not come through by why."""

    def why(one: NotRunning) -> tuple[str, str, str, int]:
        return (one.code, one.reason, f"{one.phase_name}/{one.step_name}" if one.step_name else "", one.batch_id or 0)

    for (_, reason, where, _), group in groupby(sorted(found, key=why), why):
        mine = list(group)
        named = [f"{one.member_key or 'a row'} ({one.place})" if one.place else one.member_key for one in mine[:NAMED]]
        at = f" at {where}" if where else ""
        if not mine[0].member_key and where:
            yield f"the batch: {reason}{at}"
        elif len(mine) == 1:
            yield f"{mine[0].member_key or 'a row'}  {reason}{at}{f' ({mine[0].place})' if mine[0].place else ''}"
        else:
            yield f"{len(mine):,} members  {reason}{at}: {_listed(named, len(mine))}"


def _members(count: int) -> str:
    return "member" if count == 1 else "members"


def _step_runs(count: int) -> str:
    return f"{count:,} step {'run' if count == 1 else 'runs'}"


def _listed(named: Sequence[str], count: int) -> str:
    more = count - len(named[:NAMED])
    return ", ".join(named[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _titled(title: str, part: Sequence[str], width: int) -> Iterator[str]:
    """Write a list behind its title, what is many cut short."""
    most = 6
    shown = [visible(one) for one in part[:most]]
    if len(part) > most:
        shown.append(f"and {len(part) - most:,} more; -o json lists them")
    indent = " " * (len(title) + 3)
    for turn, one in enumerate(shown):
        first = f" {title}  " if turn == 0 else indent
        yield from _wrapped(first + one, width, indent + "  ")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def member_lines(plan: SavedPlan, zone: str, batch: PlannedBatch, key: str, calls: Sequence[Call]) -> Iterator[str]:
    """Lay every call of one member out, with its parameters."""
    t0 = "no T-0" if batch.t0 is None else f"T-0 {wall(batch.t0, zone, plan.made_at)} {zone}"
    place = dict(zip((name for name, _ in batch.members), batch.places, strict=False)).get(key, "")
    yield visible(f"{key} · {plan.runbook_name} · {t0}{f' · {place}' if place else ''}")
    for (_, name), group in groupby(calls, lambda call: (id(call.stage), call.stage.name)):
        mine = list(group)
        stage = mine[0].stage
        when = f"{stage.turn}{_ORDINALS.get(stage.turn, 'th')} advance" if stage.due_at is None else ""
        if stage.due_at is not None:
            when = "now" if stage.due_at <= plan.made_at else wall(stage.due_at, zone, plan.made_at)
        offset = "" if stage.phase is None else f"  {stage.phase.offset}"
        yield visible(f" {when}{offset}  {name}")
        for call in mine:
            yield from _call(call)


def _call(call: Call) -> Iterator[str]:
    head = f"   {call.step.name}  {call.function} on {call.step.worker_id}"
    if call.state == "skipped":
        yield visible(f"   {call.step.name}  skipped, {call.reason}")
        return
    if call.params is None:
        yield visible(f"   {call.step.name}  would not run: {call.reason}")
        return
    yield visible(f"{head}{f'  only {call.reason}' if call.state == 'depends' else ''}")
    widest = max((len(name) for name in call.params), default=0)
    for name, value in call.params.items():
        shown = str(value) if isinstance(value, str | Later) else orjson.dumps(value, default=str).decode()
        yield visible(f"     {name:<{widest}}  {shown}".rstrip())
