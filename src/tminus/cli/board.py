"""The state of the live screen, and what each key does to it.

No terminal, no database and no clock in here: keys come in as names, and what they ask for that the board itself cannot
do goes out as a wish. Whoever runs the board grants wishes and hands back what they came to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from tminus.cli.keys import END, PASTED
from tminus.domain.errors import TminusError
from tminus.store.insights import selection
from tminus.store.insights.selection import Term

if TYPE_CHECKING:
    from tminus.store.insights.grid import Page, Row

Deed = Literal["retry", "pause", "resume"]
Wanted = Literal["quit", "why", "member", "open", "retry one", "retry all", "pause", "do", "redraw"]
LONGEST: Final = 500
HELP: Final = (
    ("arrows, PgUp, PgDn", "move among members; left and right among steps"),
    ("Home, End", "the first member, the last one"),
    ("/", "find a part of a key, or status=failed error~409"),
    ("f", "failed members only; again for all"),
    ("w", "why the member waits or failed; W for the batch"),
    ("Enter", "the member: why, and all of its steps"),
    ("r", "retry the member from its failed step (asks why)"),
    ("R", "retry all failed ones of those shown (asks why)"),
    ("p", "pause the batch, or resume it (asks why)"),
    ("Esc", "back: from a page, a search, a batch"),
    ("q, Ctrl-C", "leave; everything else goes on"),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a key asks of whoever runs the board."""

    wanted: Wanted
    reason: str = ""


@dataclass(slots=True)
class Prompt:
    """A question on the status line: for what to find, or for the reason of a deed on `targets`."""

    label: str
    deed: Deed | None = None
    targets: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    typed: str = ""


@dataclass(slots=True)
class Sheet:
    """A page of text over the grid."""

    title: str
    lines: list[str]
    member: tuple[int, str] | None = None
    first: int = 0


