"""The schedulers: each node looks for due work now and then, decides about it at once or late, and has workers claim.

Looking and deciding are apart, so that decisions are made from stale looks. In some storms everybody is slow: results
are handled long before anybody looks for what is due.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tminus.domain.instant import Instant, between_s
from tminus.testing.simulate.chance import DELAYS_S

if TYPE_CHECKING:
    from tminus.progression import events as ev
    from tminus.testing.simulate.simulation import Node, Simulation


class Schedulers:
    """The looking of all nodes of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        """Look for one simulation."""
        self.simulation = simulation
        self.late = 0
        pace = simulation.chance.pick((1.0, 1.0, 8.0, 40.0), "slowness")
        self.slowness = pace if simulation.is_storm else 1.0

    def soon(self, node: Node, delay_s: float) -> None:
        """Have a node look for due work."""
        sim = self.simulation
        when = max(sim.now_s + delay_s * self.slowness, node.awake_at)
        if node.tick_at < 0 or when < node.tick_at:
            node.tick_at = when
            sim.at(when, lambda: self._tick(node, when))

    def _tick(self, node: Node, planned_s: float) -> None:
        sim = self.simulation
        if node.tick_at != planned_s:
            return
        node.tick_at = -1.0
        if node.awake_at > sim.now_s:
            self.soon(node, 1.0)
            return
        before = sim.connection.total_changes
        due: list[float | None] = []

        def work() -> None:
            self._work(node)
            due.append(self._next_due(node))

        if not sim.guarded(node, work):
            return
        if sim.connection.total_changes == before and due[0] is not None:
            self.soon(node, max(0.5, due[0]))

    def _work(self, node: Node) -> None:
        """Look for due work, decide about it (sometimes much later), and claim."""
        sim = self.simulation
        store = node.store
        store.move_versions()
        for look in store.looks():
            page = look(("", 0))
            if not page.events:
                continue
            if (
                "late decisions" in sim.noise
                and self.late < (8 if sim.is_storm else 2)
                and (sim.chance.unit("late", sim.moves) < 0.3)
            ):
                self.late += 1
                delay = sim.chance.pick(DELAYS_S[1:9], "late by", sim.moves)
                sim.at(sim.now_s + delay, partial(self._decide_late, node, page.events))
                continue
            sim.refusals(store.round(page.events, turn=False).refused)
        store.wake()
        store.end_members()
        sim.crew.claim(store)

    def _decide_late(self, node: Node, found: list[ev.Event]) -> None:
        sim = self.simulation
        self.late -= 1
        sim.guarded(node, lambda: sim.refusals(node.store.round(found, turn=False).refused))

    def _next_due(self, node: Node) -> float | None:
        """Return in how many seconds something is due, by the database's clock."""
        sim = self.simulation
        found = [node.store.next_due()]
        ready = sim.rows("SELECT min(ready_at) FROM executions WHERE status = 'pending' AND ready_at IS NOT NULL")
        if ready[0][0] is not None:
            found.append(Instant(str(ready[0][0])))
        times = [between_s(sim.clock(), at) for at in found if at is not None]
        future = [seconds for seconds in times if seconds > 0]
        # What is overdue and did not move waits for a human: looking again soon would find it again.
        if len(future) < len(times) and (self.late or not sim.calm):
            future.append(600.0)
        if not future and sim.calm:
            # Behind what waits for a human a lease may still run, for a day where the clock had jumped.
            leases = sim.rows("SELECT lease_until FROM messages WHERE lease_until IS NOT NULL")
            future += [s for (at,) in leases if (s := between_s(sim.clock(), Instant(str(at)))) > 0]
        return min(future, default=None)
