"""The parts of a runbook as texts by key: what a person reads when two of them are compared.

Only keys that say something are there, in the words of the file. This module compares nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tminus.runbook.duration import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tminus.runbook.model import DataSource, Limit, Phase, Poll, Retry, Runbook, Share, Step


def of_runbook(book: Runbook) -> dict[str, str]:
    """Return what stands at the top of a runbook and is no list of steps."""
    return _said(
        name=book.name,
        description=book.description,
        timezone=book.timezone,
        inputs=", ".join(book.inputs),
    ) | _retry(book.retry)


def of_source(source: DataSource) -> dict[str, str]:
    """Return where members come from."""
    leavers = source.leavers
    return _said(
        type=source.type,
        connection=source.connection,
        warehouse_id=source.warehouse_id,
        query=source.query,
        primary_key=source.primary_key,
        batch_time_column=source.batch_time_column,
        batch_time="immediate" if source.immediate else "",
        multi_valued_columns=", ".join(f"{one.name} ({one.format})" for one in source.multi_valued_columns),
        interval=format_duration(source.interval_s),
        leavers=f"{leavers.policy}, grace {leavers.grace}, brake {share_text(leavers.brake)}",
    )


def of_limits(limits: Mapping[str, Limit]) -> dict[str, str]:
    """Return the ceilings by worker id or function."""
    found: dict[str, str] = {}
    for scope, limit in limits.items():
        parts = [] if limit.in_flight is None else [f"{limit.in_flight:,} in flight"]
        parts += [] if limit.per_minute is None else [f"{limit.per_minute:,} per minute"]
        found[scope] = ", ".join(parts)
    return found


def of_phase(phase: Phase) -> dict[str, str]:
    """Return what a phase says beside its steps."""
    gate, deadline = phase.gate, phase.deadline
    expires = "" if gate is None or gate.expires_s is None else f", expires after {format_duration(gate.expires_s)}"
    return _said(
        offset=str(phase.offset),
        gate="" if gate is None else f"yes{expires}",
        rings=", ".join(share_text(ring) for ring in phase.rings),
        brake="" if phase.brake is None else share_text(phase.brake),
        preflight="" if phase.preflight_valid_s is None else f"valid for {format_duration(phase.preflight_valid_s)}",
        deadline="" if deadline is None else f"{format_duration(deadline.after_s)} from {deadline.start}",
        overlap="true" if phase.overlap else "",
    )


def of_step(step: Step) -> dict[str, str]:
    """Return what a step says; each of its parameters and outputs is a key of its own."""
    found = _said(worker_id=step.worker_id, function=step.function.source)
    found |= {f"params.{name}": _value(value) for name, value in step.params.source.items()}
    found |= _said(when=None if step.when is None else step.when.source)
    found |= {f"output_params.{name}": path for name, path in step.output_params}
    found |= _said(
        on_failure=step.on_failure,
        timeout=format_duration(step.timeout_s),
        one_way="true" if step.one_way else "",
        poll=_poll(step.poll),
    )
    return found | _retry(step.retry)


def _said(**parts: str | None) -> dict[str, str]:
    return {name: text for name, text in parts.items() if text}


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def share_text(share: Share) -> str:
    """Write a number of members as an author would: `3` or `10%`."""
    return f"{share.count:,}" if share.count is not None else f"{share.percent or 0:g}%"


def _poll(poll: Poll | None) -> str:
    if poll is None:
        return ""
    function = "" if poll.function is None else f" with {poll.function.source}"
    return f"every {format_duration(poll.interval_s)} for {format_duration(poll.timeout_s)}{function}"


def _retry(retry: Retry | None) -> dict[str, str]:
    """Return a retry policy key by key, so that only what changed is told."""
    if retry is None:
        return {}
    return _said(
        retries=f"{retry.max_retries:,}",
        retry_interval=format_duration(retry.interval_s),
        retry_backoff="" if retry.backoff == 1 else f"{retry.backoff:g}",
        retry_max_interval="" if retry.max_interval_s is None else format_duration(retry.max_interval_s),
        retry_jitter="true" if retry.jitter else "",
        retry_total="" if retry.total_s is None else format_duration(retry.total_s),
        retry_unless=", ".join(retry.unless),
    )
