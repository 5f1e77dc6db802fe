"""The countdown on the page: every phase where it was planned and where it was, on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tminus.cli.report.markup import NOTHING, Markup, tag
from tminus.cli.report.words import Times, phase_note
from tminus.domain.instant import Instant, between_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.store.insights.records import Record


def countdown(report: Record, times: Times) -> Markup:
    """Lay out the phases, and below them what was done once for the whole batch."""
    phases = cast("list[Record]", report["phases"])
    if not phases:
        return NOTHING
    low, high = _ends(report, phases)
    zero = "" if report["t0"] is None else f"--zero:{_place(report['t0'], low, high):.2f}%"
    rows = [_phase(one, times, low, high) for one in phases]
    own = [_own(one, times) for one in cast("list[Record]", report["own_lanes"])]
    return tag(
        "section",
        tag("h2", "Countdown", tag("small", f"all times {times.zone}")),
        tag("div", *rows, class_="track" if zero else "track untimed", style=zero),
        tag("ul", *own, class_="own") if own else NOTHING,
    )


def _ends(report: Record, phases: Sequence[Record]) -> tuple[Instant, Instant]:
    """Return the first and the last instant that the countdown shows."""
    keys = ("due_at", "dispatched_at", "first_completed_at")
    known = [str(one[key]) for one in phases for key in keys if one[key]] + [str(report["t0"] or report["detected_at"])]
    return Instant(min(known)), Instant(max(known))


def _place(value: object, low: Instant, high: Instant) -> float:
    whole = between_s(low, high)
    return 1 + 97 * between_s(low, Instant(str(value))) / whole if whole else 50.0


def _phase(phase: Record, times: Times, low: Instant, high: Instant) -> Markup:
    marks: list[Markup] = []
    if phase["dispatched_at"]:
        start = _place(phase["dispatched_at"], low, high)
        end = _place(phase["first_completed_at"] or high, low, high)
        kind = "fail" if phase["status"] == "failed" else "done" if phase["first_completed_at"] else "run"
        marks.append(tag("i", class_=f"bar {kind}", style=f"left:{start:.2f}%;width:{max(0.0, end - start):.2f}%"))
    if phase["due_at"]:
        kind = "due" if marks else "due only"
        marks.append(tag("i", class_=kind, style=f"left:{_place(phase['due_at'], low, high):.2f}%"))
    total, good, bad = (int(str(phase[key])) for key in ("total", "succeeded", "failed"))
    count = f"{good:,}/{total:,}" if phase["dispatched_at"] else str(phase["status"])
    return tag(
        "div",
        tag("strong", str(phase["phase_name"]), tag("span", str(phase["offset"]))),
        tag("div", *marks, class_="line"),
        tag("span", count, tag("em", f" ✗{bad:,}") if bad else NOTHING, class_="count"),
        tag("p", phase_note(phase, times)),
        class_="phase",
    )


def _own(lane: Record, times: Times) -> Markup:
    """Tell what was done once for the whole batch."""
    name = {"init": "Init", "finish": "After the end"}.get(str(lane["kind"]), str(lane["kind"]).replace("_", " "))
    said = f"{name} (v{lane['runbook_version']}): {lane['status']}, {times.at(lane['closed_at'] or lane['started_at'])}"
    bad = lane["status"] == "failed"
    return tag("li", f"{said}: {lane['error_message']}" if lane["error_message"] else said, class_="bad" if bad else "")
