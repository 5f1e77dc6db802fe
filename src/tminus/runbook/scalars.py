"""Plain scalars by the core schema of YAML 1.2: null, true, false, whole numbers, numbers; everything else is text.

`yes`, `on`, `012`, `1:30`, `1_000` and dates are text: what looks like a country, a postcode or a time stays what the
author wrote. A number that would not survive the way to a worker (too large, infinite, not a number) is refused. This
module must not know where a scalar stands.
"""

from __future__ import annotations

import math
import re
from typing import Final

Value = str | int | float | bool | None

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_FIRST: Final = frozenset("+-.0123456789")
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED: Final = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST: Final = 400
_LARGEST: Final = 1 << 63


class Unusable(ValueError):  # noqa: N818 - it is a value that is unusable, told to the caller only.
    """A number that no worker would receive as it is written."""


def plain_value(text: str) -> Value:
    """Return what a scalar without quotes stands for."""
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if text[0] not in _FIRST:
        return text
    if _WHOLE.fullmatch(text):
        return _in_range(int(text, 10) if len(text) < _LONGEST else _LARGEST)
    if _BASED.fullmatch(text):
        return _in_range(int(text, 0) if len(text) < _LONGEST else _LARGEST)
    if _ENDLESS.fullmatch(text):
        raise Unusable(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise Unusable(text)
        return number
    return text


def _in_range(number: int) -> int:
    """Refuse what does not fit into 64 bits: databases and workers would each make something else of it."""
    if not -_LARGEST <= number < _LARGEST:
        raise Unusable(str(number))
    return number
