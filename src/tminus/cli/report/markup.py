"""HTML that cannot be spoken by data: whatever is not markup of this room is escaped where it enters.

A text is a text and becomes markup in one place only. There is no way to hand a tag in as a text, so that no caller can
forget to escape one.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.cli.telling import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

_EMPTY: Final = frozenset({"meta", "col", "br"})


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is HTML already."""

    text: str

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.text)


Part = Markup | str
NOTHING: Final = Markup("")


def escaped(text: str) -> str:
    """Return a text as HTML: what cannot be seen by its escape, what could be markup by its name."""
    return html.escape(visible(text))


def joined(parts: Iterable[Part]) -> Markup:
    """Put parts behind each other."""
    return Markup("".join(part.text if isinstance(part, Markup) else escaped(part) for part in parts))


def tag(name: str, /, *parts: Part, **attributes: str) -> Markup:
    """Return an element; `class_` is the attribute class, and an empty attribute is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items() if value
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(parts).text}</{name}>")
