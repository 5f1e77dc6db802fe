"""Nothing of one machine or one person travels with the code: no paths, no package hosts, no secrets.

The patterns are written so that they do not match themselves. A finding names the place and the kind, and never repeats
what it found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.tidy.tree import finding, line_of, text_of, tracked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LEAKS = {
    "a path of one machine": re.compile(
        r"(?<![\w.:~}/-])/(?:work|root|tmp|home|Users|opt|mnt)/[\w.-]|(?i:[a-z]:\\+users\\)",
    ),
    "the host of a package registry": re.compile(r"(?i:\b(?:pypi|npmjs|pythonhosted)\.(?:org|com|io)\b)"),
    "an index option": re.compile(r"-{2}(?:(?:extra-)?index-url|find-links)\b"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a token": re.compile(
        r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|xox[abprs]-[\w-]{10,}|sk-[A-Za-z0-9_-]{24,}|dapi[0-9a-f]{32})\b",
    ),
    "a signed token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    "a shared key": re.compile(r"(?:SharedAccess|Account)Key=[A-Za-z0-9+/]{20,}"),
}


def leaks_in(root: Path, paths: Iterable[Path]) -> list[str]:
    """Find leaks in these files."""
    found: list[str] = []
    for path in paths:
        text = text_of(path) or ""
        for kind, pattern in LEAKS.items():
            found.extend(finding(root, path, line_of(text, match.start()), kind) for match in pattern.finditer(text))
    return found


def leaks(root: Path) -> list[str]:
    """Find leaks in every tracked file."""
    return leaks_in(root, tracked(root))
