"""Conditions: the `when` of a step. `==`, `!=`, `in`, `empty`, `and`/`or`/`not`, parentheses, and nothing more.

A condition is compiled once into closures. Comparison is textual: the letter case counts, and true, false and numbers
equal their text forms, because one column arrives as text from a CSV and typed from SQL. A name without a value is
empty text here, and only here: a condition asks, it sends nothing. The grammar is in `docs/reference/runbook.md`. This
module must not know steps or lanes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast, final

from tminus.domain.errors import TminusError
from tminus.runbook.template import Scope, Text, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_SOURCE: Final = 4_096
DEEPEST: Final = 32

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<template>\{\{[^{}]*\}\})|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<sign>==|!=|[()\[\],])|(?P<word>[^\s()\[\],"'{}=!]+))""",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST_NUMBER: Final = 40
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "is", "empty"})


@final
class Condition:
    """One compiled condition. `names` are the names that it asks for, each once."""

    __slots__ = ("_test", "names", "source")

    def __init__(self, source: str, test: Callable[[Scope], bool], names: tuple[str, ...]) -> None:
        """Take what `compile` made."""
        self.source = source
        self.names = names
        self._test = test

    @classmethod
    def compile(cls, source: str) -> Condition:
        """Read a condition; what is not in the grammar is an error that names the place in the text."""
        if len(source) > LONGEST_SOURCE:
            raise TminusError("E227", f"the condition is longer than {LONGEST_SOURCE} characters")
        reader = _Reader(source)
        test = reader.either(0)
        reader.expect_end()
        return cls(source, test, tuple(reader.names))

    def holds(self, scope: Scope) -> bool:
        """Tell whether the condition is true for these values."""
        return self._test(scope)

    def __eq__(self, other: object) -> bool:
        """Two conditions of one source are one condition."""
        return isinstance(other, Condition) and self.source == other.source

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.source)

    def __repr__(self) -> str:
        """Show the source."""
        return f"Condition({self.source!r})"


def equal(left: object, right: object) -> bool:
    """Compare as a condition does: by text, and as numbers when one side is a number and the other reads as one."""
    if as_text(left) == as_text(right):
        return True
    if not (_is_number(left) or _is_number(right)):
        return False
    first, second = _number(left), _number(right)
    return first is not None and first == second