@dataclass(slots=True)
class Board:
    """Where the screen stands. `batch_id` None is the list of batches; `room` is how many rows fit."""

    batch_id: int | None
    first: int = 0
    cursor: int = 0
    first_column: int = 0
    room: int = 10
    chosen: int | None = None
    find: str = ""
    terms: tuple[Term, ...] = ()
    failed_only: bool = False
    prompt: Prompt | None = None
    sheet: Sheet | None = None
    message: str = ""
    is_open_list: bool = False

    # -- what is shown -------------------------------------------------------------------------------------------------

    def selected(self) -> tuple[Term, ...]:
        """Return what narrows the list of members."""
        return (*self.terms, Term("status", "=", "failed")) if self.failed_only else self.terms

    def settle(self, page: Page) -> None:
        """Take over where the page really begins, and keep the cursor on its member while that is on the page."""
        self.first = page.first
        keys = [row.member_id for row in page.rows]
        if self.chosen in keys:
            self.cursor = keys.index(self.chosen)
        self.cursor = max(0, min(self.cursor, len(keys) - 1))
        self.chosen = keys[self.cursor] if keys else None

    def under_cursor(self, page: Page | None) -> Row | None:
        """Return the member that a key is about."""
        return next((row for row in page.rows if row.member_id == self.chosen), None) if page is not None else None

    # -- keys ----------------------------------------------------------------------------------------------------------

    def press(self, key: str, page: Page | None, batches: int = 0) -> Wish | None:
        """Do what a key asks for; return what the board cannot do itself."""
        if key == END:
            return Wish("quit")
        if key == "redraw":
            return Wish("redraw")
        if self.prompt is not None:
            return self._answer(key, self.prompt)
        self.message = ""
        if self.sheet is not None:
            return self._turn(key, self.sheet)
        if key == "q":
            return Wish("quit")
        return self._browse(key, page, batches)

    def _browse(self, key: str, page: Page | None, batches: int) -> Wish | None:
        if key in {"?", "h"}:
            self.sheet = Sheet("keys", [f"  {keys:<20}{what}" for keys, what in HELP])
        elif page is None:
            return self._in_list(key, batches)
        elif not key.startswith(PASTED) and not self._move(key, page):
            return self._act(key)
        return None

    def ask(self, prompt: Prompt) -> None:
        """Put a question on the status line."""
        self.prompt = prompt

    def say(self, message: str) -> None:
        """Show a sentence until the next key."""
        self.message = message

    def show(self, sheet: Sheet) -> None:
        """Lay a page over the grid; the same page again keeps its place."""
        if self.sheet is not None and self.sheet.title == sheet.title:
            sheet.first = self.sheet.first
        self.sheet = sheet

    def _act(self, key: str) -> Wish | None:
        wishes: dict[str, Wanted] = {"w": "why", "enter": "member", "r": "retry one", "R": "retry all", "p": "pause"}
        if key == "/":
            self.prompt = Prompt("find (a part of a key, or status=failed error~409): ", typed=self.find)
        elif key == "f":
            self._narrow(failed_only=not self.failed_only)
        elif key == "o":
            self.message = "there is no dashboard yet; `tminus report` writes a page to open"
        elif key == "W":
            self.chosen = None
            return Wish("why")
        elif key == "esc":
            self._back()
        elif key in wishes:
            return Wish(wishes[key])
        else:
            self.message = "? shows the keys" if len(key) == 1 else ""
        return None

    def _back(self) -> None:
        if self.find or self.failed_only:
            self.find, self.terms = "", ()
            self._narrow(failed_only=False)
        elif self.is_open_list:
            self.batch_id, self.first, self.cursor, self.chosen = None, 0, 0, None

    def _narrow(self, *, failed_only: bool) -> None:
        self.failed_only = failed_only
        self.first = self.cursor = 0
        self.chosen = None

    def _move(self, key: str, page: Page) -> bool:
        """Move the cursor, and the page with it; tell whether the key was one that moves."""
        at, last = self.first + self.cursor, max(0, page.total - 1)
        steps = {"up": -1, "down": 1, "k": -1, "j": 1, "pgup": -self.room, "pgdn": self.room, " ": self.room}
        if key in steps:
            at += steps[key]
        elif key in {"home", "g"}:
            at = 0
        elif key in {"end", "G"}:
            at = last
        elif key in {"left", "right"}:
            most = max(0, len(page.head.columns) - 1)
            self.first_column = max(0, min(most, self.first_column + (1 if key == "right" else -1)))
            return True
        else:
            return False
        at = max(0, min(at, last))
        if at < self.first or at >= self.first + self.room:
            by_page = key not in {"up", "down", "k", "j"}
            self.first = max(0, at if at < self.first or by_page else at - self.room + 1)
        self.first = min(self.first, max(0, page.total - self.room))
        self.cursor = at - self.first
        rows = page.rows[at - page.first : at - page.first + 1] if at >= page.first else ()
        self.chosen = rows[0].member_id if rows else None
        return True

    def _in_list(self, key: str, batches: int) -> Wish | None:
        if key in {"up", "k", "down", "j"}:
            self.cursor = max(0, min(batches - 1, self.cursor + (-1 if key in {"up", "k"} else 1)))
        elif key == "enter" and batches:
            return Wish("open")
        elif key in {"w", "p"} and batches:
            self.message = "open a batch first: Enter"
        return None

    def _turn(self, key: str, sheet: Sheet) -> Wish | None:
        """Move within a page of text, or put it away."""
        steps = {"up": -1, "down": 1, "k": -1, "j": 1, "pgup": -self.room, "pgdn": self.room, " ": self.room}
        if key in steps:
            sheet.first = max(0, min(len(sheet.lines) - 1, sheet.first + steps[key]))
        elif key in {"home", "end"}:
            sheet.first = 0 if key == "home" else max(0, len(sheet.lines) - self.room)
        elif key == "r" and sheet.member is not None:
            return Wish("retry one")
        elif key in {"esc", "q", "enter", "backspace", "w", "?"}:
            self.sheet = None
        return None

    def _answer(self, key: str, prompt: Prompt) -> Wish | None:
        """Type on the status line."""
        if key == "esc":
            self.prompt = None
            self.message = "nothing was done" if prompt.deed else ""
        elif key == "backspace":
            prompt.typed = prompt.typed[:-1]
        elif key == "clear":
            prompt.typed = ""
        elif key == "enter":
            return self._given(prompt)
        elif key.startswith(PASTED):
            text = " ".join(key.removeprefix(PASTED).split())
            prompt.typed = (prompt.typed + "".join(char for char in text if char.isprintable()))[:LONGEST]
        elif len(key) == 1 and len(prompt.typed) < LONGEST:
            prompt.typed += key
        return None

    def _given(self, prompt: Prompt) -> Wish | None:
        text = prompt.typed.strip()
        if prompt.deed is None:
            self._search(text)
        elif text:
            return Wish("do", text)
        else:
            self.message = "a reason is needed, it is kept in the audit; Esc leaves everything as it is"
        return None

    def _search(self, text: str) -> None:
        try:
            is_selection = any(sign in text for sign in "=~")
            terms = selection.parse(text) if is_selection else (Term("key", "~", text),) if text else ()
        except TminusError as error:
            self.message = str(error)
            return
        self.prompt, self.message = None, ""
        self.find, self.terms = text, terms
        self._narrow(failed_only=self.failed_only)
