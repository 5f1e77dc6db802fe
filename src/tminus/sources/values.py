"""Values of databases and services as values that JSON knows.

Numbers stay numbers where JSON keeps them exactly and become text where it would not; times become ISO 8601 text, as a
CSV has them. What has no JSON form fails its row. CSV has text only and does not come here. This module must not know
which column it looks at.
"""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, TypeAlias, cast
from uuid import UUID

from tminus.domain.errors import TminusError

_Nested: TypeAlias = "list[object] | tuple[object, ...] | dict[object, object]"

_INTEGER_MAX: Final = 2**63 - 1
_LEVELS_MAX: Final = 64


def plain(value: object, *, level: int = 0) -> object:
    """Return the value for JSON; raises `TminusError` (E332, E341) where there is none. `level` counts nesting."""
    if isinstance(value, str):
        if "\0" in value:
            raise TminusError("E332", "a cell holds a NUL character")
        return value
    if isinstance(value, (list, tuple, dict)):
        return _nested(cast("_Nested", value), level + 1)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INTEGER_MAX <= value <= _INTEGER_MAX else str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    return _text(value)


def _nested(value: _Nested, level: int) -> object:
    if level > _LEVELS_MAX:
        raise TminusError("E341", f"a value has more than {_LEVELS_MAX} levels")
    if isinstance(value, dict):
        return {str(plain(name, level=level)): plain(item, level=level) for name, item in value.items()}
    return [plain(item, level=level) for item in value]


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise TminusError("E341", f"{value} has no JSON form")
    return value


def _decimal(value: Decimal) -> object:
    """Keep a number that survives as an integer or a double, write any other as text."""
    if not value.is_finite():
        raise TminusError("E341", f"{value} has no JSON form")
    if value == value.to_integral_value() and abs(value) <= _INTEGER_MAX:
        return int(value)
    near = float(value)
    return near if math.isfinite(near) and Decimal(repr(near)) == value else str(value)


def _text(value: object) -> str:
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TminusError("E341", f"a value of type {type(value).__name__} has no JSON form")
