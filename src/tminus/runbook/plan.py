"""A plan in its saved form: everything that is needed to make its batches, and to say again what was said about them.

A plan is text and rows, not rows of a database: the runbook as it was written, who would be moved and when, what the
batch brings, and what was true around it when it was made. All that a screen shows is computed from this, so that
showing a plan a week later, rehearsing it and applying it speak of the same thing. Its digest stands for exactly that
runbook, those members, times and data. This module must not know the present, files or a database.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from tminus.domain.errors import TminusError
from tminus.domain.instant import Instant, plus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALID_S: Final = 7 * 86_400.0
SHORTEST: Final = 4

_FORM: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """One batch that the plan would make.

    `t0` None waits to be advanced. `members` are key and data as JSON text, `places` say where each was read
    (`members.csv:9`). `source_time` is the identity of a batch that a source names, None for one made by hand.
    `left_out` are keys that live in another open batch, each with its number.
    """

    t0: Instant | None
    members: tuple[tuple[str, str], ...]
    places: tuple[str, ...] = ()
    source_time: Instant | None = None
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file that the plan was made from: where it was, and the SHA-256 of its bytes."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What was true around the plan when it was made.

    `active_version` and `active_digest` are those of the published runbook of that name, `moving` counts the open
    batches that a new version would move. `pauses` are sentences about what is paused. `limits` are those of the
    database, by worker id or function: in flight, per minute. `offered` are the functions on offer, None when that is
    not known, `offered_by` says where they were read, and `offered_whole` that there can be no others.
    """

    active_version: int | None = None
    active_digest: str = ""
    moving: int = 0
    pauses: tuple[str, ...] = ()
    limits: Mapping[str, tuple[int | None, int | None]] = field(
        default_factory=dict[str, "tuple[int | None, int | None]"]
    )
    offered: tuple[str, ...] | None = None
    offered_by: str = ""
    offered_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A whole plan. `data` is what each batch brings; `columns` and `notes` are those of the members' file.

    `faulty` are rows of a source that are in no batch: key (empty where there is none), place, code and why.
    """

    runbook_name: str
    runbook_text: str
    batches: tuple[PlannedBatch, ...]
    made_at: Instant
    data: Mapping[str, object] = field(default_factory=dict[str, object])
    files: tuple[PlannedFile, ...] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    faulty: tuple[tuple[str, str, str, str], ...] = ()
    around: Surroundings = field(default_factory=Surroundings)

    @property
    def valid_until(self) -> Instant:
        """Return when the plan becomes stale by its age."""
        return plus(self.made_at, VALID_S)

    @property
    def publishes(self) -> bool:
        """Tell whether applying publishes: the active version is another text, or there is none."""
        return self.around.active_digest != digest_of_text(self.runbook_text)

    @property
    def version(self) -> int:
        """Return the version that the batches will run, as things stood."""
        return (self.around.active_version or 0) + self.publishes

    @property
    def digest(self) -> str:
        """Return what stands for runbook, members, times and data: 64 hexadecimal digits."""
        batches = [[one.t0, one.source_time, one.members] for one in self.batches]
        told = [self.runbook_text, dict(self.data), batches]
        return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()


def digest_of_text(text: str) -> str:
    """Return the SHA-256 of a runbook's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def default_name(digest: str, digits: int = SHORTEST) -> str:
    """Return the name of a plan that nobody has named."""
    return f"plan-{digest[:digits]}"


def to_json(plan: SavedPlan) -> str:
    """Write a plan down."""
    return orjson.dumps({"form": _FORM, "plan": plan}).decode()


def from_json(text: str) -> SavedPlan:
    """Read a plan that was written down; one of a form that is not known raises `TminusError`."""
    whole: dict[str, Any] = orjson.loads(text)
    if whole.get("form") != _FORM:
        hint = "plan again with this program"
        raise TminusError("E457", f"the plan has form {whole.get('form')}, this program reads {_FORM}", hint=hint)
    told: dict[str, Any] = whole["plan"]
    around: dict[str, Any] = told["around"]
    offered: Sequence[str] | None = around["offered"]
    return SavedPlan(
        runbook_name=told["runbook_name"],
        runbook_text=told["runbook_text"],
        batches=tuple(_batch(one) for one in told["batches"]),
        made_at=Instant(told["made_at"]),
        data=told["data"],
        files=tuple(PlannedFile(**one) for one in told["files"]),
        columns=tuple(told["columns"]),
        notes=tuple(told["notes"]),
        faulty=tuple((key, place, code, why) for key, place, code, why in told["faulty"]),
        around=Surroundings(
            active_version=around["active_version"],
            active_digest=around["active_digest"],
            moving=around["moving"],
            pauses=tuple(around["pauses"]),
            limits={scope: (limit[0], limit[1]) for scope, limit in around["limits"].items()},
            offered=None if offered is None else tuple(offered),
            offered_by=around["offered_by"],
            offered_whole=around["offered_whole"],
        ),
    )


def _batch(told: dict[str, Any]) -> PlannedBatch:
    t0, source_time = told["t0"], told["source_time"]
    return PlannedBatch(
        t0=None if t0 is None else Instant(t0),
        members=tuple((key, data) for key, data in told["members"]),
        places=tuple(told["places"]),
        source_time=None if source_time is None else Instant(source_time),
        left_out=tuple((key, batch_id) for key, batch_id in told["left_out"]),
    )
