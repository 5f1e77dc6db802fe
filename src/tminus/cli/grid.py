"""The picture of a batch: a pure function from what the grid's reader returns to lines of a terminal.

Whoever follows a batch draws it with this: the live screen, and the demo. Each state has its own shape, so that colour
only repeats what is there without it; where a terminal's encoding lacks the shapes, letters stand for them. Lines are
never wider than the terminal. This module reads no clock, no database and no key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tminus.cli.clocks import distance, t_clock, wall
from tminus.cli.signs import LEGEND, SHAPES, letters, shape
from tminus.cli.telling import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.domain.instant import Instant
    from tminus.store.insights.grid import Bar, Cell, Head, Page, Row

_FULL: Final = ("█", "#")
_BAD: Final = ("▓", "X")
_EMPTY: Final = ("░", "-")
_KEY_MOST: Final = 34
_KEY_LEAST: Final = 12
_STEP_MOST: Final = 9
_STEP_LEAST: Final = 5
_NOTE_LEAST: Final = 16
_NOTE_WIDE: Final = 24
_BAR: Final = 8
_HIGH: Final = 20
_LOW: Final = 14
_ENDED: Final = frozenset({"completed", "failed", "skipped", "cancelled", "superseded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the picture is wanted: its size, where the cursor is, and what stands below it."""

    width: int
    height: int
    cursor: int | None = None
    first_column: int = 0
    plain: bool = False
    below: Sequence[Text] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class _Widths:
    key: int
    step: int
    first: int
    count: int
    note: int


def draw(page: Page, now: Instant, look: Look) -> list[Text]:
    """Return the lines of the picture: never more than `look.height`, none wider than `look.width`."""
    widths = _widths(page.head, page.rows, look)
    top = _above(page.head, now, look, widths)
    room = max(0, look.height - len(top) - 1 - len(look.below))
    lines = [*top, *(_line(row, now, widths, look, at) for at, row in enumerate(page.rows[:room]))]
    if not page.rows:
        lines.append(Text(" no member", style="dim"))
    lines.append(_foot(page, min(room, len(page.rows)), look))
    lines += look.below
    for line in lines:
        line.truncate(look.width, overflow="ellipsis")
        if look.plain:
            line.plain = letters(line.plain)
    return lines[: look.height]


def rows_that_fit(head: Head, now: Instant, look: Look) -> int:
    """Return how many members a picture of this size shows, so that no more of them are read."""
    return max(1, look.height - len(above(head, now, look)) - 1 - len(look.below))


def above(head: Head, now: Instant, look: Look) -> list[Text]:
    """Return what stands above the members: the batch, what holds it, its phases, the names of the columns."""
    return _above(head, now, look, _widths(head, (), look))


def _above(head: Head, now: Instant, look: Look, widths: _Widths) -> list[Text]:
    lines = [_title(head, now, look), *_phases(head, look)]
    lines += [Text(f" {visible(sentence)}", style="bold yellow") for sentence in head.held[:2]]
    if len(head.held) > 2:  # noqa: PLR2004 - two sentences fit; the others are counted.
        lines.append(Text(f" and {len(head.held) - 2} more holds: tminus hold list", style="yellow"))
    if look.height >= _LOW:
        lines.append(Text())
    return [*lines, *_heads(head, widths, look)]


def legend(*, plain: bool = False) -> Text:
    """Return what the signs mean."""
    found = Text(" ")
    for state, word in LEGEND:
        found.append(shape(state, plain=plain), style=SHAPES[state][2]).append(f" {word}  ")
    return found


# -- above the members -------------------------------------------------------------------------------------------------


def _title(head: Head, now: Instant, look: Look) -> Text:
    name = f" {visible(head.runbook)} · batch {head.batch_id} · {head.status}"
    clock = f"{t_clock(head.t0, now)} "
    zone = "" if head.t0 is None else f"T-0 {wall(head.t0, head.zone, now)} {head.zone}"
    middle = look.width - cell_len(name) - cell_len(clock)
    if cell_len(zone) + 4 > middle:
        zone = zone.removesuffix(f" {head.zone}")
    if cell_len(zone) + 4 > middle:
        zone = ""
    found = Text(name, style="bold")
    found.append(set_cell_size(f"   {zone}", max(1, middle)), style="not bold")
    return found.append(clock, style="bold cyan")


def _phases(head: Head, look: Look) -> list[Text]:
    """Lay the bars of the phases side by side; where lines are dear, those that have ended give way."""
    most = 3 if look.height >= _HIGH else 2 if look.height >= _LOW else 1
    bars = list(head.bars)
    while True:
        lines = [Text()]
        for bar in bars:
            part = _bar(bar, plain=look.plain)
            if lines[-1].cell_len and lines[-1].cell_len + part.cell_len + 2 > look.width:
                lines.append(Text())
            lines[-1].append("  " if lines[-1].cell_len else " ").append_text(part)
        if len(lines) <= most or len(bars) == 1:
            return lines[:most]
        ended = next((bar for bar in bars if bar.status in _ENDED), bars[-1])
        bars.remove(ended)


def _bar(bar: Bar, *, plain: bool) -> Text:
    pick = int(plain)
    good = _share(bar.done, bar.total)
    bad = min(_BAR - good, max(_share(bar.failed, bar.total), int(bar.failed > 0)))
    found = Text().append(f"{bar.offset} ".lstrip(), style="dim").append(f"{visible(bar.name)} ")
    found.append(_FULL[pick] * good, style="green").append(_BAD[pick] * bad, style="red")
    found.append(_EMPTY[pick] * (_BAR - good - bad), style="dim")
    found.append(f" {bar.done:,}/{bar.total:,}")
    if bar.failed:
        found.append(f" {shape('failed', plain=plain)}{bar.failed:,}", style="bold red")
    if bar.status in _ENDED - {"completed"}:
        found.append(f" {bar.status}", style="yellow")
    return found


