"""The grid: what is read for it, in which order, and how it is drawn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.screens.waves import BOOK, busy, for_some, taken, throttled, upn, wave
from tminus.cli import grid as drawing
from tminus.db.connection import Tx
from tminus.progression import events as ev
from tminus.store.insights import grid, selection
from tminus.testing.world import DAY, World, ok, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Value
    from tminus.store.insights.grid import Page, Row


class Heard(Tx):
    """Counts what is asked of the database, and what it returns."""

    def __init__(self, inner: Tx) -> None:
        """Ask this one."""
        self.inner = inner
        self.asked = self.returned = 0

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        rows = self.inner.all(sql, params)
        self.asked, self.returned = self.asked + 1, self.returned + len(rows)
        return rows

    def one(self, sql: str, params: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        self.asked += 1
        return self.inner.one(sql, params)


def page(world: World, *, first: int = 0, most: int = 50, where: str = "") -> Page:
    with world.store.snapshot() as (tx, context):
        found = grid.page(tx, context, 1, first=first, most=most, terms=selection.parse(where) if where else ())
    assert found is not None
    return found


def row(world: World, key: str) -> Row:
    return next(one for one in page(world).rows if one.key == key)


def states(found: Row) -> list[str]:
    return [cell.state for cell in found.cells]


def text(world: World, look: drawing.Look | None = None) -> list[str]:
    lines = drawing.draw(page(world), world.store.now(), look or drawing.Look(width=100, height=24))
    return [line.plain for line in lines]


def test_a_cell_says_where_a_member_stands() -> None:
    world = wave(
        behaviours={"F-proxies": for_some({upn(102)}, busy()), "F-create": for_some({upn(103)}, throttled())},
    )
    assert states(row(world, upn(101))) == ["done", "done", "waiting"]
    assert states(row(world, upn(102))) == ["done", "retry", "waiting"]
    assert row(world, upn(102)).cells[1].tries == 1
    assert states(row(world, upn(103))) == ["throttled", "waiting", "waiting"]
    shown = "\n".join(text(world))
    assert "↻1/3" in shown
    assert "throttled, next in 25s" in shown
    assert "the mailbox is busy, next in 5m" in shown


def test_failed_members_come_first_then_those_in_trouble_then_by_key() -> None:
    world = wave(
        behaviours={
            "F-create": for_some({upn(110)}, taken()),
            "F-proxies": for_some({upn(105), upn(108)}, busy()),
        }
    )
    keys = [one.key for one in page(world).rows]
    assert keys[:4] == [upn(110), upn(105), upn(108), upn(101)]
    assert keys[4:] == sorted(keys[4:])
    assert len(set(keys)) == 12


@pytest.mark.parametrize("most", [1, 3, 5, 12, 100])
def test_pages_laid_end_to_end_are_the_whole_list(most: int) -> None:
    world = wave(behaviours={"F-create": for_some({upn(110)}, taken()), "F-proxies": for_some({upn(105)}, busy())})
    whole = [one.key for one in page(world, most=100).rows]
    found: list[str] = []
    for first in range(0, 12, most):
        part = page(world, first=first, most=most)
        assert part.total == 12
        found += [one.key for one in part.rows[max(0, first - part.first) :]]
    assert found == whole


def test_a_page_behind_the_end_is_the_last_one() -> None:
    found = page(wave(), first=10_000, most=5)
    assert (found.first, len(found.rows)) == (7, 5)


def test_a_selection_narrows_the_list_and_its_count() -> None:
    world = wave(behaviours={"F-create": for_some({upn(110), upn(111)}, taken())})
    found = page(world, where="status=failed")
    assert ([one.key for one in found.rows], found.total) == ([upn(110), upn(111)], 2)
    assert page(world, where="key~0112").total == 1
    assert page(world, where="key~nobody").rows == ()


def test_a_page_of_many_members_reads_its_own_rows_only() -> None:
    world = wave(members=3_000)
    with world.store.snapshot() as (tx, context):
        heard = Heard(tx)
        found = grid.page(heard, context, 1, first=1_500, most=20)
    assert found is not None
    assert [one.key for one in found.rows] == [upn(number) for number in range(1_601, 1_621)]
    assert heard.returned < 100
    assert heard.asked < 12


def test_a_failure_with_its_rollback_is_told() -> None:
    world = wave(behaviours={"F-primary": for_some({upn(104)}, taken())})
    world.pass_time(5 * DAY)
    found = row(world, upn(104))
    assert (states(found)[-1], found.undone, found.step) == ("undone", "clean", "cutover/primary")
    assert "⌫" in "\n".join(text(world))
    assert "primary: 409 address already in use · rolled back" in "\n".join(
        text(world, drawing.Look(width=140, height=24))
    )


def test_joiners_and_leavers_are_told() -> None:
    world = wave(members=3)
    world.behaviours["F-create"] = silent()
    world.pass_time(60)
    world.store.join(1, [("new@contoso.example", '{"upn": "new@contoso.example"}')])
    world.command(ev.Remove(member_id=world.member_id(upn(101)), actor="anna", reason="left the company"))
    world.run()
    shown = text(world)
    assert any("joined late: catching up 0/1" in line for line in shown)
    assert page(world).rows[-1].key == upn(101)
    assert shown[-2].startswith(f" {upn(101)}")
    assert "left" in shown[-2]


def test_a_pause_stands_above_the_members() -> None:
    world = wave(members=2)
    world.command(ev.OpenHold(scope="batch", batch_id=1, actor="anna", reason="the target is down"))
    assert any("held: pause by anna - the target is down" in line for line in text(world))
    assert page(world).head.is_paused


@pytest.mark.parametrize("width", [20, 34, 40, 60, 80, 81, 120, 200])
@pytest.mark.parametrize("height", [3, 6, 12, 24])
def test_no_line_is_wider_and_no_picture_higher_than_the_window(width: int, height: int) -> None:
    world = wave(behaviours={"F-create": for_some({upn(110)}, taken())})
    look = drawing.Look(width=width, height=height, cursor=0)
    lines = drawing.draw(page(world), world.store.now(), look)
    assert len(lines) <= height
    assert max(line.cell_len for line in lines) <= width


def test_columns_that_do_not_fit_are_scrolled_to() -> None:
    steps = "".join(f"      - {{name: step-{n:02}, worker_id: w, function: F-{n}}}\n" for n in range(30))
    head, _, tail = BOOK.partition("    steps:\n")
    book = head + "    steps:\n" + steps + "  - name: cutover" + tail.split("  - name: cutover")[1]
    world = wave(members=2, book=book)
    at_first = text(world, drawing.Look(width=120, height=20))
    assert any("more" in line for line in at_first)
    assert not any("prim" in line for line in at_first)
    at_last = text(world, drawing.Look(width=120, height=20, first_column=99))
    assert any("prim" in line for line in at_last)


def test_letters_stand_for_shapes_where_the_encoding_lacks_them() -> None:
    world = wave(behaviours={"F-create": for_some({upn(110)}, taken())})
    look = drawing.Look(width=100, height=24, plain=True)
    shown = "\n".join(text(world, look))
    assert shown.isascii()
    assert re.search(rf" {upn(110)} +X ", shown)


HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "日本語の名前" * 20,
    "👩‍👩‍👧‍👦" * 30,
    "a" * 500,
    "[bold]not markup[/bold]",
    "\u202eevil",
]


@pytest.mark.parametrize("key", HOSTILE)
def test_text_of_others_commands_no_terminal(key: str) -> None:
    world = wave(members=1)
    world.store.join(1, [(key, "{}")])
    world.behaviours["F-create"] = ok()
    world.run()
    lines = drawing.draw(page(world), world.store.now(), drawing.Look(width=80, height=24))
    assert max(line.cell_len for line in lines) <= 80
    assert all(char.isprintable() for line in lines for char in line.plain)


def test_what_does_not_fit_is_said_in_fewer_words_and_cut_where_one_sees_it() -> None:
    world = wave(
        2, behaviours={"F-proxies": for_some({upn(101)}, throttled()), "F-create": for_some({upn(102)}, taken())}
    )
    narrow = text(world, drawing.Look(width=70, height=24))
    assert all(len(line) <= 70 for line in narrow)
    assert any(line.rstrip().endswith("throttled 25s") for line in narrow)
    assert any(line.rstrip().endswith("409 address …") for line in narrow)
    wide = text(world, drawing.Look(width=100, height=24))
    assert any(line.rstrip().endswith("throttled, next in 25s") for line in wide)
    assert any(line.rstrip().endswith("409 address already in use") for line in wide)
