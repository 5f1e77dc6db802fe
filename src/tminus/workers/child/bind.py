"""How the parameters of a job become the arguments of a function: looked at once, when the file is loaded.

Every problem of a call is named at once, by parameter: missing, unknown with what was probably meant, and what cannot
be converted. No value appears in any message.
"""

from __future__ import annotations

import inspect
import typing
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from tminus.workers.child.convert import Convert, Mismatch, conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SHOWN_MAX = 10  # Of each sort of problem; the rest is counted.
UNREADABLE = (NameError, TypeError, AttributeError, SyntaxError, ValueError)  # What evaluating an annotation may raise.


class ArgumentError(Exception):
    """The parameters of a job do not fit its function; trying again cannot help."""


class Binder:
    """The parameters of one function."""

    __slots__ = ("_converts", "_leading", "_names", "_required", "_rest", "_rest_convert")

    def __init__(self, function: Callable[..., object]) -> None:
        """Read the signature; a function that does not tell its own takes everything as it comes."""
        parameters = _parameters(function)
        hints = _hints(function, parameters)
        leading = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        named = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
        rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]
        self._names = frozenset(p.name for p in named)
        self._required = tuple(p.name for p in named if p.default is p.empty)
        self._leading = tuple(leading)
        self._rest = bool(rest)
        self._rest_convert = conversion(hints.get(rest[0].name)) if rest else None
        converts = ((p.name, conversion(hints.get(p.name))) for p in named)
        self._converts: tuple[tuple[str, Convert], ...] = tuple((n, convert) for n, convert in converts if convert)

    def bound(self, params: dict[str, object]) -> tuple[Sequence[object], Mapping[str, object]]:
        """Return the arguments, or raise ArgumentError."""
        problems: list[str] = []
        for name, convert in self._converts:
            if name in params:
                _replace(params, name, convert, problems)
        if not params.keys() <= self._names:
            self._extra(params, problems)
        problems += [f'the parameter "{name}" is missing' for name in self._required if name not in params]
        if problems:
            raise ArgumentError(_listed(problems))
        if not self._leading:
            return (), params
        return self._positional(params), params

    def _extra(self, params: dict[str, object], problems: list[str]) -> None:
        for name in [name for name in params if name not in self._names]:
            if not self._rest:
                meant = get_close_matches(name, self._names, n=1, cutoff=0.6) or _same_letters(name, self._names)
                hint = f', did you mean "{meant[0]}"?' if meant else ""
                problems.append(f'unknown parameter "{name[:100]}"{hint}')
            elif self._rest_convert:
                _replace(params, name, self._rest_convert, problems)

    def _positional(self, params: dict[str, object]) -> list[object]:
        """Take out what can only be given by place, up to the first that is left to its default."""
        taken: list[object] = []
        for name in self._leading:
            if name not in params:
                break
            taken.append(params.pop(name))
        return taken


def _replace(params: dict[str, object], name: str, convert: Convert, problems: list[str]) -> None:
    try:
        params[name] = convert(params[name])
    except Mismatch as found:
        problems.append(f'the parameter "{name[:100]}{found.place}" takes {found.expected}, not {found.given}')


def _same_letters(name: str, names: frozenset[str]) -> list[str]:
    return [known for known in names if known.casefold() == name.casefold()]


def _listed(problems: list[str]) -> str:
    more = len(problems) - SHOWN_MAX
    return "; ".join(problems[:SHOWN_MAX]) + (f"; and {more} more" if more > 0 else "")


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("rest", inspect.Parameter.VAR_KEYWORD)]


def _hints(function: Callable[..., object], parameters: list[inspect.Parameter]) -> dict[str, object]:
    """Evaluate the annotations, one by one when not all can be (a name imported for type checkers only)."""
    target = inspect.unwrap(function)
    try:
        return cast("dict[str, object]", typing.get_type_hints(target, include_extras=True))
    except UNREADABLE:
        pass
    hints: dict[str, object] = {}
    for parameter in parameters:
        annotation: object = parameter.annotation
        if isinstance(annotation, str):
            annotation = _evaluated(annotation, cast("dict[str, object]", getattr(target, "__globals__", {})))
        if annotation is not parameter.empty:
            hints[parameter.name] = annotation
    return hints


def _evaluated(annotation: str, names: dict[str, object]) -> object:
    def bearer() -> None: ...

    bearer.__annotations__ = {"it": annotation}
    try:
        return cast("object", typing.get_type_hints(bearer, globalns=names, include_extras=True)["it"])
    except UNREADABLE:
        return None
