"""Drafts: what is to be written, before anything is; and the two beginnings that are the same for everybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Final

import orjson

from tminus.runbook.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA_FILE: Final = "runbook.schema.json"
SCHEMA_LINE: Final = f"# yaml-language-server: $schema=./{SCHEMA_FILE}\n"


@dataclass(frozen=True, slots=True)
class Draft:
    """One file that is to be written; one that is `generated` may be there already and then stays."""

    name: str
    content: bytes
    holds: str
    generated: bool = False


@dataclass(slots=True)
class Beginning:
    """All files of a beginning, what is to be known about them, and the command to try next."""

    drafts: list[Draft]
    suggestion: str = "tminus validate"
    notes: list[str] = field(default_factory=list[str])


def schema() -> Draft:
    """Return the schema file that the first line of each runbook names, so that editors need no network."""
    text = orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return Draft(SCHEMA_FILE, text, "for editors; `tminus runbook schema FILE` renews it", generated=True)


def sample() -> Beginning:
    """Return the sample that runs as it is."""
    return Beginning(
        [
            Draft("runbook.yaml", _packed("runbook.yaml"), "4 phases, 6 steps, 1 rollback"),
            Draft("members.csv", _packed("members.csv"), "3 sample people"),
            Draft("wave.test.yaml", _packed("wave.test.yaml"), "1 case for `tminus runbook test`"),
            Draft("functions.py", _packed("functions.py"), "6 Python functions; replace their bodies"),
            schema(),
        ]
    )


def blank() -> Beginning:
    """Return the smallest runbook, with comments."""
    return Beginning([Draft("runbook.yaml", _packed("blank.yaml"), "1 phase, 1 step: the smallest runbook"), schema()])


def _packed(name: str) -> bytes:
    return resources.files("tminus.cli.starter").joinpath(name).read_bytes()


def counted(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(words: Sequence[str], most: int = 6) -> str:
    """List words, the first few by name."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
