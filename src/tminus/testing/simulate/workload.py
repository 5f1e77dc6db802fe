"""Workloads: small runbooks that together use every key, and what their workers answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tminus.progression.events import WorkError
from tminus.runbook import load

if TYPE_CHECKING:
    from tminus.runbook.model import Runbook
    from tminus.testing.simulate.chance import Chance

NAME = "sim"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a workload is made of; small numbers, drawn from the seed."""

    phases: int
    steps: int
    members: int
    init: int = 0
    retries: int = 0
    rollback: bool = False
    polls: bool = False
    one_way: bool = False
    gate: bool = False
    gates: bool = False
    rings: bool = False
    brake: bool = False
    deadline: bool = False
    overlap: bool = False
    when: bool = False
    hooks: bool = False
    outputs: bool = False
    timed: bool = True


def draw(chance: Chance, *, is_storm: bool = False) -> Spec:
    """Draw a workload; a storm's has more members than its workers have hands."""
    spec = _draw(chance)
    # Drawn from a name of its own, so that the other histories stay what they are.
    spec = replace(spec, gates=spec.gate and chance.unit("gates") < 0.5)
    return replace(spec, members=chance.pick((2, 3, 4, 6), "crowd")) if is_storm else spec


def _draw(chance: Chance) -> Spec:
    rng = chance.of("spec")

    def some(p: float) -> bool:
        return rng.random() < p

    return Spec(
        phases=rng.choice((1, 1, 2, 2, 3)),
        steps=rng.choice((1, 2, 2, 3)),
        members=rng.choice((1, 2, 2, 3)),
        init=rng.choice((0, 0, 1, 2)),
        retries=rng.choice((0, 0, 1, 2)),
        rollback=some(0.4),
        polls=some(0.25),
        one_way=some(0.15),
        gate=some(0.15),
        rings=some(0.2),
        brake=some(0.15),
        deadline=some(0.15),
        overlap=some(0.15),
        when=some(0.2),
        hooks=some(0.35),
        outputs=some(0.4),
        timed=some(0.85),
    )


def yaml_of(spec: Spec, version: int = 1) -> str:
    """Write the runbook of a workload; later versions have one step more in their last phase."""
    lines = [f"name: {NAME}", "data_source: {type: manual, primary_key: upn, leavers: {grace: 1, brake: '60%'}}"]
    if spec.retries:
        lines.append(f"retry: {{max_retries: {spec.retries}, interval: 30s, backoff: 2.0, max_interval: 5m}}")
    if spec.init:
        lines.append("init:")
        lines += [f"  - {{name: i{k}, worker_id: w, function: init{k}}}" for k in range(spec.init)]
    lines.append("phases:")
    for index in range(spec.phases):
        lines += _phase(spec, index, version)
    if spec.hooks:
        for key in ("on_member_removed", "on_member_failed", "on_batch_finished"):
            lines.append(f"{key}: [{{name: h, worker_id: w, function: {key}}}]")
    if spec.rollback:
        lines.append("rollbacks: {undo: [{name: u0, worker_id: w, function: undo0}, "
                     "{name: u1, worker_id: w, function: undo1}]}")  # fmt: skip
    return "\n".join(lines)


def _phase(spec: Spec, index: int, version: int) -> list[str]:
    offset = f"T-{spec.phases - index - 1}h" if index < spec.phases - 1 else "T-0"
    lines = [f"  - name: p{index}", f"    offset: {offset}"]
    is_last = index == spec.phases - 1
    if spec.gates or (spec.gate and is_last):
        lines.append("    gate: {expires: 12h}")
    if spec.rings and is_last:
        lines.append("    rings: [1, '100%']")
    if spec.brake and is_last:
        lines.append("    brake: '40%'")
    if spec.deadline:
        lines.append("    deadline: 30m")
    if spec.overlap and index:
        lines.append("    overlap: true")
    lines.append("    steps:")
    steps = spec.steps + (version > 1 and is_last)
    lines += [_step(spec, index, at) for at in range(steps)]
    return lines


def _step(spec: Spec, index: int, at: int) -> str:
    parts = [f"name: s{at}", "worker_id: w", f"function: f{index}{at}", "timeout: 4m"]
    params = 'u: "{{upn}}"'
    if spec.outputs and at == 0:
        parts.append(f"output_params: {{Out{index}: id}}")
    if spec.outputs and at == 1:
        params += f', o: "{{{{Out{index}}}}}"'
    parts.append(f"params: {{{params}}}")
    if spec.rollback and at == spec.steps - 1:
        parts.append("on_failure: undo")
    if spec.polls and at == 0:
        parts.append("poll: {interval: 1m, timeout: 20m}")
    if spec.one_way and index == spec.phases - 1 and at == spec.steps - 1:
        parts.append("one_way: true")
    if spec.when and at == 1:
        parts.append('when: "{{flag}} == \\"yes\\""')
    return f"      - {{{', '.join(parts)}}}"


@lru_cache(maxsize=4096)
def parsed(text: str) -> Runbook:
    """Parse a workload's runbook once per process."""
    return load(text)


@dataclass(slots=True)
class Outcome:
    """What a worker's function does: how long it takes and what it answers."""

    seconds: float
    error: WorkError | None = None
    result_json: str | None = '{"id": "x"}'
    complete: bool | None = None


def outcome(chance: Chance, spec: Spec, function: str, job_id: str, *, is_storm: bool = False) -> Outcome:
    """Draw what this sending of a function does; a redelivery of the same job does the same."""
    rng = chance.of("work", job_id)
    if is_storm and chance.unit("busy", function) < 0.06:
        # Whatever stands behind this function is overloaded, and stays so.
        return Outcome(1.0, WorkError("slow down", "Throttled", is_throttled=True, retry_after_s=900.0), None)
    seconds = rng.choice((0.1, 0.5, 2.0, 2.0, 10.0, 50.0, 300.0))
    roll = rng.random()
    aside = function.startswith(("undo", "on_"))
    if roll < (0.06 if aside else 0.14):
        kind = rng.choice(("Boom", "Boom", "Fatal"))
        return Outcome(seconds, WorkError("it broke", kind, retryable=False if kind == "Fatal" else None), None)
    if roll < 0.2:
        return Outcome(seconds, WorkError("slow down", "Throttled", is_throttled=True, retry_after_s=20.0), None)
    if (spec.polls and roll < 0.5) or roll < 0.22:
        return Outcome(seconds, None, '{"complete": false}', complete=False)
    if spec.polls:
        return Outcome(seconds, None, '{"complete": true, "data": {"id": "y"}}', complete=True)
    return Outcome(seconds)
