"""The small parts of the pool: frames, shares, and how far ahead jobs are sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tminus.workers.pace import AHEAD_MAX, Pace
from tminus.workers.process import how_it_ended
from tminus.workers.share import shares
from tminus.workers.wire import FRAME_BYTES_MAX, HEAD, Frames, Garbled, packed

CONTENT = st.none() | st.text() | st.lists(st.integers(-(2**53), 2**53))


@given(st.lists(st.tuples(st.text(max_size=10), CONTENT), max_size=5), st.lists(st.integers(1, 20), max_size=50))
def test_frames_arrive_whole_however_they_are_cut(said: list[tuple[str, object]], cuts: list[int]) -> None:
    stream = b"".join(packed(word, content) for word, content in said)
    frames, heard = Frames(), list[tuple[str, object]]()
    for cut in cuts:
        heard += frames.fed(stream[:cut])
        stream = stream[cut:]
    heard += frames.fed(stream)
    assert heard == said


@pytest.mark.parametrize(
    "junk",
    [
        HEAD.pack(FRAME_BYTES_MAX + 1),
        HEAD.pack(4) + b"junk",
        HEAD.pack(2) + b"{}",
        HEAD.pack(2) + b"[]",
        HEAD.pack(5) + b"[1,2]",
        HEAD.pack(0),
        HEAD.pack(3) + b"\xff\xfe\xfd",
    ],
)
def test_what_is_no_frame_is_garbled(junk: bytes) -> None:
    with pytest.raises(Garbled):
        Frames().fed(junk)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-5, 50)), max_size=6), st.integers(0, 300))
def test_shares_level_what_children_hold(children: list[tuple[int, int]], count: int) -> None:
    loads, rooms = [load for load, _ in children], [room for _, room in children]
    given_out = shares(loads, rooms, count)
    assert sum(given_out) == min(count, sum(max(0, room) for room in rooms))
    assert all(0 <= share <= max(0, room) for share, room in zip(given_out, rooms, strict=True))
    for load, room, share in zip(loads, rooms, given_out, strict=True):
        if share < room:  # Who could have taken more ends no lower than anybody who was given something.
            others = [loads[i] + given_out[i] for i in range(len(loads)) if given_out[i]]
            assert all(load + share >= other - 1 for other in others)


def test_the_pace_of_the_last_moment_decides() -> None:
    pace = Pace(100.0)
    assert pace.ahead(100.0) == 0
    pace.note(32, 100.0)
    assert pace.ahead(100.0) == 32
    assert 8 < pace.ahead(100.1) < 16
    assert pace.ahead(101.0) == 0
    for step in range(1000):
        pace.note(100, 101.0 + step / 1000)
    assert pace.ahead(102.0) == AHEAD_MAX


def test_calls_that_take_a_while_have_less_sent_ahead_of_others() -> None:
    quick, slow = Pace(0.0), Pace(0.0)
    quick.note(100, 0.0, 100.0)
    slow.note(100, 0.0, 5_000.0)
    assert quick.ahead(0.0) == 100
    assert slow.ahead(0.0) == 20


def test_slow_answers_send_hardly_anything_ahead() -> None:
    pace = Pace(0.0)
    for second in range(60):
        pace.note(1, float(second))
        assert pace.ahead(float(second)) == 1


@pytest.mark.parametrize(
    ("code", "words"), [(0, "code 0"), (3, "code 3"), (-11, "SIGSEGV"), (-9, "want of memory"), (-99, "unknown")]
)
def test_an_ending_is_said_in_words(code: int, words: str) -> None:
    assert words in how_it_ended(code)
