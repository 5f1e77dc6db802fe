"""The store suite, run against SQLite in memory and in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.store.store import Store
from tminus.testing.store_suite import Feature, StoreSuite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tminus.domain.instant import Instant


class Stage:
    """Databases in a folder, or in memory where there is none."""

    def __init__(self, folder: Path | None) -> None:
        """Choose where."""
        self.folder = folder
        self.opened: list[Database] = []

    def fresh(self, clock: Callable[[], Instant], window: int) -> Store:
        path = ":memory:" if self.folder is None else str(self.folder / f"{len(self.opened)}.db")
        return Store.open(self._open(path), clock=clock, window=window)

    def beside(self, store: Store) -> Store:
        return Store.open(self._open(store.database.path), clock=store.now, window=store.window)

    def close(self) -> None:
        for database in self.opened:
            database.close()

    def _open(self, path: str) -> Database:
        self.opened.append(Database(open_sqlite(path), path=path))
        return self.opened[-1]


class TestInMemory(StoreSuite):
    features: ClassVar[frozenset[Feature]] = frozenset()

    @pytest.fixture
    def stage(self) -> Iterator[Stage]:
        stage = Stage(None)
        yield stage
        stage.close()


class TestInAFile(StoreSuite):
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.BESIDE})

    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Stage]:
        stage = Stage(tmp_path)
        yield stage
        stage.close()
