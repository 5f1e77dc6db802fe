"""What is waved through is found, and what only looks like it is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tidy import honesty

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

PLACE = "src/tminus/store/member.py"


@pytest.mark.parametrize(
    "comment",
    ["# type: ignore", "# type:ignore[arg-type]", "# pyright: basic", "# pyright: ignore", "# mypy: ignore-errors"],
)
def test_a_silenced_type_is_found(tmp_path: Path, write: Write, comment: str) -> None:
    write(PLACE, f"x = 1  {comment}\n")
    assert len(honesty.silenced_types(tmp_path)) == 1


def test_text_about_a_waiver_is_not_a_waiver(tmp_path: Path, write: Write) -> None:
    write(PLACE, 'x = "# type: ignore"\ny = "# noqa"\n')
    assert honesty.silenced_types(tmp_path) == []
    assert honesty.bare_waivers(tmp_path) == []


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: S608", "# noqa: S608, E501"])
def test_a_waiver_without_a_reason_is_found(tmp_path: Path, write: Write, comment: str) -> None:
    write(PLACE, f"x = 1  {comment}\n")
    assert len(honesty.bare_waivers(tmp_path)) == 1


def test_one_rule_of_one_checker_may_be_waived_on_its_line(tmp_path: Path, write: Write) -> None:
    write(PLACE, "x = 1  # pyright: ignore[reportUnknownMemberType] - the driver has no types\n")
    assert honesty.silenced_types(tmp_path) == []


def test_a_waiver_with_a_reason_stands(tmp_path: Path, write: Write) -> None:
    write(PLACE, "x = 1  # noqa: S608 - the names come from a constant\n")
    assert honesty.bare_waivers(tmp_path) == []


@pytest.mark.parametrize("caught", ["except Exception:", "except (KeyError, Exception) as e:", "except BaseException:"])
def test_a_swallowed_error_is_found(tmp_path: Path, write: Write, caught: str) -> None:
    write(PLACE, f"try:\n    x = 1\n{caught}\n    x = 2\n")
    assert len(honesty.broad_handlers(tmp_path)) == 1


def test_a_handler_that_throws_on_swallows_nothing(tmp_path: Path, write: Write) -> None:
    write(PLACE, "try:\n    x = 1\nexcept BaseException:\n    x = 2\n    raise\n")
    assert honesty.broad_handlers(tmp_path) == []


def test_an_outermost_frame_may_hold_one_broad_handler(tmp_path: Path, write: Write) -> None:
    handler = "try:\n    x = 1\nexcept Exception:\n    x = 2\n"
    place = next(iter(honesty.BROAD_HANDLERS))
    write(place, handler)
    assert honesty.broad_handlers(tmp_path) == []
    write("src/tminus/engine/tick.py", handler * 2)
    assert len(honesty.broad_handlers(tmp_path)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "if dialect == 'sqlite':\n    x = 1\n",
        "x = 1 if connection.dialect.name == 'sqlite' else 2\n",
        "match self.dialect:\n    case _:\n        x = 1\n",
    ],
)
def test_a_query_that_asks_for_the_database_is_found(tmp_path: Path, write: Write, text: str) -> None:
    write(PLACE, text)
    assert len(honesty.dialect_branches(tmp_path)) == 1


def test_a_named_gap_may_be_used(tmp_path: Path, write: Write) -> None:
    write(PLACE, "sql = dialect.for_update('select 1')\nif sql:\n    x = 1\n")
    assert honesty.dialect_branches(tmp_path) == []