def _share(part: int, total: int) -> int:
    """Return the cells that a share fills: full only when it is whole."""
    if not total or not part:
        return 0
    return _BAR if part >= total else max(1, min(_BAR - 1, part * _BAR // total))


def _heads(head: Head, widths: _Widths, look: Look) -> list[Text]:
    """Name the columns, and above them the phases that they belong to."""
    shown = head.columns[widths.first : widths.first + widths.count]
    hidden = len(head.columns) - widths.count
    more = f" <- {hidden} more ->" if hidden > 0 else ""
    phases, steps = Text(" " * (widths.key + 2)), Text(set_cell_size(f" {more or 'member'}", widths.key + 2))
    at = 0
    while at < len(shown):
        same = next((n for n, one in enumerate(shown[at:]) if one.phase != shown[at].phase), len(shown) - at)
        phases.append(_cut(shown[at].phase, same * (widths.step + 1) - 1) + " ")
        at += same
    for column in shown:
        steps.append(_cut(column.step, widths.step) + " ")
    phases.stylize("dim")
    steps.stylize("bold")
    return [phases, steps] if look.height >= _LOW else [steps]


def _cut(name: str, width: int) -> str:
    shown = visible(name)
    return set_cell_size(shown if cell_len(shown) <= width else set_cell_size(shown, width - 1) + "…", width)


def _widths(head: Head, rows: Sequence[Row], look: Look) -> _Widths:
    """Share the width: keys and notes give way before steps do, and steps that do not fit are scrolled to."""
    longest = max((cell_len(visible(one.step)) for one in head.columns), default=_STEP_LEAST)
    step = max(_STEP_LEAST, min(_STEP_MOST, longest))
    # In steps of four, so that the columns stand still while one pages through keys of much the same length.
    keys = max((cell_len(visible(row.key)) for row in rows), default=_KEY_LEAST)
    key = max(_KEY_LEAST, min(_KEY_MOST, look.width // 3, keys // 4 * 4 + 4))
    wanted = len(head.columns)
    if (step + 1) * wanted > look.width - key - 2 - _NOTE_LEAST:
        step = _STEP_LEAST
    room = look.width - key - 2
    count = min(wanted, max(1, room // (step + 1)))
    first = max(0, min(look.first_column, wanted - count))
    return _Widths(key, step, first, count, max(0, room - count * (step + 1)))


# -- members -----------------------------------------------------------------------------------------------------------


def _line(row: Row, now: Instant, widths: _Widths, look: Look, at: int) -> Text:
    chosen = at == look.cursor
    found = Text((">" if chosen else " ") + _cut(row.key, widths.key) + " ", style="bold" if chosen else "")
    for cell in row.cells[widths.first : widths.first + widths.count]:
        sign, style = _sign(cell, widths.step, plain=look.plain)
        found.append(set_cell_size(sign, widths.step), style=style).append(" ")
    said = note(row, now, is_narrow=widths.note < _NOTE_WIDE)
    found.append(_cut(said, widths.note) if widths.note else "", style="not bold")
    if chosen:
        found.stylize("reverse")
    return found


def _sign(cell: Cell, width: int, *, plain: bool) -> tuple[str, str]:
    sign = shape(cell.state, plain=plain)
    if cell.state == "retry" or (cell.tries and cell.state in {"sent", "running", "ready", "polling"}):
        sign += f"{cell.tries}/{cell.most}"
    word = f"{sign} {cell.state}"
    is_worth_it = cell.state in {"failed", "undone", "running", "polling", "cancelled", "skipped"}
    return (word if is_worth_it and cell_len(word) <= width else sign), SHAPES[cell.state][2]


def note(row: Row, now: Instant, *, is_narrow: bool = False) -> str:
    """Return what there is to say about a member, the worst first; a narrow one leaves out what its sign says."""
    later = f", next {distance(row.next_at, now)}" if row.next_at is not None else ""
    parts: list[str] = []
    if row.status == "failed":
        parts.append(f"{row.step.rpartition('/')[2]}: {row.error or 'failed'}")
    elif any(cell.state == "throttled" for cell in row.cells):
        parts.append(f"throttled{later.replace(', next in', '') if is_narrow else later}")
    elif later and is_narrow:
        parts.append(later.removeprefix(", "))
    elif row.error:
        parts.append(f"{row.error}{later}")
    elif later:
        parts.append(f"polls{later}")
    if row.undone:
        parts.append({"running": "rolling back", "clean": "rolled back", "failed": "rollback not clean"}[row.undone])
    if row.has_moved:
        parts.append("moved on")
    elif row.has_left:
        parts.append("left")
    if row.late is not None and row.status in {"active", "done"}:
        caught, missed = row.late
        parts.append("joined late" if caught == missed else f"joined late: catching up {caught}/{missed}")
    return visible(" · ".join(parts))


def _foot(page: Page, shown: int, look: Look) -> Text:
    last = page.first + shown
    where = f"{page.first + 1:,}-{last:,} of {page.total:,}" if shown else f"0 of {page.total:,}"
    counts = "  ".join(f"{name} {count:,}" for name, count in page.head.counts.items() if count)
    found = Text(f" {counts}", style="dim")
    gap = look.width - found.cell_len - cell_len(where) - 1
    return found.append(" " * gap + where) if gap > 0 else Text(f" {where}", style="dim")
