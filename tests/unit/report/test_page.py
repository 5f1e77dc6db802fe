"""The page of a report: no word of data becomes markup, nothing is asked of anybody, and size does not hurt it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final, cast

import pytest

from tests.acceptance.screens.waves import BOOK, for_some, taken, upn, wave
from tminus.cli.report import words
from tminus.cli.report.markup import tag
from tminus.cli.report.page import page
from tminus.cli.report.prose import prose
from tminus.progression import events as ev
from tminus.progression.events import WorkError
from tminus.store.insights.report import acts, rows, summary
from tminus.testing.world import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tminus.store.insights.records import Record
    from tminus.testing.world import World

PAYLOADS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>',
    "</style><script>x</script>", "</title><script>x</script>", "'><iframe src=//x.example>",
    "<a href=javascript:alert(1)>x</a>", "<!-- x", "]]>",
    "&lt;script&gt;", "<meta http-equiv=refresh content=0>", '" style="x" class="fail', "<base href=//x.example>",
    "<link rel=stylesheet href=//x.example>", "\u202e<b>", "\x1b[31m", "{{constructor}}", "</main></body>",
    "<form action=//x.example><input>", "<math><mi//xlink:href=data:x>",
]  # fmt: skip
TAGS: Final = re.compile(
    r"html|head|meta|title|style|body|main|header|section|article|footer|div|p|h[123]|span|small|b|i|em|strong|code"
    r"|d[ldt]|ul|li|table|col|thead|tbody|t[rhd]"
)
ATTRIBUTES: Final = frozenset({
    "lang", "charset", "http-equiv", "content", "name", "class", "style", "role", "aria-label", "scope",
})  # fmt: skip


class Seen(HTMLParser):
    """What a browser would find."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"comment {data}")


def told(world: World, batch_id: int = 1) -> tuple[Record, list[Sequence[Record]]]:
    """Return the report of a world's batch, and its pages of rows."""
    with world.store.snapshot() as (tx, context):
        found = summary.report(tx, context, batch_id)
        assert found is not None
    return found, list(rows.rows(world.store.database.read, batch_id))


def poisoned(report: Record, text: str) -> Record:
    """Put a text into every place of a record where there is one."""
    return cast("Record", _poisoned(report, text, ""))


def _poisoned(value: object, text: str, key: str) -> object:
    if isinstance(value, dict):
        return {name: _poisoned(part, text, str(name)) for name, part in cast("Record", value).items()}
    if isinstance(value, list):
        return [_poisoned(part, text, key) for part in cast("list[object]", value)]
    kept = key.endswith("_at") or key in {"at", "until", "as_of", "t0", "first_t0", "zone", "status", "state", "how"}
    return value if not isinstance(value, str) or kept or key in {"kind", "outcome"} else text


@pytest.fixture(name="world", scope="module")
def failed() -> World:
    """Return a wave that ended: one member failed and was rolled back, one left."""
    world = wave(6, behaviours={"F-primary": for_some({upn(102)}, taken())}, book=BOOK)
    world.command(ev.Remove(member_id=world.member_id(upn(103)), actor="ben", reason="stays where he is"))
    world.run()
    world.pass_time(5 * DAY)
    return world


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_becomes_markup(world: World, payload: str) -> None:
    report, pages = told(world)
    clean, seen = (
        Seen("".join(page(poisoned(report, text), [[poisoned(row, text) for row in part] for part in pages])))
        for text in ("harmless", payload)
    )
    assert seen.tags == clean.tags
    assert all(TAGS.fullmatch(name) for name in seen.tags)
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    assert [pair for pair in seen.attributes if pair[0] != "content"] == [
        pair for pair in clean.attributes if pair[0] != "content"
    ]


