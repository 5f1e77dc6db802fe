"""Rows laid aside come back as they were, from memory and from the file alike."""

from __future__ import annotations

import pytest

from tminus.domain.instant import Instant
from tminus.ports.source import SourceRow
from tminus.sources.spool import CHUNK_ROWS, MEMORY_BYTES, Spool


def rows(count: int) -> list[SourceRow]:
    time = Instant("2026-12-04T22:00:00.000Z")
    return [SourceRow(f"k{n}", time if n % 2 else None, f'{{"K":"ü{n}\\n"}}', f"m.csv:{n}") for n in range(count)]


def filled(count: int, memory_bytes: int) -> Spool:
    spool = Spool(memory_bytes=memory_bytes)
    for row in rows(count):
        spool.add(row)
    return spool


@pytest.mark.parametrize("memory_bytes", [0, 1_500_000, MEMORY_BYTES])
@pytest.mark.parametrize("count", [0, 1, CHUNK_ROWS, 3 * CHUNK_ROWS + 7])
def test_rows_come_back_in_order_and_again(memory_bytes: int, count: int) -> None:
    spool = filled(count, memory_bytes)
    assert len(spool) == count
    assert list(spool) == rows(count)
    assert list(spool) == rows(count)
    spool.close()


def test_chunks_are_never_empty_and_never_large() -> None:
    spool = filled(2 * CHUNK_ROWS, 0)
    assert [len(chunk) for chunk in spool.chunks()] == [CHUNK_ROWS, CHUNK_ROWS]
    spool.close()


def test_only_the_chunks_over_the_limit_leave_memory() -> None:
    spool = filled(3 * CHUNK_ROWS, 1)
    first, second, third = spool.chunks()
    again = list(spool.chunks())
    assert again[0] is first
    assert again[1] is not second
    assert again[2] == third
    spool.close()


def test_closing_forgets_and_may_be_repeated() -> None:
    spool = filled(CHUNK_ROWS * 2, 0)
    waiting = spool.chunks()
    next(waiting)
    spool.close()
    spool.close()
    assert len(spool) == 0
    assert list(spool) == []
