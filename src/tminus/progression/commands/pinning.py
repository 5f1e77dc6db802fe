"""Pins: values that an operator has set over the source's, until they are released."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.domain.rows import Member
    from tminus.progression.view import View


def pin(view: View, member: Member, values: Mapping[str, object]) -> None:
    """Pin values of a member; None releases one."""
    if not values:
        return
    pinned = cast("dict[str, object]", orjson.loads(member.pinned_json))
    for name, value in values.items():
        if value is None:
            pinned.pop(name, None)
        else:
            pinned[name] = value
    member.pinned_json = orjson.dumps(pinned).decode()
    view.touch_member(member)
