"""The lists of the page: causes of failures, what was cleaned up, who came and went, who decided and did what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from tminus.cli.report.markup import NOTHING, Markup, joined, tag
from tminus.cli.report.words import DASH, HOLDS, STATUS, Times, answered, few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.store.insights.records import Record

_CLEANING: Final = {"rollback": "rollback", "removal": "removal", "member_failed": "after a failure"}
_FEW: Final = 8
_CLEAN: Final = {"clean": "done", "not clean": "fail"}


def failures(report: Record) -> Markup:
    """Lay out the causes, the most frequent first, each with its members."""
    groups = cast("list[Record]", report["failures"])
    if not groups:
        return NOTHING
    failed = cast("dict[str, int]", report["members"]).get("failed", 0)
    causes = f"{len(groups)} {'cause' if len(groups) == 1 else 'causes'}"
    return tag(
        "section",
        tag("h2", "Failures", tag("small", f"{failed:,} {'member' if failed == 1 else 'members'}, {causes}")),
        *(_cause(one) for one in groups),
    )


def _cause(group: Record) -> Markup:
    step = f"{group['phase']}/{group['step']}" if group["step"] else "elsewhere"
    kind = tag("span", str(group["error_type"]), class_="kind") if group["error_type"] else NOTHING
    return tag(
        "article",
        tag("b", f"{group['count']:,}"),
        tag("div", tag("code", step), kind, tag("p", str(group["message"] or "no message"))),
        _names(cast("list[str]", group["members"]), int(str(group["count"]))),
        class_="cause",
    )


def _names(names: Sequence[str], count: int) -> Markup:
    if not names:
        return NOTHING
    more = [tag("li", f"and {count - len(names):,} more, below", class_="more")] if count > len(names) else []
    return tag("ul", *(tag("li", name) for name in names), *more, class_="names")


def clean_up(report: Record) -> Markup:
    """Lay out what was undone."""
    found = cast("list[Record]", report["clean_up"])
    rows = [
        [
            tag("td", f"{_CLEANING[str(one['kind'])]} {one['sequence']}".strip()),
            tag(
                "td",
                str(one["state"]),
                class_="done" if one["state"] == "clean" else "fail" if one["state"] == "not clean" else "run",
            ),
            tag("td", f"{one['count']:,}", class_="n"),
            tag("td", _names(cast("list[str]", one["members"])[:_FEW], int(str(one["count"])))),
        ]
        for one in found
    ]
    return _table("Rolled back and cleaned up", ("What", "State", "Members", "Who"), rows, class_="clean")


def passage(report: Record, times: Times) -> Markup:
    """Lay out who came after the others, and who went."""
    ways = {"joined_late": "joined late", "came_back": "came back", "moved_here": "moved here from batch {from_batch}"}
    came = [
        [tag("td", str(one["member_key"])), tag("td", ways[str(one["how"])].format_map(one)),
         tag("td", times.at(one["at"])), tag("td", STATUS.get(str(one["status"]), str(one["status"])))]
        for one in cast("list[Record]", report["arrivals"])
    ]  # fmt: skip
    went = [
        [tag("td", str(one["member_key"])), tag("td", _how_went(one)), tag("td", times.at(one["at"])),
         tag("td", str(one["clean_up"] or DASH))]
        for one in cast("list[Record]", report["departures"])
    ]  # fmt: skip
    all_came = sum(int(str(report[name])) for name in ("joined_late", "came_back", "moved_here"))
    all_went = sum(int(str(report[name])) for name in ("left", "moved_on", "missing"))
    return joined([
        _table("Who came later", ("Member", "How", "When", "Now"), came, of=all_came),
        _table("Who went", ("Member", "Why", "When", "Cleaned up"), went, of=all_went),
    ])  # fmt: skip


def _how_went(one: Record) -> str:
    if one["how"] == "moved_on":
        return f"moved to batch {one['to_batch']}"
    if one["how"] == "missing":
        return "no longer in the source; kept"
    who = f" by {one['actor']}" if one["actor"] else ""
    return f"{one['cause'] or 'left'}{who}"


def holds(report: Record, times: Times) -> Markup:
    """Lay out what waited for a human, and who decided."""
    rows = [
        [
            tag("td", _held(one)),
            tag("td", str(one["reason"]), tag("small", f"asked {times.at(one['opened_at'])} by {one['opened_by']}")),
            tag("td", answered(one), class_="held" if one["is_open"] else ""),
            tag("td", times.at(one["closed_at"]) if one["closed_at"] else DASH),
            tag("td", str(one["note"] or DASH)),
        ]
        for one in cast("list[Record]", report["holds"])
    ]  # fmt: skip
    return _table("Decisions", ("What", "Asked", "Answer", "When", "Why"), rows, class_="wide")


def _held(hold: Record) -> str:
    kind = HOLDS.get(str(hold["kind"]), str(hold["kind"]))
    return f"{kind} {hold['phase_name'] or hold['member_key'] or ''}".strip()


def acts(report: Record, times: Times) -> Markup:
    """Lay out what people did to the batch."""
    refused = tag("small", "refused", class_="fail")
    rows = [
        [
            tag("td", times.at(one["at"])),
            tag("td", str(one["actor"])),
            tag("td", str(one["words"]), NOTHING if one["outcome"] == "done" else refused),
            tag("td", few(one)),
            tag("td", str(one["reason"] or DASH)),
        ]
        for one in cast("list[Record]", report["acts"])
    ]  # fmt: skip
    return _table("What people did", ("When", "Who", "What", "To", "Why"), rows, class_="wide")


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Markup]], *, of: int = 0, class_: str = ""
) -> Markup:
    if not rows:
        return NOTHING
    count = f"{len(rows):,} of {of:,}" if of > len(rows) else f"{len(rows):,}"
    return tag(
        "section",
        tag("h2", title, tag("small", count)),
        tag(
            "table",
            tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads))),
            tag("tbody", *(tag("tr", *row) for row in rows)),
            class_=class_,
        ),
    )
