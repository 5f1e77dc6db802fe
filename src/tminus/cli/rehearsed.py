"""What a rehearsal came to: one record for scripts, and a timeline with a verdict for people.

The record holds nothing that differs between two runs of the same seed: no wall clock, no path. The sentence of the
verdict says what would happen on the night, not what a program returned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.cli import telling
from tminus.cli.clocks import span, wall
from tminus.cli.exits import Exit
from tminus.cli.playing import t0s
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, between_s
from tminus.engine.rehearse.judge import differences
from tminus.store.insights import batches
from tminus.store.insights.outcome import outcome
from tminus.store.promises import check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tminus.cli.playing import Staged, Wanted
    from tminus.engine.rehearse.judge import Difference
    from tminus.runbook.case import Expected
    from tminus.store.insights.records import Record

# Checking every promise over a large story costs more than the story itself.
_CHECKED_MOST: Final = 20_000
_STATUS: Final = "SELECT status FROM batch_members WHERE member_key = ? AND moved_to IS NULL ORDER BY id DESC LIMIT 1"
_STEPS: Final = "SELECT count(*) FROM executions"
# These only ask; whatever they are about goes on.
_ASKING: Final = frozenset({"leavers", "move", "rollback", "removal", "late_success", "vanished"})
_KINDS: Final = {
    "throttled": "throttled", "failed": "failed", "timeout": "timed out", "lost": "lost",
    "poll_timeout": "poll timed out", "deadline": "past the deadline", "cancelled": "cancelled",
    "marked_done": "marked done",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The end of a rehearsal. `differences` is None where nothing was expected."""

    record: Record
    exit_code: int
    differences: list[Difference] | None


def finish(staged: Staged, wanted: Wanted, expected: Expected | None) -> Rehearsed:
    """Look at what came out, and hold it against the promises and against what was expected."""
    store = staged.store
    standing = store.standing()
    with store.database.read() as tx:
        found = outcome(tx)
        steps = tx.one(_STEPS)
        broken = check(tx) if steps is not None and int(steps[0] or 0) <= _CHECKED_MOST else []
        named = expected.members if expected is not None else {}
        members = {key: str(row[0]) for key in named if (row := tx.one(_STATUS, (key,))) is not None}
    if broken or staged.rehearsal.refused:
        first = str(broken[0]) if broken else str(staged.rehearsal.refused[0])
        raise TminusError(
            "E592", f"the rehearsal broke a promise: {first}", hint="report it with the runbook and the seed"
        )
    exit_code = Exit.SOME_FAILED if standing[1] else Exit.WAITING if standing[2] or _open(found) else Exit.DONE
    unmet = None if expected is None else differences(expected, found, members, exit_code)
    now = store.now()
    record: Record = {
        "runbook_name": staged.play.runbook.name,
        "seed": wanted.seed,
        "faults": list(wanted.faults),
        "gates": wanted.gates,
        "start": staged.start,
        "end": now,
        "virtual_hours": round(between_s(staged.start, now) / 3600, 1),
        "jobs": staged.rehearsal.jobs,
        "exit_code": int(exit_code),
        "verdict": verdict(found),
        "history_sha256": _digest(staged),
        **found,
        "differences": None if unmet is None else [str(one) for one in unmet],
    }
    return Rehearsed(record=record, exit_code=exit_code, differences=unmet)


def _open(found: Record) -> bool:
    counts = cast("Mapping[str, int]", found["batches"])
    return any(counts.get(status) for status in ("detected", "init_dispatched", "active", "closing"))


def history_of(staged: Staged) -> Iterator[bytes]:
    """Yield every change of state as a line of JSON, in their order."""
    after = 0
    while page := _page(staged, after):
        yield from (orjson.dumps(one) + b"\n" for one in page)
        after = int(str(page[-1]["id"]))


def _page(staged: Staged, after: int) -> list[Record]:
    with staged.store.database.read() as tx:
        return batches.events(tx, after)


def _digest(staged: Staged) -> str:
    """Return one number for the whole history: two rehearsals are the same when it is."""
    digest = hashlib.sha256()
    for line in history_of(staged):
        digest.update(line)
    return digest.hexdigest()


