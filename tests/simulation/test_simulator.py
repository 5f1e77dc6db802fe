"""The simulator itself: it finds what is broken, says how, finds nothing in the real core, and never forgets a seed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tminus.progression import decide, events
from tminus.testing.simulate.__main__ import main
from tminus.testing.simulate.exhaustive import crash_at, points
from tminus.testing.simulate.plan import ACTS, FAULTS, NOISE, SHARP, STORMY, is_storm
from tminus.testing.simulate.shrink import shrink
from tminus.testing.simulate.simulation import Simulation

if TYPE_CHECKING:
    from tminus.progression.view import View

SEEDS: Final = Path(__file__).parents[1] / "seeds" / "seeds.txt"
SLICES: Final = range(1, 301, 50)


def saved() -> list[tuple[int, str]]:
    """Read the seeds that once found a defect."""
    lines = [line for line in SEEDS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(int(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines]


def leaves_things_lying(view: View, event: events.Leaving) -> None:
    """Stand in for the removal of a member: its lanes go on."""
    member = view.members[event.member_id]
    if member.status == "active":
        view.move_member(member, "removed", "gone")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the core, for this test alone."""
    monkeypatch.setitem(decide.HANDLERS, events.Leaving, leaves_things_lying)


def first_broken() -> Simulation:
    """Return the first simulation in which the broken core is seen, with something in its plan that is not needed."""
    for seed in range(1, 2000):
        simulation = Simulation(seed)
        kinds = [happening.kind for happening in simulation.happenings]
        if "leave" in kinds and len(kinds) > 2 and simulation.run().violations:
            return simulation
    pytest.fail("no seed has shown the broken core")


@pytest.mark.parametrize("base", SLICES)
def test_the_core_keeps_its_promises(base: int) -> None:
    broken = {seed: Simulation(seed).run().violations for seed in range(base, base + 50)}
    assert {seed: found for seed, found in broken.items() if found} == {}


@pytest.mark.parametrize(("seed", "found"), saved())
def test_what_a_seed_once_found_stays_mended(seed: int, found: str) -> None:
    assert found
    assert Simulation(seed).run().violations == []


@pytest.mark.parametrize("seed", [3, 126, 1166])
def test_one_seed_is_one_history(seed: int) -> None:
    histories: list[bytes] = []
    for _ in range(2):
        simulation = Simulation(seed)
        simulation.run()
        histories.append(repr(simulation.rows("SELECT * FROM events ORDER BY id")).encode())
    assert histories[0] == histories[1]
    assert len(histories[0]) > 1000


def test_two_seeds_are_two_histories() -> None:
    first, second = Simulation(1), Simulation(2)
    first.run()
    second.run()
    sql = "SELECT * FROM events ORDER BY id"
    assert first.rows(sql) != second.rows(sql)


def test_every_fault_every_act_and_every_noise_is_drawn() -> None:
    drawn = [Simulation(seed) for seed in range(1, 301)]
    kinds = {happening.kind for simulation in drawn for happening in simulation.happenings}
    assert kinds == {*FAULTS, *ACTS, *STORMY, *SHARP}
    assert {is_storm(simulation.seed) for simulation in drawn} == {True, False}
    assert {noise for simulation in drawn for noise in simulation.noise} == set(NOISE)


def test_no_storm_changes_what_a_saved_seed_found() -> None:
    assert not [seed for seed, told in saved() if is_storm(seed) != told.startswith("in a storm")]


def test_leaving_a_happening_out_leaves_the_others_as_they_are() -> None:
    whole = Simulation(126)
    first, *others = whole.happenings
    assert Simulation(126, without=frozenset({first.index})).happenings == others


@pytest.mark.parametrize("first", range(1, 7))
def test_a_crash_at_every_sixth_point_loses_nothing(first: int) -> None:
    counts = points()
    assert sum(counts) > 500
    crashes = [(node, at) for node, count in enumerate(counts) for at in range(first, count + 1, 6)][first % 3 :: 3]
    broken = {where: crash_at(*where) for where in crashes}
    assert {where: found for where, found in broken.items() if found} == {}


@pytest.mark.usefixtures("broken")
def test_a_broken_core_is_seen_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    seed = first_broken().seed
    assert main(["--seeds", "1", "--base", str(seed), "--jobs", "1"]) == 1
    told = capsys.readouterr().out
    assert f"seed {seed}: " in told
    assert re.search(r"^  P\d\d member \d+ ", told, re.MULTILINE)
    assert re.search(r"shrunk to \d+ of \d+ happenings", told)
    assert re.search(r"^    #\d+ at [\d.]+ s: leave$", told, re.MULTILINE)
    assert "0 passed, 1 failed" in told


@pytest.mark.usefixtures("broken")
def test_shrinking_leaves_only_what_is_needed() -> None:
    simulation = first_broken()
    promise = simulation.violations[0].promise
    everything = frozenset(happening.index for happening in simulation.happenings)
    kept = shrink(simulation.seed, promise, sorted(everything))
    assert kept < everything
    assert "leave" in {happening.kind for happening in simulation.happenings if happening.index in kept}

    def breaks(needed: frozenset[int]) -> bool:
        found = Simulation(simulation.seed, without=everything - needed).run().violations
        return any(violation.promise == promise for violation in found)

    assert breaks(kept)
    assert not any(breaks(kept - {one}) for one in kept)


def test_a_core_that_is_well_exits_with_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "3", "--jobs", "2"]) == 0
    assert "3 passed, 0 failed" in capsys.readouterr().out
