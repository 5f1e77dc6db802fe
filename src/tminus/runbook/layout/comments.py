"""Comments and what they are about: beside an entry, before one, or at the foot of a list or map.

A comment at the end of a line belongs to what ends, or begins, on that line. One on a line of its own belongs to the
entry after it, unless it is indented further: then it is the last word of what it stands under.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.runbook.layout.pieces import Branch, Entry, Leaf, Note
from tminus.runbook.layout.taking import entries_in, leaves_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t\n]))#[^\n]*")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment where it stands."""

    start: int
    column: int
    text: str
    is_alone: bool
    blank: bool


def comments_in(text: str, root: Branch) -> list[Comment]:
    """Return the comments of a text, in order."""
    masked = list(text)
    for leaf in leaves_in(root):
        # What stands beside the header of a block of text was taken with it.
        masked[leaf.start : leaf.end] = [char if char == "\n" else "x" for char in text[leaf.start : leaf.end]]
    found: list[Comment] = []
    for match in _COMMENT.finditer("".join(masked)):
        begin = text.rfind("\n", 0, match.start()) + 1
        before = text[begin : match.start()]
        is_alone = not before.strip().removeprefix("---").strip()
        found.append(
            Comment(match.start(), match.start() - begin, match[0].rstrip(), is_alone, blank=_blank_before(text, begin))
        )
    return found


def hang(text: str, root: Branch, comments: list[Comment]) -> None:
    """Hang every comment, and every empty line, on the entry that it is about."""
    entries = list(entries_in(root))
    starts = [entry.start for entry in entries]
    for entry in entries:
        begin = text.rfind("\n", 0, entry.start) + 1
        entry.blank = not text[begin : entry.start].strip() and _blank_before(text, begin)
    for comment in comments:
        at = bisect_right(starts, comment.start)
        last = entries[at - 1] if at else None
        after = entries[at] if at < len(entries) else None
        if comment.is_alone:
            _hang_alone(root, comment, last, after)
        else:
            _hang_beside(comment, last)


def _hang_beside(comment: Comment, last: Entry | None) -> None:
    if last is None:
        # The comment stands beside the bracket that opens the file.
        return
    chosen = last
    if last.value.end <= comment.start:
        while chosen.owner is not None and chosen.parent.flow and chosen.parent.end <= comment.start:
            chosen = chosen.owner
    if chosen.beside:
        chosen.notes.append(Note(comment.text, blank=False))
    else:
        chosen.beside = comment.text


def _hang_alone(root: Branch, comment: Comment, last: Entry | None, after: Entry | None) -> None:
    note = Note(comment.text, comment.blank)
    if last is None:
        (after.notes if after is not None else root.foot).append(note)
        return
    if isinstance(last.value, Leaf) and comment.start < last.value.start:
        last.notes.append(note)
        return
    chain = list(_chain(last, comment))
    closed = [branch for branch in chain if after is None or not _holds(branch, after)]
    inside = [branch for branch in closed if branch.flow and branch.start < comment.start < branch.end]
    if inside:
        inside[0].foot.append(note)
        return
    under = [branch for branch in closed if not branch.flow and branch.column <= comment.column]
    if under and (after is None or comment.column > _column_of(after)):
        under[0].foot.append(note)
    elif after is not None:
        after.notes.append(note)
    else:
        root.foot.append(note)


def _chain(last: Entry, comment: Comment) -> Iterator[Branch]:
    """Yield the lists and maps that stand open before a comment, the innermost first."""
    if isinstance(last.value, Branch) and last.value.start < comment.start and not last.value.entries:
        yield last.value
    entry: Entry | None = last
    while entry is not None:
        yield entry.parent
        entry = entry.owner


def _holds(branch: Branch, entry: Entry) -> bool:
    """Tell whether an entry stands somewhere inside a list or map."""
    current: Entry | None = entry
    while current is not None:
        if current.parent is branch:
            return True
        current = current.owner
    return False


def _column_of(entry: Entry) -> int:
    """Return the column of an entry; one in brackets has none to compare with."""
    return 1_000_000 if entry.parent.flow else entry.parent.column


def _blank_before(text: str, begin: int) -> bool:
    """Tell whether the line before this one is empty."""
    end = begin - 1
    if end < 0:
        return False
    return not text[text.rfind("\n", 0, end) + 1 : end].strip()
