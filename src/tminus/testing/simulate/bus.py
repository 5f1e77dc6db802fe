"""The bus between workers and nodes: it loses, repeats and delays results, and brings several at once.

What a node has not committed is delivered again. The log of what was received is written here, where it is known
whether the commit behind it happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.store.promises import Received
from tminus.testing.simulate.chance import DELAYS_S
from tminus.testing.simulate.faults import CrashError

if TYPE_CHECKING:
    from tminus.progression.events import ResultArrived
    from tminus.testing.simulate.simulation import Simulation


class Bus:
    """Results on their way."""

    def __init__(self, simulation: Simulation) -> None:
        """Carry the results of one simulation."""
        self.simulation = simulation
        self.messages: dict[int, ResultArrived] = {}

    def publish(self, event: ResultArrived) -> None:
        """Send a result off: perhaps into nothing, perhaps more than once."""
        sim = self.simulation
        name = (event.job_id, sim.moves)
        if not sim.calm and "drops" in sim.noise and sim.chance.unit("drop", *name) < 0.06:
            return
        copies = 1
        if not sim.calm and "duplicates" in sim.noise and sim.chance.unit("copies", *name) < 0.2:
            copies += sim.chance.pick((1, 1, 2, 4), "how many", *name)
        for copy in range(copies):
            delay = 0.1
            if not sim.calm and "delays" in sim.noise:
                delay = sim.chance.pick(DELAYS_S, "delay", copy, *name)
            self._deliver_in(delay, event)

    def _deliver_in(self, delay_s: float, event: ResultArrived) -> None:
        sim = self.simulation
        sim.order += 1
        tag = sim.order
        self.messages[tag] = event
        sim.at(sim.now_s + delay_s, lambda: self._deliver(tag))

    def _deliver(self, tag: int) -> None:
        """Hand over this message and those that come with it; what was not committed is delivered again."""
        if tag not in self.messages:
            return
        sim = self.simulation
        tags = [tag]
        if sim.chance.unit("together", tag) < 0.5:
            tags += [other for other in self.messages if other != tag][:3]
        events = [self.messages[t] for t in tags]
        node = sim.awake()

        def received() -> None:
            for event in events:
                sim.logs.received.append(
                    Received(event.job_id, event.error is None, event.complete is False, applied=True)
                )

        def handle() -> None:
            try:
                done = node.store.round(events)
            except CrashError:
                if node.door.has_committed:
                    received()
                raise
            received()
            sim.refusals(done.refused)
            for t in tags:
                del self.messages[t]

        if not sim.guarded(node, handle):
            sim.at(sim.now_s + 7.0, lambda: self._deliver(tag))
