"""Did you mean? The nearest known word to an unknown one, as a hint.

Only a near miss is offered: a wrong guess costs the reader more than none. Words are compared in any letter case, with
blanks, hyphens and underscores as one, because that is how they are mistyped. This module must not know what the words
stand for.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_COMPARED = 60


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` most likely stands for, or nothing."""
    if not word or len(word) > _LONGEST_COMPARED:
        return None
    plain = {_plain(candidate): candidate for candidate in known}
    sought = _plain(word)
    if sought in plain:
        return plain[sought]
    close = get_close_matches(sought, plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the hint `did you mean "…"?`, or an empty text."""
    found = nearest(word, known)
    return f'did you mean "{found}"?' if found is not None and found != word else ""


def _plain(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")
