"""The ceilings can fail, each exactly one line past its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tidy import size

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write


@pytest.mark.parametrize(
    ("place", "lines", "refused"),
    [
        ("src/tminus/domain/long.py", 400, False),
        ("src/tminus/domain/long.py", 401, True),
        ("tests/unit/test_long.py", 500, False),
        ("tests/unit/test_long.py", 501, True),
    ],
)
def test_a_file_has_a_ceiling(tmp_path: Path, write: Write, place: str, lines: int, *, refused: bool) -> None:
    write(place, "x = 1\n" * lines)
    assert bool(size.file_ceilings(tmp_path)) is refused


@pytest.mark.parametrize(
    ("head", "lines", "refused"),
    [
        ("def long():", 60, False),
        ("def long():", 61, True),
        ("async def long():", 61, True),
        ("class Long:", 250, False),
        ("class Long:", 251, True),
    ],
)
def test_a_block_has_a_ceiling(tmp_path: Path, write: Write, head: str, lines: int, *, refused: bool) -> None:
    write("src/tminus/domain/block.py", head + "\n" + "    x = 1\n" * (lines - 1))
    assert bool(size.block_ceilings(tmp_path)) is refused


def test_a_method_counts_as_a_function(tmp_path: Path, write: Write) -> None:
    write("src/tminus/domain/block.py", "class Short:\n    def long(self):\n" + "        x = 1\n" * 60)
    assert len(size.block_ceilings(tmp_path)) == 1


@pytest.mark.parametrize(
    "place",
    [
        "store/utils.py",
        "common/__init__.py",
        "engine/core.py",
        "engine/tick_part2.py",
        "engine/tick_2.py",
        "engine/tm.py",
    ],
)
def test_a_name_that_says_nothing_is_refused(tmp_path: Path, write: Write, place: str) -> None:
    write(f"src/tminus/{place}", "")
    assert len(size.module_names(tmp_path)) == 1


def test_a_noun_is_a_good_name(tmp_path: Path, write: Write) -> None:
    write("src/tminus/db/__init__.py", "")
    write("src/tminus/domain/instant.py", "")
    assert size.module_names(tmp_path) == []
