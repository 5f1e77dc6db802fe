"""Every member on the page: status after status, in tables that a browser lays out when they are looked at."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, cast

from tminus.cli.report.markup import Markup, escaped, joined, tag
from tminus.cli.report.words import SIGNS, STATUS, remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.store.insights.records import Record

CHUNK: Final = 500
# Beyond this many, members that are through are in the file and not on paper.
ON_PAPER: Final = 1_000
MOST_COLUMNS: Final = 12
_STATES: Final = {
    "succeeded": "done", "inherited": "quiet", "failed": "fail", "cancelled": "idle", "running": "run",
    "waiting": "idle",
}  # fmt: skip


def everyone(report: Record, pages: Iterable[Sequence[Record]]) -> Iterator[str]:
    """Yield a row for each member, with its state in each phase and what there is to say."""
    total = int(str(report["members_total"]))
    if not total:
        return
    counts = cast("dict[str, int]", report["members"])
    phases = list(dict.fromkeys(str(one["phase_name"]) for one in cast("list[Record]", report["phases"])))[
        :MOST_COLUMNS
    ]
    legend = [tag("span", tag("i", sign, class_=_STATES[name]), f" {name}") for name, sign in SIGNS.items()]
    yield '<section class="members">'
    yield joined([tag("h2", "Every member", tag("small", f"{total:,}")), tag("p", *legend, class_="legend")]).text
    if total > ON_PAPER:
        said = f"{counts.get('done', 0):,} members that are through are in the file and not on paper."
        yield tag("p", said, class_="paper").text
    for status, first, rows in _chunks(pages):
        if first == 0:
            yield tag("h3", STATUS.get(status, status), tag("small", f"{counts.get(status, 0):,}")).text
        quiet = " offpaper" if status == "done" and total > ON_PAPER else ""
        heads = _heads(phases, first, len(rows), counts.get(status, 0))
        yield f'<div class="chunk{quiet}"><table>{heads.text}<tbody>\n'
        yield from (_row(row, phases) for row in rows)
        yield "</table></div>\n"
    yield "</section>\n"


def _heads(phases: Sequence[str], first: int, count: int, of: int) -> Markup:
    name = f"Member {first + 1:,} to {first + count:,}" if of > count else "Member"
    columns = [tag("col", class_="key"), *(tag("col", class_="p") for _ in phases), tag("col")]
    heads = [tag("th", name, scope="col")]
    heads += [tag("th", tag("span", phase), scope="col", class_="p") for phase in phases]
    return joined([*columns, tag("thead", tag("tr", *heads, tag("th", "Remarks", scope="col")))])


def _row(row: Record, phases: Sequence[str]) -> str:
    """Write one row; ends of cells may be left out in HTML, and fifty thousand rows thank for it."""
    lanes = cast("dict[str, str]", row["phases"])
    cells = "".join(
        f'<td class="p {_STATES.get(lanes.get(name, ""), "none")}">{_sign(lanes.get(name))}' for name in phases
    )
    return f"<tr><td>{escaped(str(row['member_key']))}{cells}<td>{escaped(' · '.join(remarks(row)))}\n"


def _sign(state: str | None) -> str:
    return SIGNS.get(state or "", "")


def _chunks(pages: Iterable[Sequence[Record]]) -> Iterator[tuple[str, int, list[Record]]]:
    """Yield rows of one status by five hundred, with how many of it came before."""
    status, before, held = "", 0, list[dict[str, object]]()
    for row in chain.from_iterable(pages):
        if held and (row["status"] != status or len(held) == CHUNK):
            yield status, before, held
            before = before + len(held) if row["status"] == status else 0
            held = []
        status = str(row["status"])
        held.append(row)
    if held:
        yield status, before, held
