"""The corpus of worker results: what functions return or raise, and what must come of it.

The file is loaded twice: by the pool's children, which offer each case as a plain and as an async function, and by the
test, which reads what is expected.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import enum
import math
import threading
import types
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from typing import NamedTuple

from tminus import Fatal, Pending, Throttled, function

MB = 1024 * 1024
EMPTY: dict[str, object] = {}


@dataclasses.dataclass
class Case:
    """One case: either a result and what it says of `complete`, or the type of a failure and words of its message."""

    name: str
    make: Callable[[], object]
    result: object = None
    complete: bool | None = None
    error: str = ""
    words: str = ""
    retryable: bool = True
    throttled: bool = False
    after_s: float | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: object


@dataclasses.dataclass
class Slow:
    complete: bool


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Mixed(str, enum.Enum):  # noqa: UP042 - the older way to write it, whose str() says something else.
    A = "a"


class Odd(enum.Enum):
    PAIR = (1, Decimal("1.5"))


class Named(NamedTuple):
    left: int
    right: Decimal


class Nothing:
    def __repr__(self) -> str:
        """Fail."""
        raise RuntimeError("no words")


class Spiteful(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        """Fail."""
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        """Fail."""
        raise RuntimeError("not today")

    def __len__(self) -> int:
        """Pretend."""
        return 1


class MuteError(Exception):
    def __str__(self) -> str:
        """Fail."""
        raise ValueError("mute")


class FalsyError(Exception):
    def __bool__(self) -> bool:
        """Pretend."""
        return False


class NotFound(Fatal):
    pass


class Strange(BaseException):
    pass


def raising(raised: Callable[[], BaseException]) -> Callable[[], object]:
    def make() -> object:
        raise raised()

    return make


def always(value: object) -> Callable[[], object]:
    return lambda: value


def itself() -> object:
    items: list[object] = []
    items.append({"again": items})
    return items


def each_other() -> object:
    one: dict[str, object] = {}
    one["other"] = {"one": one}
    return one


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def recursive() -> object:
    return recursive()


def chained() -> object:
    try:
        return EMPTY["first"]
    except KeyError as problem:
        raise ValueError("second") from problem


ZONE = timezone(timedelta(hours=5, minutes=30))
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

COMPLETE = [
    Case("complete-true", always({"complete": True}), {"complete": True}, complete=True),
    Case("complete-false", always({"complete": False}), {"complete": False}, complete=False),
    Case("complete-data", always({"complete": True, "data": {"a": 1}}), {"complete": True, "data": {"a": 1}}, True),
    Case("complete-text-true", always({"complete": "true"}), {"complete": "true"}),
    Case("complete-text-false", always({"complete": "false"}), {"complete": "false"}),
    Case("complete-word", always({"complete": "False"}), {"complete": "False"}),
    Case("complete-one", always({"complete": 1}), {"complete": 1}),
    Case("complete-zero", always({"complete": 0}), {"complete": 0}),
    Case("complete-float", always({"complete": 0.0}), {"complete": 0.0}),
    Case("complete-null", always({"complete": None}), {"complete": None}),
    Case("complete-list", always({"complete": [False]}), {"complete": [False]}),
    Case("complete-object", always({"complete": {"complete": False}}), {"complete": {"complete": False}}),
    Case("complete-empty-text", always({"complete": ""}), {"complete": ""}),
    Case("complete-upper", always({"COMPLETE": False}), {"COMPLETE": False}, complete=False),
    Case("complete-title", always({"Complete": True}), {"Complete": True}, complete=True),
    Case(
        "complete-exact-first",
        always({"Complete": False, "complete": True}),
        {"Complete": False, "complete": True},
        complete=True,
    ),
    Case("complete-exact-null", always({"Complete": False, "complete": None}), {"Complete": False, "complete": None}),
    Case("complete-padded", always({" complete": False}), {" complete": False}),
    Case("complete-deep", always({"data": {"complete": False}}), {"data": {"complete": False}}),
    Case("complete-in-list", always([{"complete": False}]), [{"complete": False}]),
    Case("complete-text", always('{"complete": false}'), '{"complete": false}'),
    Case("complete-bare-false", always(value=False), result=False),
    Case("complete-dataclass", always(Slow(complete=False)), {"complete": False}, complete=False),
    Case("complete-proxy", always(types.MappingProxyType({"complete": False})), {"complete": False}, complete=False),
    Case(
        "complete-ordered",
        lambda: collections.OrderedDict[str, object](complete=True),
        {"complete": True},
        complete=True,
    ),
    Case("complete-beside-decimal", always({"complete": False, "n": Decimal(1)}), {"complete": False, "n": "1"}, False),
    Case(
        "complete-two-words",
        always({"completed": False, "is_complete": True}),
        {"completed": False, "is_complete": True},
    ),
    Case("pending-returned", Pending, {"complete": False}, complete=False),
    Case("pending-raised", raising(Pending), {"complete": False}, complete=False),
    Case(
        "pending-data", raising(lambda: Pending({"done": 4})), {"complete": False, "data": {"done": 4}}, complete=False
    ),
    Case("pending-zero", raising(lambda: Pending(0)), {"complete": False, "data": 0}, complete=False),
    Case(
        "pending-decimal", raising(lambda: Pending(Decimal("0.5"))), {"complete": False, "data": "0.5"}, complete=False
    ),
    Case("pending-object", raising(lambda: Pending(Nothing())), error="ResultNotJson", words="$.data", retryable=False),
    Case("pending-class", always(Pending), error="ResultNotJson", words="type", retryable=False),
]

VALUES = [
    Case("none", always(None), None),
    Case("true", always(value=True), result=True),
    Case("zero", always(0), 0),
    Case("int-64", always(2**64 - 1), 2**64 - 1),
    Case("int-minus-64", always(-(2**63)), -(2**63)),
    Case("int-huge", always(2**64), str(2**64)),
    Case("int-huge-minus", always({"n": -(2**63) - 1}), {"n": str(-(2**63) - 1)}),
    Case("int-endless", always({"n": 10**5000}), error="ResultNotJson", words="$.n", retryable=False),
    Case("float", always(0.1), 0.1),
    Case("nan", always(math.nan), None),
    Case("infinity", always([math.inf, -math.inf]), [None, None]),
    Case("nan-beside-decimal", always([math.nan, Decimal(1)]), [None, "1"]),
    Case("complex", always(1j), error="ResultNotJson", words="complex", retryable=False),
    Case("decimal", always(Decimal("12.50")), "12.50"),
    Case("decimal-nan", always(Decimal("NaN")), "NaN"),
    Case("uuid", always(ID), str(ID)),
    Case("uuid-beside-decimal", always([ID, Decimal(1)]), [str(ID), "1"]),
    Case("datetime", always(datetime(2026, 12, 4, 22, 0, tzinfo=UTC)), "2026-12-04T22:00:00+00:00"),
    Case("datetime-naive", always(datetime(2026, 12, 4, 22, 0)), "2026-12-04T22:00:00"),  # noqa: DTZ001 - the case.
    Case("datetime-zone", always([datetime(2026, 12, 4, tzinfo=ZONE), b""]), ["2026-12-04T00:00:00+05:30", ""]),
    Case("date", always(date(2026, 12, 4)), "2026-12-04"),
    Case("time", always(time(22, 0)), "22:00:00"),
    Case("time-zone", always(time(22, 0, tzinfo=UTC)), "22:00:00+00:00"),
    Case("timedelta", always(timedelta(minutes=1.5)), 90.0),
    Case("bytes", always(b"\x00\xff"), "AP8="),
    Case("bytearray", always(bytearray(b"ab")), "YWI="),
    Case("memoryview", always(memoryview(b"ab")), "YWI="),
    Case("set", always({3, 1, 2}), [1, 2, 3]),
    Case("frozenset-mixed", always(frozenset({"b", 1})), ["b", 1]),
    Case("tuple", always((1, (2,))), [1, [2]]),
    Case("named", always(Named(1, Decimal(2))), {"left": 1, "right": "2"}),
    Case("dataclass", always(Point(1, Point(2, None))), {"x": 1, "y": {"x": 2, "y": None}}),
    Case("dataclass-bytes", always(Point(1, {"b": b"ab"})), {"x": 1, "y": {"b": "YWI="}}),
    Case("enum", always(Colour.RED), "red"),
    Case("enum-int", always([Level.HIGH, Decimal(1)]), [3, "1"]),
    Case("enum-str", always([Mixed.A, Decimal(1)]), ["a", "1"]),
    Case("enum-odd", always(Odd.PAIR), [1, "1.5"]),
    Case("path", always(PurePosixPath("/srv/x")), "/srv/x"),
    Case("surrogate", always("a\ud800b"), "a\ufffdb"),
    Case("surrogate-pair", always("\ud83d\ude00"), "😀"),
    Case("surrogate-key", always({"\udfff": 1}), {"\ufffd": 1}),
    Case("surrogate-nul", always(["\ud800\x00", "\x00"]), ["\ufffd\x00", "\x00"]),
    Case("key-int", always({1: "a", 2: "b"}), {"1": "a", "2": "b"}),
    Case("key-words", always({True: 1, None: 2, 1.5: 3}), {"true": 1, "null": 2, "1.5": 3}),
    Case("key-enum", always({Colour.RED: 1, date(2026, 1, 1): 2}), {"red": 1, "2026-01-01": 2}),
    Case("key-twice", always({"a": {1: "a", "1": "b"}}), error="ResultNotJson", words="'1'", retryable=False),
    Case("key-tuple", always({(1, 2): 3}), error="ResultNotJson", words="key of type tuple", retryable=False),
    Case("key-bytes", always({"a": {b"k": 3}}), error="ResultNotJson", words="$.a", retryable=False),
    Case("object", always(Nothing()), error="ResultNotJson", words="Nothing", retryable=False),
    Case("object-deep", always({"a": [1, {"b": Nothing()}]}), error="ResultNotJson", words="$.a[1].b", retryable=False),
    Case("function", always(print), error="ResultNotJson", words="$", retryable=False),
    Case("class", always(Point), error="ResultNotJson", words="type", retryable=False),
    Case("generator", lambda: (x for x in "ab"), error="ResultNotJson", words="generator", retryable=False),
    Case("exception", always([ValueError("x")]), error="ResultNotJson", words="$[0]", retryable=False),
    Case("lock", threading.Lock, error="ResultNotJson", words="lock", retryable=False),
    Case("spiteful", Spiteful, error="RuntimeError", words="not today"),
    Case("itself", itself, error="ResultNotJson", words="contains itself", retryable=False),
    Case("each-other", each_other, error="ResultNotJson", words="$.other.one", retryable=False),
    Case("twice-is-fine", lambda: [shared := {"d": Decimal(1)}, shared], [{"d": "1"}, {"d": "1"}]),
    Case("deep", lambda: nested(150), nested(150)),
    Case("deeper", lambda: nested(300), error="ResultNotJson", words="levels deep", retryable=False),
    Case("deepest", lambda: nested(100_000), error="ResultNotJson", words="levels deep", retryable=False),
    Case("megabytes", lambda: {"blob": "x" * 5 * MB}, {"blob": "x" * 5 * MB}),
    Case("just-fits", lambda: "x" * (16 * MB - 2), "x" * (16 * MB - 2)),
    Case("too-large", lambda: "x" * (16 * MB - 1), error="ResultTooLarge", words="16 MB", retryable=False),
    Case("keys", lambda: {f"k{n}": n for n in range(10_000)}, {f"k{n}": n for n in range(10_000)}),
    Case("long-key", lambda: {"k" * 100_000: Decimal(1)}, {"k" * 100_000: "1"}),
    Case("long-path", lambda: {"k" * 100_000: 1j}, error="ResultNotJson", words="kkk…", retryable=False),
    Case("items", lambda: list(range(100_000)), list(range(100_000))),
    Case("empty", lambda: ["", (), EMPTY, [EMPTY]], ["", [], EMPTY, [EMPTY]]),
    Case("html", always("<script>alert(1)</script>"), "<script>alert(1)</script>"),
    Case("braces", always("{{DisplayName}}"), "{{DisplayName}}"),
    Case("ansi", always("\x1b[31mred\x1b[0m\r\n\t"), "\x1b[31mred\x1b[0m\r\n\t"),
    Case("bidi", always("\u202egnp.exe\u200b"), "\u202egnp.exe\u200b"),
    Case("word-null", always("null"), "null"),
    Case("secret", always({"password": "S3CR3T"}), {"password": "S3CR3T"}),
]

FAILURES = [
    Case("raise", raising(lambda: ValueError("bad thing")), error="ValueError", words="bad thing"),
    Case("raise-empty", raising(TimeoutError), error="TimeoutError", words="TimeoutError"),
    Case("raise-key", raising(lambda: KeyError("id")), error="KeyError", words="'id'"),
    Case("raise-long", raising(lambda: ValueError("ü" * 100_000)), error="ValueError", words="üü…"),
    Case("raise-surrogate", raising(lambda: ValueError("a\ud800b")), error="ValueError", words="a\ufffdb"),
    Case("raise-nul", raising(lambda: ValueError("a\x00b")), error="ValueError", words="a\ufffdb"),
    Case("raise-mute", raising(MuteError), error="MuteError", words="could not be made"),
    Case("raise-falsy", raising(lambda: FalsyError("still one")), error="FalsyError", words="still one"),
    Case("raise-chained", chained, error="ValueError", words="second"),
    Case(
        "raise-group", raising(lambda: ExceptionGroup("both", [ValueError("x")])), error="ExceptionGroup", words="both"
    ),
    Case("raise-assert", raising(lambda: AssertionError("not so")), error="AssertionError", words="not so"),
    Case("raise-memory", raising(MemoryError), error="MemoryError", words="MemoryError"),
    Case(
        "raise-os",
        raising(lambda: FileNotFoundError(2, "No such file", "x")),
        error="FileNotFoundError",
        words="No such file",
    ),
    Case("raise-exit", raising(lambda: SystemExit(3)), error="SystemExit", words="3"),
    Case("raise-exit-quiet", raising(SystemExit), error="SystemExit", words="SystemExit"),
    Case("raise-interrupt", raising(KeyboardInterrupt), error="KeyboardInterrupt", words="KeyboardInterrupt"),
    Case("raise-base", raising(lambda: Strange("odd")), error="Strange", words="odd"),
    Case("raise-generator-exit", raising(lambda: GeneratorExit("x")), error="GeneratorExit", words="x"),
    Case("raise-cancelled", raising(lambda: asyncio.CancelledError("x")), error="CancelledError"),
    Case("raise-recursion", recursive, error="RecursionError", words="recursion"),
    Case("fatal", raising(lambda: Fatal("never again")), error="Fatal", words="never again", retryable=False),
    Case("fatal-kind", raising(lambda: NotFound("gone")), error="NotFound", words="gone", retryable=False),
    Case("throttled", raising(Throttled), error="Throttled", words="throttled", throttled=True),
    Case("throttled-words", raising(lambda: Throttled("429")), error="Throttled", words="429", throttled=True),
    Case("throttled-s", raising(lambda: Throttled(retry_after=30)), error="Throttled", throttled=True, after_s=30.0),
    Case(
        "throttled-text",
        raising(lambda: Throttled(retry_after="120")),
        error="Throttled",
        throttled=True,
        after_s=120.0,
    ),
    Case(
        "throttled-delta",
        raising(lambda: Throttled(retry_after=timedelta(minutes=1))),
        error="Throttled",
        throttled=True,
        after_s=60.0,
    ),
    Case("throttled-minus", raising(lambda: Throttled(retry_after=-5)), error="Throttled", throttled=True, after_s=0.0),
    Case("throttled-nan", raising(lambda: Throttled(retry_after=math.nan)), error="Throttled", throttled=True),
    Case("throttled-inf", raising(lambda: Throttled(retry_after="inf")), error="Throttled", throttled=True),
    Case("throttled-soon", raising(lambda: Throttled(retry_after="soon")), error="Throttled", throttled=True),
    Case("throttled-date", raising(lambda: Throttled(retry_after="Wed, 18 Nov")), error="Throttled", throttled=True),
]

CASES = [*COMPLETE, *VALUES, *FAILURES]


def offer(case: Case) -> None:
    """Offer a case twice."""

    async def asynchronous() -> object:
        await asyncio.sleep(0)
        return case.make()

    def plain() -> object:
        return case.make()

    function(case.name)(plain)
    function(f"async-{case.name}")(asynchronous)


for each in CASES:
    offer(each)
