"""The watch: was each move between two moments allowed by how things stood before it.

What was so before an act and still is after it was so all the while. So a job that went out in between went out under
that hold, beside that draining job, before that retry's time. The promises over rows cannot know this, because clocks
jump and rows move on; the watch sees every act of a simulation from both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.domain.instant import Instant, plus
from tminus.domain.status import BATCH_OPEN
from tminus.progression import holds
from tminus.store.promises import Violation
from tminus.testing.simulate import sight
from tminus.testing.simulate.ends import check_ends

if TYPE_CHECKING:
    from tminus.domain.rows import Hold
    from tminus.testing.simulate.sight import Ask, Job, Move, Sight, Work
    from tminus.testing.simulate.workload import Spec

_BOUND: Final = frozenset({"init", "phase"})
THROTTLED_S: Final = 20.0


class Watch:
    """Looks at a simulation's rows before and after each act."""

    def __init__(self, ask: Ask, spec: Spec, window: int) -> None:
        """Watch through `ask`, which reads rows."""
        self.ask, self.spec, self.window = ask, spec, window
        self.before: Sight = sight.Sight()
        self.found: list[Violation] = []
        self.beaten = False

    def ready(self) -> None:
        """Note how things stand: called before each act. Only leases move outside of acts."""
        if self.beaten:
            self.before.jobs = sight.jobs(self.ask)
            self.beaten = False

    def again(self) -> None:
        """Begin anew from how things stand."""
        self.before = sight.look(self.ask)

    def look(self, now: Instant) -> list[Violation]:
        """Judge what has happened since the last look."""
        self.found = []
        before, after = self.before, sight.look(self.ask)
        moves = sight.moves(self.ask, before.last)
        rows = sight.work(self.ask, {m.entity_id for m in moves if m.entity == "execution"} | set(after.jobs))
        standing = [h for h in after.holds.values() if _same(before.holds.get(h.id), h)]
        for move in moves:
            row = rows.get(move.entity_id) if move.entity == "execution" else None
            if row is not None:
                self._execution(move, row, standing, now)
            elif move.entity == "lane" and move.to_status == "running" and move.cause == "turn":
                self._lane_started(move, after, standing)
            elif move.entity == "phase" and move.to_status == "dispatched" and move.cause == "due":
                self._held(
                    after, standing, (move.batch_id or 0, None, move.entity_id), f"phase {move.entity_id} opened"
                )
        for job in after.jobs.values():
            self._job(job, rows, after, standing, now)
        self._claimed_in_order(after)
        self._sent_in_order(after, moves, rows, now)
        self._none_taken_away(after)
        self._voided_at_once(after, rows)
        self._window_kept(after, rows)
        self.found += check_ends(self.ask, self.spec, before, after, moves, now)
        self.before = after
        return self.found

    def _add(self, promise: str, message: str) -> None:
        self.found.append(Violation(promise, message))

    def _stopping(
        self, after: Sight, standing: list[Hold], subject: tuple[int, int | None, int | None], *, starting: bool
    ) -> Hold | None:
        batch = after.batches[subject[0]]
        for hold in standing:
            power = holds.strength(hold)
            stops = power == "dispatch" or (starting and power == "start")
            if stops and holds.covers(hold, batch, subject[1], subject[2]):
                return hold
        return None

    def _held(
        self, after: Sight, standing: list[Hold], subject: tuple[int, int | None, int | None], what: str,
        *, starting: bool = True,
    ) -> None:  # fmt: skip
        hold = self._stopping(after, standing, subject, starting=starting)
        if hold is not None:
            self._add("P08", f"{what} under hold {hold.id} ({hold.kind})")

    # -- moves -----------------------------------------------------------------------------------------------------

    def _execution(self, move: Move, row: Work, standing: list[Hold], now: Instant) -> None:
        known = self.before.work.get(row.id)
        if move.to_status == "dispatched":
            if row.kind in _BOUND:
                phase_id = row.phase_id if row.kind == "phase" else None
                self._held(self.before, standing, (row.batch_id, row.member_id, phase_id),
                           f"execution {row.id} was sent", starting=False)  # fmt: skip
            if known is not None and known.retry_after is not None and known.retry_after > now:
                self._add("P05", f"execution {row.id} was sent before {known.retry_after}")
            return
        if move.actor is not None or known is None:
            return
        if move.to_status == "failed" and row.error_type == "deadline" and row.status == "failed":
            self._deadline(row, known, standing, now)
        elif move.to_status == "pending":
            self._again(move, row, known, now)
        elif move.to_status == "failed" and row.status == "failed":
            self._gave_up(row, known)

    def _deadline(self, row: Work, known: Work, standing: list[Hold], now: Instant) -> None:
        if known.deadline_at is None or known.deadline_at > now:
            self._add("P30", f"execution {row.id} failed at {now} by a deadline that was {known.deadline_at}")
        for hold in standing:
            if hold.kind == "pause" and holds.covers(hold, self.before.batches[row.batch_id], row.member_id, None):
                self._add("P30", f"execution {row.id} failed by a deadline under pause {hold.id}")

    def _again(self, move: Move, row: Work, known: Work, now: Instant) -> None:
        if move.cause == "throttled" and row.status == "pending":
            if row.retry_count != known.retry_count:
                self._add("P05", f"throttling spent a retry of execution {row.id}")
            if row.retry_after is None or row.retry_after < plus(now, THROTTLED_S):
                self._add("P05", f"execution {row.id} was throttled, and waits only until {row.retry_after}")
        elif move.cause == "retry" and row.status == "pending":
            if row.error_type == "Fatal":
                self._add("P05", f"execution {row.id} is tried again after an error that is final")
            if row.error_type == "lost" and row.is_one_way:
                self._add("P07", f"one_way execution {row.id} is tried again though nobody knows whether it was done")
            if row.retry_count != known.retry_count + 1:
                self._add("P05", f"a retry of execution {row.id} was not counted")

    def _gave_up(self, row: Work, known: Work) -> None:
        ours = {"Boom", "timeout"} if row.is_one_way else {"Boom", "timeout", "lost"}
        if row.error_type in ours and known.retry_count < row.max_retries:
            self._add("P05", f"execution {row.id} failed for good after {row.retry_count} of {row.max_retries}")

    def _lane_started(self, move: Move, after: Sight, standing: list[Hold]) -> None:
        row = self.ask(f"SELECT kind, phase_id, is_forced, ring FROM lanes WHERE id = {move.entity_id}")[0]
        kind, batch_id = str(row[0]), move.batch_id or 0
        phase_id = None if row[1] is None else int(row[1])
        if kind == "phase":
            self._held(after, standing, (batch_id, move.member_id, phase_id), f"lane {move.entity_id} started")
            if phase_id is not None and int(row[3] or 0) > after.phases[phase_id].ring:
                self._add("P03", f"lane {move.entity_id} of ring {row[3]} started before its ring")
        elif kind == "init":
            self._held(after, standing, (batch_id, None, None), f"lane {move.entity_id} started", starting=False)
        own = self.before.drains(move.member_id, batch_id) & after.drains(move.member_id, batch_id)
        if own and not row[2] and kind != "init":
            self._add("P05", f"{kind} lane {move.entity_id} started while {sorted(own)} drains")

    # -- jobs ------------------------------------------------------------------------------------------------------

    def _job(self, job: Job, rows: dict[int, Work], after: Sight, standing: list[Hold], now: Instant) -> None:
        row, known = rows.get(job.id), self.before.jobs.get(job.id)
        if row is None:
            return
        if job.is_poll and job.delivery > 1:
            self._add("P16", f"{job.message_id} was given out again: a lost poll is asked anew")
        if known is None or known.message_id != job.message_id:
            polling = self.before.work.get(job.id)
            if job.is_poll and polling is not None and (polling.poll_due_at is None or polling.poll_due_at > now):
                self._add("P16", f"{job.message_id} went out before {polling.poll_due_at}")
        elif job.delivery != known.delivery and (known.lease_until is None or known.lease_until > now):
            self._add("P30", f"{job.message_id} was given out again while its lease ran until {known.lease_until}")
        held = None if known is None or known.claimed_by is None else (known.message_id, known.delivery)
        if (
            job.claimed_by is not None
            and held != (job.message_id, job.delivery)
            and row.kind in _BOUND
            and not job.is_poll
        ):
            phase_id = row.phase_id if row.kind == "phase" else None
            self._held(after, standing, (row.batch_id, row.member_id, phase_id), f"{job.message_id} was claimed",
                       starting=False)  # fmt: skip
        origin = self._origin(job.member_id)
        if known is None and origin is not None and not row.is_forced and job.member_id is not None:
            left = self.before.drains(origin, job.batch_id) & after.drains(origin, job.batch_id)
            if left:
                self._add("P05", f"{job.message_id} went out while {sorted(left)} of the member that moved drains")

    def _origin(self, member_id: int | None) -> int | None:
        if member_id is None:
            return None
        found = self.ask(f"SELECT inherits_from FROM batch_members WHERE id = {member_id}")
        return None if not found or found[0][0] is None else int(found[0][0])

    def _claimed_in_order(self, after: Sight) -> None:
        """Check that what cleans up waits for no room that others are given."""
        before = self.before.jobs
        waited = [j for j in after.jobs.values() if j.claimed_by is None and _same_job(before.get(j.id), j)]
        first = min((job.priority for job in waited if job.priority < 3 and job.delivery == 1), default=99)
        for job in after.jobs.values():
            known = before.get(job.id)
            if job.claimed_by is not None and job.priority > first and (known is None or known.claimed_by is None):
                self._add("P03", f"{job.message_id} was claimed while a job of priority {first} waited")

    def _sent_in_order(self, after: Sight, moves: list[Move], rows: dict[int, Work], now: Instant) -> None:
        """Check that nothing new is started while what cleans up is ready and gets no room."""
        known = self.before.work
        left = [
            row.id
            for row in after.work.values()
            if row.kind not in _BOUND and row.status == "pending" and row.ready_at is not None and row.ready_at <= now
            and row.id in known and (known[row.id].status, known[row.id].ready_at) == ("pending", row.ready_at)
        ]  # fmt: skip
        for move in moves if left else ():
            row = rows.get(move.entity_id) if move.entity == "execution" else None
            if row is not None and row.kind in _BOUND and move.to_status == "dispatched":
                self._add("P03", f"execution {row.id} was sent while {left}, which clean up, were ready")

    def _none_taken_away(self, after: Sight) -> None:
        """Check that no job is taken back from the worker that holds it."""
        for job in self.before.jobs.values():
            row = after.work.get(job.id)
            if (
                job.claimed_by is not None
                and job.id not in after.jobs
                and row is not None
                and row.status == "dispatched"
            ):
                self._add("P05", f"{job.message_id} was taken away from {job.claimed_by}, who still works on it")

    def _voided_at_once(self, after: Sight, rows: dict[int, Work]) -> None:
        """Check that what was not taken goes in the very transaction that ends its batch."""
        for job in after.jobs.values():
            row, known = rows.get(job.id), self.before.jobs.get(job.id)
            was = self.before.batches.get(job.batch_id)
            if row is None or row.kind not in _BOUND or job.claimed_by is not None or not _same_job(known, job):
                continue
            if was is not None and was.status in BATCH_OPEN and after.batches[job.batch_id].status not in BATCH_OPEN:
                self._add("P08", f"{job.message_id} waits for a worker after its batch was ended")

    def _window_kept(self, after: Sight, rows: dict[int, Work]) -> None:
        """Check the window; what a hold keeps from workers does not count, nor what one has kept until this moment."""
        held = [*after.holds.values(), *self.before.holds.values()]
        new = [job for job in after.jobs.values() if job.id not in self.before.jobs and job.claimed_by is None]
        if not new:
            return
        waiting = 0
        for job in after.jobs.values():
            row = rows.get(job.id)
            if row is None or job.claimed_by is not None or job.delivery > 1:
                continue
            subject = (job.batch_id, job.member_id, row.phase_id)
            waiting += row.kind not in _BOUND or self._stopping(after, held, subject, starting=False) is None
        if waiting > self.window and len(new) > 1:
            self._add("P28", f"{waiting} jobs wait for a worker, the window is {self.window}")


def _same(known: Hold | None, hold: Hold) -> bool:
    return known is not None and (known.opened_at, known.state) == (hold.opened_at, hold.state)


def _same_job(known: Job | None, job: Job) -> bool:
    return known is not None and known.message_id == job.message_id and known.claimed_by is None
