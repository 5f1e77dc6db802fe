"""What differs between two plans, or between a plan and a batch: the runbook, T-0, what is brought, and every member.

Members are compared by their keys. Values of secrets are masked: that one has changed is said, not what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import orjson

from tminus.progression.outlook.secrets import masked_row
from tminus.runbook.difference import differences
from tminus.runbook.template import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tminus.domain.instant import Instant
    from tminus.runbook.model import Runbook

Kind = Literal["new", "gone", "changed", "order"]
Members = dict[str, "tuple[Instant | None, str]"]


@dataclass(slots=True)
class Side:
    """One of the two: a runbook, and T-0 and data of every member by its key."""

    label: str
    book: Runbook
    data: Mapping[str, object]
    members: Members = field(default_factory=dict[str, "tuple[Instant | None, str]"])
    times: tuple[Instant | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: of what, which, what happened, and both values as text."""

    place: Literal["runbook", "T-0", "data", "member"]
    key: str
    kind: Kind
    words: str
    before: str = ""
    after: str = ""


def compare(old: Side, new: Side) -> Iterator[Difference]:
    """Yield what differs, the runbook first and members last."""
    for one in differences(old.book, new.book):
        yield Difference("runbook", one.key, one.kind, one.words, one.before, one.after)
    if old.times != new.times:
        before, after = _times(old.times), _times(new.times)
        yield Difference("T-0", "", "changed", f"T-0 {before} -> {after}", before, after)
    for name, was, now in _rows(old.data, new.data):
        yield Difference("data", name, "changed", f"data {name} {was or 'none'} -> {now or 'none'}", was, now)
    yield from _members(old, new)


def _times(times: tuple[Instant | None, ...]) -> str:
    return ", ".join(str(time or "none") for time in times) or "none"


def _members(old: Side, new: Side) -> Iterator[Difference]:
    for key in old.members:
        if key not in new.members:
            yield Difference("member", key, "gone", f"{key} is gone")
    for key, (t0, data) in new.members.items():
        if key not in old.members:
            yield Difference("member", key, "new", f"new {key}")
            continue
        was_t0, was_data = old.members[key]
        if was_t0 != t0 and old.times == new.times:
            words = f"{key} T-0 {was_t0 or 'none'} -> {t0 or 'none'}"
            yield Difference("member", key, "changed", words, str(was_t0 or ""), str(t0 or ""))
        if was_data != data:
            for name, was, now in _rows(orjson.loads(was_data), orjson.loads(data)):
                words = f"{key} {name} {was or 'none'} -> {now or 'none'}"
                yield Difference("member", key, "changed", words, was, now)


def _rows(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """Yield the names whose values differ, with both as they may be shown."""
    shown_old, shown_new = masked_row(old), masked_row(new)
    for name in dict.fromkeys([*old, *new]):
        was, now = old.get(name), new.get(name)
        if was != now:
            yield name, as_text(shown_old.get(name)), as_text(shown_new.get(name))
