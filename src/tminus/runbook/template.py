"""Templates: `{{ name }}` in text, compiled once, resolved for every attempt.

A name is looked up, nothing is computed: there are no expressions, and a value that itself contains `{{` is data and
stays as it is. A string that is exactly one expression hands the value on with its type; inside text, lists and maps
appear as JSON. Compiling happens when a runbook is parsed, resolving on the hot path (see `docs/reference/runbook.md`
for the measured cost), so a compiled template is one format string and one tuple of names. This module must not know
where the values come from: a `Scope` is any number of mappings, the first that has a name wins.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast, final

from tminus.domain.errors import TminusError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_NAME: Final = 200

_EXPRESSION: Final = re.compile(r"\{\{([^{}]*)\}\}")
_MISSING: Final = object()


class Unresolved(TminusError):  # noqa: N818 - the word of the semantics; the reason why an execution fails.
    """A template names something that no layer has."""

    def __init__(self, name: str, place: str = "") -> None:
        """Keep the name and the place in the step, such as `params.DisplayName`."""
        where = f" in {place}" if place else ""
        super().__init__("E237", f"{{{{{name}}}}}{where} has no value", hint=f'no column or output is called "{name}"')
        self.name = name
        self.where = place


@final
class Scope:
    """The values that a template may name: layers, of which the first that has the name wins.

    The exact letter case is sought first, over all layers in order; only then any letter case, again over all of them.
    """

    __slots__ = ("_any_case", "_layers")

    def __init__(self, layers: Sequence[Mapping[str, object]]) -> None:
        """Hold the layers; nothing is copied."""
        self._layers = layers
        self._any_case: dict[str, object] | None = None

    def find(self, name: str) -> object:
        """Return the value of a name, or raise `Unresolved`."""
        for layer in self._layers:
            if name in layer:
                return layer[name]
        index = self._any_case
        if index is None:
            index = self._any_case = {}
            for layer in self._layers:
                for key, value in layer.items():
                    index.setdefault(key.casefold(), value)
        value = index.get(name.casefold(), _MISSING)
        if value is _MISSING:
            raise Unresolved(name)
        return value

    def get(self, name: str) -> object:
        """Return the value of a name, or empty text."""
        try:
            return self.find(name)
        except Unresolved:
            return ""


def as_text(value: object) -> str:
    """Write a value as it appears inside text: nothing as empty text, lists and maps as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return str(value)


@final
class Text:
    """One compiled string. `names` are what it asks for, each once; `whole` is the name if there is nothing else."""

    __slots__ = ("_asked", "_pattern", "_place", "constant", "names", "source", "whole")

    def __init__(self, source: str, literals: Sequence[str], asked: tuple[str, ...], place: str) -> None:
        """Take what `compile` found; `literals` has one entry more than `asked`."""
        self.source = source
        self.names = tuple(dict.fromkeys(asked))
        self.constant = not asked
        self._asked = asked
        self._place = place
        self.whole = asked[0] if len(asked) == 1 and not any(literals) else None
        self._pattern = "%s".join(literal.replace("%", "%%") for literal in literals)

    @classmethod
    def compile(cls, source: str, *, place: str = "") -> Text:
        """Read a string; unbalanced braces and unusable names are errors."""
        pieces = _EXPRESSION.split(source)
        literals = pieces[0::2]
        for literal in literals:
            _check_literal(literal)
        return cls(source, literals, tuple(_name(piece) for piece in pieces[1::2]), place)

    def text(self, scope: Scope) -> str:
        """Return the string with every name filled in."""
        asked = self._asked
        if not asked:
            return self.source
        find = scope.find
        try:
            values = [find(name) for name in asked]
        except Unresolved as unresolved:
            raise Unresolved(unresolved.name, self._place) from None
        return self._pattern % tuple([value if type(value) is str else as_text(value) for value in values])

    def resolve(self, scope: Scope) -> object:
        """Return the value: with its own type when the string is exactly one expression, else the text."""
        if self.whole is None:
            return self.text(scope)
        try:
            value = scope.find(self.whole)
        except Unresolved:
            raise Unresolved(self.whole, self._place) from None
        return "" if value is None else value

    def __eq__(self, other: object) -> bool:
        """Two templates of one source are one template."""
        return isinstance(other, Text) and self.source == other.source

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.source)

    def __repr__(self) -> str:
        """Show the source."""
        return f"Text({self.source!r})"


@final
class Params:
    """A step's compiled parameters: any tree of maps, lists and scalars, whose strings are templates."""

    __slots__ = ("_fields", "constant", "names", "source")

    def __init__(
        self, source: Mapping[str, object], fields: dict[str, Callable[[Scope], object]], names: tuple[str, ...]
    ) -> None:
        """Take what `compile` made."""
        self.source = source
        self.names = names
        self.constant = not names
        self._fields = tuple(fields.items())

    @classmethod
    def compile(cls, tree: Mapping[str, object], *, place: str = "params") -> Params:
        """Read a tree; each string is compiled once and knows its place."""
        names: dict[str, None] = {}
        fields = {key: _compiled(value, f"{place}.{key}", names) for key, value in tree.items()}
        return cls(tree, fields, tuple(names))

    def render(self, scope: Scope) -> dict[str, object]:
        """Return a fresh tree with every name filled in; the first name without a value raises `Unresolved`."""
        return {key: build(scope) for key, build in self._fields}

    def __eq__(self, other: object) -> bool:
        """Two trees that are equal are one."""
        return isinstance(other, Params) and self.source == other.source

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(tuple(self.source))

    def __repr__(self) -> str:
        """Show the source."""
        return f"Params({self.source!r})"


def _compiled(value: object, place: str, names: dict[str, None]) -> Callable[[Scope], object]:
    """Turn one node of a tree into the function that builds it."""
    if isinstance(value, str):
        text = Text.compile(value, place=place)
        names.update(dict.fromkeys(text.names))
        return text.resolve
    if isinstance(value, dict):
        fields = tuple(
            (str(key), _compiled(item, f"{place}.{key}", names))
            for key, item in cast("dict[object, object]", value).items()
        )
        return lambda scope: {key: build(scope) for key, build in fields}
    if isinstance(value, list):
        items = tuple(
            _compiled(item, f"{place}[{index}]", names) for index, item in enumerate(cast("list[object]", value))
        )
        return lambda scope: [build(scope) for build in items]
    return lambda _scope: value


def _check_literal(literal: str) -> None:
    """Refuse what is left of braces between the expressions."""
    opened, closed = literal.find("{{"), literal.find("}}")
    if opened >= 0 and (closed < 0 or opened < closed):
        raise TminusError("E223", 'braces "{{" are never closed by "}}"', hint="a template is {{ name }}")
    if closed >= 0:
        raise TminusError(
            "E223", 'braces "}}" close nothing', hint='a template is {{ name }}; in JSON text write "} }"'
        )


def _name(piece: str) -> str:
    """Return the name inside one pair of braces."""
    name = piece.strip()
    if not name:
        raise TminusError("E224", "a template without a name", hint="write {{ ColumnName }}")
    if len(name) > LONGEST_NAME:
        raise TminusError("E224", f'the name "{name[:40]}…" is longer than {LONGEST_NAME} characters')
    if not name.isprintable():
        raise TminusError("E224", f"the name {name!a} holds a character that cannot be seen")
    return name
