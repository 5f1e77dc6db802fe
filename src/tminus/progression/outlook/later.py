"""A value that only running can give: it stands in a plan as what it will be."""

from __future__ import annotations

from typing import final


@final
class Later:
    """Such a value, in words: `<TargetId from step create-user>`."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        """Keep the words."""
        self.words = words

    def __str__(self) -> str:
        """Stand for the value inside text and in JSON."""
        return f"<{self.words}>"

    def __repr__(self) -> str:
        """Show the words."""
        return f"Later({self.words!r})"
