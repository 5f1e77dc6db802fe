"""Parameters become what a function's annotations ask for, where that is possible without guessing.

Templates and CSV files know text, functions know types. So "42" becomes an int where an int is annotated, and a text
stays a text where nothing is. A value that cannot be converted is a `Mismatch`, which names the place, the expected
type and the kind of what was given, but never the value: it may be a secret. Annotations that mean nothing here (a
class of the function's own, a type variable) let every value through.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, MutableMapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, Union, cast, get_args, get_origin
from uuid import UUID

import orjson

Convert = Callable[[object], object]

WHOLE = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?", re.ASCII)
TRUE_WORDS = frozenset({"true", "yes", "1"})
FALSE_WORDS = frozenset({"false", "no", "0"})
EXACT_FLOAT_MAX = 2.0**53


class Mismatch(Exception):  # noqa: N818 - a finding about one value; the call's error is ArgumentError.
    """A value that is not and cannot become what was asked for."""

    def __init__(self, expected: str, given: object, place: str = "") -> None:
        """Name the kind of the value, and forget the value."""
        super().__init__(expected)
        self.expected = expected
        self.given = kind_of(given)
        self.place = place

    def under(self, place: str) -> Mismatch:
        """Return the same finding, seen from one level further out."""
        self.place = place + self.place
        return self


def kind_of(value: object) -> str:
    """Name the kind of a JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text" if value else "an empty text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "something else"


def to_str(value: object) -> object:
    """Keep texts; numbers, true and false become the text that JSON has for them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise Mismatch("str", value)


def to_int(value: object) -> object:
    """Take whole numbers, also written as text or as 3.0."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT_FLOAT_MAX:
        return int(value)
    if isinstance(value, str) and WHOLE.fullmatch(value.strip()):
        return int(value)
    raise Mismatch("int", value)


def to_float(value: object) -> object:
    """Take finite numbers, also written as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(float(value), value)
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return _finite(float(value), value)
    raise Mismatch("float", value)


def _finite(number: float, given: object) -> float:
    if math.isfinite(number):
        return number
    raise Mismatch("float", given)


def to_bool(value: object) -> object:
    """Take true, false, yes, no, 1 and 0 in any letter case."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, int | str) else ""
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise Mismatch("bool", value)


def _of_text(expected: str, read: Callable[[str], object]) -> Convert:
    """Make a conversion from text; what `read` refuses is a mismatch."""

    def convert(value: object) -> object:
        if not isinstance(value, str):
            raise Mismatch(expected, value)
        try:
            return read(value.strip())
        except (ValueError, InvalidOperation):
            raise Mismatch(expected, value) from None

    return convert


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text).date()


