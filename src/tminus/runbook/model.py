"""A runbook as the engine sees it: frozen, checked, compiled.

Text has become durations in seconds, offsets, compiled templates and conditions; nothing here can be invalid, because
only the parser builds these and it builds them from a tree without problems. The classes know nothing of YAML, of rows
or of the state machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.runbook.condition import Condition
    from tminus.runbook.offset import Offset
    from tminus.runbook.template import Params, Text

SourceType = Literal["dataverse", "databricks", "sql", "csv", "http", "event", "manual"]
MultiFormat = Literal["semicolon_delimited", "comma_delimited", "json_array"]
LeaverPolicy = Literal["remove", "propose", "ignore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A number of members: a plain count, or a percentage that is rounded up."""

    count: int | None = None
    percent: float | None = None

    def of(self, total: int) -> int:
        """Return how many members of `total` this is, at most `total`."""
        if self.count is not None:
            return min(self.count, total)
        return min(math.ceil(round(total * (self.percent or 0.0) / 100, 9)), total)

    def exceeded_by(self, part: int, total: int) -> bool:
        """Tell whether `part` of `total` is more than this share."""
        if self.count is not None:
            return part > self.count
        return part * 100 > (self.percent or 0.0) * total


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When a failed attempt is tried again. `max_retries` n means n + 1 attempts."""

    max_retries: int
    interval_s: float
    backoff: float = 1.0
    max_interval_s: float | None = None
    jitter: bool = False
    total_s: float | None = None
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """How an unfinished step is asked again; `function` None repeats the step's own function."""

    interval_s: float
    timeout_s: float
    function: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a step list. `retry` is the effective policy: its own, else the runbook's, else None."""

    name: str
    worker_id: str
    function: Text
    params: Params
    when: Condition | None = None
    output_params: tuple[tuple[str, str], ...] = ()
    on_failure: str | None = None
    timeout_s: float = 3600.0
    one_way: bool = False
    poll: Poll | None = None
    retry: Retry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """How long a member may take in a phase: from its lane's first dispatch, or from the phase's due time."""

    after_s: float
    start: Literal["dispatch", "due"] = "dispatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A human's go/no-go before the phase; `expires_s` None never expires."""

    expires_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Steps that fire at one offset of T-0."""

    name: str
    offset: Offset
    steps: tuple[Step, ...]
    gate: Gate | None = None
    rings: tuple[Share, ...] = ()
    brake: Share | None = None
    preflight_valid_s: float | None = None
    deadline: Deadline | None = None
    overlap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiValued:
    """A column whose text is a list; it reaches a worker as a JSON array."""

    name: str
    format: MultiFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Leavers:
    """What happens to members that a source no longer names."""

    policy: LeaverPolicy = "remove"
    grace: int = 2
    brake: Share = field(default_factory=lambda: Share(percent=20.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """Where members come from. `connection` and `warehouse_id` are names of secrets, never secrets."""

    type: SourceType
    primary_key: str
    connection: str | None = None
    warehouse_id: str | None = None
    query: str | None = None
    batch_time_column: str | None = None
    immediate: bool = False
    multi_valued_columns: tuple[MultiValued, ...] = ()
    interval_s: float = 300.0
    leavers: Leavers = field(default_factory=Leavers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A cluster-wide ceiling for one worker id or one function."""

    in_flight: int | None = None
    per_minute: int | None = None


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """A whole runbook of one version; the version itself is the store's affair."""

    name: str
    phases: tuple[Phase, ...]
    data_source: DataSource
    description: str = ""
    timezone: str = "UTC"
    inputs: tuple[str, ...] = ()
    retry: Retry | None = None
    limits: Mapping[str, Limit] = field(default_factory=dict[str, Limit])
    init: tuple[Step, ...] = ()
    on_member_removed: tuple[Step, ...] = ()
    on_member_failed: tuple[Step, ...] = ()
    on_batch_finished: tuple[Step, ...] = ()
    rollbacks: Mapping[str, tuple[Step, ...]] = field(default_factory=dict[str, "tuple[Step, ...]"])

    @cached_property
    def phases_by_name(self) -> dict[str, Phase]:
        """Return the phases by their unique names."""
        return {phase.name: phase for phase in self.phases}
