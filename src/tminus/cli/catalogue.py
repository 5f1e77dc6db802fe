"""Every code that a person can meet: the catalogue of the domain, and those of the rooms above it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tminus.cli import codes as of_cli
from tminus.domain.codes import CATALOGUE, merged
from tminus.store.discovery import codes as of_discovery
from tminus.workers import codes as of_workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.domain.errors import Code


@cache
def every_code() -> Mapping[str, Code]:
    """Return all codes by their text."""
    return merged([CATALOGUE.values(), of_discovery.CODES, of_workers.CODES, of_cli.CODES])
