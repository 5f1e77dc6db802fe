"""The stage that scenarios of the state machine play on: runbooks in one line, and looks at what has moved.

A runbook is written as Python maps, because a scenario is about one key of it. Everything that moves goes through
`World`; this module only makes texts, reads rows and loads views. It must not know which moves are legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import orjson

from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.progression.holds import open_hold
from tminus.store import runbooks
from tminus.store.applying import Context
from tminus.store.loading import load
from tminus.store.writing import write
from tminus.testing.world import Says, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.rows import Lane
    from tminus.domain.status import HoldKind, HoldScope
    from tminus.progression.decision import Reply
    from tminus.progression.view import Subject, View
    from tminus.testing.world import Behaviour, Call

Keys = dict[str, object]
Said = Literal["lift", "approve", "reject", "reopen", "accept", "refuse"]

HOUR = 3600.0
RETRY_TWICE: Keys = {"max_retries": 2, "interval": "1m"}
UPN: Keys = {"upn": "{{upn}}"}
POLL: Keys = {"interval": "5m", "timeout": "1h"}


def step(name: str, **keys: object) -> Keys:
    """Make a step; its function is called like it unless `function` is given."""
    return {"name": name, "worker_id": "cloud", "function": name, **keys}


def phase(name: str, *steps: Keys, offset: str = "T-0", **keys: object) -> Keys:
    """Make a phase; without steps it has one that is called like it."""
    return {"name": name, "offset": offset, "steps": list(steps) or [step(name)], **keys}


def book(*phases: Keys, **keys: object) -> str:
    """Write a runbook. JSON is YAML, so that nothing has to be indented. `leavers` gives it a source that may drop."""
    source: Keys = {"type": "manual", "primary_key": "upn"}
    leavers = keys.pop("leavers", None)
    if leavers is not None:
        source = {
            "type": "csv", "connection": "FILE", "primary_key": "upn", "batch_time_column": "at", "leavers": leavers,
        }  # fmt: skip
    return orjson.dumps({"name": "wave", "data_source": source, "phases": list(phases), **keys}).decode()


def play(text: str, *members: str, t0_in_s: float | None = 0.0, **behaviours: Behaviour) -> World:
    """Publish, make a batch of these members (`ann` alone by default) and run until nothing moves."""
    world = World(behaviours=dict(behaviours))
    world.publish(text)
    world.batch("wave", members or ["ann"], t0_in_s=t0_in_s)
    world.run()
    return world


def in_turn(*answers: Behaviour) -> Behaviour:
    """Answer with the first, then with the next; the last answers for ever."""
    left = list(answers)

    def answer(call: Call) -> Says:
        return (left.pop(0) if len(left) > 1 else left[0])(call)

    return answer


def only(key: str, answer: Behaviour) -> Behaviour:
    """Answer so for one member and `{}` for every other; the step must have `upn` among its parameters."""
    return lambda call: answer(call) if call.params.get("upn") == key else Says(result={})


# -- commands ----------------------------------------------------------------------------------------------------------


def told(replies: Sequence[Reply]) -> str:
    """Return what the one reply says: `done`, or why not."""
    (reply,) = replies
    assert reply.ok == (reply.message == "done")
    return reply.message


def retry(world: World, key: str = "ann", from_step: str | None = None, *, original: bool = False) -> str:
    """Retry a member."""
    event = ev.Retry(
        member_id=world.member_id(key), from_step=from_step, original=original, actor="ops", reason="again"
    )
    return told(world.command(event))


def skip(world: World, name: str, key: str = "ann") -> str:
    """Skip a step of a member."""
    event = ev.PassStep(member_id=world.member_id(key), step=name, done=False, actor="ops", reason="not needed")
    return told(world.command(event))


def mark_done(world: World, name: str, key: str = "ann", **outputs: object) -> str:
    """Mark a step of a member done."""
    event = ev.PassStep(
        member_id=world.member_id(key), step=name, done=True, outputs=outputs, actor="ops", reason="by hand"
    )
    return told(world.command(event))


def roll_back(world: World, key: str = "ann", to_phase: str | None = None) -> str:
    """Roll a member back."""
    event = ev.RollBack(member_id=world.member_id(key), to_phase=to_phase, actor="ops", reason="undo")
    return told(world.command(event))


def cancel(world: World, batch_id: int = 1, *, everyone: bool = False) -> str:
    """Cancel a batch."""
    return told(world.command(ev.CancelBatch(batch_id=batch_id, everyone=everyone, actor="ops", reason="stop")))


def advance(world: World, batch_id: int = 1, actor: str = "ops") -> str:
    """Advance a batch without T-0."""
    return told(world.command(ev.Advance(batch_id=batch_id, actor=actor, reason="go on")))


def reschedule(world: World, in_s: float, batch_id: int = 1) -> str:
    """Give a batch another T-0."""
    t0 = plus(world.clock.now, in_s)
    return told(world.command(ev.Reschedule(batch_id=batch_id, t0=t0, actor="ops", reason="later")))


def retry_init(world: World, batch_id: int = 1) -> str:
    """Retry a batch's init."""
    return told(world.command(ev.RetryInit(batch_id=batch_id, actor="ops", reason="again")))