def test_it_asks_nobody_for_anything(world: World) -> None:
    text = "".join(page(*told(world)))
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(|<script|<link|<img|\bon[a-z]+=", text)
    assert "default-src 'none'" in text.replace("&#x27;", "'")


def test_it_says_all_that_a_committee_asks(world: World) -> None:
    report, pages = told(world)
    shown = " ".join(Seen("".join(page(report, pages))).words)
    for text in (
        "4 of 5 members are through; 1 failed and rolled back; 1 left.", "Europe/Berlin", "by anna", "T-5d", "v1",
        "409 address already in use", "cutover/primary", upn(102), "rollback undo", "clean", "stays where he is",
    ):  # fmt: skip
        assert text in shown, text
    assert all(shown.count(upn(number)) >= 1 for number in range(101, 107))


def test_fifty_thousand_members_are_never_one_text(world: World) -> None:
    report, pages = told(world)
    done = next(row for part in pages for row in part if row["status"] == "done")
    many = 50_000
    counts = {"done": many, "failed": 0, "active": 0, "removed": 0, "cancelled": 0}

    def listed() -> Iterator[list[Record]]:
        for first in range(0, many, 1_000):
            yield [done | {"member_key": upn(number)} for number in range(first, first + 1_000)]

    total = longest = tables = 0
    for piece in page(report | {"members_total": many, "members": counts}, listed()):
        total, longest, tables = total + len(piece), max(longest, len(piece)), tables + piece.count('class="chunk')
    assert tables == many // 500
    assert longest < 20_000
    assert total < 10_000_000


@pytest.mark.parametrize("payload", [
    "![x](http://x.example/p.png)", "[x](javascript:alert(1))", "<img src=x>", "| a | b |", "# head", "`code", "* item",
    "http://x.example", "@everyone", "~~x~~", "two\nlines",
])  # fmt: skip
def test_no_text_becomes_markdown(world: World, payload: str) -> None:
    report, pages = told(world)
    clean, text = (
        "".join(prose(poisoned(report, said), [[poisoned(row, said) for row in part] for part in pages]))
        for said in ("harmless", payload)
    )
    assert len(text.splitlines()) == len(clean.splitlines())
    bare = re.sub(r"`[^`]*`|\\.", "", text.replace("<!-- tminus report -->", ""))
    assert not re.search(r"[<\[!@~]|https?://", bare)


def test_what_looks_like_a_secret_is_in_no_report(world: World) -> None:
    text = "".join([*page(*told(world)), *prose(*told(world))])
    assert '"upn"' not in text
    assert "F-primary" not in text
    error = WorkError("cannot sign in: password=hunter2", "Denied")
    leaking = wave(2, behaviours={"F-create": for_some({upn(101)}, error)})
    report, pages = told(leaking)
    assert "hunter2" not in str(report)
    assert "hunter2" not in str(pages)
    assert str(report).count("password=***") == str(pages).count("password=***") == 1


def test_an_attribute_cannot_be_left() -> None:
    assert tag("p", "x", title='" onclick="x').text == '<p title="&quot; onclick=&quot;x">x</p>'


def test_every_act_of_an_operator_has_its_words() -> None:
    assert {command.__name__ for command in ev.Command.__subclasses__()} <= set(acts.WORDS)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("gate:waiting", "pending: waits for the go/no-go"),
        ("gate:rejected", "pending: the go/no-go was no-go"),
        ("gate:expired", "pending: the go/no-go ran out unanswered"),
        ("hold:7", "pending: held, see hold 7"),
        ("phase:prepare", "pending: waits for phase prepare"),
        ("no members at its due time", "pending: no members at its due time"),
        (None, "pending"),
    ],
)
def test_what_keeps_a_phase_shut_is_said_in_words(world: World, reason: str | None, said: str) -> None:
    phases = cast("list[Record]", told(world)[0]["phases"])
    nothing: Record = {}
    shut = phases[0] | {"dispatched_at": None, "status": "pending", "reason": reason, "took_s": None}
    shut["trouble"] = nothing
    assert words.phase_note(shut, words.Times("UTC", None)).split(" · ")[1] == said
