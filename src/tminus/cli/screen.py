"""The live screen of `watch`: read what is shown, draw it, take keys, do what they ask for.

Nothing is read unless the database changed, a key was pressed or time must be told; a slow read makes the next one wait
longer, so that watching never costs the engine much. Deeds go the same road as the commands of the same names.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tminus.cli import grid, overview, signs
from tminus.cli.board import Board, Sheet
from tminus.cli.clocks import wall
from tminus.cli.deeds import Deeds
from tminus.cli.exits import Exit
from tminus.cli.keys import keyboard
from tminus.cli.telling import visible
from tminus.cli.watching import PAUSE_S, ending
from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, to_datetime
from tminus.runbook.zones import zone_of
from tminus.store.insights import grid as reader
from tminus.store.insights import overview as now_reader

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from tminus.cli.board import Wish
    from tminus.cli.keys import Keyboard
    from tminus.store.insights.grid import Page
    from tminus.store.insights.records import Record
    from tminus.store.store import Store

_CALM: Final = 5
_ENOUGH_LINES: Final = 8
_KEYS: Final = "/ find  f failed  w why  Enter open  r retry  p pause  ? help  q quit"


def live(store: Store, batch: int | None, until: float | None, actor: str) -> int:
    """Show the screen until `q`; where nobody can press a key, until the batch ends or the time is over."""
    console = Console(no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
    with keyboard() as keys, Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False,
                                  redirect_stderr=False) as shown:  # fmt: skip
        screen = Screen(store, Board(batch, is_open_list=batch is None), console, actor)
        with _heard(screen):
            return screen.run(shown, keys, until, ends_alone=not sys.stdin.isatty())


@contextmanager
def _heard(screen: Screen) -> Generator[None]:
    """End cleanly when told to, and let the terminal go when suspended."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def suspend(_number: int, _frame: FrameType | None) -> None:
        screen.is_suspended = True

    with ExitStack() as stack:
        for name, handler in (("SIGTERM", end), ("SIGHUP", end), ("SIGTSTP", suspend)):
            number = getattr(signal, name, None)
            if number is not None:
                stack.callback(signal.signal, number, signal.signal(number, handler))
        yield


