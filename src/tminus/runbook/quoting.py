"""How a text is written as a YAML scalar: without quotes where that is safe anywhere, else in double quotes.

Used wherever a runbook is written rather than read, so that what comes out reads back as exactly the text that went in.
This module must not know what the text is for.
"""

from __future__ import annotations

import json
import re
from typing import Final

from tminus.runbook.scalars import Unusable, plain_value

# Letters of any script first; then signs that no YAML reader takes for structure, in block and in flow alike.
_SAFE: Final = re.compile(r"[^\W\d_][\w .+/@()-]*", re.UNICODE)
_OLD_WORDS: Final = frozenset({"yes", "no", "on", "off", "y", "n", "true", "false", "null"})


def scalar(text: str) -> str:
    """Write a text so that it reads back as itself."""
    return text if is_plain(text) else double_quoted(text)


def is_plain(text: str) -> bool:
    """Tell whether a text may stand without quotes, in any place and for any reader."""
    if not _SAFE.fullmatch(text) or text != text.strip() or text.lower() in _OLD_WORDS:
        return False
    try:
        return plain_value(text) == text
    except Unusable:
        return False


def double_quoted(text: str) -> str:
    """Write a text in double quotes, on one line; what cannot be seen is escaped."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escaped(char) for char in plain)


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - the three lengths of an escape in YAML.
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - as above.