def _decimal(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    raise Mismatch("Decimal", value)


PLAIN: Mapping[object, Convert] = {
    str: to_str,
    int: to_int,
    float: to_float,
    bool: to_bool,
    Decimal: _decimal,
    datetime: _of_text("datetime", datetime.fromisoformat),
    date: _of_text("date", _date),
    time: _of_text("time", time.fromisoformat),
    UUID: _of_text("UUID", UUID),
    Path: _of_text("Path", Path),
}

MANY: Mapping[object, Callable[[Iterable[object]], object]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Sequence: list,
    Iterable: list,
    Collection: list,
}
MAPS: frozenset[object] = frozenset({dict, Mapping, MutableMapping})


def conversion(annotation: object) -> Convert | None:
    """Return how values become what an annotation asks for; None when they stay as they are."""
    annotation = _bare(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    whole = origin or annotation
    if not isinstance(whole, Hashable):
        return None
    if whole in PLAIN:
        return PLAIN[whole]
    if whole in MANY:
        return _many(annotation, whole, parts)
    if whole in MAPS:
        return _map(annotation, parts)
    if origin is Union or origin is types.UnionType:
        return _union(annotation, parts)
    if origin is Literal:
        return _literal(parts)
    return _class(cast("type[object]", annotation)) if isinstance(annotation, type) else None


def _class(kind: type[object]) -> Convert | None:
    if issubclass(kind, Enum):
        return _enum(kind)
    return _Record(kind) if dataclasses.is_dataclass(kind) else None


def _bare(annotation: object) -> object:
    """Look through Annotated, NewType, aliases and Final at what is meant."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = getattr(annotation, "__value__", None)
        else:
            return annotation


def shown(annotation: object) -> str:
    """Return an annotation as a person would write it."""
    if annotation is type(None):
        return "None"
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("datetime.", "")


def _json_inside(value: object, opening: str) -> object:
    """Read text that is itself a JSON list or object, as templates inside text make it."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        try:
            return cast("object", orjson.loads(value))
        except ValueError:
            return value
    return value


def _many(annotation: object, whole: object, parts: Sequence[object]) -> Convert:
    make, expected = MANY[whole], shown(annotation)
    fixed = whole is tuple and bool(parts) and parts[-1] is not Ellipsis
    inner = [conversion(part) for part in (parts if fixed else parts[:1])]

    def convert(value: object) -> object:
        given = _json_inside(value, "[")
        if not isinstance(given, list):
            raise Mismatch(expected, value)
        items = cast("list[object]", given)
        if fixed and len(items) != len(inner):
            raise Mismatch(f"{expected} of {len(inner)} items", value)
        converts = inner if fixed else (inner or [None]) * len(items)
        try:
            return make(
                _inner(each, item, f"[{i}]") for i, (each, item) in enumerate(zip(converts, items, strict=True))
            )
        except TypeError:  # A list or an object cannot be an item of a set.
            raise Mismatch(expected, value) from None

    return convert


def _inner(convert: Convert | None, value: object, place: str) -> object:
    if convert is None:
        return value
    try:
        return convert(value)
    except Mismatch as found:
        raise found.under(place) from None


def _map(annotation: object, parts: Sequence[object]) -> Convert:
    expected = shown(annotation)
    keys, values = (conversion(parts[0]), conversion(parts[1])) if parts else (None, None)

    def convert(value: object) -> object:
        given = _json_inside(value, "{")
        if not isinstance(given, dict):
            raise Mismatch(expected, value)
        items = cast("dict[str, object]", given).items()
        return {_inner(keys, key, f".{key}"): _inner(values, item, f".{key}") for key, item in items}

    return convert


def _union(annotation: object, parts: Sequence[object]) -> Convert | None:
    """Take the arm that the value already is, else the first that it can become; empty text may stand for None."""
    arms = [part for part in parts if part is not type(None)]
    converts = [conversion(arm) for arm in arms]
    wholes = [get_origin(_bare(arm)) or _bare(arm) for arm in arms]
    nullable, expected = len(arms) < len(parts), shown(annotation)

    def convert(value: object) -> object:
        if nullable and (value is None or (value == "" and str not in wholes)):
            return None
        exact = [each for each, whole in zip(converts, wholes, strict=True) if whole is type(value)]
        found: Mismatch | None = None
        for each in (*exact, *converts):
            if each is None:
                return value
            try:
                return each(value)
            except Mismatch as mismatch:
                found = found or mismatch
        if found and (len(arms) == 1 or exact):
            raise found
        raise Mismatch(expected, value)

    return convert


def _literal(choices: Sequence[object]) -> Convert:
    expected = " or ".join(orjson.dumps(choice, default=str).decode() for choice in choices)

    def convert(value: object) -> object:
        for choice in choices:
            if choice == value and type(choice) is type(value):
                return choice
        for choice in choices:
            same = choice.value if isinstance(choice, Enum) else choice
            if isinstance(value, str | int) and _word(same) == _word(value):
                return choice
        raise Mismatch(expected, value)

    return convert


def _word(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _enum(kind: type[Enum]) -> Convert:
    """Match by value, then by the value's text, then by name."""
    members = list(kind.__members__.items())
    expected = f"{kind.__name__} ({', '.join(name for name, _ in members[:10])})"

    def convert(value: object) -> object:
        same = [member for _, member in members if member.value == value and type(member.value) is type(value)]
        if not same and isinstance(value, str | int):
            same = [member for _, member in members if _word(member.value) == _word(value)]
            same += [member for name, member in members if name == value]
        if same:
            return same[0]
        raise Mismatch(expected, value)

    return convert


class _Record:
    """A dataclass from an object; its fields are looked at on first use, so that it may contain itself."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._plan: dict[str, Convert | None] | None = None
        self._required: frozenset[str] = frozenset()

    def _fields(self) -> dict[str, Convert | None]:
        if self._plan is None:
            hints = typing.get_type_hints(self._kind)
            fields = [field for field in dataclasses.fields(self._kind) if field.init]
            unset = dataclasses.MISSING
            self._required = frozenset(f.name for f in fields if f.default is unset and f.default_factory is unset)
            self._plan = {field.name: conversion(hints.get(field.name)) for field in fields}
        return self._plan

    def __call__(self, value: object) -> object:
        given = _json_inside(value, "{")
        if not isinstance(given, dict):
            raise Mismatch(self._kind.__name__, value)
        plan, items = self._fields(), cast("dict[str, object]", given)
        unknown = [key for key in items if key not in plan]
        missing = sorted(self._required - items.keys())
        if unknown or missing:
            wrong = f"without field {unknown[0]}" if unknown else f"with field {missing[0]}"
            raise Mismatch(f"{self._kind.__name__} {wrong}", value)
        made: object = self._kind(**{key: _inner(plan[key], item, f".{key}") for key, item in items.items()})
        return made
