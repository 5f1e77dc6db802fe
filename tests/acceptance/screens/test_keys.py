"""Keys out of what a terminal sends, however it is cut into pieces; and the board's answer to them."""

from __future__ import annotations

import pytest

from tests.acceptance.screens.test_grid import page
from tests.acceptance.screens.waves import busy, for_some, taken, upn, wave
from tminus.cli.board import Board, Prompt, Wish
from tminus.cli.keys import END, PASTED, parse

SAID: list[tuple[str, list[str]]] = [
    ("q", ["q"]),
    ("\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
    ("\x1bOA\x1bOF", ["up", "end"]),
    ("\x1b[5~\x1b[6~\x1b[1~\x1b[4~", ["pgup", "pgdn", "home", "end"]),
    ("\r\n\x7f\x08\t\x15\x04", ["enter", "enter", "backspace", "backspace", "tab", "clear", END]),
    ("é日", ["é", "日"]),
    ("\x1b[200~rm -rf\r\x1b[201~q", [f"{PASTED}rm -rf\r", "q"]),
    ("\x1b[1;5C\x1b[15~x", ["x"]),
    ("\x00\x01x", ["x"]),
]


@pytest.mark.parametrize(("text", "keys"), SAID, ids=repr)
def test_keys_are_told_apart_wherever_they_are_cut(text: str, keys: list[str]) -> None:
    assert parse(text) == (keys, "")
    for cut in range(len(text)):
        first, rest = parse(text[:cut])
        more, left = parse(rest + text[cut:])
        assert (first + more, left) == (keys, "")


def test_an_escape_alone_is_a_key_when_nothing_follows() -> None:
    assert parse("\x1b") == ([], "\x1b")
    assert parse("\x1b", is_over=True) == (["esc"], "")


def test_the_cursor_walks_the_whole_list_and_stays_inside() -> None:
    world = wave(members=25, behaviours={"F-create": for_some({upn(110)}, taken())})
    board = Board(1, room=10)
    seen: list[int] = []
    for _ in range(40):
        shown = page(world, first=board.first, most=board.room)
        board.settle(shown)
        chosen = board.under_cursor(shown)
        assert chosen is not None
        if not seen or seen[-1] != chosen.member_id:
            seen.append(chosen.member_id)
        board.press("down", shown)
    assert len(set(seen)) == len(seen) == 25


@pytest.mark.parametrize("key", ["pgdn", "end", "up", "pgup", "home", " ", "G", "g"])
@pytest.mark.parametrize("members", [0, 1, 3, 25])
def test_no_key_leaves_the_list(key: str, members: int) -> None:
    world = wave(members=members)
    board = Board(1, room=10)
    for pressed in (key, "down", key, key, "up", key):
        shown = page(world, first=board.first, most=board.room)
        board.settle(shown)
        board.press(pressed, shown)
    shown = page(world, first=board.first, most=board.room)
    board.settle(shown)
    assert 0 <= board.cursor < max(1, len(shown.rows))
    assert (board.under_cursor(shown) is not None) == bool(members)


def test_the_cursor_stays_with_its_member_when_the_list_moves() -> None:
    world = wave(members=5, behaviours={"F-proxies": for_some({upn(105)}, busy())})
    board = Board(1, room=10)
    board.settle(page(world))
    board.press("down", page(world))
    board.settle(page(world))
    assert board.chosen == world.member_id(upn(101))
    world.behaviours.clear()
    world.pass_time(3_600)
    board.settle(page(world))
    assert board.chosen == world.member_id(upn(101))
    assert board.cursor == 0


def test_a_reason_is_needed_before_anything_is_done() -> None:
    shown = page(wave(members=1))
    board = Board(1, prompt=Prompt("retry", "retry", [(1, upn(101))]))
    assert board.press("enter", shown) is None
    assert board.prompt is not None
    for key in "  x":
        board.press(key, shown)
    assert board.press("enter", shown) == Wish("do", "x")


def test_a_key_that_is_none_of_ours_does_nothing() -> None:
    shown = page(wave(members=1))
    board = Board(1)
    for key in "abcdexyz!":
        assert board.press(key, shown) is None
    assert board.press(f"{PASTED}q", shown) is None
