"""From fields without faults to the frozen runbook: defaults, effective retries, nothing else.

Called only when no error was reported, so that what is required is there; a missing part would be a defect of the
checks and stops loudly. This module must not judge: everything that can be wrong in a file is settled before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from tminus.runbook.keys import (
    ColumnKeys,
    DeadlineKeys,
    GateKeys,
    LeaverKeys,
    LimitKeys,
    PhaseKeys,
    PollKeys,
    PreflightKeys,
    RetryKeys,
    RunbookKeys,
    SourceKeys,
    StepKeys,
)
from tminus.runbook.model import (
    DataSource,
    Deadline,
    Gate,
    Leavers,
    Limit,
    MultiValued,
    Phase,
    Poll,
    Retry,
    Runbook,
    Share,
    Step,
)
from tminus.runbook.template import Params

if TYPE_CHECKING:
    from tminus.runbook.kinds import Located
    from tminus.runbook.model import LeaverPolicy, MultiFormat, SourceType
    from tminus.runbook.shapes import Fields, Key

T = TypeVar("T")


def build_runbook(fields: Fields) -> Runbook:
    """Return the runbook that the fields describe."""
    common = build_retry(fields.take(RunbookKeys.retry))
    limits = fields.take(RunbookKeys.limits) or {}
    rollbacks = fields.take(RunbookKeys.rollbacks) or {}
    return Runbook(
        name=_sure(fields, RunbookKeys.name),
        description=fields.take(RunbookKeys.description) or "",
        timezone=fields.take(RunbookKeys.timezone) or "UTC",
        inputs=tuple(name.value for name in fields.take(RunbookKeys.inputs) or []),
        data_source=build_source(_sure(fields, RunbookKeys.data_source)),
        retry=common,
        limits={name: build_limit(limit.value) for name, limit in limits.items()},
        init=build_steps(fields.take(RunbookKeys.init), common),
        phases=tuple(build_phase(phase.value, common) for phase in _sure(fields, RunbookKeys.phases)),
        on_member_removed=build_steps(fields.take(RunbookKeys.on_member_removed), common),
        on_member_failed=build_steps(fields.take(RunbookKeys.on_member_failed), common),
        on_batch_finished=build_steps(fields.take(RunbookKeys.on_batch_finished), common),
        rollbacks={name: build_steps(steps.value, common) for name, steps in rollbacks.items()},
    )


def build_phase(fields: Fields, common: Retry | None) -> Phase:
    """Return one phase."""
    gate, preflight = fields.take(PhaseKeys.gate), fields.take(PhaseKeys.preflight)
    return Phase(
        name=_sure(fields, PhaseKeys.name),
        offset=_sure(fields, PhaseKeys.offset).value,
        steps=build_steps(_sure(fields, PhaseKeys.steps), common),
        gate=None if gate is None else Gate(expires_s=gate.take(GateKeys.expires)),
        rings=tuple(ring.value for ring in fields.take(PhaseKeys.rings) or []),
        brake=fields.take(PhaseKeys.brake),
        preflight_valid_s=None if preflight is None else _sure(preflight, PreflightKeys.valid),
        deadline=build_deadline(fields.take(PhaseKeys.deadline)),
        overlap=fields.take(PhaseKeys.overlap) or False,
    )


def build_steps(steps: list[Located[Fields]] | None, common: Retry | None) -> tuple[Step, ...]:
    """Return a list of steps, empty when there is none."""
    return tuple(build_step(step.value, common) for step in steps or [])


def build_step(fields: Fields, common: Retry | None) -> Step:
    """Return one step with its effective retry: its own as a whole, else the common one."""
    params, when = fields.take(StepKeys.params), fields.take(StepKeys.when)
    outputs = fields.take(StepKeys.output_params) or {}
    own = fields.take(StepKeys.retry)
    timeout_s = fields.take(StepKeys.timeout)
    return Step(
        name=_sure(fields, StepKeys.name),
        worker_id=_sure(fields, StepKeys.worker_id),
        function=_sure(fields, StepKeys.function).value,
        params=Params.compile({}) if params is None else params.params,
        when=None if when is None else when.value,
        output_params=tuple((name, path.value) for name, path in outputs.items()),
        on_failure=fields.take(StepKeys.on_failure),
        timeout_s=3600.0 if timeout_s is None else timeout_s,
        one_way=fields.take(StepKeys.one_way) or False,
        poll=build_poll(fields.take(StepKeys.poll)),
        retry=common if own is None else build_retry(own),
    )


def build_poll(fields: Fields | None) -> Poll | None:
    """Return how a step is polled."""
    if fields is None:
        return None
    function = fields.take(PollKeys.function)
    return Poll(
        interval_s=_sure(fields, PollKeys.interval),
        timeout_s=_sure(fields, PollKeys.timeout),
        function=None if function is None else function.value,
    )


def build_retry(fields: Fields | None) -> Retry | None:
    """Return a retry policy; one without retries needs no interval."""
    if fields is None:
        return None
    return Retry(
        max_retries=int(fields.take(RetryKeys.max_retries) or 0),
        interval_s=fields.take(RetryKeys.interval) or 0.0,
        backoff=float(fields.take(RetryKeys.backoff) or 1.0),
        max_interval_s=fields.take(RetryKeys.max_interval),
        jitter=fields.take(RetryKeys.jitter) or False,
        total_s=fields.take(RetryKeys.total),
        unless=tuple(name.value for name in fields.take(RetryKeys.unless) or []),
    )


def build_deadline(fields: Fields | None) -> Deadline | None:
    """Return a phase's deadline."""
    if fields is None:
        return None
    start = fields.take(DeadlineKeys.start)
    return Deadline(after_s=_sure(fields, DeadlineKeys.after), start="due" if start == "due" else "dispatch")


