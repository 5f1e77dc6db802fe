"""Cells that a spreadsheet shows instead of computing.

A cell that begins like a formula is one, whoever wrote it: a member's key or an error can start a program on the desk
of whoever opens the file. Such a cell gets an apostrophe in front, and so does one that begins with apostrophes before
that, so that `plain` finds every text back.
"""

from __future__ import annotations

from typing import Final

# What begins a formula, also after blanks that some programs drop, and the same signs in full width.
_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")  # noqa: RUF001 - the signs of full width are meant.
_BLANKS: Final = " \u00a0\u3000\ufeff\u200b"


def safe(text: str) -> str:
    """Return a text as a cell that is shown as it is."""
    return f"'{text}" if _begins(text) else text


def plain(cell: str) -> str:
    """Return the text of a cell that `safe` made."""
    return cell[1:] if cell.startswith("'") and _begins(cell[1:]) else cell


def _begins(text: str) -> bool:
    return text.lstrip(f"'{_BLANKS}").startswith(_STARTS)
