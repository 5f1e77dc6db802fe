"""The words of a report, the same on the page and in the text: times in the batch's zone, states, remarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from tminus.cli.clocks import span, t_clock, wall
from tminus.domain.instant import Instant

if TYPE_CHECKING:
    from tminus.store.insights.records import Record

DASH: Final = "-"
_ON_TIME_S: Final = 60.0
STATUS: Final = {
    "done": "through", "failed": "failed", "active": "on their way", "cancelled": "cancelled", "removed": "left",
}  # fmt: skip
TROUBLE: Final = {
    "throttled": "throttled", "failed": "attempts failed", "timeout": "timed out", "lost": "lost with a worker",
    "poll_timeout": "never complete", "deadline": "past the deadline", "cancelled": "cancelled",
    "marked_done": "marked done by hand",
}  # fmt: skip
SIGNS: Final = {
    "succeeded": "✓", "inherited": "✓", "failed": "✗", "cancelled": "⊘", "running": "▸", "waiting": "·",
}  # fmt: skip
HOLDS: Final = {
    "gate": "go/no-go", "brake": "failure brake", "pause": "pause", "freeze": "freeze calendar", "leavers": "leavers",
    "move": "move", "one_way": "one-way step", "old_t0": "old T-0", "rerun_init": "failed init",
    "rollback": "rollback not clean", "removal": "removal not clean", "late_success": "late success",
    "vanished": "no longer in the source", "over_cost": "over the cost",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Times:
    """Instants as they are lived where the batch is."""

    zone: str
    t0: Instant | None

    def at(self, value: object) -> str:
        """Write an instant with its day and year; a dash where there is none."""
        return DASH if value is None else wall(Instant(str(value)), self.zone)

    def clock(self, value: object) -> str:
        """Write where on the countdown an instant was, empty without a T-0."""
        return "" if value is None or self.t0 is None else t_clock(self.t0, Instant(str(value)))


def times_of(report: Record) -> Times:
    """Return the times of a report."""
    return Times(str(report["zone"]), None if report["t0"] is None else Instant(str(report["t0"])))


def phase_note(phase: Record, times: Times) -> str:
    """Say when a phase was planned and how it went, on one line."""
    parts = [f"planned {times.at(phase['due_at'])}" if phase["due_at"] else "advanced by hand"]
    late = cast("float | None", phase["late_s"])
    if phase["dispatched_at"] is None:
        parts.append(f"{phase['status']}: {_shut(str(phase['reason']))}" if phase["reason"] else str(phase["status"]))
    elif late is not None and late >= _ON_TIME_S:
        parts.append(f"opened {span(late)} late, {times.at(phase['dispatched_at'])}")
    elif late is not None:
        parts.append("opened on time")
    else:
        parts.append(f"opened {times.at(phase['dispatched_at'])}")
    took = cast("float | None", phase["took_s"])
    if took is not None:
        parts.append(f"took {span(took)}")
    if phase["completed_at"] != phase["first_completed_at"]:
        parts.append(f"opened again later, ended {times.at(phase['completed_at'])}")
    return " · ".join([*parts, *trouble(phase)])


def _shut(reason: str) -> str:
    """Say what keeps a phase shut."""
    kind, _, rest = reason.partition(":")
    answers = {"rejected": "the go/no-go was no-go", "expired": "the go/no-go ran out unanswered"}
    words = {
        "gate": answers.get(rest, "waits for the go/no-go"),
        "hold": f"held, see hold {rest}",
        "phase": f"waits for phase {rest}",
    }
    return words.get(kind, reason)


def trouble(phase: Record) -> list[str]:
    """Name what did not go at the first attempt."""
    found = cast("dict[str, int]", phase["trouble"])
    said = [f"{count:,} {TROUBLE.get(came, came)}" for came, count in sorted(found.items())]
    return ["1 attempt failed" if one == "1 attempts failed" else one for one in said]


def share(part: int, whole: int) -> str:
    """Write a share in per cent: 100 only when it is all, 0 only when it is nothing."""
    if not whole:
        return DASH
    exact = 100 * part / whole
    shown = f"{exact:.1f}"
    if part < whole and shown == "100.0":
        shown = "99.9"
    if part and shown == "0.0":
        shown = "0.1"
    return f"{shown.removesuffix('.0')} %"


def remarks(row: Record) -> list[str]:
    """Say what there is to say about a member beside its status."""
    parts: list[str] = []
    if row["failed_step"]:
        kind = f" ({row['error_type']})" if row["error_type"] else ""
        parts.append(f"{row['failed_step']}: {row['error_message'] or 'failed'}{kind}")
    if row["rollback"]:
        parts.append(
            {"clean": "rolled back", "running": "rolling back"}.get(str(row["rollback"]), "rollback not clean")
        )
    if row["removal"] and row["removal"] != "clean":
        parts.append(f"removal {row['removal']}")
    if row["to_batch"]:
        parts.append(f"moved to batch {row['to_batch']}")
    if row["from_batch"]:
        parts.append(f"moved here from batch {row['from_batch']}")
    for name, words in (
        ("is_late", "joined late"),
        ("is_back", "came back"),
        ("is_missing", "no longer in the source"),
    ):
        parts += [words] if row[name] else []
    if row["retries"]:
        parts.append(f"{row['retries']} {'retry' if row['retries'] == 1 else 'retries'}")
    return parts


def answered(hold: Record) -> str:
    """Say who answered a hold, and how."""
    answers = cast("list[Record]", hold["answers"])
    if not answers:
        return "open, nobody has answered" if hold["is_open"] else str(hold["state"])
    return "; ".join(f"{one['answer']} by {one['actor'] or 'nobody (it ran out)'}" for one in answers)


def few(act: Record) -> str:
    """Name the first few to whom something was done."""
    names, count = cast("list[str]", act["subjects"]), int(str(act["count"]))
    shown = ", ".join(names)
    return f"{shown} and {count - len(names):,} more" if count > len(names) else shown
