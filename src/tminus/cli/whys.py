"""What `why` says, as lines: cause, what was undone, what it waits for, what may be done, and the next command.

A pure function from the record that `-o json` prints to text, so that the command and the live screen say the same.
"""

from __future__ import annotations

import shlex
import textwrap
from typing import TYPE_CHECKING, Final, cast

from tminus.cli import signs
from tminus.cli.clocks import distance, localized, span, t_clock, wall
from tminus.cli.telling import visible
from tminus.domain.instant import Instant, between_s

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tminus.store.insights.records import Record

_LABEL: Final = 11
_WIDEST: Final = 10_000
_NAMES: Final = 5
_REASON: Final = ("--reason", "…")
_LATE: Final = 3
_LOG_LINES: Final = 8
_LIVE: Final = frozenset({"active", "detected", "init_dispatched", "closing"})
_COMMANDS: Final = {
    "leave": "member remove",
    "edit-data": "member data",
    "set-time": "member set-time",
    "retry-init": "retry --batch",
}
_STOPS: Final = {
    "dispatch": "nothing new is sent in its scope",
    "start": "nothing new starts in its scope; what runs goes on",
    "none": "nothing: it only asks",
}


def lines(found: Record, *, width: int = _WIDEST, plain: bool = False) -> list[str]:
    """Lay out what is known about a member, a batch, a step, a gate or a hold."""
    kind = str(found["kind"])
    parts: list[tuple[str, str]] = []
    if kind in {"gate", "hold"}:
        parts += _hold(found)
    else:
        parts += _batch(found) if kind == "batch" else []
        parts += _cause(found)
        parts += [_undone(found, lane, plain=plain) for lane in _records(found, "undone")]
    if kind == "batch":
        parts += _failures(found)
    parts += _waits(found)
    if is_alone(found):
        parts.append(("", "nobody is at work on this database: whatever is due waits for `tminus up`"))
    parts += _drain(found)
    parts += _actions(found)
    shown = textwrap.wrap(visible(_title(found)), max(width, 30), subsequent_indent="  ", break_on_hyphens=False)
    for label, text in parts:
        shown += _wrapped(label, visible(text), width)
    return shown


def _wrapped(label: str, text: str, width: int) -> list[str]:
    head = f"  {label:<{_LABEL - 2}}"
    return textwrap.wrap(
        text, max(width, 30), initial_indent=head, subsequent_indent=" " * _LABEL, break_on_hyphens=False
    ) or [head.rstrip()]


def _title(found: Record) -> str:
    kind, status, now = str(found["kind"]), str(found["status"]), _now(found)
    t0 = _instant(found.get("t0"))
    home = f"{found['runbook_name']} batch {found['batch_id']}" if found.get("batch_id") else ""
    if kind == "batch":
        at = "" if t0 is None else f" - T-0 {wall(t0, str(found['zone']), now)} {found['zone']}"
        return f"{home} v{found['runbook_version']} - {status} - {t_clock(t0, now)}{at}"
    failed_at = _instant(found.get("failed_at"))
    when = ""
    if status == "failed" and failed_at is not None:
        when = f" {distance(failed_at, now)}" if t0 is None else f" {_from_t0(t0, failed_at)}"
    name = str(found.get("member_key") or f"{kind} {found['id']}")
    step = f"step {found['step_name']}" if kind == "step" else ""
    what = str(cast("Record", found["hold"])["kind"]) if kind == "hold" else ""
    return " - ".join(part for part in (name, home, step, what, f"{status}{when}") if part)


def _from_t0(t0: Instant, at: Instant) -> str:
    seconds = between_s(t0, at)
    if abs(seconds) < 1:
        return "at T-0"
    return f"{span(seconds)} {'before' if seconds < 0 else 'after'} T-0"


# -- what happened -----------------------------------------------------------------------------------------------------


