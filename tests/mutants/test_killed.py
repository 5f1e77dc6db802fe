"""Every defence is needed: each mutant still breaks a promise where it once did, and the real core does not.

A replay runs a mutant in a process of its own on what is recorded to have killed it, one after the other until one
does. `README.md` beside this file says how to look for new kills after a change of the core.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.mutants.mutants import Mutant, fits, hunt, is_kill, killed, passes, read, replay

MUTANTS = read()
ASIDE = read(("aside",))
LIMIT_S = 60.0
HELP = "python tests/mutants/run.py --record --name"


def test_there_are_enough_of_every_kind() -> None:
    assert len(MUTANTS) >= 45
    assert len({mutant.name for mutant in (*MUTANTS, *ASIDE)}) == len(MUTANTS) + len(ASIDE)
    assert all(mutant.removes and mutant.old != mutant.new for mutant in (*MUTANTS, *ASIDE))
    assert all(mutant.test for mutant in ASIDE)


def test_every_mutant_is_known_to_be_killed() -> None:
    assert set(killed()) == {mutant.name for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", [*MUTANTS, *ASIDE], ids=lambda mutant: mutant.name)
def test_what_a_mutant_replaces_is_there(mutant: Mutant) -> None:
    assert fits(mutant), f"{mutant.file} has not exactly once what {mutant.name} replaces: write it anew"


@pytest.mark.timeout(600)
def test_every_mutant_is_killed_again() -> None:
    known = killed()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        again = list(pool.map(replay, MUTANTS, [known[m.name] for m in MUTANTS], [LIMIT_S] * len(MUTANTS)))
    survivors = [m.name for m, found in zip(MUTANTS, again, strict=True) if not found or not is_kill(found[0])]
    assert survivors == [], f"look for what kills them now: {HELP} {' --name '.join(survivors)}"


@pytest.mark.parametrize("mutant", ASIDE, ids=lambda mutant: mutant.name)
def test_what_no_simulation_kills_is_killed_by_a_test(mutant: Mutant) -> None:
    assert not passes(mutant, LIMIT_S), f"{mutant.test} passes without what {mutant.name} takes out"


@pytest.mark.timeout(600)
def test_the_real_core_passes_where_mutants_die() -> None:
    kills = [kill for found in killed().values() for kill in found]
    seeds = sorted({kill["seed"] for kill in kills if kill["seed"]})
    crashes = [list(crash) for crash in sorted({tuple(kill["crash"]) for kill in kills if not kill["seed"]})]
    halves: list[dict[str, object]] = [{"seeds": seeds[::2]}, {"seeds": seeds[1::2], "crashes": crashes}]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(hunt, [None, None], halves, [300.0, 300.0]))
    assert found == [[], []]
