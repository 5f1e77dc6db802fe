"""What must not be shown: values whose names say that they are secrets.

A plan is read by many, printed and attached to tickets. A value is masked when the name of its column, output or
parameter says what it is; that cannot be complete, and errs on the side of hiding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from tminus.progression.outlook.later import Later

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK: Final = "***"

_SECRET: Final = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|api_?key|private_?key|access_?key|connection_?string|sas_?(url|key)"
)


def is_secret(name: str) -> bool:
    """Tell whether a name says that its value is a secret."""
    return _SECRET.search(name.casefold().replace("-", "_").replace(" ", "_")) is not None


def masked_row(row: Mapping[str, object]) -> Mapping[str, object]:
    """Return a member's or batch's data with its secrets masked; the same data where there are none."""
    hidden = {name: MASK for name, value in row.items() if value not in (None, "") and is_secret(name)}
    return {**row, **hidden} if hidden else row


def masked(value: object, name: str = "") -> object:
    """Return a tree of parameters in which what stands under the name of a secret is masked."""
    if name and is_secret(name) and value not in (None, "") and not isinstance(value, Later):
        return MASK
    if isinstance(value, dict):
        return {key: masked(item, key) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [masked(item) for item in cast("list[object]", value)]
    return value
