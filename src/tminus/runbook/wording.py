"""How a word of the author is shown back, and what was probably meant by it.

What an author wrote may hold anything, a terminal's control characters included, so that it is shown in one way only:
quoted, shortened, made visible. Did-you-mean offers near misses only: a wrong guess costs the reader more than none.
This module must not know what the words stand for.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_SHOWN: Final = 60
MOST_LISTED: Final = 8
_CLOSE: Final = 0.7

# Comparing takes some 10 µs a candidate; beyond this many only what differs in case, blanks and hyphens is offered.
MOST_COMPARED: Final = 100


def visible(text: str) -> str:
    """Replace what cannot be seen by its escape, so that nothing reaches a terminal as a command."""
    return text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def quoted(text: str) -> str:
    """Show a word of the author: in quotes, on one line, at most sixty characters."""
    return f'"{visible(text[:LONGEST_SHOWN])}{"…" if len(text) > LONGEST_SHOWN else ""}"'


def nearest(word: str, known: Iterable[str], most: int = MOST_COMPARED) -> str | None:
    """Return the known word that `word` most likely stands for, or nothing; `most` bounds the work."""
    if not word or len(word) > LONGEST_SHOWN:
        return None
    plain = {_plain(candidate): candidate for candidate in known}
    sought = _plain(word)
    if sought in plain:
        return plain[sought]
    close = get_close_matches(sought, plain, n=1, cutoff=_CLOSE) if len(plain) <= most else []
    return plain[close[0]] if close else None


def listed(words: Iterable[str]) -> str:
    """List the first few words, for a hint that stays on its line."""
    ordered = sorted(words)
    return ", ".join(ordered[:MOST_LISTED]) + (", …" if len(ordered) > MOST_LISTED else "")


def did_you_mean(word: str, known: Iterable[str], most: int = MOST_COMPARED) -> str:
    """Return the hint `did you mean "…"?`, or an empty text."""
    found = nearest(word, known, most)
    return f"did you mean {quoted(found)}?" if found is not None and found != word else ""


def _plain(word: str) -> str:
    """Letter case, blanks, hyphens and underscores are what is mistyped, so they do not count."""
    return word.casefold().replace("-", "_").replace(" ", "_")
