"""What operators, sources and publishers do in a simulation: each act picks its subject from the rows as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import orjson

from tminus.domain.instant import Instant, plus
from tminus.progression import events as ev
from tminus.store import facts
from tminus.store.cohort import NewBatch
from tminus.testing.simulate import workload

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tminus.db.connection import Tx, Value
    from tminus.domain.status import HoldScope
    from tminus.store.store import Store
    from tminus.testing.simulate.workload import Spec

ACTOR = "operator"
REASON = "simulated"
Answer = Literal["lift", "approve", "reject", "reopen", "accept", "refuse"]
ANSWERS: Final[tuple[Answer, ...]] = ("lift", "approve", "reject", "reopen", "accept", "refuse")


class Acts:
    """Acts on one store, by the name that the plan gives them."""

    def __init__(self, store: Store, tx: Tx, spec: Spec, rng: random.Random) -> None:
        """Act through this node's store; `tx` reads without being in the way of a planned crash."""
        self.store = store
        self.tx = tx
        self.spec = spec
        self.rng = rng

    def do(self, kind: str) -> None:
        """Carry out one act; where it finds no subject nothing happens."""
        act = getattr(self, f"_{kind}")
        act()

    def rows(self, sql: str, *params: Value) -> list[tuple[Value, ...]]:
        """Read rows."""
        return self.tx.all(sql, params)

    def _one(self, sql: str, *params: Value) -> tuple[Value, ...] | None:
        found = self.rows(sql, *params)
        return self.rng.choice(found) if found else None

    def _give(self, event: ev.Event) -> None:
        self.store.round([event])

    def _member(self, *statuses: str) -> int | None:
        marks = ", ".join("?" for _ in statuses)
        row = self._one(f"SELECT id FROM batch_members WHERE status IN ({marks}) ORDER BY id", *statuses)
        return None if row is None else int(row[0] or 0)

    def _batch(self) -> int:
        row = self._one("SELECT id FROM batches ORDER BY id")
        return 0 if row is None else int(row[0] or 0)

    def _pause(self) -> None:
        scopes: tuple[HoldScope, ...] = ("batch", "all", "runbook")
        scope = self.rng.choice(scopes)
        batch_id = self._batch() if scope == "batch" else None
        key = workload.NAME if scope == "runbook" else None
        self._give(ev.OpenHold(actor=ACTOR, reason=REASON, scope=scope, batch_id=batch_id, key=key))

    def _pause_member(self) -> None:
        member_id = self._member("active")
        if member_id is not None:
            row = self._one("SELECT batch_id FROM batch_members WHERE id = ?", member_id)
            batch_id = int(row[0] or 0) if row else 0
            self._give(ev.OpenHold(actor=ACTOR, reason=REASON, scope="member", batch_id=batch_id, member_id=member_id))

    def _retry(self) -> None:
        member_id = self._member("failed", "cancelled")
        if member_id is not None:
            original = self.rng.random() < 0.3
            self._give(ev.Retry(actor=ACTOR, reason=REASON, member_id=member_id, original=original))

    def _retry_from(self) -> None:
        member_id = self._member("failed")
        if member_id is not None:
            self._give(ev.Retry(actor=ACTOR, reason=REASON, member_id=member_id, from_step="s0"))

    def _skip(self) -> None:
        self._pass(done=False)

    def _mark_done(self) -> None:
        self._pass(done=True)

    def _pass(self, *, done: bool) -> None:
        member_id = self._member("active", "failed")
        if member_id is not None:
            step = f"s{self.rng.randrange(self.spec.steps)}"
            outputs: dict[str, object] = {"Out0": "by hand"} if done else {}
            self._give(
                ev.PassStep(actor=ACTOR, reason=REASON, member_id=member_id, step=step, done=done, outputs=outputs)
            )

    def _roll_back(self) -> None:
        member_id = self._member("active", "failed")
        if member_id is not None:
            self._give(ev.RollBack(actor=ACTOR, reason=REASON, member_id=member_id))

    def _cancel(self) -> None:
        self._give(ev.CancelBatch(actor=ACTOR, reason=REASON, batch_id=self._batch()))

    def _cancel_everyone(self) -> None:
        self._give(ev.CancelBatch(actor=ACTOR, reason=REASON, batch_id=self._batch(), everyone=True))

    def _join(self) -> None:
        key = f"late-{self.rng.randrange(4)}"
        self.store.join(self._batch(), [(key, orjson.dumps({"upn": key, "flag": "yes"}).decode())])

    def _return(self) -> None:
        row = self._one(
            "SELECT batch_id, member_key, data_json FROM batch_members WHERE status = 'removed' ORDER BY id"
        )
        if row is not None:
            self.store.join(int(row[0] or 0), [(str(row[1]), str(row[2]))])

    def _leave(self) -> None:
        member_id = self._member("active", "failed")
        if member_id is not None:
            self._give(ev.Leaving(member_id, actor=ACTOR))

    def _absent(self) -> None:
        batch_id = self._batch()
        ids = [int(i or 0) for (i,) in self.rows(
            "SELECT id FROM batch_members WHERE batch_id = ? AND status = 'active' ORDER BY id", batch_id)]  # fmt: skip
        gone = ids[: self.rng.randrange(len(ids)) + 1] if ids else []
        sent = facts.one_way_members(self.tx, gone)
        removed = self.rows("SELECT count(*) FROM batch_members WHERE batch_id = ? AND status = 'removed'", batch_id)
        self._give(
            ev.Absent(batch_id, tuple(gone), int(removed[0][0] or 0), vanished=len(gone) == len(ids) > 1,
                      one_way_member_ids=sent)
        )  # fmt: skip

    def _move(self) -> None:
        member_id = self._member("active", "failed")
        if member_id is None:
            return
        t0 = plus(self.store.now(), 1800.0)
        made = self.store.create_batch(NewBatch(workload.NAME, [], t0=t0, kind="manual", source_time=t0))
        self.store.move(member_id, made.batch_id, ACTOR)

    def _publish(self) -> None:
        text = workload.yaml_of(self.spec, version=2)
        self.store.publish(
            workload.parsed(text),
            text,
            overdue="ignore" if self.rng.random() < 0.5 else "rerun",
            rerun_init=self.rng.random() < 0.4,
            actor="publisher",
        )

    def _edit(self) -> None:
        member_id = self._member("active", "failed")
        if member_id is not None:
            self._give(ev.EditData(actor=ACTOR, reason=REASON, member_id=member_id, values={"flag": "yes"}))

    def _reschedule(self) -> None:
        t0 = plus(self.store.now(), self.rng.choice((-600.0, 600.0, 5400.0)))
        self._give(ev.Reschedule(actor=ACTOR, reason=REASON, batch_id=self._batch(), t0=Instant(t0)))

    def _retry_init(self) -> None:
        self._give(ev.RetryInit(actor=ACTOR, reason=REASON, batch_id=self._batch()))

    def _retry_cleanup(self) -> None:
        row = self._one("SELECT id FROM lanes WHERE status = 'failed' AND kind NOT IN ('init', 'phase') ORDER BY id")
        if row is not None:
            self._give(ev.RetryCleanup(actor=ACTOR, reason=REASON, lane_id=int(row[0] or 0)))

    def _approve_early(self) -> None:
        row = self._one("SELECT id FROM phase_executions WHERE status = 'pending' ORDER BY id")
        if row is not None:
            self._give(ev.ApproveEarly(actor="boss", reason=REASON, phase_id=int(row[0] or 0)))

    def _own_approval(self) -> None:
        row = self._one("SELECT id, batch_id FROM holds WHERE is_open AND kind = 'gate' ORDER BY id")
        if row is not None:
            batch_id = int(row[1] or 0)
            self._give(
                ev.AnswerHold(
                    actor="publisher", reason=REASON, hold_id=int(row[0] or 0), batch_id=batch_id, answer="approve"
                )
            )

    def _twice(self) -> None:
        """Ask for a batch that is there: by its key, and by its time."""
        t0 = self.rows("SELECT source_time FROM batches WHERE id = 1")[0][0]
        source_time = None if t0 is None else Instant(str(t0))
        self.store.create_batch(NewBatch(workload.NAME, [], t0=source_time, kind="manual", idempotency_key="one"))
        if source_time is not None:
            self.store.create_batch(NewBatch(workload.NAME, [], t0=source_time, kind="manual", source_time=source_time))

    def _answer(self) -> None:
        row = self._one("SELECT id, batch_id FROM holds WHERE is_open ORDER BY id")
        if row is not None:
            answer = self.rng.choice(ANSWERS)
            batch_id = None if row[1] is None else int(row[1])
            self._give(
                ev.AnswerHold(actor="boss", reason=REASON, hold_id=int(row[0] or 0), batch_id=batch_id, answer=answer)
            )

    # -- at the end ------------------------------------------------------------------------------------------------

    def resolve(self, turn: int) -> bool:
        """Answer whatever waits for a human, so that everything can end; tell whether there was anything."""
        done = False
        sql = "SELECT id, batch_id, kind, state FROM holds WHERE is_open ORDER BY id"
        for hold_id, batch_id, kind, state in self.rows(sql):
            home = None if batch_id is None else int(batch_id)
            for event in self._resolutions(int(hold_id or 0), home, str(kind), str(state), turn):
                replies = self.store.round([event]).replies
                done = done or any(reply.ok for reply in replies)
        for (batch_id,) in self.rows(
            "SELECT id FROM batches WHERE batch_start_time IS NULL AND status IN ('detected', 'active') ORDER BY id"
        ):
            event = ev.Advance(actor=ACTOR, reason=REASON, batch_id=int(batch_id or 0))
            done = any(reply.ok for reply in self.store.round([event]).replies) or done
        return done

    @staticmethod
    def _resolutions(hold_id: int, home: int | None, kind: str, state: str, turn: int) -> Sequence[ev.Event]:
        def say(answer: Answer) -> ev.Event:
            return ev.AnswerHold(actor="boss", reason=REASON, hold_id=hold_id, batch_id=home, answer=answer)

        if kind == "gate":
            return [say("approve")] if state == "waiting" else [say("reopen"), say("approve")]
        if kind in {"leavers", "vanished"}:
            return [say("refuse")]
        if kind == "rerun_init" and home is not None:
            if turn > 3:
                return [ev.CancelBatch(actor=ACTOR, reason=REASON, batch_id=home, everyone=True)]
            return [ev.RetryInit(actor=ACTOR, reason=REASON, batch_id=home)]
        return [say("lift")]