def retry_cleanup(world: World, kind: str) -> str:
    """Retry the newest lane of a kind that cleans up."""
    lane_id = int(world.value("SELECT max(id) FROM lanes WHERE kind = ?", kind) or 0)
    return told(world.command(ev.RetryCleanup(lane_id=lane_id, actor="ops", reason="again")))


def pause(world: World, scope: HoldScope = "batch", key: str = "ann") -> int:
    """Pause at one of the four levels and return the hold's id."""
    batch_id = 1 if scope in {"batch", "member"} else None
    member_id = world.member_id(key) if scope == "member" else None
    name = "wave" if scope == "runbook" else None
    event = ev.OpenHold(
        scope=scope, batch_id=batch_id, member_id=member_id, key=name, actor="ann", reason="tenant down"
    )
    assert told(world.command(event)) == "done"
    return int(world.value("SELECT max(id) FROM holds") or 0)


def answer(
    world: World, said: Said, kind: str | None = None, *, actor: str = "boss", hold_id: int | None = None
) -> str:
    """Answer the newest open hold (of a kind)."""
    if hold_id is None:
        sql = "SELECT max(id) FROM holds WHERE is_open AND kind = coalesce(?, kind)"
        hold_id = int(world.value(sql, kind) or 0)
    batch_id = world.rows("SELECT batch_id FROM holds WHERE id = ?", hold_id)
    event = ev.AnswerHold(
        hold_id=hold_id,
        batch_id=cast("int | None", batch_id[0][0]) if batch_id else None,
        answer=said,
        actor=actor,
        reason="decided",
    )
    return told(world.command(event))


def leave(world: World, key: str = "ann", actor: str | None = None) -> None:
    """Take a member out of its batch."""
    world.round([ev.Leaving(world.member_id(key), actor=actor)])
    world.run()


def join(world: World, *keys: str, batch_id: int = 1) -> list[int]:
    """Add members to a batch."""
    made = world.store.join(batch_id, [(key, orjson.dumps({"upn": key}).decode()) for key in keys])
    world.run()
    return made


def open_holds(world: World) -> list[str]:
    """Return the kinds of the open holds, oldest first."""
    return [str(kind) for (kind,) in world.rows("SELECT kind FROM holds WHERE is_open ORDER BY id")]


def put_hold(world: World, kind: HoldKind, scope: HoldScope = "batch", key: str = "ann", phase_id: int = 1) -> None:
    """Open a hold of any kind, as what finds its reason would: calendars and meters are not part of the core."""
    member_id = world.member_id(key) if scope == "member" else None
    with world.store.database.write() as tx:
        view = load(tx, [ev.Wake(1)], _context(world, tx), set())
        open_hold(
            view,
            scope=scope,
            kind=kind,
            reason=f"a {kind}",
            batch=view.batches[1] if scope in {"batch", "member", "phase"} else None,
            member_id=member_id,
            phase_id=phase_id if scope == "phase" else None,
            runbook_name="wave" if scope == "runbook" else None,
        )
        write(tx, view)


