"""Bytes in, clean text out: size, encoding and characters are settled before YAML is looked at.

Editors save byte order marks and UTF-16, pastes bring invisible characters, and a YAML reader answers each with its own
riddle. Line breaks are LF, CRLF and CR only: the exotic ones are refused, so that the line numbers of the reader, of
the editor and of the messages are the same. This module must not know YAML.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tminus.runbook.problem import Spot

if TYPE_CHECKING:
    from tminus.runbook.problem import Report

LARGEST_BYTES: Final = 1 << 20

_BREAK: Final = re.compile(r"\r\n|\r|\n")
_UNUSABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_MARK: Final = "\ufeff"


def take_in(source: str | bytes, report: Report) -> str | None:
    """Return the text of a runbook file, or nothing when it cannot be one."""
    size = len(source) if isinstance(source, bytes) else _utf8_length(source)
    if size > LARGEST_BYTES:
        hint = "at most 1 MiB: a runbook holds steps, members belong into the source"
        report.error("E102", f"the file has {size:,} bytes", Spot(1, 1), hint)
        return None
    text = _decoded(source, report) if isinstance(source, bytes) else source
    if text is None:
        return None
    if text.startswith(_MARK):
        report.warn("W101", "the file begins with a byte order mark, which is skipped", Spot(1, 1), "save as UTF-8")
        text = text[1:]
    match = _UNUSABLE.search(text)
    if match is not None:
        hint = "delete it; inside quotes write an escape such as \\t"
        report.error("E105", f"character U+{ord(match[0]):04X} cannot stand here", spot_at(text, match.start()), hint)
        return None
    return text


def lines_of(text: str) -> list[str]:
    """Return the lines as everybody counts them."""
    return _BREAK.split(text)


def spot_at(text: str, index: int) -> Spot:
    """Return the line and column of a character."""
    line, start = 1, 0
    for match in _BREAK.finditer(text, 0, index):
        line, start = line + 1, match.end()
    return Spot(line, index - start + 1)


def _utf8_length(text: str) -> int:
    """Count the bytes; text of more characters than bytes are allowed is too long without counting."""
    return len(text) if len(text) > LARGEST_BYTES else len(text.encode("utf-8", "surrogatepass"))


def _decoded(source: bytes, report: Report) -> str | None:
    """Decode UTF-8; another Unicode encoding is recognised, so that the message can name it."""
    if source[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in source[:4]:
        report.error("E104", "the file is UTF-16 or UTF-32", Spot(1, 1), "save it as UTF-8")
        return None
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        readable = source[: error.start].decode("utf-8")
        spot = spot_at(readable, len(readable))
        report.error("E103", f"byte 0x{source[error.start]:02X} is not UTF-8", spot, "save the file as UTF-8")
        return None
