"""A lock file that fell behind is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tidy import locks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tidy.conftest import Write

PROJECT = '[project]\ndependencies = ["PyYAML>=6"]\n[dependency-groups]\ndev = ["pytest>=8", "types_PyYAML"]\n'
YAML = "pyyaml==6.0.3 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
TYPES = "types-pyyaml==6.0.12 ; sys_platform != 'x' \\\n    --hash=sha256:cc\n"


def test_locks_that_hold_everything_stand(tmp_path: Path, write: Write) -> None:
    write("pyproject.toml", PROJECT)
    write("requirements/base.txt", YAML)
    write("requirements/dev.txt", YAML + "pytest==9.0.0 \\\n    --hash=sha256:dd\n" + TYPES)
    assert locks.stale_locks(tmp_path) == []


def test_what_is_not_locked_or_has_no_hash_is_found(tmp_path: Path, write: Write) -> None:
    write("pyproject.toml", PROJECT)
    write("requirements/base.txt", "other==1.0 \\\n    --hash=sha256:ee\n")
    write("requirements/dev.txt", YAML + "pytest==9.0.0\n" + TYPES)
    assert locks.stale_locks(tmp_path) == [
        "requirements/base.txt:1: pyyaml is not locked: run make lock",
        "requirements/dev.txt:1: pytest has no hash: run make lock",
    ]
