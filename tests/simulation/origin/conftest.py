"""What every scenario gets: stages that keep their promises to the end.

A test that makes its stage through `play` has the promises checked when it is over, whatever it asserted itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from tests.simulation.origin.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tminus.testing.world import Behaviour


class Play(Protocol):
    """Sets a stage with a runbook."""

    def __call__(self, text: str = "", *, shared: bool = False, chunk: int = 2000, **says: Behaviour) -> Stage:
        """Publish the text; `shared` puts the database into a file, so that other processes can open it."""
        ...


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Set stages, and check what they promise when the test is over."""
    stages: list[Stage] = []

    def make(text: str = "", *, shared: bool = False, chunk: int = 2000, **says: Behaviour) -> Stage:
        path = str(tmp_path / f"{len(stages)}.db") if shared else ":memory:"
        stage = Stage(behaviours=dict(says), chunk=chunk, path=path)
        if text:
            stage.publish(text)
        stages.append(stage)
        return stage

    yield make
    for stage in stages:
        stage.database.rewind()
        broken, refused = stage.broken(), stage.refused
        stage.database.close()
        assert broken == []
        assert refused == []