def verdict(found: Record) -> str:
    """Say in a sentence what would happen."""
    members = cast("Mapping[str, int]", found["members"])
    holds = [hold for hold in cast("Sequence[Record]", found["holds"]) if hold["kind"] not in _ASKING]
    failed, moved = members.get("failed", 0), members.get("done", 0)
    if holds:
        first = holds[0]
        where = f" at {first['phase_name']}" if first["phase_name"] else ""
        more = f", and {len(holds) - 1} more holds" if len(holds) > 1 else ""
        return f"your {str(first['kind']).replace('_', ' ')} would stop this{where}: {first['reason']}{more}"
    if failed:
        return f"{failed:,} of {found['members_total']:,} would fail, {moved:,} would be moved"
    if _open(found):
        return "it would not have ended by then"
    return f"all of it would work: {moved:,} moved" if moved else "nobody would be moved"


def tell(done: Rehearsed, staged: Staged, spent_s: float) -> None:
    """Lay it out for a person."""
    found, zone = done.record, staged.play.runbook.timezone
    for note in staged.notes:
        telling.say(f"note: {note}")
    span_s = between_s(staged.start, Instant(str(found["end"])))
    telling.write(f"{span(span_s)} of schedule in {spent_s:.1f} s.  {_runs(cast('Mapping[str, int]', found['steps']))}")
    many = len(t0s(staged.play)) > 1
    for phase in cast("Sequence[Record]", found["phases"]):
        telling.write(telling.visible(_phase(phase, staged, zone, many=many)))
    for failure in cast("Sequence[Record]", found["failures"])[:8]:
        what = f"{failure['sequence']}/{failure['step_name']}" if failure["kind"] == "phase" else failure["step_name"]
        telling.write(
            telling.visible(f" failed {failure['count']}x  {what}: {failure['error_message'] or failure['error_type']}")
        )
    counts = ", ".join(f"{n:,} {status}" for status, n in cast("Mapping[str, int]", found["members"]).items())
    late = f" ({found['joined_late']} joined late)" if found["joined_late"] else ""
    back = f"; {found['rolled_back']} rolled back" if found["rolled_back"] else ""
    telling.write(f"members  {counts}{late}{back}")
    for hold in [one for one in cast("Sequence[Record]", found["holds"]) if one["kind"] in _ASKING][:8]:
        telling.write(telling.visible(f"asks     {hold['member_key'] or hold['kind']}: {hold['reason']}"))
    telling.write(telling.visible(f"verdict  {found['verdict']}"))
    for difference in done.differences or []:
        telling.write(telling.visible(f"NOT AS EXPECTED  {difference}"))
    if done.differences == []:
        telling.write("as expected")


def _runs(steps: Mapping[str, int]) -> str:
    total = sum(steps.values())
    ended = {"succeeded": "ok", "failed": "failed", "rolled_back": "rolled back", "skipped": "skipped"}
    parts = [f"{steps[status]:,} {word}" for status, word in ended.items() if steps.get(status)]
    rest = total - sum(steps.get(status, 0) for status in ended)
    return f"{total:,} step runs: {', '.join([*parts, *([f'{rest:,} not run'] if rest else [])]) or 'none'}"


def _phase(phase: Record, staged: Staged, zone: str, *, many: bool) -> str:
    """Write one line of the timeline."""
    due = "" if phase["due_at"] is None else wall(Instant(str(phase["due_at"])), zone, staged.start)
    book = staged.play.runbook.phases_by_name.get(str(phase["phase_name"]))
    offset = "" if book is None else str(book.offset)
    trouble = cast("Mapping[str, int]", phase["trouble"])
    notes = [f"{_KINDS[came]} {n}x" for came, n in trouble.items()]
    if book is not None and book.gate is not None:
        notes.insert(0, "gate")
    if phase["status"] not in {"completed", "pending"}:
        notes.insert(0, str(phase["status"]))
    took = ""
    if phase["dispatched_at"] and phase["completed_at"]:
        took = span(between_s(Instant(str(phase["dispatched_at"])), Instant(str(phase["completed_at"]))))
    home = f"batch {phase['batch_id']}  " if many else ""
    done = f"{phase['lanes_succeeded']}/{phase['lanes_total']}"
    return (
        f" {home}{due:<16}  {offset:<9} {phase['phase_name']!s:<14} {done:>9}  {took:<8}  {', '.join(notes)}".rstrip()
    )
