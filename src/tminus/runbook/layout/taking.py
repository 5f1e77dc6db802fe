"""Text into pieces: the events of the reader say where values begin and end, what is left over holds the comments.

The reader written in Python is used, because its places are exact to the character. What a valid runbook cannot hold
(anchors, aliases, tags, several documents) was refused before this is called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

from tminus.runbook.layout.pieces import Branch, Entry, Leaf, Unsafe

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER: Final = re.compile(r"[|>][-+0-9]*")
_GAP: Final = re.compile(r"(?:\s|#[^\n]*)*")
_BREAK: Final = "\n"


def take_apart(text: str) -> Branch:
    """Return the root of a runbook's text, whose lines end in LF."""
    taker = _Taker(text)
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        taker.take(event)
    if taker.root is None:
        raise Unsafe("there is no map of keys")
    return taker.root


def entries_in(branch: Branch) -> Iterator[Entry]:
    """Yield every entry in the order of the text."""
    for entry in branch.entries:
        yield entry
        if isinstance(entry.value, Branch):
            yield from entries_in(entry.value)


def leaves_in(branch: Branch) -> Iterator[Leaf]:
    """Yield every value and every key that is a text of its own, as spans to be left alone."""
    for entry in entries_in(branch):
        if entry.key:
            yield Leaf(entry.start, entry.start + len(entry.key), [entry.key])
        if isinstance(entry.value, Leaf):
            yield entry.value


class _Taker:
    """Takes events one by one; the open lists and maps are a stack."""

    def __init__(self, text: str) -> None:
        self.root: Branch | None = None
        self._text = text
        self._open: list[Branch] = []
        self._owners: list[Entry | None] = []
        self._key: tuple[int, str, str] | None = None

    def take(self, event: yaml.Event) -> None:
        """Add what one event brings."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            start = _index(event.start_mark)
            branch = Branch(start, start, isinstance(event, yaml.MappingStartEvent), bool(event.flow_style))
            self._owners.append(self._place(branch, start))
            self._open.append(branch)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(_index(event.end_mark))

    def _close(self, end: int) -> None:
        branch = self._open.pop()
        self._owners.pop()
        if branch.flow:
            branch.end = end
        elif branch.entries:
            branch.end = branch.entries[-1].value.end
            branch.column = self._column(branch.entries[0].start)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = _index(event.start_mark), _index(event.end_mark)
        here = self._open[-1] if self._open else None
        if here is not None and here.is_map and self._key is None:
            written = self._text[start:end]
            if _BREAK in written or self._text[:start].rstrip(" ").endswith("?"):
                raise self._unsafe("a key that takes more than one line", start)
            self._key = (start, written, event.value)
            return
        leaf = Leaf(start, end, [])
        entry = self._place(leaf, start)
        if event.style in {"|", ">"}:
            self._block_text(leaf, entry)
        else:
            first, *rest = self._text[start:end].split(_BREAK)
            leaf.lines = [first.rstrip() if rest else first, *(line.strip() for line in rest)]

    def _block_text(self, leaf: Leaf, entry: Entry | None) -> None:
        """Take a text behind `|` or `>`: the header with what stands beside it, then lines without indentation."""
        written = self._text[leaf.start : leaf.end]
        head, _, body = written.partition(_BREAK)
        match = _HEADER.match(head)
        header = match[0] if match else head
        if entry is not None:
            entry.beside = head[len(header) :].strip()
        lines = body.removesuffix(_BREAK).split(_BREAK) if body else []
        digit = next((int(sign) for sign in header if sign.isdigit()), 0)
        if digit:
            indent = (self._column(entry.start) if entry is not None else 0) + digit
            header = "".join("2" if sign.isdigit() else sign for sign in header)
        else:
            first = next((line for line in lines if line.strip()), "")
            indent = len(first) - len(first.lstrip(" "))
        if "+" not in header:
            while lines and not lines[-1].strip():
                lines.pop()
        leaf.block, leaf.lines = True, [header, *(line[indent:] for line in lines)]

    def _place(self, value: Leaf | Branch, start: int) -> Entry | None:
        """Hang a value into the open list or map; the root hangs nowhere."""
        if not self._open:
            if isinstance(value, Branch):
                self.root = value
            return None
        parent, owner = self._open[-1], self._owners[-1]
        if parent.is_map:
            if self._key is None:
                raise self._unsafe("a key that is a list or map", start)
            at, key, name = self._key
            self._key = None
        else:
            at, key, name = self._item_start(parent, start), "", ""
        entry = Entry(parent, owner, at, key, name, value)
        parent.entries.append(entry)
        return entry

    def _item_start(self, parent: Branch, start: int) -> int:
        """Return where an item begins: at its dash, or at itself in brackets."""
        if parent.flow:
            return start
        after = parent.entries[-1].value.end if parent.entries else parent.start
        gap = _GAP.match(self._text, after)
        dash = after if gap is None else gap.end()
        if self._text[dash : dash + 1] != "-":
            raise self._unsafe("an item whose dash is not found", start)
        return dash

    def _column(self, index: int) -> int:
        return index - self._text.rfind(_BREAK, 0, index) - 1

    def _unsafe(self, why: str, index: int) -> Unsafe:
        return Unsafe(why, self._text.count(_BREAK, 0, index) + 1, self._column(index) + 1)


def _index(mark: object) -> int:
    """Return the place of a mark; only the reader written in Python tells it to the character."""
    if not isinstance(mark, yaml.Mark):
        raise Unsafe("the reader tells no places")
    return mark.index
