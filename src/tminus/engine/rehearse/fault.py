"""Faults of a rehearsal: `TARGET:KIND@WHEN`, such as `New-User:fail@3`, `graph:429@10%`, `move:slow@2h`, `*:lost@1%`.

TARGET is a function, a step, `phase/step`, a worker id or `*`. KIND is `fail` (or `fail=Type`), `429`, `slow` or
`lost`. WHEN is a call's number, a share of calls, a time for `slow`, or `key=MEMBER`; without it every call is meant.
A fault only says what a simulated worker answers; what follows from it is the state machine's affair.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tminus.domain.errors import TminusError
from tminus.engine.rehearse.chance import draw
from tminus.runbook.duration import parse_duration
from tminus.runbook.wording import did_you_mean, quoted

if TYPE_CHECKING:
    from tminus.ports.rehearsal import Part

Kind = Literal["fail", "429", "slow", "lost"]
KINDS: Final[tuple[Kind, ...]] = ("fail", "429", "slow", "lost")
_SHAPE: Final = re.compile(r"(?P<target>[^:\s][^:]*):(?P<kind>[A-Za-z0-9]+)(?:=(?P<type>[\w.]+))?(?:@(?P<when>.+))?")
_FORMS: Final = "write FUNCTION:fail@3, STEP:429@10%, STEP:slow@2m, '*:lost@1%' or STEP:fail@key=MEMBER"
LONGEST: Final = 500
MOST_CALLS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault: for whom, what, and when. Of `nth`, `share` and `key` at most one is given."""

    text: str
    target: str
    kind: Kind
    type: str
    nth: int | None = None
    share: float | None = None
    key: str | None = None
    slow_s: float = 0.0

    def aims_at(self, part: Part, function: str) -> bool:
        """Tell whether a job of this step is meant."""
        names = {function, part.step.name, f"{part.sequence}/{part.step.name}", part.step.worker_id}
        return self.target == "*" or self.target.casefold() in {name.casefold() for name in names}

    def strikes(self, part: Part, call: int, seed: int, job_id: str) -> bool:
        """Tell whether this call is struck; `call` counts the jobs that the fault aims at, from 1."""
        if self.nth is not None:
            return call == self.nth
        if self.share is not None:
            return draw(seed, self.text, job_id) < self.share
        return self.key is None or self.key == part.member_key


def parse_fault(text: str) -> Fault:
    """Read a fault; raises `TminusError` with what is wrong in it."""
    match = _SHAPE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if match is None:
        raise _wrong(text, "is not a fault", _FORMS)
    kind: Kind | None = next((one for one in KINDS if one == match["kind"].casefold()), None)
    if kind is None:
        hint = did_you_mean(match["kind"], KINDS) or "fail, 429, slow or lost"
        raise _wrong(match["kind"], "is no kind of fault", hint)
    if match["type"] and kind != "fail":
        raise _wrong(text, "names a type for something that does not fail", "write fail=Type")
    target, error = match["target"].strip(), match["type"] or "Rehearsed"
    when = match["when"]
    if kind == "slow":
        return Fault(text=text, target=target, kind=kind, type=error, slow_s=_slow(text, when))
    if when is None:
        return Fault(text=text, target=target, kind=kind, type=error)
    if when.startswith("key="):
        return Fault(text=text, target=target, kind=kind, type=error, key=when.removeprefix("key="))
    if when.endswith("%"):
        return Fault(text=text, target=target, kind=kind, type=error, share=_share(text, when))
    if not (when.isascii() and when.isdecimal() and 0 < int(when[:10]) <= MOST_CALLS):
        raise _wrong(when, "is neither a call's number, nor a share, nor key=MEMBER", _FORMS)
    return Fault(text=text, target=target, kind=kind, type=error, nth=int(when))


def _slow(text: str, when: str | None) -> float:
    if when is None:
        raise _wrong(text, "does not say how long", "write STEP:slow@2m")
    return parse_duration(when)


def _share(text: str, when: str) -> float:
    number = when.removesuffix("%")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", number) or not 0 < float(number) <= 100:  # noqa: PLR2004 - per cent.
        raise _wrong(text, "has no share from 0 to 100 %", _FORMS)
    return float(number) / 100


def _wrong(what: str, said: str, hint: str) -> TminusError:
    return TminusError("E430", f"{quoted(what[:LONGEST])} {said}", place="--fault", hint=hint)
