"""The top of the page: which batch, how it went in a sentence, and the figures that prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from tminus.cli.clocks import span
from tminus.cli.report.markup import NOTHING, Markup, Part, tag
from tminus.cli.report.words import STATUS, Times, share, times_of
from tminus.domain.instant import Instant, between_s

if TYPE_CHECKING:
    from tminus.store.insights.records import Record

_OUTCOME: Final = {
    "completed": "done", "failed": "fail", "cancelled": "held", "active": "run", "closing": "run", "detected": "idle",
    "init_dispatched": "run",
}  # fmt: skip
_BARS: Final = (("done", "done"), ("active", "run"), ("failed", "fail"), ("cancelled", "idle"), ("removed", "idle"))


def head(report: Record, times: Times) -> Markup:
    """Lay out name, sentence, state and times."""
    status = str(report["status"])
    facts: list[tuple[str, Part, str]] = [
        ("T-0", times.at(report["t0"]) if report["t0"] else "none: it is advanced by hand", _moved(report, times)),
        ("Began", times.at(report["detected_at"]), f"by {report['created_by']}" if report["created_by"] else ""),
        ("Ended", times.at(report["completed_at"]) if report["completed_at"] else "not yet", _lasted(report)),
        ("Runbook", _versions(report), ""),
    ]
    return tag(
        "header",
        tag("p", "tminus", tag("span", " wave report"), class_="brand"),
        tag("h1", str(report["runbook_name"]), " ", tag("span", f"batch {report['batch_id']}")),
        tag("p", str(report["description"]), class_="about") if report["description"] else NOTHING,
        tag("p", str(report["sentence"]), class_="lead"),
        tag("p", tag("span", status.replace("_", " "), class_=f"chip {_OUTCOME.get(status, 'idle')}"), class_="state"),
        tag(
            "dl",
            *(
                tag("div", tag("dt", name), tag("dd", value), tag("dd", more, class_="more") if more else NOTHING)
                for name, value, more in facts
            ),
            class_="facts",
        ),
    )


def _moved(report: Record, times: Times) -> str:
    if report["first_t0"] and report["first_t0"] != report["t0"]:
        return f"first planned for {times.at(report['first_t0'])}"
    return times.zone if report["t0"] else ""


def _lasted(report: Record) -> str:
    if not report["completed_at"]:
        return f"as of {times_of(report).at(report['as_of'])}"
    return f"after {span(between_s(Instant(str(report['detected_at'])), Instant(str(report['completed_at']))))}"


def _versions(report: Record) -> str:
    versions = cast("list[Record]", report["versions"])
    return ", ".join(f"v{one['version']}" for one in versions) or "unknown"


def figures(report: Record) -> Markup:
    """Lay out the counts as one bar and as tiles."""
    counts, total = cast("dict[str, int]", report["members"]), int(str(report["members_total"]))
    stays = total - counts.get("removed", 0)
    tiles = [
        _tile("through", counts.get("done", 0), f"of {stays:,} · {share(counts.get('done', 0), stays)}", "done"),
        _tile(
            "failed",
            counts.get("failed", 0),
            f"{report['failed_rolled_back']:,} of them rolled back" if counts.get("failed") else "nobody",
            "fail",
        ),
    ]
    if counts.get("active", 0):
        tiles.append(_tile("on their way", counts["active"], share(counts["active"], stays), "run"))
    if counts.get("cancelled", 0):
        tiles.append(_tile("cancelled", counts["cancelled"], share(counts["cancelled"], stays), "idle"))
    came = int(str(report["joined_late"])) + int(str(report["came_back"])) + int(str(report["moved_here"]))
    went = int(str(report["left"])) + int(str(report["moved_on"]))
    tiles.append(_tile("came later", came, f"{report['joined_late']:,} joined late" if came else "nobody", ""))
    tiles.append(_tile("went", went, f"{report['moved_on']:,} of them to another batch" if went else "nobody", ""))
    if report["not_clean"]:
        tiles.append(_tile("not cleaned up", int(str(report["not_clean"])), "somebody has to look", "fail"))
    bars = [tag("i", class_=kind, style=f"flex:{counts[name]}") for name, kind in _BARS if counts.get(name)]
    shown = ", ".join(f"{counts[name]:,} {STATUS[name]}" for name, _ in _BARS if counts.get(name))
    return tag(
        "section",
        tag("div", *bars, class_="stack", role="img", aria_label=shown) if bars else NOTHING,
        tag("div", *tiles, class_="tiles"),
    )


def _tile(name: str, count: int, more: str, kind: str) -> Markup:
    return tag("div", tag("b", f"{count:,}"), tag("span", name), tag("small", more), class_=_kind("tile", kind, count))


def _kind(base: str, kind: str, count: int) -> str:
    return f"{base} {kind}" if kind and count else base
