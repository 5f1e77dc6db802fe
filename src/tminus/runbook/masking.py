"""What looks like a secret in a text of others, covered before the text leaves the house.

Workers and services write what they like into their errors: a connection string, a header, an address with a password
in it. A report goes to people without a login, and stays with them. Covered is the value alone, so that the sentence
can still be read. This is a net under the tightrope, not the rope: secrets belong into no message.
"""

from __future__ import annotations

import re
from typing import Final

COVER: Final = "***"
# Longer than any message that is kept; what is beyond it is not read by anybody.
LONGEST: Final = 20_000

_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|client[_-]?secret|(?:shared[_-]?)?access[_-]?key|account[_-]?key|api[_-]?key"
    r"|private[_-]?key|subscription[_-]?key|(?:access|refresh|id|auth|bearer|session|sas)?[_-]?token|sig(?:nature)?"
    r"|credentials?|authorization|cookie|connection[_-]?string|\w*(?:password|secret|apikey)"
)
_BARE: Final = r"[^\s,;&\"'<>)\]}]+"
_NAMED: Final = re.compile(
    rf"""(?P<head>(?<![\w-])["']?(?:{_NAMES})["']?\s*(?:=|:(?!//))\s*)(?:"[^"]*"|'[^']*'|(?P<scheme>(?:Bearer|Basic)\s+)?{_BARE})""",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"\b(?P<head>(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_IN_URL: Final = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE)
_KNOWN: Final = re.compile(
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def masked(text: str) -> str:
    """Cover what looks like a secret."""
    found = _KNOWN.sub(COVER, text[:LONGEST])
    found = _IN_URL.sub(rf"\g<head>{COVER}", found)
    found = _NAMED.sub(lambda match: f"{match['head']}{match['scheme'] or ''}{COVER}", found)
    return _SCHEME.sub(rf"\g<head>{COVER}", found)
