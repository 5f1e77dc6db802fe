"""The simulated workers: they answer every job after a while, with what its step promises, unless a fault strikes.

A step's output fields are filled with text that names them, so that later templates resolve; a polled step is asked a
few times before it is complete. How long a job takes and how often it is polled belongs to the seed. Nothing is called.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import plus
from tminus.engine.rehearse.chance import whole
from tminus.progression import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tminus.domain.instant import Instant
    from tminus.engine.rehearse.fault import Fault
    from tminus.ports.rehearsal import Part
    from tminus.ports.rounds import Claimed

LEASE_S: Final = 30.0
THROTTLED_S: Final = (10, 60)
QUICK_S: Final = (1, 3)
POLLS: Final = (1, 3)

Event = ev.ResultArrived | ev.JobLost
Nested = dict[str, "Nested | str"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """What a scripted worker answers in place of the ordinary answer; None leaves that part as it is."""

    error: ev.WorkError | None = None
    takes_s: float | None = None
    polls: int | None = None
    lost: bool = False
    log: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """All workers. `script` may answer for itself before any fault is looked at."""

    seed: int = 0
    faults: Sequence[Fault] = ()
    script: Callable[[Part, Claimed], Says | None] | None = None
    calls: Counter[str] = field(default_factory=Counter[str])

    def answer(self, claim: Claimed, part: Part, now: Instant) -> tuple[Instant, Event]:
        """Return what comes of a job, and when."""
        says = (self.script(part, claim) if self.script is not None else None) or self._struck(claim, part)
        if says.lost:
            return plus(now, LEASE_S), ev.JobLost(claim.execution_id, claim.job_id)
        takes_s = says.takes_s
        if takes_s is None:
            takes_s = float(whole(self.seed, *QUICK_S, "takes", claim.job_id))
        return plus(now, takes_s), self._result(claim, part, says, takes_s)

    def _struck(self, claim: Claimed, part: Part) -> Says:
        """Let the faults strike, the first that fails deciding; slowness adds to whatever else happens."""
        slow_s, found = None, Says()
        for fault in self.faults:
            if not fault.aims_at(part, claim.function):
                continue
            self.calls[fault.text] += 1
            if not fault.strikes(part, self.calls[fault.text], self.seed, claim.job_id):
                continue
            if fault.kind == "slow":
                slow_s = max(slow_s or 0.0, fault.slow_s)
            elif not found.lost and found.error is None:
                found = self._strike(fault, claim)
        return found if slow_s is None else Says(error=found.error, lost=found.lost, takes_s=slow_s)

    def _strike(self, fault: Fault, claim: Claimed) -> Says:
        if fault.kind == "lost":
            return Says(lost=True)
        if fault.kind == "429":
            wait_s = float(whole(self.seed, *THROTTLED_S, "wait", claim.job_id))
            return Says(error=ev.WorkError("too many requests", "Throttled", is_throttled=True, retry_after_s=wait_s))
        return Says(error=ev.WorkError(f"rehearsed failure ({fault.text})", fault.type))

    def _result(self, claim: Claimed, part: Part, says: Says, takes_s: float) -> ev.ResultArrived:
        error, result, complete = says.error, None, None
        if error is None:
            complete = self._complete(claim, part, says)
            body: object = _outputs(part)
            if complete is not None:
                body = {"complete": complete} | ({"data": body} if complete else {})
            result = orjson.dumps(body).decode()
        return ev.ResultArrived(
            claim.execution_id,
            claim.job_id,
            error,
            result,
            complete,
            takes_s * 1_000,
            says.log,
            claim.job_id,
        )

    def _complete(self, claim: Claimed, part: Part, says: Says) -> bool | None:
        """Say whether a polled step is complete; None for a step that is not polled."""
        if part.step.poll is None:
            return None
        polls = says.polls
        if polls is None:
            attempt = claim.job_id.partition("-poll-")[0]
            polls = whole(self.seed, *POLLS, "polls", attempt)
        return int(claim.job_id.partition("-poll-")[2] or 0) >= polls


def _outputs(part: Part) -> Mapping[str, object]:
    """Return a result that has every field which the step's outputs name; dotted names are maps inside."""
    found: Nested = {}
    for name, path in part.step.output_params:
        *ways, last = path.split(".")
        place = found
        for way in ways:
            inner = place.setdefault(way, {})
            place = inner if isinstance(inner, dict) else {}
        place.setdefault(last, f"{name} of {part.member_key or part.sequence}")
    return found
