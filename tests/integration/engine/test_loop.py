"""The loop over a real database, with a runner that answers at once: nothing waits that could go on.

The loop's own tick is set so far apart that a test which needed one would be seen to hang.
"""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from tminus.db.connection import Database, open_sqlite
from tminus.domain.instant import plus
from tminus.engine.loop import REST_ROUNDS, Loop, Settings
from tminus.engine.tick import tick
from tminus.ports.runner import Answer, Health, Returned
from tminus.runbook import load
from tminus.store import sweeps
from tminus.store.cohort import NewBatch
from tminus.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tminus.ports.runner import Job, Report

FAR_S: Final = 3600.0
DONE: Final = "SELECT count(*) FROM executions WHERE status = 'succeeded'"
INIT: Final = "init: [{name: i, worker_id: w, function: f}]"
FINISH: Final = "on_batch_finished: [{name: e, worker_id: w, function: f}]"


class Prompt:
    """A runner that has answered every job when it is polled next, `most` of them at a time."""

    def __init__(self, most: int = 500) -> None:
        """Begin with nothing in hand."""
        self.most = most
        self.hand: list[Job] = []
        self.polled_s: list[float] = []

    def start(self, files: Sequence[str]) -> None:
        raise AssertionError(files)

    def functions(self) -> frozenset[str]:
        return frozenset({"f"})

    def free(self) -> int:
        return self.most - len(self.hand)

    def submit(self, jobs: Sequence[Job]) -> None:
        self.hand += jobs

    def poll(self, timeout_s: float) -> list[Report]:
        self.polled_s.append(timeout_s)
        done, self.hand = self.hand, []
        return [Answer(job.job_id, True, "null", None, None, 0, "", 0) for job in done]

    def fileno(self) -> int:
        return -1

    def beats(self) -> list[str]:
        return [job.job_id for job in self.hand]

    def abandon(self, job_id: str) -> None:
        raise AssertionError(job_id)

    def drain(self) -> None:
        pass

    def close(self, drain_s: float) -> list[Report]:
        del drain_s
        return [Returned(job.job_id, "closed", started=False) for job in self.hand]

    def health(self) -> Health:
        return Health(ready=1, starting=0, draining=0, deaths=0, last_death=None, restart_in_s=None)


def book(steps: int, *more: str) -> str:
    lines = ["name: wave", "data_source: {type: manual, primary_key: upn}", *more, "phases:"]
    for phase in ("one", "two"):
        lines += [f"  - name: {phase}", "    offset: T-0", "    steps:"]
        lines += [f"      - {{name: s{number}, worker_id: w, function: f}}" for number in range(steps)]
    return "\n".join(lines)


def opened(path: str, *, chunk: int = 2_000) -> Store:
    store = Store.open(Database(open_sqlite(path), path=path))
    store.chunk = chunk
    return store


def wave(store: Store, text: str, members: int, *, name: str = "wave") -> None:
    store.publish(load(text), text)
    rows = [(f"{name}{number:04}", orjson.dumps({"upn": f"m{number}"}).decode()) for number in range(members)]
    store.create_batch(NewBatch(name, rows, t0=plus(store.now(), -1.0), kind="manual"))


def count(store: Store, sql: str) -> int:
    with store.database.read() as tx:
        row = tx.one(sql)
    return int(row[0] or 0) if row else 0


def turn(loop: Loop, store: Store, *, most: int = 400) -> None:
    """Turn the loop until the batch has ended."""
    loop.begin()
    for _ in range(most):
        if count(store, "SELECT count(*) FROM batches WHERE completed_at IS NOT NULL"):
            return
        loop.step()
    pytest.fail("the batch does not end")


@pytest.mark.parametrize("more", [(), (INIT,), (FINISH,), (INIT, FINISH)], ids=["plain", "init", "finish", "both"])
@pytest.mark.parametrize("members", [1, 7, 1_600])
def test_a_wave_goes_on_to_its_end_without_waiting_for_a_tick(members: int, more: tuple[str, ...]) -> None:
    """Opening in chunks, waking after init, and ending members are each more than one page."""
    store = opened(":memory:", chunk=5 if members < 100 else 700)
    wave(store, book(2, *more), members)
    runner = Prompt()
    began_s = time.monotonic()
    turn(Loop(store, runner, Settings(tick_s=FAR_S)), store)
    assert sum(1 for timeout_s in runner.polled_s if timeout_s > 0.1) == 0
    assert time.monotonic() - began_s < 60
    assert count(store, DONE) >= members * 4


def test_a_small_batch_does_not_wait_until_a_large_one_is_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are due at once: the cursors of all batches go on side by side."""
    monkeypatch.setattr(sweeps, "PAGE", 20)
    turns: list[int] = []
    for large in (3, 800):
        store = opened(":memory:")
        wave(store, book(1), large)
        wave(store, book(1).replace("name: wave", "name: small"), 3, name="small")
        loop = Loop(store, Prompt(), Settings(tick_s=FAR_S))
        loop.begin()
        turns.append(0)
        while not count(store, "SELECT count(*) FROM batches WHERE id = 2 AND completed_at IS NOT NULL"):
            loop.step()
            turns[-1] += 1
    alone, beside = turns
    assert beside <= 2 * alone


def test_a_phase_that_a_hold_keeps_shut_does_not_keep_the_loop_awake() -> None:
    store = opened(":memory:")
    text = book(1).replace("offset: T-0", "offset: T-0\n    gate: {expires: 12h}")
    wave(store, text, 3)
    runner = Prompt()
    loop = Loop(store, runner, Settings(tick_s=FAR_S))
    loop.begin()
    for _ in range(10):
        loop.step()
    assert [timeout_s for timeout_s in runner.polled_s[-3:] if timeout_s > 0.1]


def test_an_opening_that_cannot_go_on_does_not_keep_the_loop_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(":memory:", chunk=5)
    wave(store, book(1), 12)

    def refused(*_: object) -> bool:
        raise LookupError

    runner = Prompt()
    loop = Loop(store, runner, Settings(tick_s=FAR_S))
    loop.begin()
    loop.step()
    assert count(store, "SELECT count(*) FROM phase_executions WHERE opening_after IS NOT NULL") > 0
    monkeypatch.setattr("tminus.store.opening.open_chunk", refused)
    for _ in range(30):
        loop.step()
    assert [timeout_s for timeout_s in runner.polled_s[-3:] if timeout_s > 0.1]


def test_answers_are_written_before_a_tick_that_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick takes as long as there is due work; who has answered already must not wait for it."""
    store = opened(":memory:")
    wave(store, book(5), 3)
    seen: list[int] = []

    def looked(store: Store, pages: int) -> int:
        seen.append(count(store, DONE))
        return tick(store, pages)

    monkeypatch.setattr("tminus.engine.loop.tick", looked)
    loop = Loop(store, Prompt(), Settings(tick_s=0.0))
    loop.begin()
    while len(loop.work.in_hand) < 3:
        loop.step()
    seen.clear()
    loop.step()
    assert seen == [3]


def test_the_log_is_folded_in_while_nobody_waits(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    store = opened(str(path))
    wave(store, book(5), 40)
    loop = Loop(store, Prompt(most=8), Settings(tick_s=FAR_S))
    turn(loop, store)
    alone = tmp_path / "alone.db"
    loop.step()
    shutil.copy(path, alone)
    assert count(store, DONE) == 400 > REST_ROUNDS * 8
    assert count(opened(str(alone)), DONE) == 400
