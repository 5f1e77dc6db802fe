"""A member's key: what may be one, and when two keys are the same to a person.

A key is the source's primary key, trimmed of blanks at both ends and otherwise kept as it is. Keys that differ only in
letter case, width or invisible characters are *twins*: stored apart they would be two members that every screen shows
as one, and one of them would sooner or later be taken for a leaver. This module must not know where keys come from.
"""

from __future__ import annotations

import unicodedata
from typing import Final

KEY_CHARACTERS_MAX: Final = 512

RESERVED_COLUMNS: Final = frozenset(
    {
        # The columns that the view of a runbook's rows adds to the source's own.
        "_row_id",
        "_member_key",
        "_batch_time",
        "_first_seen_at",
        "_last_seen_at",
        "_is_current",
        # The names that templates fill in by themselves; a column would shadow them.
        "_batch_id",
        "_batch_start_time",
        "_runbook",
        "_runbook_version",
        "_phase",
        "_step",
        "_attempt",
        "_outcome",
        "_succeeded",
        "_failed",
        "_round",
        "_members",
    }
)

# Characters that show nothing and are not of the format category: fillers, joiners and variation selectors.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_VARIATION: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_NEVER_IN_A_KEY: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def invisible(character: str) -> bool:
    """Tell whether a character leaves no mark: zero-width, bidirectional control, soft hyphen, filler, selector."""
    return (
        unicodedata.category(character) == "Cf"
        or character in _BLANK
        or any(ord(character) in selectors for selectors in _VARIATION)
    )


def twin(key: str) -> str:
    """Return the form that a key shares with its twins and with no other key; the form of a form is itself."""
    if key.isascii():
        return key.strip().lower()
    visible = "".join(character for character in key if not invisible(character))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).strip()


def forbidden(key: str) -> str | None:
    """Name the first character that no key may hold (`U+000A`), or None."""
    if key.isprintable():
        return None
    found = (character for character in key if unicodedata.category(character) in _NEVER_IN_A_KEY)
    return next((name_of(character) for character in found), None)


def name_of(character: str) -> str:
    """Write a character as its code point, for messages about what cannot be seen."""
    return f"U+{ord(character):04X}"