def is_empty(value: object) -> bool:
    """Tell whether a value is nothing, empty text, an empty list or an empty map."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    """Reads one condition from left to right; each method returns the closure of what it read."""

    def __init__(self, source: str) -> None:
        self.names: dict[str, None] = {}
        self._source = source
        self._tokens = _tokens(source)
        self._next = 0

    def either(self, depth: int) -> Callable[[Scope], bool]:
        """`both (or both)*`."""
        tests = [self._both(depth)]
        while self._take("word", "or"):
            tests.append(self._both(depth))
        return tests[0] if len(tests) == 1 else lambda scope: any(test(scope) for test in tests)

    def expect_end(self) -> None:
        """Refuse anything after a whole condition."""
        if self._next < len(self._tokens):
            raise self._error("and, or, or the end")

    def _both(self, depth: int) -> Callable[[Scope], bool]:
        """`single (and single)*`."""
        tests = [self._single(depth)]
        while self._take("word", "and"):
            tests.append(self._single(depth))
        return tests[0] if len(tests) == 1 else lambda scope: all(test(scope) for test in tests)

    def _single(self, depth: int) -> Callable[[Scope], bool]:
        """`not single | empty operand | ( either ) | true | false | operand comparison`."""
        if depth > DEEPEST:
            raise TminusError("E227", f"the condition nests deeper than {DEEPEST} levels")
        if self._take("word", "not"):
            negated = self._single(depth + 1)
            return lambda scope: not negated(scope)
        if self._take("word", "empty"):
            return self._emptiness(depth)
        if self._take("sign", "("):
            inner = self.either(depth + 1)
            self._expect(")")
            return inner
        return self._comparison()

    def _emptiness(self, depth: int) -> Callable[[Scope], bool]:
        """`operand` or `( operand )` after `empty`."""
        bracketed = self._take("sign", "(")
        operand = self._operand(depth)
        if bracketed:
            self._expect(")")
        return lambda scope: is_empty(operand(scope))

    def _comparison(self) -> Callable[[Scope], bool]:
        """`operand (== | !=) operand | operand [not] in operand | operand [is [not]] empty`."""
        left = self._operand(0)
        if self._take("sign", "=="):
            right = self._operand(0)
            return lambda scope: equal(left(scope), right(scope))
        if self._take("sign", "!="):
            right = self._operand(0)
            return lambda scope: not equal(left(scope), right(scope))
        if self._take("word", "in"):
            return self._membership(left)
        if self._take("word", "empty"):
            return lambda scope: is_empty(left(scope))
        if self._take("word", "is"):
            negated = self._take("word", "not")
            if not self._take("word", "empty"):
                raise self._error("empty")
            return lambda scope: is_empty(left(scope)) is not negated
        if self._take("word", "not"):
            if not self._take("word", "in"):
                raise self._error("in")
            inside = self._membership(left)
            return lambda scope: not inside(scope)
        word = self._tokens[self._next - 1].text
        if word in {"true", "false"}:
            return lambda _scope: word == "true"
        raise self._error("==, !=, in or empty")

    def _membership(self, left: Callable[[Scope], object]) -> Callable[[Scope], bool]:
        """Read the right side of `in`: a list; one value counts as a list of one, and nothing as an empty list."""
        right = self._operand(0)

        def inside(scope: Scope) -> bool:
            value, sought = right(scope), left(scope)
            if is_empty(value):
                return False
            return any(
                equal(sought, item)
                for item in (cast("list[object]", value) if isinstance(value, list | tuple) else [value])
            )

        return inside

    def _operand(self, depth: int) -> Callable[[Scope], object]:
        """Read a template, a quoted text (which may hold templates), a number, true, false, or a [list] of these."""
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None:
            raise self._error("a value")
        self._next += 1
        if token.kind == "template":
            return self._value(token.text)
        if token.kind == "text":
            return self._value(re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL))
        if token.kind == "sign" and token.text == "[" and depth <= DEEPEST:
            return self._list(depth + 1)
        if token.kind == "word" and token.text in {"true", "false"}:
            truth = token.text == "true"
            return lambda _scope: truth
        if token.kind == "word" and len(token.text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(token.text):
            number = Decimal(token.text)
            return lambda _scope: number
        self._next -= 1
        if token.kind == "word" and token.text not in _KEYWORDS:
            hint = f'write "{token.text}" in quotes, or {{{{ {token.text} }}}} for a column'
            raise TminusError(
                "E227", f"{token.text[:40]} at character {token.at + 1} is neither text nor a template", hint=hint
            )
        raise self._error("a value")

    def _list(self, depth: int) -> Callable[[Scope], object]:
        """Read the operands up to the closing bracket."""
        items: list[Callable[[Scope], object]] = []
        while not self._take("sign", "]"):
            if items:
                self._expect(",")
            items.append(self._operand(depth))
        return lambda scope: [item(scope) for item in items]

    def _value(self, source: str) -> Callable[[Scope], object]:
        """Compile a template or text; a name without a value is empty text."""
        text = Text.compile(source)
        self.names.update(dict.fromkeys(text.names))
        if text.constant:
            return lambda _scope: source
        if (name := text.whole) is not None:
            return lambda scope: scope.get(name)
        return lambda scope: text.text(Scope([{name: scope.get(name) for name in text.names}]))

    def _take(self, kind: str, text: str) -> bool:
        """Step over the next token if it is this one."""
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.kind == kind and token.text == text:
                self._next += 1
                return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take("sign", sign):
            raise self._error(f'"{sign}"')

    def _error(self, wanted: str) -> TminusError:
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            found = f"{token.text[:40]} at character {token.at + 1}"
        else:
            found = "the end"
        return TminusError("E227", f"{wanted} expected, not {found}", hint='such as {{Department}} == "Sales"')


def _tokens(source: str) -> list[_Token]:
    """Cut the source into tokens."""
    tokens: list[_Token] = []
    at, end = 0, len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None:
            start = len(source) - len(source[at:].lstrip())
            hint = 'such as {{Department}} == "Sales"'
            raise TminusError(
                "E227", f"{source[start : start + 10]} at character {start + 1} is not understood", hint=hint
            )
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return tokens


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(value: object) -> Decimal | None:
    """Return a number, or a text that is one in JSON's spelling; `007` is a text."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    return Decimal(text) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else None