def _cause(found: Record) -> list[tuple[str, str]]:
    cause = cast("Record | None", found.get("cause"))
    if cause is None or found["status"] in {"active", "done", "completed"}:
        return []
    kind = f" ({cause['error_type']})" if cause["error_type"] else ""
    message = cause["error_message"] or "no message"
    why = cast("Record", cause["not_retried"])["sentence"]
    parts = [("cause", f"{cause['phase']}/{cause['step']} failed: {message}{kind} - not tried again: {why}")]
    attempts = _records(cause, "attempts")
    for one in attempts[-_LATE:]:
        worker = f" at {one['worker']}" if one["worker"] else ""
        said = f": {one['error_message']}" if one["error_message"] else ""
        ended = wall(Instant(str(one["ended_at"])), str(found["zone"]), _now(found))
        number = int(str(one["attempt"])) + 1
        parts.append(("" if len(parts) > 1 else "tried", f"{number}. {ended} {one['outcome']}{worker}{said}"))
    if len(attempts) > _LATE:
        parts.append(("", f"and {len(attempts) - _LATE} before: -o json shows all"))
    return parts + _log(attempts)


def _log(attempts: list[Record]) -> list[tuple[str, str]]:
    """Show the end of what the last attempt printed, with the traceback: where it broke is mostly there."""
    text = str(attempts[-1]["log"] or "") if attempts else ""
    lines = [line.rstrip() for line in text.splitlines() if line.strip(" ^~")]
    shown = [("", line) for line in lines[-_LOG_LINES:]]
    if len(lines) > _LOG_LINES:
        shown.insert(0, ("", f"({len(lines) - _LOG_LINES} lines before: -o json shows all)"))
    return [("printed", shown[0][1]), *shown[1:]] if shown else []


def _undone(found: Record, lane: Record, *, plain: bool) -> tuple[str, str]:
    steps = "  ".join(
        f"{signs.of_step(str(one['status']), plain=plain)} {one['step_name']}"
        + (f" ({one['error_message']})" if one["error_message"] else "")
        for one in _records(lane, "steps")
    )
    label = {"rollback": "undone", "removal": "removal", "member_failed": "hook"}.get(str(lane["kind"]), "")
    name = f"{lane['sequence']} " if lane["sequence"] else ""
    state = str(lane["state"])
    if state == "not clean":
        state = f"not clean, lane {lane['lane_id']}"
    starts = found.get("retry_from") if lane["kind"] == "rollback" and state == "clean" else None
    return label, f"{name}{steps}  state: {state}" + (f"; a retry starts at {starts}" if starts else "")


def _batch(found: Record) -> list[tuple[str, str]]:
    counts = cast("dict[str, int]", found["members"])
    shown = "  ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    parts = [("members", f"{sum(counts.values()):,}: {shown}" if shown else "none")]
    phases = _records(found, "phases")
    parts.append(("phases", f"{found['phases_ended']} of {len(phases)} ended"))
    for phase in phases:
        due = _instant(phase["due_at"])
        failed = f", {phase['lanes_failed']} failed" if phase["lanes_failed"] else ""
        state = f"{phase['lanes_succeeded']} of {phase['lanes_total']} done{failed}"
        if phase["status"] in {"pending", "skipped", "cancelled"} and not phase["lanes_total"]:
            state = _at(found, due) if due is not None else "no time yet"
        parts.append(("", f"{phase['phase_name']}: {phase['status']}, {state}"))
    return parts


def _failures(found: Record) -> list[tuple[str, str]]:
    groups = _records(found, "failures")
    parts: list[tuple[str, str]] = []
    for one in groups[:10]:
        kind = f"{one['error_type']}: " if one["error_type"] else ""
        names = _named(cast("list[str]", one["members"]), int(str(one["count"])))
        parts.append(
            (
                "" if parts else "failures",
                f"{one['count']} x {one['phase']}/{one['step']} {kind}{one['message']} ({names})",
            )
        )
    if len(groups) > len(parts):
        parts.append(("", f"and {len(groups) - len(parts)} more causes: -o json shows all"))
    for one in _records(found, "holds")[:10]:
        label = "" if parts and parts[-1][0] in {"", "asks"} and "hold " in parts[-1][1] else "asks"
        parts.append((label, f"hold {one['id']}, {one['kind']}: {one['reason']}"))
    return parts


