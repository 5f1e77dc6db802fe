"""Pieces into text: two blanks a level, keys in the order of the key table, brackets only where they fit on a line.

Values are written as their author wrote them; only quotes are made alike where that changes nothing. Lists and maps in
brackets stay so while they fit and hold no comment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from tminus.runbook.keys import RunbookKeys
from tminus.runbook.layout.pieces import Branch, Entry, Leaf, Note
from tminus.runbook.quoting import is_plain
from tminus.runbook.shapes import ListOf, MapOf, Record, Shorthand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.runbook.shapes import Table

WIDEST: Final = 120
_STEP: Final = "  "


def write(root: Branch) -> str:
    """Return the text of a whole runbook."""
    table = RunbookKeys.table
    head = _head(root, table)
    body = _lines(root, "", Record(table))
    shown = [*_noted(head, "", first=True), *([""] if head and _is_apart(root, table) else []), *body]
    return "\n".join(shown).strip("\n") + "\n"


def _head(root: Branch, table: Table) -> list[Note]:
    """Take the comments at the top of the file off its first key: they stay on top, whichever key comes first."""
    if not root.entries:
        return []
    first = root.entries[0]
    ordered = _ordered(root, table)
    if ordered[0] is first:
        return []
    cut = max((index for index, note in enumerate(first.notes) if note.blank), default=0)
    head = first.notes[:cut] if cut else first.notes
    first.notes = first.notes[len(head) :]
    return head


def _is_apart(root: Branch, table: Table) -> bool:
    """Tell whether an empty line goes between the head of the file and its first key."""
    first = _ordered(root, table)[0]
    return not first.notes and not first.blank


def _ordered(branch: Branch, table: Table | None) -> list[Entry]:
    """Return the entries in the order of the key table; names of the author's own stay in his order."""
    if table is None or not branch.is_map:
        return branch.entries
    place = {key.name: index for index, key in enumerate(table.keys)}
    return sorted(branch.entries, key=lambda entry: place.get(entry.name, len(place)))


def _table_of(kind: object) -> Table | None:
    return kind.table if isinstance(kind, Record | Shorthand) else None


def _kind_of(kind: object, entry: Entry) -> object:
    """Return the kind of an entry's value, as far as the tables know it."""
    table = _table_of(kind)
    if table is not None:
        return next((key.kind for key in table.keys if key.name == entry.name), None)
    if isinstance(kind, ListOf | MapOf):
        return cast("ListOf[object] | MapOf[object]", kind).kind
    return None


def _lines(branch: Branch, pad: str, kind: object) -> list[str]:
    """Write a list or map line by line, its foot included."""
    found: list[str] = []
    for entry in _ordered(branch, _table_of(kind)):
        first = not found
        inner = _kind_of(kind, entry)
        if branch.is_map:
            found += _noted(entry.notes, pad, first=first)
            own = _of_key(entry, pad, inner)
        else:
            notes, own = _of_item(entry, pad, inner)
            found += _noted(notes, pad, first=first)
        if entry.blank and found:
            found.append("")
        found += own
    return [*found, *_noted(branch.foot, pad, first=not found)]


def _noted(notes: Sequence[Note], pad: str, *, first: bool) -> list[str]:
    found: list[str] = []
    for note in notes:
        if note.blank and (found or not first):
            found.append("")
        found.append(f"{pad}{note.text}")
    return found


def _beside(entry: Entry) -> str:
    return f" {entry.beside}" if entry.beside else ""


def _of_key(entry: Entry, pad: str, kind: object) -> list[str]:
    """Write a key with its value."""
    head = f"{pad}{entry.name if is_plain(entry.name) else entry.key}:"
    short = _on_a_line(entry.value, kind, len(head) + 1)
    if short is not None:
        return [f"{head} {short}".rstrip() + _beside(entry)]
    if isinstance(entry.value, Branch):
        return [head + _beside(entry), *_lines(entry.value, pad + _STEP, kind)]
    return _long(f"{head} ", entry.value, pad + _STEP, _beside(entry))


def _of_item(entry: Entry, pad: str, kind: object) -> tuple[list[Note], list[str]]:
    """Write an item; comments that would stand between the dash and its value go before the dash."""
    head = f"{pad}- "
    short = _on_a_line(entry.value, kind, len(head))
    if short is not None:
        return entry.notes, [f"{head}{short}".rstrip() + _beside(entry)]
    if isinstance(entry.value, Leaf):
        return entry.notes, _long(head, entry.value, pad + _STEP, _beside(entry))
    notes = [*entry.notes, *([Note(entry.beside, blank=False)] if entry.beside else [])]
    inner = _ordered(entry.value, _table_of(kind))
    while inner:
        notes += inner[0].notes
        inner[0].notes, inner[0].blank = [], False
        value = inner[0].value
        if entry.value.is_map or not isinstance(value, Branch) or _on_a_line(value, None, len(head) + 2) is not None:
            break
        inner = value.entries
    lines = _lines(entry.value, pad + _STEP, kind)
    return notes, [head + lines[0].removeprefix(pad + _STEP), *lines[1:]]


def _long(head: str, leaf: Leaf, pad: str, beside: str) -> list[str]:
    """Write a value of several lines."""
    first, *rest = leaf.lines
    if leaf.block:
        return [f"{head}{first}{beside}", *(f"{pad}{line}" if line.strip() else line for line in rest)]
    lines = [f"{head}{first}", *(f"{pad}{line}" if line else "" for line in rest)]
    lines[-1] += beside
    return lines


def _on_a_line(value: Leaf | Branch, kind: object, used: int) -> str | None:
    """Write a value on the line of its key, or give nothing when it takes lines of its own."""
    if isinstance(value, Leaf):
        return _text(value.lines[0]) if value.is_single else None
    if value.entries and (not value.flow or not _is_quiet(value)):
        return None
    if value.foot:
        return None
    written = _brackets(value, kind)
    return written if used + len(written) <= WIDEST or not value.entries else None


def _is_quiet(branch: Branch) -> bool:
    """Tell whether no comment and no value of several lines stands inside brackets."""
    for entry in branch.entries:
        if entry.notes or entry.beside or branch.foot:
            return False
        if isinstance(entry.value, Leaf):
            if not entry.value.is_single:
                return False
        elif not _is_quiet(entry.value):
            return False
    return not branch.foot


def _brackets(value: Leaf | Branch, kind: object) -> str:
    if isinstance(value, Leaf):
        return _text(value.lines[0])
    parts: list[str] = []
    for entry in _ordered(value, _table_of(kind)):
        written = _brackets(entry.value, _kind_of(kind, entry))
        name = entry.name if is_plain(entry.name) else entry.key
        parts.append(f"{name}: {written}".rstrip() if value.is_map else written)
    return f"{{{', '.join(parts)}}}" if value.is_map else f"[{', '.join(parts)}]"


def _text(written: str) -> str:
    """Write a value of one line; single quotes become double ones where nothing in them would need an escape."""
    if written.startswith("'") and not set('"\\') & set(written) and written.isprintable():
        return f'"{written[1:-1].replace(_TWO, _ONE)}"'
    return written


_ONE: Final = "'"
_TWO: Final = "''"
