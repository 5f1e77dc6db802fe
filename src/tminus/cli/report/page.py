"""The report as one page that needs nothing but itself: no script, no font, no picture, no server.

It is written piece by piece, so that fifty thousand members are never one text. Members come in tables of five hundred,
which a browser lays out only when they are looked at. The page forbids itself every script and every request: should
something be spelt wrong here, it still can do nothing.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final, cast

from tminus.cli.report import lists, top
from tminus.cli.report.countdown import countdown
from tminus.cli.report.everyone import everyone
from tminus.cli.report.markup import Markup, escaped, tag
from tminus.cli.report.words import Times, times_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tminus.store.insights.records import Record

GENERATOR: Final = "tminus report"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(report: Record, pages: Iterable[Sequence[Record]]) -> Iterator[str]:
    """Yield the page; `pages` are the rows of its members, status after status."""
    times = times_of(report)
    title = f"{report['runbook_name']} · batch {report['batch_id']}"
    style = resources.files("tminus.cli.report").joinpath("style.css").read_text("utf-8")
    yield '<!doctype html>\n<html lang="en">\n<head>\n'
    yield tag("meta", charset="utf-8").text
    yield f'<meta http-equiv="Content-Security-Policy" content="{escaped(_POLICY)}">'
    yield tag("meta", name="generator", content=GENERATOR).text
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1").text
    yield f"<title>{escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
    for part in _sections(report, times):
        yield f"{part.text}\n"
    yield from everyone(report, pages)
    yield f"{_foot(report, times).text}\n</main>\n</body>\n</html>\n"


def _sections(report: Record, times: Times) -> Iterator[Markup]:
    yield top.head(report, times)
    yield top.figures(report)
    yield countdown(report, times)
    yield lists.failures(report)
    yield lists.clean_up(report)
    yield lists.passage(report, times)
    yield lists.holds(report, times)
    yield lists.acts(report, times)


def _foot(report: Record, times: Times) -> Markup:
    zone = f"Times are those of {times.zone}." if times.zone != "UTC" else "Times are UTC."
    published = "; ".join(
        f"v{one['version']} published {times.at(one['created_at'])} by {one['created_by'] or 'somebody'}"
        for one in cast("list[Record]", report["versions"])
    )
    return tag(
        "footer",
        tag("p", f"As of {times.at(report['as_of'])}. {zone} {published}."),
        tag("p", "No data, parameter or output of a member is in this file; what looked like a secret is covered."),
    )
