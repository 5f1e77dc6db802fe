"""The workers: they claim, keep their leases, answer late or never, and die with what they had begun.

They write down what they began and ended, outside of the database: that is what its records are held against.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.progression import events as ev
from tminus.store.promises import Ended, Started, Violation
from tminus.store.store import Asking, Store
from tminus.testing.simulate import workload
from tminus.testing.simulate.faults import Door
from tminus.testing.simulate.plan import WORKERS

if TYPE_CHECKING:
    from tminus.store.claims import Claim
    from tminus.testing.simulate.simulation import Simulation
    from tminus.testing.simulate.workload import Outcome

CAPACITY: Final = 3
BEAT_S: Final = 12.0
# Ten deliveries, and now and then one more by a worker that hands back what it has.
MOST_STARTS: Final = 13


def attempt_of(job_id: str) -> int:
    """Read the attempt's number out of a job id."""
    return int(job_id.partition("-retry-")[2].partition("-")[0] or 0)


@dataclass
class Worker:
    """One worker process. `life` changes when it dies, so that what it had begun never answers."""

    name: str
    life: int = 0
    jobs: dict[str, int] = field(default_factory=dict[str, int])


class Crew:
    """All workers of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        """Hire them."""
        self.simulation = simulation
        self.workers = [Worker(f"worker-{k}") for k in range(WORKERS)]
        # In some storms whatever begins in the first minutes kills its worker: a job that nobody survives.
        self.deadly_until_s = simulation.chance.pick((0.0, 0.0, 0.0, 700.0), "deadly") if simulation.is_storm else 0.0
        self.capacity = simulation.chance.pick((1, 1, 2, 3), "hands") if simulation.is_storm else CAPACITY

    def kill(self, number: int) -> None:
        """Let one worker die; it comes back with empty hands."""
        worker = self.workers[number]
        worker.life += 1
        worker.jobs.clear()

    def give_back(self, number: int) -> None:
        """Let one worker stop in good order: it hands back what it has, undone, and begins anew."""
        sim, worker = self.simulation, self.workers[number]
        jobs = [(execution_id, job_id) for job_id, execution_id in worker.jobs.items()]
        self.kill(number)
        node = sim.awake()
        sim.guarded(node, lambda: node.store.give_back(worker.name, jobs))

    def claim(self, store: Store) -> None:
        """Let one worker take what it has room for."""
        sim = self.simulation
        worker = self.workers[sim.moves % WORKERS]
        room = self.capacity - len(worker.jobs)
        done = store.round((), [Asking("w", worker.name, room)] if room > 0 else [])
        sim.refusals(done.refused)
        for claim in done.claimed:
            self._start(worker, claim)

    def _start(self, worker: Worker, claim: Claim) -> None:
        sim = self.simulation
        outcome = workload.outcome(sim.chance, sim.spec, claim.function, claim.job_id, is_storm=sim.is_storm)
        if sim.calm and outcome.complete is False:
            outcome = workload.Outcome(outcome.seconds, None, '{"complete": true}', complete=True)
        life = worker.life
        worker.jobs[claim.job_id] = claim.execution_id
        sim.logs.started.append(
            Started(claim.job_id, claim.execution_id, attempt_of(claim.job_id), sim.moves, sim.clock())
        )
        if sim.now_s < self.deadly_until_s:
            self._die(worker, claim)
            return
        beats = int(outcome.seconds // BEAT_S)
        for k in range(1, min(beats, 25) + 1):
            sim.at(sim.now_s + k * BEAT_S, lambda: self._beat(worker, life, claim))
        sim.at(sim.now_s + outcome.seconds, lambda: self._end(worker, life, claim, outcome))

    def _die(self, worker: Worker, claim: Claim) -> None:
        """Let a job take its worker along; nobody is asked to die of it more often than promised."""
        sim = self.simulation
        worker.life += 1
        worker.jobs.clear()
        times = sum(line.job_id == claim.job_id for line in sim.logs.started)
        if times > MOST_STARTS:
            sim.violations.append(Violation("P07", f"{claim.job_id} was begun {times} times"))

    def _beat(self, worker: Worker, life: int, claim: Claim) -> None:
        if worker.life == life and claim.job_id in worker.jobs:
            sim = self.simulation
            sim.watch.beaten = True
            # A lease kept alive moves nothing, so nothing is checked behind it.
            Store(Door(sim.connection), clock=sim.clock).beat(worker.name, [(claim.execution_id, claim.job_id)])

    def _end(self, worker: Worker, life: int, claim: Claim, outcome: Outcome) -> None:
        if worker.life != life:
            return
        sim = self.simulation
        worker.jobs.pop(claim.job_id, None)
        is_ok = outcome.error is None
        sim.logs.ended.append(Ended(claim.job_id, claim.execution_id, is_ok, sim.moves, sim.clock()))
        sim.bus.publish(
            ev.ResultArrived(
                claim.execution_id,
                claim.job_id,
                error=outcome.error,
                result_json=outcome.result_json,
                complete=outcome.complete,
                digest=f"{claim.job_id}",
            )
        )
        for node in sim.nodes:
            sim.schedulers.soon(node, 1.0)
