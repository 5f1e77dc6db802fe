"""Pause and resume, go and no-go, and the answers to whatever else waits for a human."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from tminus.cli import doing, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Actor, Db, DryRun, Format, InBatch, Keys, Reason
from tminus.cli.publishing import known
from tminus.cli.session import Who, opened, wanted, with_reason
from tminus.cli.waiting import HoldId
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.domain.status import HoldScope
from tminus.progression import events as ev
from tminus.store.insights import batches, holds, members
from tminus.store.store import Store

Everything = Annotated[bool, typer.Option("--all", help="Everything.")]
OfRunbook = Annotated[str | None, typer.Option("--runbook", metavar="NAME", help="All batches of a runbook.")]
Gate = Annotated[str, typer.Argument(metavar="GATE", help="Number of the gate, or BATCH/PHASE.")]
Answer = Literal["lift", "approve", "reject", "reopen", "accept", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One thing that is paused or resumed, and what it is called; `error` where a key names nobody."""

    scope: HoldScope
    label: str
    runbook: str | None = None
    batch_id: int | None = None
    member_id: int | None = None
    error: TminusError | None = None


def pause(
    keys: Keys = None,
    *,
    reason: Reason,
    everything: Everything = False,
    runbook: OfRunbook = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Stop sending work: everywhere, for a runbook, for a batch, or for members (with --batch: in that batch)."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        wishes: list[tuple[str, ev.Event | TminusError]] = []
        for one in _scopes(store, keys, runbook, batch, everything=everything):
            event = ev.OpenHold(scope=one.scope, key=one.runbook, batch_id=one.batch_id, member_id=one.member_id,
                                actor=who.actor, reason=who.reason)  # fmt: skip
            wishes.append((one.label, one.error or event))
        results = doing.asked(store, wishes, dry_run=dry_run)
    code = doing.report(results, shape, did="paused", dry_run=dry_run)
    if code == Exit.DONE and not dry_run:
        telling.suggest("tminus status", shape, db=db)
    return code


def resume(
    keys: Keys = None,
    *,
    reason: Reason,
    everything: Everything = False,
    runbook: OfRunbook = None,
    batch: InBatch = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Lift the pause of exactly this scope; others stay."""
    who = with_reason(actor, reason)
    with opened(db) as store:
        wishes: list[tuple[str, ev.Event | TminusError]] = []
        for one in _scopes(store, keys, runbook, batch, everything=everything):
            wishes += [(one.label, wish) for wish in _lifts(store, one, who)]
        results = doing.asked(store, wishes, dry_run=dry_run)
    return doing.report(results, shape, did="resumed", dry_run=dry_run)


def _lifts(store: Store, one: Scope, who: Who) -> list[ev.Event | TminusError]:
    """Return what lifts the pauses of exactly this scope, or why there is nothing to lift."""
    if one.error is not None:
        return [one.error]
    with store.database.read() as tx:
        found = holds.pauses(tx, one.scope, runbook=one.runbook, batch_id=one.batch_id, member_id=one.member_id)
    if not found:
        return [TminusError("E410", "it is not paused", hint="tminus hold list --kind pause shows what is")]
    return [_answer(hold_id, home, "lift", who.actor, who.reason) for hold_id, home in found]


def _scopes(
    store: Store, keys: list[str] | None, runbook: str | None, batch: int | None, *, everything: bool
) -> list[Scope]:
    """Return what is meant; exactly one way of saying it is allowed."""
    ways = [everything, runbook is not None, batch is not None and not keys, bool(keys)]
    if sum(ways) != 1 or (batch is not None and (everything or runbook is not None)):
        raise TminusError("E401", "one of --all, --runbook, --batch or KEY is needed", hint="pause one scope at a time")
    if everything:
        return [Scope(scope="all", label="everything")]
    with store.database.read() as tx:
        if runbook is not None:
            known(tx, runbook)
            return [Scope(scope="runbook", label=f"runbook {runbook}", runbook=runbook)]
        if batch is not None:
            wanted(tx, batches.one, batch, "batch")
            if not keys:
                return [Scope(scope="batch", label=f"batch {batch}", batch_id=batch)]
    targets = doing.chosen(store, keys, None, batch)
    with store.database.read() as tx:
        return [_of_member(tx, one) for one in targets]


def _of_member(tx: Tx, target: doing.Target) -> Scope:
    if target.error is not None:
        return Scope(scope="member", label=target.key, error=target.error)
    row = wanted(tx, members.one, target.member_id, "member")
    return Scope(scope="member", label=target.key, batch_id=int(str(row["batch_id"])), member_id=target.member_id)


def _answer(hold_id: int, batch_id: int | None, answer: Answer, actor: str, reason: str) -> ev.AnswerHold:
    return ev.AnswerHold(hold_id=hold_id, batch_id=batch_id, answer=answer, actor=actor, reason=reason)


def approve(
    gate: Gate, *, reason: Reason, dry_run: DryRun = False, actor: Actor = None, shape: Format = "table", db: Db = None
) -> int:
    """Say go; a gate of a phase that is not due yet is named BATCH/PHASE."""
    return _decide(gate, "approve", "approved", (actor, reason), shape, db, dry_run=dry_run)


def reject(
    gate: Gate, *, reason: Reason, dry_run: DryRun = False, actor: Actor = None, shape: Format = "table", db: Db = None
) -> int:
    """Say no-go; the batch stays held until the gate is reopened, or the batch rescheduled or cancelled."""
    return _decide(gate, "reject", "rejected", (actor, reason), shape, db, dry_run=dry_run)


def reopen(
    gate: Gate, *, reason: Reason, dry_run: DryRun = False, actor: Actor = None, shape: Format = "table", db: Db = None
) -> int:
    """Ask a rejected or expired gate again."""
    return _decide(gate, "reopen", "reopened", (actor, reason), shape, db, dry_run=dry_run)


def lift(
    number: HoldId,
    *,
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Lift a hold."""
    return _decide(str(number), "lift", "lifted", (actor, reason), shape, db, dry_run=dry_run)


def accept(
    number: HoldId,
    *,
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Let what the source asks for happen."""
    return _decide(str(number), "accept", "accepted", (actor, reason), shape, db, dry_run=dry_run)


def refuse(
    number: HoldId,
    *,
    reason: Reason,
    dry_run: DryRun = False,
    actor: Actor = None,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Keep the members where they are."""
    return _decide(str(number), "refuse", "refused", (actor, reason), shape, db, dry_run=dry_run)


def _decide(
    name: str, answer: Answer, did: str, person: tuple[str | None, str], shape: Format, db: str | None, *, dry_run: bool
) -> int:
    who = with_reason(*person)
    with opened(db) as store:
        event = _asked(store, name, answer, who.actor, who.reason)
        noun = "gate" if answer in {"approve", "reject", "reopen"} else "hold"
        results = doing.perform(store, [event], [f"{noun} {name}"], dry_run=dry_run)
    return doing.report(results, shape, did=did, dry_run=dry_run)


def _asked(store: Store, name: str, answer: Answer, actor: str, reason: str) -> ev.Event:
    """Find the hold of a number, or the gate before a phase; one that is not open yet may only be approved early."""
    home, slash, phase = name.partition("/")
    if not (home.isascii() and home.isdecimal()) or (slash and not phase):
        raise TminusError("E406", f'"{telling.visible(name)}" is no gate', hint="give its number, or BATCH/PHASE")
    with store.database.read() as tx:
        if not slash:
            row = wanted(tx, holds.one, int(home), "gate" if answer in {"approve", "reject", "reopen"} else "hold")
            batch = row["batch_id"]
            return _answer(int(home), None if batch is None else int(str(batch)), answer, actor, reason)
        wanted(tx, batches.one, int(home), "batch")
        phase_id = holds.phase_of(tx, int(home), phase)
        if phase_id is None:
            raise TminusError("E404", "there is no such phase", place=name, hint=f"tminus batch phases {home}")
        hold_id = holds.gate_of(tx, int(home), phase)
    if hold_id is not None:
        return _answer(hold_id, int(home), answer, actor, reason)
    if answer == "approve":
        return ev.ApproveEarly(phase_id=phase_id, actor=actor, reason=reason)
    raise TminusError("E410", "no gate is open before this phase", place=name, hint="tminus gate list shows them")
