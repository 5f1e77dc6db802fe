"""What a result carries: outputs by dotted path, and the delay before the next try.

Small pure functions over JSON values and retry policies, apart from the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.domain.instant import between_s

if TYPE_CHECKING:
    from tminus.domain.instant import Instant
    from tminus.domain.rows import Execution
    from tminus.progression.events import WorkError
    from tminus.runbook.model import Retry, Step

THROTTLE_DEFAULT_S: Final = 30.0
THROTTLE_MOST_S: Final = 3600.0


def outputs(step: Step, result_json: str | None, *, complete: bool | None) -> dict[str, object]:
    """Read the step's outputs from its result; under `complete: true` they come from `data` where there is one."""
    if not step.output_params or result_json is None:
        return {}
    result: object = orjson.loads(result_json)
    if complete is True:
        data = follow(result, "data")
        result = result if data is _MISSING else data
    found: dict[str, object] = {}
    for name, path in step.output_params:
        value = follow(result, path)
        if value is not _MISSING:
            found[name] = value
    return found


_MISSING: Final = object()


def follow(value: object, path: str) -> object:
    """Walk a dotted path, letter case ignored; a whole name with dots in it is tried first."""
    if not isinstance(value, dict):
        return _MISSING
    fields = cast("dict[str, object]", value)
    whole = _field(fields, path)
    if whole is not _MISSING:
        return whole
    head, dot, rest = path.partition(".")
    return follow(_field(fields, head), rest) if dot else _MISSING


def _field(fields: dict[str, object], name: str) -> object:
    if name in fields:
        return fields[name]
    folded = name.casefold()
    return next((value for key, value in fields.items() if key.casefold() == folded), _MISSING)


def retry_delay_s(policy: Retry, row: Execution, error: WorkError) -> float:
    """Return how long to wait before the next try: interval * backoff^(n-1), capped, jittered; a longer wish wins."""
    delay = policy.interval_s * policy.backoff ** min(row.retry_count, 64)
    if policy.max_interval_s is not None:
        delay = min(delay, policy.max_interval_s)
    if policy.jitter:
        delay *= 0.8 + 0.4 * _spread(row.id, row.attempt)
    return max(delay, error.retry_after_s or 0.0)


def _spread(row_id: int, attempt: int) -> float:
    """Return a number in [0, 1) that differs from row to row: jitter without a source of chance."""
    mixed = (row_id * 2654435761 + attempt * 40503 + 12345) & 0xFFFFFFFF
    mixed = ((mixed >> 16) ^ mixed) * 73244475 & 0xFFFFFFFF
    return ((mixed >> 16) ^ mixed) % 10_000 / 10_000


def may_retry(policy: Retry | None, row: Execution, error: WorkError, now: Instant) -> bool:
    """Tell whether a failed attempt is tried again."""
    if policy is None or row.retry_count >= row.max_retries or error.retryable is False:
        return False
    if error.type.casefold() in {name.casefold() for name in policy.unless}:
        return False
    if policy.total_s is None or row.first_dispatched_at is None:
        return True
    spent = between_s(row.first_dispatched_at, now)
    return spent + retry_delay_s(policy, row, error) <= policy.total_s


def throttle_delay_s(policy: Retry | None, row: Execution, error: WorkError, now: Instant) -> float | None:
    """Return how long a throttled attempt waits, None when it has waited as long as it may."""
    delay = error.retry_after_s
    if delay is None:
        delay = policy.interval_s if policy else THROTTLE_DEFAULT_S
    if policy is not None and policy.total_s is not None and row.first_dispatched_at is not None:
        return delay if between_s(row.first_dispatched_at, now) + delay <= policy.total_s else None
    return delay if row.throttled_sec + delay <= THROTTLE_MOST_S else None