# -- looking -----------------------------------------------------------------------------------------------------------


def moves(world: World, entity: str | None = None) -> list[tuple[str, str, str]]:
    """Return every move of the history in order: entity, from, to."""
    sql = """SELECT entity, from_status, to_status FROM events
      WHERE from_status IS NOT NULL AND entity = coalesce(?, entity) ORDER BY id"""
    return [(str(e), str(old), str(new)) for e, old, new in world.rows(sql, entity)]


def path(world: World, entity: str, entity_id: int = 1) -> list[str]:
    """Return the statuses that one row has gone through, the first included."""
    sql = "SELECT from_status, to_status FROM events WHERE entity = ? AND entity_id = ? ORDER BY id"
    rows = [(str(old), str(new)) for old, new in world.rows(sql, entity, entity_id)]
    return [rows[0][0], *(new for _, new in rows)] if rows else []


def calls(world: World) -> str:
    """Return the functions called so far as one text."""
    return " ".join(world.called())


def outcomes(world: World, execution_id: int = 1) -> list[str]:
    """Return how the attempts of an execution ended."""
    sql = "SELECT outcome FROM attempt_rows WHERE execution_id = ? ORDER BY id"
    return [str(outcome) for (outcome,) in world.rows(sql, execution_id)]


def lane_statuses(world: World, kind: str, key: str | None = None) -> list[str]:
    """Return the statuses of the lanes of a kind, oldest first: a member's, or the batch's own."""
    member_id = None if key is None else world.member_id(key)
    sql = "SELECT status FROM lanes WHERE kind = ? AND member_id IS ? ORDER BY id"
    return [str(status) for (status,) in world.rows(sql, kind, member_id)]


def execution(world: World, name: str, column: str, key: str = "ann") -> object:
    """Return one column of a member's newest execution of a step."""
    sql = """SELECT json_object('params', params_json, 'error', error_message, 'type', error_type, 'attempt', attempt,
        'retries', retry_count, 'ready', ready_at, 'again', retry_after, 'job', job_id, 'status', status,
        'cancelled', cancelled_by, 'due', poll_due_at, 'polls', poll_count, 'version', runbook_version, 'id', id)
      FROM executions WHERE step_name = ? AND lane_id IN (SELECT id FROM lanes WHERE member_id = ?)
      ORDER BY id DESC LIMIT 1"""
    return orjson.loads(str(world.value(sql, name, world.member_id(key))))[column]


def late(world: World, call: Call, says: Says) -> None:
    """Let a worker that had kept silent answer after all."""
    world.round([world.result(call, says)])
    world.run()


def fail_late(world: World) -> None:
    """Let the first worker that had kept silent report a failure after all."""
    late(world, world.held[0], Says(error=ev.WorkError("too late")))


# -- views -------------------------------------------------------------------------------------------------------------


def _context(world: World, tx: Tx) -> Context:
    return Context(
        now=world.clock.now, book=lambda name, version: runbooks.read(tx, name, version), window=world.window
    )


def view_of(world: World, key: str | None = "ann", batch_id: int = 1) -> tuple[View, Subject]:
    """Load the view of a whole member, closed lanes with their steps included (of the batch itself: `key` None)."""
    member_id = None if key is None else world.member_id(key)
    asked: list[ev.Event] = [ev.Wake(batch_id, member_id)]
    if member_id is not None:
        asked.append(ev.Retry(member_id=member_id, actor="", reason=""))
    with world.store.database.read() as tx:
        view = load(tx, asked, _context(world, tx), set())
    return view, view.subject(batch_id, member_id)


def lane_of(subject: Subject, kind: str, sequence: str | None = None) -> Lane:
    """Return the newest lane of a kind (and, of a phase)."""
    found = [lane for lane in subject.lanes if lane.kind == kind and sequence in {None, lane.sequence}]
    return max(found, key=lambda lane: lane.id)