class Screen:
    """One live screen over one store."""

    def __init__(self, store: Store, board: Board, console: Console, actor: str) -> None:
        """Begin with nothing read."""
        self.store, self.board, self.console, self.actor = store, board, console, actor
        self.page: Page | None = None
        self.found: Record = {}
        self.is_suspended = False
        self.is_plain = signs.is_plain(sys.stdout)
        self.code: int | None = None
        self._changes = -1
        self._read_at = self._read_took = 0.0
        self._size: tuple[int, int] = (0, 0)

    def run(self, shown: Live, keys: Keyboard, until: float | None, *, ends_alone: bool) -> int:
        """Look, draw and listen, until somebody has seen enough."""
        while True:
            self.look()
            shown.update(Group(*self.draw()), refresh=True)
            ended = ending(self.store, self.board.batch_id) if ends_alone else None
            if ended is not None:
                return ended
            if until is not None and time.monotonic() >= until:
                return Exit.STILL_RUNNING
            for key in keys.read(PAUSE_S):
                wish = self.board.press(key, self.page, len(self._listed()))
                if wish is not None and wish.wanted == "quit":
                    return Exit.DONE
                if wish is not None:
                    self.grant(wish, shown)
                self._changes = -1
            if self.is_suspended:
                self._step_back(shown, keys)

    def _step_back(self, shown: Live, keys: Keyboard) -> None:
        """Let the shell have the terminal, and take it again when brought back."""
        shown.stop()
        keys.suspend()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self.is_suspended, self._changes = False, -1
        keys.resume()
        shown.start()

    # -- looking -------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read what is shown, if it can have changed."""
        changes = self.store.changes()
        size: tuple[int, int] = (self.console.width, self.console.height)
        is_same = changes == self._changes and size == self._size
        is_soon = self._changes != -1 and time.monotonic() - self._read_at < _CALM * self._read_took
        if is_same or (is_soon and size == self._size):
            return
        begun = time.monotonic()
        self._changes, self._size = changes, size
        with self.store.snapshot() as (tx, context):
            if self.board.batch_id is None:
                self.page, self.found = None, now_reader.now(tx, context)
            else:
                head = reader.head(tx, context, self.board.batch_id)
                if head is None:
                    raise TminusError("E404", "there is no such batch", place=f"batch {self.board.batch_id}")
                self.board.room = grid.rows_that_fit(head, context.now, self._look())
                terms = self.board.selected()
                self.page = reader.body(tx, context, head, first=self.board.first, most=self.board.room, terms=terms)
        if self.page is not None:
            self.board.settle(self.page)
        self._read_at, self._read_took = time.monotonic(), time.monotonic() - begun

    def _look(self) -> grid.Look:
        return grid.Look(
            width=self.console.width,
            height=self.console.height,
            cursor=self.board.cursor,
            first_column=self.board.first_column,
            plain=self.is_plain,
            below=self._below(),
        )

    def _listed(self) -> list[Record]:
        return cast("list[Record]", self.found.get("batches", []))

    # -- drawing -------------------------------------------------------------------------------------------------------

    def draw(self) -> list[Text]:
        """Return the lines of the whole screen."""
        width, height = self.console.width, self.console.height
        if self.board.sheet is not None:
            lines = self._sheet(self.board.sheet, height)
        elif self.page is not None:
            lines = grid.draw(self.page, self.store.now(), self._look())
            below = self._below()
            lines[-len(below) :] = [*(Text() for _ in range(height - len(lines))), *below]
        else:
            lines = self._list(height)
        for line in lines:
            line.truncate(width, overflow="ellipsis")
            if self.is_plain:
                line.plain = signs.letters(line.plain)
        return lines[:height]

    def _below(self) -> list[Text]:
        """Return the status line, and below it the keys, where there is room."""
        board = self.board
        row = board.under_cursor(self.page)
        if board.prompt is not None:
            status = Text(f" {visible(board.prompt.label)}", style="bold yellow")
            status.append(f"{visible(board.prompt.typed)}_", style="bold")
            room = self.console.width
            if status.cell_len > room:
                # What is being typed matters more than the beginning of the question.
                status = Text("…").append_text(status[status.cell_len - room + 1 :])
        elif board.message:
            status = Text(f" {visible(board.message)}", style="bold yellow")
        else:
            narrowed = " ".join([f"find {board.find}"] * bool(board.find) + ["failed only"] * board.failed_only)
            said = "" if row is None else grid.note(row, self.store.now())
            status = Text(f" [{visible(narrowed)}; Esc for all]" if narrowed else "", style="cyan")
            status.append(f" {visible(row.key)}: {said}" if row is not None and said else "", style="not bold")
        if self.console.height < _ENOUGH_LINES:
            return [status]
        if board.prompt is not None and board.message:
            return [status, Text(f" {visible(board.message)}", style="yellow")]
        return [status, self._hint()]

    def _hint(self) -> Text:
        zone = "UTC" if self.page is None else self.page.head.zone
        clock = to_datetime(self.store.now()).astimezone(zone_of(zone)).strftime("%H:%M:%S ")
        hint = Text(f" {_KEYS}", style="dim")
        hint.truncate(max(0, self.console.width - len(clock) - 1), overflow="ellipsis", pad=True)
        return hint.append(f" {clock}")

    def _sheet(self, sheet: Sheet, height: int) -> list[Text]:
        room = max(1, height - 3)
        self.board.room = room
        part = sheet.lines[sheet.first : sheet.first + room]
        lines = [Text(f" {visible(sheet.title)}", style="bold"), Text(), *(Text(visible(line)) for line in part)]
        if sheet.title == "keys":
            lines += [Text(), *grid.legend(plain=self.is_plain).wrap(self.console, self.console.width)]
        lines += [Text() for _ in range(height - 1 - len(lines))]
        more = f" {len(sheet.lines) - sheet.first - room} more lines," if len(sheet.lines) > sheet.first + room else ""
        retry = "  r retry" if sheet.member is not None else ""
        status = self._below()[0] if self.board.prompt is not None or self.board.message else None
        last = status if status is not None else Text(f"{more} Esc back{retry}", style="dim")
        return [*lines[: height - 1], last]

    def _list(self, height: int) -> list[Text]:
        at = Instant(str(self.found["now"]))
        lines = [Text(f" open batches, {wall(at, 'UTC')} UTC", style="bold"), Text()]
        listed = self._listed()
        fit = max(1, (height - 5) // 2)
        first = max(0, min(self.board.cursor - fit + 1, len(listed) - fit))
        for index, one in enumerate(listed[first : first + fit], start=first):
            for number, spans in enumerate(overview.batch_lines(one, at, plain=self.is_plain)):
                chosen = index == self.board.cursor
                line = Text(">" if chosen and not number else " ")
                for text, style in spans:
                    line.append(text, style=style)
                line.stylize("reverse" if chosen and not number else "")
                lines.append(line)
        if not listed:
            lines.append(Text(" no batch is open", style="dim"))
        needs, paused = cast("list[Record]", self.found["holds"]), cast("list[Record]", self.found["pauses"])
        status = Text(f" {self.board.message}" if self.board.message else "", style="yellow")
        if not self.board.message and (needs or paused):
            said = [f"{len(needs)} need you"] * bool(needs) + [f"{len(paused)} paused"] * bool(paused)
            status.append(f" {', '.join(said)}: tminus status")
        lines += [Text() for _ in range(height - 2 - len(lines))]
        return [*lines[: height - 2], status, Text(" Enter opens a batch  up down  ? help  q quit", style="dim")]

    # -- wishes --------------------------------------------------------------------------------------------------------

    def grant(self, wish: Wish, shown: Live) -> None:
        """Do what a key asks for; what is refused is told on the status line."""
        if wish.wanted == "redraw":
            self.console.clear()
        elif wish.wanted == "open":
            self.board.batch_id = int(str(self._listed()[self.board.cursor]["id"]))
            self.board.first = self.board.cursor = 0
        else:
            deeds = Deeds(self.store, self.board, self.actor, width=self.console.width, plain=self.is_plain)
            try:
                deeds.grant(wish, self.page, lambda: shown.update(Group(*self.draw()), refresh=True))
            except TminusError as error:
                self.board.say(str(error))
