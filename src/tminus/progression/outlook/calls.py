"""The calls of one subject: each step as it would be sent, with its parameters, or why it would not.

A subject's way is walked from its first step to its last, as the engine would: a step whose condition does not hold is
skipped, outputs of steps that ran are there for those behind them, a name without a value fails the member. An output
is a value that comes later; a condition that asks for one cannot be decided yet, and its step may run or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson

from tminus.progression.names import names_special, specials
from tminus.progression.outlook.later import Later
from tminus.progression.outlook.secrets import masked, masked_row
from tminus.progression.outlook.stages import stages_of
from tminus.runbook.naming import FINISH_SPECIALS
from tminus.runbook.template import Scope, Unresolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tminus.progression.outlook.stages import Stage
    from tminus.runbook.model import Runbook, Step
    from tminus.runbook.plan import PlannedBatch, SavedPlan

CallState = Literal["runs", "depends", "skipped", "unresolved", "not reached"]

_NUMBER = Later("the number of the batch")
_ADVANCE = Later("the time of the first advance")


@dataclass(slots=True)
class Call:
    """One step of one subject.

    `state` "depends" is a step that runs if something comes out so that is not known yet. `params` are None where
    nothing would be sent. `reason` says why it is skipped, unresolved or not reached, and what it depends on. `lacks`
    is the name without a value, and `computed` tells that the function's name holds what comes later.
    """

    stage: Stage
    step: Step
    state: CallState
    function: str
    params: dict[str, Any] | None = None
    reason: str = ""
    lacks: str = ""
    computed: bool = False


class Course:
    """What would be sent in one planned batch; with `masks` secrets are hidden in all that is shown."""

    def __init__(self, plan: SavedPlan, book: Runbook, batch: PlannedBatch, *, masks: bool = False) -> None:
        """Lay the batch's stages out and walk its init, whose outputs its members see."""
        self.stages = stages_of(book, batch.t0, plan.made_at)
        self._plan = plan
        self._batch = batch
        self._masks = masks
        self._brought = (plan.data, masked_row(plan.data) if masks else plan.data)
        self._results: dict[str, object] = {}
        self._own = list(self._walk(None, (stage for stage in self.stages if stage.kind == "init"), self._results))

    def of_batch(self) -> Iterator[Call]:
        """Yield the batch's own calls: its init, and its end."""
        yield from self._own
        yield from self._walk(None, (stage for stage in self.stages if stage.kind == "finish"), dict(self._results))

    def of_member(self, key: str, data_json: str) -> Iterator[Call]:
        """Yield a member's calls in their order."""
        data: dict[str, object] = orjson.loads(data_json)
        yield from self._walk(key, (stage for stage in self.stages if stage.kind == "phase"), {}, data)

    def _walk(
        self,
        key: str | None,
        stages: Iterable[Stage],
        outputs: dict[str, object],
        data: Mapping[str, object] | None = None,
    ) -> Iterator[Call]:
        """Walk one subject's steps; what they will give is added to `outputs`."""
        row = () if data is None else ((data, masked_row(data) if self._masks else data),)
        behind = (*row, *(((self._results, self._results),) if key is not None else ()), self._brought)
        failed = ""
        for stage in stages:
            for step in stage.steps:
                if failed:
                    yield Call(stage, step, "not reached", step.function.source, reason=failed)
                    continue
                own = self._specials(stage, step, key) if names_special(step) else {}
                layers = [outputs, *(pair[0] for pair in behind), own]
                shown = [outputs, *(pair[1] for pair in behind), own] if self._masks else layers
                call = self._call(stage, step, Scope(layers), shown)
                yield call
                if call.state == "unresolved":
                    # A batch's own steps at its end go on behind a failure, as the engine does.
                    failed = "" if stage.kind == "finish" else f"{stage.name}/{step.name} fails"
                elif call.state != "skipped":
                    suffix = ", if it runs" if call.state == "depends" else ""
                    for name, _ in step.output_params:
                        outputs[name] = Later(f"{name} from step {step.name}{suffix}")

    def _call(self, stage: Stage, step: Step, scope: Scope, shown: list[Mapping[str, object]]) -> Call:
        """Offer one step its turn."""
        state: CallState = "runs"
        reason = ""
        if step.when is not None:
            open_names = [name for name in step.when.names if isinstance(scope.get(name), Later)]
            if open_names:
                state, reason = "depends", f"when: {step.when.source}"
            elif not step.when.holds(scope):
                return Call(stage, step, "skipped", step.function.source, reason=f"when: {step.when.source}")
        seen = Scope(shown) if self._masks else scope
        try:
            params: dict[str, Any] = step.params.render(seen)
            function = step.function.text(seen)
        except Unresolved as error:
            return Call(stage, step, "unresolved", step.function.source, reason=error.message, lacks=error.name)
        if self._masks:
            params = {name: masked(value, name) for name, value in params.items()}
        computed = any(isinstance(scope.find(name), Later) for name in step.function.names)
        return Call(stage, step, state, function, params, reason, computed=computed)

    def _specials(self, stage: Stage, step: Step, key: str | None) -> dict[str, object]:
        found = specials(
            batch_id=_NUMBER,
            start=self._batch.t0 or _ADVANCE,
            runbook_name=self._plan.runbook_name,
            version=self._plan.version,
            kind=stage.kind,
            sequence=stage.name,
            step_name=step.name,
            attempt=0,
            member_key=key,
        )
        if stage.kind == "finish":
            found.update({name: Later(f"{name.lstrip('_')} of the batch") for name in FINISH_SPECIALS})
        return found
