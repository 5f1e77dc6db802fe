"""A core room that reaches outside is caught, however it does so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tidy import purity

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write


@pytest.mark.parametrize("room", purity.CORE_ROOMS)
@pytest.mark.parametrize(
    "line",
    ["import time", "import os.path", "from random import Random", "from concurrent import futures", "import sqlite3"],
)
def test_a_core_room_imports_no_outside(tmp_path: Path, write: Write, room: str, line: str) -> None:
    write(f"src/tminus/{room}/rooms.py", f"import math\n{line}\n")
    assert len(purity.core_imports(tmp_path)) == 1


def test_other_rooms_and_faces_may_import_the_outside(tmp_path: Path, write: Write) -> None:
    write("src/tminus/db/connection.py", "import sqlite3\n")
    write("src/tminus/runbook/__main__.py", "import sys\nprint(sys.argv)\n")
    assert purity.core_imports(tmp_path) == []
    assert purity.core_calls(tmp_path) == []


@pytest.mark.parametrize("call", ["open('x')", "print('x')", "datetime.now(UTC)", "date.today()"])
def test_a_core_room_calls_no_outside(tmp_path: Path, write: Write, call: str) -> None:
    write("src/tminus/progression/step.py", f"value = {call}\n")
    assert len(purity.core_calls(tmp_path)) == 1


def test_a_core_room_imports_at_the_top(tmp_path: Path, write: Write) -> None:
    write("src/tminus/runbook/parse.py", "import math\n\n\ndef f():\n    import yaml\n    return yaml, math\n")
    assert len(purity.core_nested_imports(tmp_path)) == 1
