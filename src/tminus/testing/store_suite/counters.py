"""Counters equal counts, whatever is done in whatever order.

Phases and batches carry counters that move by deltas, so that nothing is proportional to a batch. A machine of rules
does everything a store can be asked for, at random; after each step the rows are counted and compared. It keeps a model
of its own of who was put into which batch, so that a member cannot get lost together with its count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.testing.store_suite.stage import OnStage, Played, StoreStage, book, phase, step

if TYPE_CHECKING:
    from tminus.store.claims import Claim

EXAMPLES: Final = 30
STEPS: Final = 40
UNDO: Final = {"undo": [{"name": "u1", "worker_id": "w", "function": "F-u1"}]}
PREPARE: Final = phase("prepare", step("a", "on_failure: undo", "retry: {max_retries: 1, interval: 10s}"), step("b"),
                       offset="T-1h", rings=[1, "100%"])  # fmt: skip
MOVE: Final = phase("move", step("c", "poll: {interval: 20s, timeout: 2m}"), step("d", "timeout: 20s", "one_way: true"))
CARE: Final = phase("care", step("e"), offset="T+10m")
ASIDE: Final[dict[str, object]] = {
    "rollbacks": UNDO,
    "on_member_removed": [{"name": "r", "worker_id": "w", "function": "F-r"}],
    "on_member_failed": [{"name": "h", "worker_id": "w", "function": "F-h"}],
    "on_batch_finished": [{"name": "f", "worker_id": "w", "function": "F-f"}],
}
INIT: Final = [{"name": "i", "worker_id": "w", "function": "F-i"}]
VERSIONS: Final = tuple(
    book(phases=phases, more=ASIDE | extra)
    for phases, extra in (
        ([PREPARE, MOVE, CARE], {}),
        ([PREPARE, MOVE, CARE], {"init": INIT}),
        ([PREPARE, CARE], {}),
    )
)

OPEN_LANES: Final = """SELECT b.id, b.open_lanes, (SELECT count(*) FROM lanes l WHERE l.batch_id = b.id
  AND l.kind <> 'finish' AND l.status IN ('waiting', 'running')) FROM batches b ORDER BY b.id"""
OPEN_PHASES: Final = """SELECT b.id, b.open_phases, (SELECT count(*) FROM phase_executions p WHERE p.batch_id = b.id
  AND p.status IN ('pending', 'dispatched')) FROM batches b ORDER BY b.id"""
MEMBERS: Final = """SELECT id, members_active, members_done, members_failed, members_removed, members_cancelled
  FROM batches ORDER BY id"""
MEMBERS_COUNTED: Final = """SELECT b.id, count(CASE WHEN m.status = 'active' THEN 1 END),
  count(CASE WHEN m.status = 'done' THEN 1 END), count(CASE WHEN m.status = 'failed' THEN 1 END),
  count(CASE WHEN m.status = 'removed' THEN 1 END), count(CASE WHEN m.status = 'cancelled' THEN 1 END)
  FROM batches b LEFT JOIN batch_members m ON m.batch_id = b.id GROUP BY b.id ORDER BY b.id"""
PHASES: Final = """SELECT p.id, p.lanes_total, p.open_lanes, p.lanes_succeeded, p.lanes_failed, p.lanes_cancelled
  FROM phase_executions p ORDER BY p.id"""
PHASES_COUNTED: Final = """SELECT p.id, count(l.id), count(CASE WHEN l.status IN ('waiting', 'running') THEN 1 END),
  count(CASE WHEN l.status = 'succeeded' THEN 1 END), count(CASE WHEN l.status = 'failed' THEN 1 END),
  count(CASE WHEN l.status = 'cancelled' THEN 1 END)
  FROM phase_executions p LEFT JOIN lanes l ON l.phase_id = p.id AND l.kind = 'phase' GROUP BY p.id ORDER BY p.id"""
CROWDED: Final = """SELECT lane_id FROM executions WHERE status IN ('dispatched', 'polling')
  GROUP BY lane_id HAVING count(*) > 1"""
# A cancelled batch voids its unclaimed jobs at once; its executions follow behind the cursor.
LOST_JOBS: Final = """SELECT e.id, e.status, e.job_id FROM executions e JOIN batches b ON b.id = e.batch_id
  WHERE e.job_id IS NOT NULL AND b.ending_after IS NULL AND NOT EXISTS (SELECT 1 FROM messages m
    WHERE m.id = e.id AND m.message_id = e.job_id AND NOT m.is_draining)"""
STRAY_JOBS: Final = """SELECT m.message_id FROM messages m WHERE m.topic = 'worker-jobs' AND NOT m.is_draining
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = m.id AND e.job_id = m.message_id
    AND e.status IN ('dispatched', 'polling'))"""
ACTIVE: Final = "SELECT name FROM runbooks WHERE is_active GROUP BY name HAVING count(*) > 1"

Number = st.integers(0, 30)
Verdict = st.sampled_from(["ok", "ok", "ok", "no", "never", "later", "busy", "silence"])


class CountingMachine(RuleBasedStateMachine):
    """Everything a store can be asked for, at random."""

    stage: ClassVar[StoreStage]

    @initialize(version=st.sampled_from([VERSIONS[0], *VERSIONS]), window=st.integers(1, 6), chunk=st.integers(1, 5))
    def begin(self, version: str, window: int, chunk: int) -> None:
        """Start in an empty world."""
        self.world = Played(stage=self.stage, window=window, chunk=chunk)
        self.world.publish(version)
        self.belongs: dict[int, int] = {}
        self.names = 0
        self.claims: list[Claim] = []

    # -- who there is ----------------------------------------------------------------------------------------------

    def batch_id(self, number: int) -> int | None:
        """Choose a batch, None when there is none yet."""
        found = self.world.numbers("SELECT id FROM batches ORDER BY id")
        return found[number % len(found)] if found else None

    def member(self, number: int) -> int | None:
        """Choose a member's row."""
        found = sorted(self.belongs)
        return found[number % len(found)] if found else None

    def fresh(self, count: int) -> list[str]:
        """Return keys that nobody has had."""
        self.names += count
        return [f"k{self.names - n}" for n in range(count)]

    def settle_membership(self, batch_id: int) -> None:
        """Take note of the members that a new batch was made with."""
        for member_id in self.world.numbers("SELECT id FROM batch_members WHERE batch_id = ?", batch_id):
            self.belongs[member_id] = batch_id

    # -- what may be done ------------------------------------------------------------------------------------------

    @rule(count=st.integers(0, 6), hours=st.sampled_from([0.0, 0.0, 1.0]), known=Number)
    def create(self, count: int, hours: float, known: int) -> None:
        """Make a batch of new keys and one that may be taken."""
        again = [str(row[0]) for row in self.world.rows("SELECT member_key FROM batch_members ORDER BY id")][known:][:1]
        made = self.world.batch("wave", [*self.fresh(count), *again], t0_in_s=hours * 3600)
        self.settle_membership(made.batch_id)

    @rule(number=Number, count=st.integers(1, 3), known=Number)
    def join(self, number: int, count: int, known: int) -> None:
        """Let members join; one may be there already, or have been."""
        batch_id = self.batch_id(number)
        if batch_id is not None:
            sql = "SELECT member_key FROM batch_members WHERE batch_id = ? ORDER BY id"
            again = [str(row[0]) for row in self.world.rows(sql, batch_id)][known:][:1]
            for member_id in self.world.store.join(batch_id, [(key, "{}") for key in [*self.fresh(count), *again]]):
                self.belongs[member_id] = batch_id

    @rule(number=Number, where=Number)
    def move(self, number: int, where: int) -> None:
        """Move a member."""
        member_id, batch_id = self.member(number), self.batch_id(where)
        if member_id is not None and batch_id is not None:
            heir = self.world.store.move(member_id, batch_id)
            if heir is not None:
                self.belongs[heir] = batch_id

    @rule(number=Number)
    def leave(self, number: int) -> None:
        """Take a member out."""
        member_id = self.member(number)
        if member_id is not None:
            self.world.round([ev.Leaving(member_id, actor="anna")])

    @rule(seconds=st.sampled_from([0.0, 1.0, 15.0, 31.0, 600.0, 3600.0]))
    def tick(self, seconds: float) -> None:
        """Let time pass, and have everything looked at that is due."""
        self.world.clock.advance(seconds)
        for look in self.world.store.looks():
            self.world.round(look(("", 0)).events)

    @rule()
    def go_on(self) -> None:
        """Move the cursors on, and batches to new versions."""
        self.world.store.wake()
        self.world.store.end_members()
        self.world.store.move_versions()

    @rule(most=st.integers(1, 8))
    def claim(self, most: int) -> None:
        """Let work go out, and take some of it."""
        self.world.send()
        self.claims += self.world.take(most)

    @rule(verdicts=st.lists(Verdict, min_size=1, max_size=8), twice=st.booleans())
    def answer(self, verdicts: list[str], *, twice: bool) -> None:
        """Answer jobs that were claimed, in one micro-batch."""
        events: list[ev.Event] = []
        for verdict in verdicts[: len(self.claims)]:
            claim = self.claims.pop(0)
            if verdict in {"ok", "later"}:
                events.append(self.world.say(claim, {"complete": verdict == "ok"}))
            elif verdict != "silence":
                kind = "Throttled" if verdict == "busy" else "Boom"
                event = self.world.fail(claim, kind, retry_after_s=5.0 if verdict == "busy" else None)
                if event.error is not None and verdict == "never":
                    event.error.retryable = False
                events.append(event)
        self.world.round(events + events[:1] * twice)

    @rule(verdicts=st.lists(Verdict, min_size=1, max_size=12), rounds=st.integers(1, 6), lifted=st.booleans())
    def work(self, verdicts: list[str], rounds: int, *, lifted: bool) -> None:
        """Let everything go on for a while; what these verdicts do not reach succeeds."""
        if lifted:
            self.lift()
        for number in range(rounds):
            self.tick(1.0 if number else 31.0)
            self.go_on()
            self.claim(8)
            missing = max(0, len(self.claims) - len(verdicts))
            self.answer([*verdicts, *["ok"] * missing], twice=False)
            verdicts = []

    @rule(number=Number, what=st.sampled_from(["retry", "skip", "done", "undo", "edit"]))
    def operate(self, number: int, what: str) -> None:
        """Do what an operator may do to a member, allowed or not."""
        member_id = self.member(number)
        if member_id is None:
            return
        open_steps = """SELECT step_name FROM step_executions WHERE batch_member_id = ? AND kind = 'phase'
          AND status NOT IN ('succeeded', 'skipped') ORDER BY id"""
        named = [str(row[0]) for row in self.world.rows(open_steps, member_id)] or ["a"]
        commands: dict[str, ev.Event] = {
            "retry": ev.Retry(member_id=member_id, actor="anna", reason="r"),
            "skip": ev.PassStep(member_id=member_id, step=named[0], done=False, actor="anna", reason="r"),
            "done": ev.PassStep(member_id=member_id, step=named[0], done=True, actor="anna", reason="r"),
            "undo": ev.RollBack(member_id=member_id, actor="anna", reason="r"),
            "edit": ev.EditData(member_id=member_id, values={"x": 1}, actor="anna", reason="r"),
        }
        self.world.round([commands[what]])

    @rule(number=Number, scope=st.sampled_from(["all", "batch", "member"]))
    def pause(self, number: int, scope: Literal["all", "batch", "member"]) -> None:
        """Pause."""
        member_id = self.member(number)
        if member_id is not None:
            batch_id = self.belongs[member_id]
            self.world.round(
                [
                    ev.OpenHold(
                        scope=scope,
                        batch_id=None if scope == "all" else batch_id,
                        member_id=member_id if scope == "member" else None,
                        actor="anna",
                        reason="r",
                    )
                ]
            )

    @rule()
    def lift(self) -> None:
        """Lift what is open."""
        for hold_id, batch_id in self.world.rows("SELECT id, batch_id FROM holds WHERE is_open"):
            home = None if batch_id is None else int(batch_id)
            answer = ev.AnswerHold(hold_id=int(hold_id or 0), batch_id=home, answer="lift", actor="anna", reason="r")
            self.world.round([answer])

    @rule(number=Number)
    def cancel(self, number: int) -> None:
        """Stop a batch."""
        batch_id = self.batch_id(number)
        if batch_id is not None and number % 7 == 0:
            self.world.round([ev.CancelBatch(batch_id=batch_id, actor="anna", reason="r")])

    @rule(number=Number)
    def retry_init(self, number: int) -> None:
        """Try an init again."""
        batch_id = self.batch_id(number)
        if batch_id is not None:
            self.world.round([ev.RetryInit(batch_id=batch_id, actor="anna", reason="r")])

    @rule(number=Number, hours=st.sampled_from([-1.0, 0.5]))
    def reschedule(self, number: int, hours: float) -> None:
        """Give a batch another T-0."""
        batch_id = self.batch_id(number)
        if batch_id is not None:
            t0 = plus(self.world.clock.now, hours * 3600)
            self.world.round([ev.Reschedule(batch_id=batch_id, t0=t0, actor="anna", reason="r")])

    @rule(text=st.sampled_from(VERSIONS), ignore=st.booleans(), rerun_init=st.booleans())
    def publish(self, text: str, *, ignore: bool, rerun_init: bool) -> None:
        """Publish a version."""
        self.world.publish(text, overdue="ignore" if ignore else "rerun", rerun_init=rerun_init)

    # -- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def counters_equal_counts(self) -> None:
        """By row and by column."""
        world = self.world
        for sql in (OPEN_LANES, OPEN_PHASES):
            assert [row for row in world.rows(sql) if row[1] != row[2]] == []
        assert world.rows(MEMBERS) == world.rows(MEMBERS_COUNTED)
        assert world.rows(PHASES) == world.rows(PHASES_COUNTED)

    @invariant()
    def nobody_is_lost(self) -> None:
        """Every member is where the model has put it."""
        rows = self.world.rows("SELECT id, batch_id FROM batch_members ORDER BY id")
        assert rows == sorted(self.belongs.items())

    @invariant()
    def jobs_and_executions_agree(self) -> None:
        """One job out for each execution that says so, one execution out in a lane, one version active."""
        for sql in (CROWDED, LOST_JOBS, STRAY_JOBS, ACTIVE):
            assert self.world.rows(sql) == []

    @invariant()
    def nothing_was_refused(self) -> None:
        """No sequence of events makes a decision that cannot be written."""
        assert self.world.refused == []


class CounterSuite(OnStage):
    """The machine, run on an adapter's stage."""

    def test_counters_equal_counts_after_any_sequence(self, stage: StoreStage) -> None:
        """Some thousand operations, in sequences that hypothesis makes up."""

        class Machine(CountingMachine):
            """The rules on this stage."""

        Machine.stage = stage
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
            ),
        )
