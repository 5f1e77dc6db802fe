"""The log of a job is bounded, valid text, and closed when the job ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tminus.workers.child.log import LOG_BYTES_MAX, Log, bounded

TEXT = st.text(st.characters(codec=None))


@given(st.lists(st.tuples(TEXT, st.sampled_from([1, 1, 50, 20_000])), max_size=8))
def test_a_log_is_what_was_written_or_its_two_ends(pieces: list[tuple[str, int]]) -> None:
    log = Log()
    written = "".join(text * times for text, times in pieces)
    for text, times in pieces:
        log.write(text * times)
    found = log.closed()
    assert len(found.encode()) <= LOG_BYTES_MAX
    clean = bounded(written, 100_000_000)
    if len(clean.encode()) <= LOG_BYTES_MAX:
        assert found == clean
    else:
        assert found[:1000] == clean[:1000]
        assert found[-1000:] == clean[-1000:]
        assert "the middle is left out" in found


def test_small_pieces_without_end_keep_to_the_bound() -> None:
    log = Log()
    for number in range(50_000):
        log.write(f"line {number}\n")
    found = log.closed()
    assert len(found) <= LOG_BYTES_MAX
    assert found.startswith("line 0\n")
    assert found.endswith("line 49999\n")


def test_nothing_is_written_after_the_end() -> None:
    log = Log()
    log.write("in time")
    assert log.closed() == "in time"
    log.write("late")
    assert log.closed() == "in time"


@given(TEXT, st.integers(4, 50))
def test_bounded_text_is_valid_and_short(text: str, bytes_max: int) -> None:
    found = bounded(text, bytes_max)
    assert len(found.encode()) <= bytes_max
    assert "\x00" not in found
