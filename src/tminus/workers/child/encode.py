"""Results become JSON text: what JSON cannot hold is converted where there is one sensible way, else refused by path.

orjson does the usual result in one call. Only when it refuses does a slower walk look at every value: decimals, huge
whole numbers and UUIDs become text, bytes base64, sets lists, paths text, NaN null, lone surrogates U+FFFD. What is
left is a `ResultNotJson` that names the path.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, cast
from uuid import UUID

import orjson

from tminus.workers.child.log import utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RESULT_BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 200
PATH_LENGTH_MAX = 300
INT_MIN, INT_MAX = (
    -(2**63),
    2**64 - 1,
)  # What orjson writes as a number; readers elsewhere are safe with no more either.


class ResultNotJson(Exception):  # noqa: N818 - a kind of failure by which runbooks may name it.
    """The function returned something that JSON has no form for."""

    def __init__(self, path: str, what: str) -> None:
        """Name the place and the kind of thing, not the thing."""
        shown = path if len(path) <= PATH_LENGTH_MAX else f"{path[:PATH_LENGTH_MAX]}…"
        super().__init__(f"the result at {shown} {what}")


class ResultTooLarge(Exception):  # noqa: N818 - a kind of failure by which runbooks may name it.
    """The function returned more than a store should keep."""


def encoded(result: object) -> tuple[str, bool | None]:
    """Return JSON text and what its key `complete` says."""
    data = _written(result)
    if data is None:
        data = _walked(result)
    if len(data) > RESULT_BYTES_MAX:
        size_mb, most_mb = len(data) / 1024**2, RESULT_BYTES_MAX // 1024**2
        raise ResultTooLarge(f"the result is {size_mb:.1f} MB of JSON; at most {most_mb} MB are taken")
    return data.decode(), _complete(result, data)


def _written(result: object) -> bytes | None:
    """Return JSON if orjson takes the value as it is; the walk begins outside of any handler, for clean tracebacks."""
    try:
        return orjson.dumps(result)
    except TypeError:
        return None


def _complete(result: object, data: bytes) -> bool | None:
    """Read the key `complete`, exact before any other letter case; nothing but true and false says anything."""
    if type(result) is not dict:
        # A dataclass, an ordinary mapping: their keys are known only in what was written.
        if not data.startswith(b"{") or b"complete" not in data.lower():
            return None
        result = orjson.loads(data)
    keys = cast("dict[object, object]", result)
    value = keys.get("complete", keys)
    if value is keys:
        value = next((v for k, v in keys.items() if isinstance(k, str) and k.lower() == "complete"), None)
    return value if isinstance(value, bool) else None


def _walked(result: object) -> bytes:
    plain = _plain(result, "$", [])
    try:
        return orjson.dumps(plain)
    except TypeError as problem:
        raise ResultNotJson("$", f"has no form in JSON: {problem}") from None


def _plain(value: object, path: str, above: list[int]) -> object:
    """Return the value in types that orjson takes; `above` are the containers it lies in."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(cast("object", value.value), path, above)
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, int):
        return int(value) if INT_MIN <= value <= INT_MAX else _digits(value, path)
    simple = _simple(value)
    if simple is not None:
        return simple
    return _container(value, path, above)


def utf8_text(value: str) -> str:
    """Return text without lone surrogates; NUL stays, for JSON can say it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return "\x00".join(utf8(part).decode() for part in value.split("\x00"))
    return value


def _digits(value: int, path: str) -> str:
    try:
        return str(value)
    except ValueError:
        raise ResultNotJson(path, "is a whole number with thousands of digits") from None


def _simple(value: object) -> object:
    """Convert what is not made of other values; None when it is something else."""
    match value:
        case float():
            return float(value)
        case Decimal() | UUID() | PurePath():
            return str(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case memoryview():
            return base64.b64encode(value.tobytes()).decode()
        case timedelta():
            return value.total_seconds()
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return None


def _container(value: object, path: str, above: list[int]) -> object:
    if id(value) in above:
        raise ResultNotJson(path, "contains itself")
    if len(above) >= DEPTH_MAX:
        raise ResultNotJson(path, f"lies more than {DEPTH_MAX} levels deep")
    above.append(id(value))
    try:
        if isinstance(value, Mapping):
            return _object(cast("Mapping[object, object]", value).items(), path, above)
        if isinstance(value, list | tuple):
            as_dict = cast("Callable[[], dict[object, object]] | None", getattr(cast("object", value), "_asdict", None))
            if as_dict is not None:
                return _object(as_dict().items(), path, above)
            return _list(cast("list[object]", value), path, above)
        if isinstance(value, set | frozenset):
            items = _list(cast("set[object]", value), path, above)
            return sorted(items, key=lambda item: orjson.dumps(item, option=orjson.OPT_SORT_KEYS))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.startswith("_")]
            return _object(fields, path, above)
    finally:
        above.pop()
    raise ResultNotJson(path, f"is of type {type(value).__qualname__[:100]}, which has no form in JSON")


def _list(items: Iterable[object], path: str, above: list[int]) -> list[object]:
    return [_plain(item, f"{path}[{index}]", above) for index, item in enumerate(items)]


def _object(items: Iterable[tuple[object, object]], path: str, above: list[int]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, item in items:
        name = _key(key, path)
        if name in made:
            raise ResultNotJson(path, f"has two keys that both read {name[:100]!r}")
        made[name] = _plain(item, f"{path}.{name}", above)
    return made


def _key(key: object, path: str) -> str:
    """Return a key as text; only values that have one written form can be keys."""
    if isinstance(key, Enum):
        return _key(cast("object", key.value), path)
    if isinstance(key, str):
        return utf8_text(key)
    if key is None or isinstance(key, bool | int | float | Decimal | UUID | date | time | PurePath):
        written = _plain(key, path, [])
        return written if isinstance(written, str) else orjson.dumps(written).decode().strip('"')
    raise ResultNotJson(path, f"has a key of type {type(key).__qualname__[:100]}")
