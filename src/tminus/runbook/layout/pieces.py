"""The pieces of a runbook's text: values, lists and maps with their places, each with the comments about it.

A tree of values alone would lose what an author wrote between them. Places are indexes into the text; columns count
from zero. These classes hold what was found and decide nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Unsafe(Exception):  # noqa: N818 - a verdict on a text, told to the caller only.
    """The text cannot be laid out without risk; `line` and `column` count from one."""

    def __init__(self, why: str, line: int = 1, column: int = 1) -> None:
        """Keep the reason and the place."""
        super().__init__(why)
        self.why = why
        self.line = line
        self.column = column


@dataclass(slots=True)
class Note:
    """A comment on a line of its own; `blank` tells whether an empty line stands before it."""

    text: str
    blank: bool


@dataclass(slots=True)
class Leaf:
    """One value as it is written, line by line; `block` is a text behind `|` or `>`, its lines without indentation."""

    start: int
    end: int
    lines: list[str]
    block: bool = False

    @property
    def is_single(self) -> bool:
        """Tell whether it fits on one line as it stands."""
        return len(self.lines) == 1 and not self.block


@dataclass(slots=True)
class Branch:
    """A list or map; `flow` is one in brackets, `column` is that of its first entry."""

    start: int
    end: int
    is_map: bool
    flow: bool
    column: int = 0
    entries: list[Entry] = field(default_factory=list["Entry"])
    foot: list[Note] = field(default_factory=list[Note])


@dataclass(slots=True)
class Entry:
    """One item of a list or one key of a map, with its value and the comments before and beside it."""

    parent: Branch
    owner: Entry | None
    start: int
    key: str
    name: str
    value: Leaf | Branch
    notes: list[Note] = field(default_factory=list[Note])
    beside: str = ""
    blank: bool = False