def build_limit(fields: Fields) -> Limit:
    """Return one ceiling."""
    in_flight, per_minute = fields.take(LimitKeys.in_flight), fields.take(LimitKeys.per_minute)
    return Limit(
        in_flight=None if in_flight is None else int(in_flight),
        per_minute=None if per_minute is None else int(per_minute),
    )


def build_source(fields: Fields) -> DataSource:
    """Return where members come from."""
    immediate = fields.take(SourceKeys.batch_time) is not None
    columns = fields.take(SourceKeys.multi_valued_columns) or []
    interval_s = fields.take(SourceKeys.interval)
    return DataSource(
        # The kinds of these keys admit exactly the words of the model's types.
        type=cast("SourceType", _sure(fields, SourceKeys.kind)),
        primary_key=_sure(fields, SourceKeys.primary_key),
        connection=fields.take(SourceKeys.connection),
        warehouse_id=fields.take(SourceKeys.warehouse_id),
        query=fields.take(SourceKeys.query),
        batch_time_column=fields.take(SourceKeys.batch_time_column),
        immediate=immediate,
        multi_valued_columns=tuple(build_column(column.value) for column in columns),
        interval_s=300.0 if interval_s is None else interval_s,
        leavers=build_leavers(fields.take(SourceKeys.leavers), immediate=immediate),
    )


def build_column(fields: Fields) -> MultiValued:
    """Return a column whose text is a list."""
    form = cast("MultiFormat", fields.take(ColumnKeys.form) or "semicolon_delimited")
    return MultiValued(name=_sure(fields, ColumnKeys.name), format=form)


def build_leavers(fields: Fields | None, *, immediate: bool) -> Leavers:
    """Return what happens to leavers; an immediate queue empties because its work is done, so they are ignored."""
    usual: LeaverPolicy = "ignore" if immediate else "remove"
    if fields is None:
        return Leavers(policy=usual)
    brake = fields.take(LeaverKeys.brake)
    return Leavers(
        policy=cast("LeaverPolicy", fields.take(LeaverKeys.policy) or usual),
        grace=int(fields.take(LeaverKeys.grace) or 2),
        brake=Share(percent=20.0) if brake is None else brake,
    )


def _sure(fields: Fields, key: Key[T]) -> T:
    """Return the value of a required key."""
    value = fields.take(key)
    if value is None:
        raise AssertionError(f"{key.name} was required and is not there")
    return value