def _named(names: list[str], count: int) -> str:
    shown = ", ".join(names[:_NAMES])
    return f"{shown} and {count - _NAMES:,} more" if count > _NAMES else shown


def _hold(found: Record) -> list[tuple[str, str]]:
    hold = cast("Record", found["hold"])
    parts = [
        ("asks", f"{hold['reason']}"),
        ("since", f"{_at(found, _instant(hold['opened_at']))} by {hold['opened_by']}"),
    ]
    parts += [("evidence", text) for text in evidence(str(hold["kind"]), cast("Record", hold["evidence"] or {}))]
    if hold["is_open"]:
        parts.append(("stops", _STOPS[str(found["stops"])]))
        others = cast("list[str]", found["not_by"])
        parts.append(("who", f"anybody but {', '.join(others)} (who made it)" if others else "anybody"))
        if hold["expires_at"]:
            then = "the batch then stays held until the gate is reopened"
            parts.append(("expires", f"{_at(found, _instant(hold['expires_at']))}; unanswered is no-go: {then}"))
    else:
        note = f": {hold['note']}" if hold["note"] else ""
        parts.append(
            ("answer", f"{hold['state']} by {hold['closed_by']} {_at(found, _instant(hold['closed_at']))}{note}")
        )
    return parts


def evidence(kind: str, found: Record) -> list[str]:
    """Put the evidence of a hold into words."""
    if kind == "gate":
        return [f"{found.get('members', 0)} members active, {found.get('failed', 0)} failed when it was asked"]
    if kind == "brake":
        return [f"{found.get('failed')} of {found.get('started')} started members failed (ring {found.get('ring')})"]
    if kind in {"leavers", "vanished", "move"} and found.get("members"):
        names = cast("list[str]", found["members"])
        return [f"{found.get('count', len(names))} members: {_named(names, int(str(found.get('count', len(names)))))}"]
    if kind == "late_success":
        return [f"job {found.get('job_id')} of step {found.get('step')}, which was {found.get('status')}"]
    return [f"{name.replace('_', ' ')} {value}" for name, value in found.items()]


# -- what it waits for, what may be done -------------------------------------------------------------------------------


def _waits(found: Record) -> list[tuple[str, str]]:
    if found["kind"] in {"gate", "hold"}:
        return []
    parts: list[tuple[str, str]] = []
    waits = _records(found, "waits")
    # The phases of a batch stand above already, each with its own state.
    for wait in waits[:1] if found["kind"] == "batch" else waits:
        place = {"batch": "", "member": "", "phase": f"{wait['sequence']}: "}.get(
            str(wait["kind"]), f"{wait['kind']} steps: "
        )
        label = "ended" if wait["code"] == "ended" else "waits"
        sentence = localized(str(wait["sentence"]), str(found["zone"]), _now(found))
        parts.append(("" if parts else label, f"{place}{sentence}"))
    at = _instant(found.get("next_at"))
    return [*parts, ("next", _at(found, at))] if at is not None else parts


def _drain(found: Record) -> list[tuple[str, str]]:
    return [
        ("drains", f"job {one['job_id']} must end first: its lease ends {_at(found, _instant(one['lease_until']))}")
        for one in _records(found, "drain")
    ]


def _actions(found: Record) -> list[tuple[str, str]]:
    actions = _records(found, "actions")
    start = f" from {found['retry_from']}" if found.get("retry_from") else ""
    can = [f"{_typed_as(one)}{start if one['name'] == 'retry' else ''}" for one in actions if one["enabled"]]
    parts = [("you can", ", ".join(can) if can else "only wait")]
    refused: dict[str, list[str]] = {}
    for one in actions:
        if not one["enabled"]:
            refused.setdefault(str(one["reason"]), []).append(_typed_as(one))
    return parts + [("not now", f"{', '.join(names)}: {reason}") for reason, names in refused.items()]


def _typed_as(action: Record) -> str:
    """Return what a person types for an action."""
    name = str(action["name"])
    return _COMMANDS.get(name, name)


