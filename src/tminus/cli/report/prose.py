"""The report as Markdown: for a message, a ticket, a wiki. Members that are through without a word are only counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from tminus.cli.report.words import DASH, HOLDS, STATUS, Times, answered, few, phase_note, remarks, share, times_of
from tminus.cli.telling import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.store.insights.records import Record

MARK: Final = "<!-- tminus report -->"
MOST: Final = 200
NAMED: Final = 20
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~!&@$])")
_AT_START: Final = re.compile(r"^(\s*)([-+=]|\d+[.)])")


def prose(report: Record, pages: Iterable[Sequence[Record]]) -> Iterator[str]:
    """Yield the text line by line."""
    times = times_of(report)
    yield f"# {said(report['runbook_name'])}, batch {report['batch_id']}\n"
    yield f"\n{MARK}\n\n**{said(report['sentence'])}**\n\n"
    for part in (_facts(report, times), _phases(report, times), _failures(report), _clean_up(report)):
        yield from part
    yield from _passage(report, times)
    yield from _decisions(report, times)
    yield from _members(report, pages)
    yield f"\nAs of {times.at(report['as_of'])}. All times {said(times.zone)}.\n"


def said(value: object) -> str:
    """Return a text that Markdown shows as it is: on one line, none of its signs at work."""
    shown = _SPECIAL.sub(r"\\\1", visible(str(value)))
    return _AT_START.sub(r"\1\\\2", shown).replace("://", ":\u200b//")


def code(value: object) -> str:
    """Return a name in a span of code, in which nothing is at work but its own end and a table's bar."""
    return f"`{visible(str(value)).replace('`', chr(39)).replace('|', chr(92) + '|') or ' '}`"


def _facts(report: Record, times: Times) -> Iterator[str]:
    counts, total = cast("dict[str, int]", report["members"]), int(str(report["members_total"]))
    stays = total - counts.get("removed", 0)
    t0 = times.at(report["t0"]) if report["t0"] else "none: it is advanced by hand"
    if report["first_t0"] and report["first_t0"] != report["t0"]:
        t0 += f" (first planned for {times.at(report['first_t0'])})"
    versions = ", ".join(f"v{one['version']}" for one in cast("list[Record]", report["versions"]))
    maker = f" by {said(report['created_by'])}" if report["created_by"] else ""
    yield from _table(
        ("", ""),
        [
            ("State", said(report["status"])),
            ("T-0", f"{t0} {said(times.zone)}"),
            ("Began", f"{times.at(report['detected_at'])}{maker}"),
            ("Ended", times.at(report["completed_at"]) if report["completed_at"] else "not yet"),
            ("Runbook", f"{said(report['runbook_name'])} {versions}"),
            ("Through", f"{counts.get('done', 0):,} of {stays:,} ({share(counts.get('done', 0), stays)})"),
            *(
                (STATUS[name].capitalize(), f"{counts[name]:,}")
                for name in ("failed", "active", "cancelled", "removed")
                if counts.get(name)
            ),
        ],
    )


def _phases(report: Record, times: Times) -> Iterator[str]:
    phases = cast("list[Record]", report["phases"])
    if phases:
        yield "\n## Countdown\n\n"
    yield from _table(
        ("Phase", "Offset", "Done", "Failed", "How it went"),
        [
            (code(one["phase_name"]), said(one["offset"]), f"{one['succeeded']:,}/{one['total']:,}",
             f"{one['failed']:,}", said(phase_note(one, times)))
            for one in phases
        ],
    )  # fmt: skip
    for one in cast("list[Record]", report["own_lanes"]):
        error = f": {said(one['error_message'])}" if one["error_message"] else ""
        yield f"\n- {one['kind']} (v{one['runbook_version']}): {one['status']}{error}"
    if report["own_lanes"]:
        yield "\n"


def _failures(report: Record) -> Iterator[str]:
    groups = cast("list[Record]", report["failures"])
    if groups:
        yield "\n## Failures\n\n"
    for one in groups:
        step = code(f"{one['phase']}/{one['step']}") if one["step"] else "elsewhere"
        kind = f" ({said(one['error_type'])})" if one["error_type"] else ""
        names = _named(cast("list[str]", one["members"]), int(str(one["count"])))
        yield f"- **{one['count']:,}** {step}: {said(one['message'] or 'no message')}{kind}{names}\n"


def _named(names: Sequence[str], count: int) -> str:
    if not names:
        return ""
    shown = ", ".join(code(name) for name in names[:NAMED])
    return f"\n  {shown} and {count - NAMED:,} more" if count > NAMED else f"\n  {shown}"


def _clean_up(report: Record) -> Iterator[str]:
    found = cast("list[Record]", report["clean_up"])
    if found:
        yield "\n## Rolled back and cleaned up\n\n"
    for one in found:
        what = " ".join(str(part) for part in (one["kind"], one["sequence"]) if part).replace("_", " ")
        yield f"- {said(what)}, {one['state']}: {one['count']:,}"
        yield f"{_named(cast('list[str]', one['members']), int(str(one['count'])))}\n"


def _passage(report: Record, times: Times) -> Iterator[str]:
    for title, name in (("Who came later", "arrivals"), ("Who went", "departures")):
        found = cast("list[Record]", report[name])
        if found:
            yield f"\n## {title}\n\n"
        yield from _table(
            ("Member", "How", "When", "Now"),
            [
                (
                    code(one["member_key"]),
                    said(str(one["how"]).replace("_", " ")),
                    times.at(one["at"]),
                    said(one["status"]),
                )
                for one in found[:MOST]
            ],
        )
        if len(found) > MOST:
            yield f"\nand {len(found) - MOST:,} more\n"


def _decisions(report: Record, times: Times) -> Iterator[str]:
    holds, acts = cast("list[Record]", report["holds"]), cast("list[Record]", report["acts"])
    if holds:
        yield "\n## Decisions\n\n"
    yield from _table(
        ("What", "Asked", "Answer", "Why"),
        [
            (said(HOLDS.get(str(one["kind"]), one["kind"])), f"{said(one['reason'])} ({times.at(one['opened_at'])})",
             said(answered(one)), said(one["note"] or DASH))
            for one in holds
        ],
    )  # fmt: skip
    if acts:
        yield "\n## What people did\n\n"
    yield from _table(
        ("When", "Who", "What", "To", "Why"),
        [
            (times.at(one["at"]), said(one["actor"]), said(_did(one)), said(few(one)), said(one["reason"] or DASH))
            for one in acts
        ],
    )  # fmt: skip


def _did(act: Record) -> str:
    return f"{act['words']}" if act["outcome"] == "done" else f"{act['words']}: refused"


def _members(report: Record, pages: Iterable[Sequence[Record]]) -> Iterator[str]:
    """List whom there is something to say about, as many as somebody reads."""
    shown: list[tuple[str, ...]] = []
    beyond = 0
    for row in (row for page in pages for row in page):
        words = remarks(row)
        if row["status"] == "done" and len(words) == bool(row["retries"]):
            continue
        if len(shown) < MOST:
            status = STATUS.get(str(row["status"]), str(row["status"]))
            shown.append((code(row["member_key"]), status, said(" · ".join(words) or DASH)))
        else:
            beyond += 1
    if shown:
        yield "\n## Members with a word to say\n\n"
        yield from _table(("Member", "State", "Remarks"), shown)
    rest = int(str(report["members_total"])) - len(shown) - beyond
    if beyond:
        yield f"\nand {beyond:,} more: `tminus report --csv` lists every one\n"
    if rest > 0:
        yield f"\n{rest:,} members are through without a word.\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"
