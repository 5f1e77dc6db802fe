"""One simulated history: two schedulers and orchestrators, two workers, a bus that loses and repeats, and a plan.

Everything runs in one thread over a queue of virtual times. Looking for due work and deciding about it are separate
happenings, so that decisions are made from stale looks. After each happening the promises are checked over the rows;
when the plan is over and everything has been answered, nothing may be left standing.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from tminus.db.connection import Tx
from tminus.domain.instant import Instant, plus
from tminus.progression import events as ev
from tminus.store.cohort import NewBatch
from tminus.store.promises import Logs, Violation, check
from tminus.store.store import Store
from tminus.testing.clock import EPOCH
from tminus.testing.simulate import workload
from tminus.testing.simulate.acts import Acts
from tminus.testing.simulate.bus import Bus
from tminus.testing.simulate.chance import Chance
from tminus.testing.simulate.crew import Crew
from tminus.testing.simulate.faults import CrashError, Door, fresh_connection
from tminus.testing.simulate.plan import FAULTS, NODES, WORKERS, Happening, is_storm, noise, plan, span_s
from tminus.testing.simulate.schedulers import Schedulers
from tminus.testing.simulate.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.db.connection import Value
    from tminus.runbook.model import Runbook
    from tminus.testing.simulate.workload import Spec

WINDOW: Final = 4
MOST_MOVES: Final = 4_000


@dataclass
class Node:
    """One scheduler and orchestrator process: a store of its own over the shared database."""

    name: str
    door: Door
    store: Store
    awake_at: float = 0.0
    tick_at: float = -1.0


@dataclass
class Result:
    """What became of a seed."""

    seed: int
    violations: list[Violation]
    happenings: list[Happening]
    moves: int
    virtual_s: float


class Simulation:
    """Runs one seed; `without` leaves happenings out, `crash_at` dies at one operation (exhaustive mode)."""

    def __init__(
        self, seed: int, *, spec: Spec | None = None, without: frozenset[int] = frozenset(), quiet: bool = False
    ) -> None:
        """Set the stage."""
        self.seed = seed
        self.chance = Chance(seed)
        self.is_storm = not quiet and is_storm(seed)
        self.spec = spec or workload.draw(self.chance, is_storm=self.is_storm)
        self.noise: frozenset[str] = frozenset() if quiet else noise(self.chance)
        self.happenings = [] if quiet else [h for h in plan(self.chance, self.spec) if h.index not in without]
        self.now_s = 0.0
        self.skew_s = 0.0
        self._clock = (0.0, EPOCH)
        self.moves = 0
        self.order = 0
        self.calm = quiet
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.connection = fresh_connection()
        self.nodes = [self._node(f"node-{k}") for k in range(NODES)]
        self.logs = Logs()
        self.bus = Bus(self)
        self.crew = Crew(self)
        self.schedulers = Schedulers(self)
        self.watch = Watch(self.rows, self.spec, WINDOW)
        self.violations: list[Violation] = []
        self.armed: tuple[int, int, int] | None = None

    def _node(self, name: str) -> Node:
        door = Door(self.connection)
        return Node(name, door, Store(door, clock=self.clock, window=WINDOW, chunk=2))

    def clock(self) -> Instant:
        """Return the database's clock: asked a hundred times at each instant, written out once."""
        at_s = round(self.now_s + self.skew_s, 3)
        if at_s != self._clock[0]:
            self._clock = (at_s, plus(EPOCH, at_s))
        return self._clock[1]

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        """Run the seed to its end."""
        if self.armed is not None:
            self.nodes[self.armed[0]].door.arm(self.armed[1])
        self._begin()
        for happening in self.happenings:
            self.at(happening.at_s, partial(self._happen, happening))
        self.at(span_s(self.spec), self._calm_down)
        self._drain(span_s(self.spec) + 1.0)
        self._finish()
        return Result(self.seed, self.violations, self.happenings, self.moves, self.now_s)

    def _begin(self) -> None:
        text = workload.yaml_of(self.spec)
        node = self.nodes[0]
        flags = ("yes", "no")
        members = [(f"user-{k}", f'{{"upn":"user-{k}","flag":"{flags[k % 2]}"}}') for k in range(self.spec.members)]
        t0 = plus(self.clock(), 60.0 + 3600.0 * (self.spec.phases - 1)) if self.spec.timed else None
        batch = NewBatch(workload.NAME, members, t0=t0, kind="manual", source_time=t0, idempotency_key="one")
        # Whoever publishes and creates tries again until an answer came; asking twice must not make two.
        while not self.rows("SELECT 1 FROM runbooks"):
            self.guarded(node, lambda: node.store.publish(workload.parsed(text), text, actor="publisher"))
        while not self.guarded(node, lambda: node.store.create_batch(batch)):
            pass
        if t0 is None:
            for at_s in (30.0, 1800.0, 3600.0, 5400.0, 7200.0):
                self.at(at_s, self._advance)
        for node in self.nodes:
            self.schedulers.soon(node, 1.0)

    def rows(self, sql: str) -> list[tuple[Value, ...]]:
        """Read rows, past every planned crash."""
        return self.connection.execute(sql).fetchall()

    def _advance(self) -> None:
        node = self.nodes[0]
        self.guarded(node, lambda: node.store.round([ev.Advance(actor="operator", reason="", batch_id=1)]))

    def at(self, when_s: float, act: Callable[[], None]) -> None:
        """Plan an act."""
        self.order += 1
        heapq.heappush(self.queue, (max(when_s, self.now_s), self.order, act))

    def _drain(self, until_s: float) -> None:
        while self.queue and self.queue[0][0] <= until_s and not self.violations:
            when_s, _, act = heapq.heappop(self.queue)
            self.now_s = max(self.now_s, when_s)
            self.moves += 1
            if self.moves > MOST_MOVES:
                self.violations.append(Violation("P10", "the history does not come to rest"))
                return
            act()

    def _check(self, *, at_rest: bool = False) -> None:
        self.violations += self.watch.look(self.clock())
        self.violations += check(Tx(self.connection), at_rest=at_rest, logs=self.logs, book=self._book)

    def _book(self, _name: str, version: int) -> Runbook:
        return workload.parsed(workload.yaml_of(self.spec, min(version, 2)))

    def guarded(self, node: Node, act: Callable[[], object]) -> bool:
        """Do something on a node; when it crashes there it restarts, with nothing but the database."""
        before = self.connection.total_changes
        self.watch.ready()
        try:
            act()
        except CrashError:
            self._arm_again(node)
            node.store = Store(node.door, clock=self.clock, window=WINDOW, chunk=2)
            node.awake_at = self.now_s + 5.0
            self.schedulers.soon(node, 6.0)
            self._check()
            return False
        if self.connection.total_changes != before:
            self._check()
            for other in self.nodes:
                self.schedulers.soon(other, 1.0)
        return True

    def _arm_again(self, node: Node) -> None:
        """In exhaustive mode the second crash of a pair follows the first."""
        if self.armed is not None and self.armed[2] and self.nodes[self.armed[0]] is node:
            node.door.arm(self.armed[2])
            self.armed = (self.armed[0], self.armed[1], 0)

    def awake(self) -> Node:
        """Return a node that is not stopped."""
        found = [node for node in self.nodes if node.awake_at <= self.now_s]
        return found[self.moves % len(found)] if found else self.nodes[0]

    def refusals(self, refused: list[tuple[ev.Event, Exception]]) -> None:
        """Nothing may refuse what the engine itself has found due."""
        for event, error in refused:
            self.violations.append(Violation("P19", f"{type(event).__name__} was refused: {error!r}"))

    # -- the plan --------------------------------------------------------------------------------------------------

    def _happen(self, happening: Happening) -> None:
        rng = self.chance.of("happening", happening.index)
        if happening.kind == "give_back":
            self.crew.give_back(rng.randrange(WORKERS))
        elif happening.kind not in FAULTS:
            node = self.awake()
            self.guarded(node, lambda: Acts(node.store, Tx(self.connection), self.spec, rng).do(happening.kind))
        elif happening.kind == "crash":
            self.nodes[rng.randrange(NODES)].door.arm(rng.choice((1, 2, 3, 5, 8, 13, 21, 34, 55, 89)))
        elif happening.kind == "stop_node":
            self.nodes[rng.randrange(NODES)].awake_at = self.now_s + rng.choice((30.0, 600.0))
        elif happening.kind == "kill_worker":
            self.crew.kill(rng.randrange(WORKERS))
        elif happening.kind == "wipe_bus":
            self.bus.messages.clear()
        else:
            self.skew_s += rng.choice((-86_400.0, -3600.0, -1.0, 1.0, 600.0, 3600.0, 86_400.0))
        for other in self.nodes:
            self.schedulers.soon(other, 1.0)

    def _calm_down(self) -> None:
        """Let the faults stop: from here on everything must come to its end."""
        self.calm = True
        self.skew_s = max(self.skew_s, 0.0)
        for node in self.nodes:
            node.door.disarm()
            node.awake_at = min(node.awake_at, self.now_s)

    def _finish(self) -> None:
        """Answer whatever waits for a human until nothing does, then look for what was left standing."""
        for turn in range(12):
            if self.violations:
                return
            answered = Acts(self.nodes[0].store, Tx(self.connection), self.spec, self.chance.of("end", turn)).resolve(
                turn
            )
            self._check()
            for node in self.nodes:
                self.schedulers.soon(node, 1.0)
            self._drain(self.now_s + 10 * 86_400.0)
            if not answered and turn > 1:
                break
        if not self.violations:
            self._check(at_rest=True)
        if not self.violations:
            self._ended()

    def _ended(self) -> None:
        left = self.rows("SELECT id, status FROM batches WHERE status NOT IN ('completed', 'failed', 'cancelled')")
        self.violations += [Violation("P10", f"batch {i} is still {status}") for i, status in left]