def is_alone(found: Record) -> bool:
    """Tell whether something lives that no process carries on."""
    lives = found.get("batch_status") in _LIVE and found["status"] in _LIVE | {"pending", "dispatched", "polling"}
    return lives and not found.get("is_anybody_at_work", True)


def next_command(found: Record) -> list[str] | None:
    """Return the command that is probably wanted next, None where there is none."""
    kind, able = str(found["kind"]), {str(one["name"]) for one in _records(found, "actions") if one["enabled"]}
    if kind in {"gate", "hold"}:
        return _answer(found, able)
    dirty = next((lane for lane in _records(found, "undone") if lane["state"] == "not clean"), None)
    if dirty is not None:
        return ["tminus", "retry", "--lane", str(dirty["lane_id"]), *_REASON]
    if kind == "member" and found["status"] in {"failed", "cancelled"} and "retry" in able:
        return ["tminus", "retry", str(found["member_key"]), *_REASON]
    held = next((wait["hold_id"] for wait in _records(found, "waits") if wait.get("hold_id")), None)
    if held is not None:
        return ["tminus", "why", "hold", str(held)]
    if kind == "batch":
        return _of_batch(found, able)
    if found["status"] in {"active", "pending", "dispatched", "polling"}:
        return ["tminus", "up"] if is_alone(found) else ["tminus", "watch", str(found["batch_id"])]
    return ["tminus", "why", "batch", str(found["batch_id"])]


def _of_batch(found: Record, able: set[str]) -> list[str]:
    number = str(found["id"])
    if "retry-init" in able or (_records(found, "failures") and found["status"] != "cancelled"):
        return ["tminus", "retry", "--batch", number, *_REASON]
    if _records(found, "holds"):
        return ["tminus", "why", "hold", str(_records(found, "holds")[0]["id"])]
    if "advance" in able:
        return ["tminus", "batch", "advance", number]
    if is_alone(found):
        return ["tminus", "up"]
    return ["tminus", "report" if found["status"] in {"completed", "failed", "cancelled"} else "watch", number]


def _answer(found: Record, able: set[str]) -> list[str] | None:
    hold = cast("Record", found["hold"])
    words = answer_to(hold)
    refused = {"approve", "reopen", "refuse", "lift"} & set(words[1:3]) - able
    if not hold["is_open"] or refused:
        return ["tminus", "why", "batch", str(hold["batch_id"])] if hold["batch_id"] else ["tminus", "status"]
    return words


def answer_to(hold: Record) -> list[str]:
    """Return the command that answers an open hold; of two answers the one that keeps members."""
    number, kind = str(hold["id"]), hold["kind"]
    lane = cast("Record", hold["evidence"] or {}).get("lane_id")
    if kind in {"rollback", "removal"} and lane:
        return ["tminus", "retry", "--lane", str(lane), *_REASON]
    if kind == "rerun_init":
        return ["tminus", "retry", "--batch", str(hold["batch_id"]), *_REASON]
    if kind == "gate":
        return ["tminus", *(["approve"] if hold["state"] == "waiting" else ["gate", "reopen"]), number, *_REASON]
    return ["tminus", "hold", "refuse" if kind in {"leavers", "vanished", "move"} else "lift", number, *_REASON]


def typed(words: Iterable[str]) -> str:
    """Write a command as a person would type it: a reason in double quotes, whatever needs it in single ones."""
    return " ".join(f'"{word}"' if word == _REASON[1] else shlex.quote(word) for word in words)


def _at(found: Record, at: Instant | None) -> str:
    if at is None:
        return "at an unknown time"
    zone = str(found["zone"])
    return f"{wall(at, zone, _now(found))} {zone} ({distance(at, _now(found))})"


def _now(found: Record) -> Instant:
    return Instant(str(found["now"]))


def _instant(value: object) -> Instant | None:
    return None if value is None else Instant(str(value))


def _records(found: Record, key: str) -> list[Record]:
    return cast("list[Record]", found.get(key) or [])
