"""A success that comes too late changes no step, but what it made is known to whatever cleans up after it."""

from __future__ import annotations

import orjson
import pytest

from tests.unit.progression.stage import book, late, phase, play, step
from tminus.progression import events as ev
from tminus.testing.world import World, ok, silent

UNDO = [step("undo", params={"id": "{{Id}}"})]
ID = {"Id": "id"}


def over(**keys: object) -> World:
    """Let a step's deadline pass while its job is out; its rollback waits for the job."""
    first = step("a", on_failure="undo", output_params=ID, **keys)
    world = play(book(phase("prepare", first, offset="T-1h", deadline="10s"), rollbacks={"undo": UNDO}), a=silent())
    world.pass_time(10)
    assert world.steps("ann") == {"a": "failed"}
    assert world.called("undo") == []
    return world


def outputs(world: World) -> object:
    return orjson.loads(str(world.value("SELECT worker_data_json FROM batch_members")))


@pytest.mark.parametrize(
    "says", [{"id": 7}, {"complete": True, "data": {"id": 7}}, {"ID": 7, "other": 1}], ids=["plain", "polled", "case"]
)
def test_a_rollback_that_waited_for_the_job_knows_what_it_made(says: dict[str, object]) -> None:
    world = over()
    late(world, world.held[0], ok(says)(world.held[0]))
    assert outputs(world) == {"Id": 7}
    assert world.value("SELECT params_json FROM executions WHERE step_name = 'undo'") == '{"id":7}'
    assert world.steps("ann")["a"] == "rolled_back"


def test_it_gives_nothing_that_is_known_already() -> None:
    first = step("z", output_params={"id": "id"})
    second = step("a", on_failure="undo", output_params={"Id": "id", "More": "more"})
    text = book(phase("prepare", first, second, offset="T-1h", deadline="10s"), rollbacks={"undo": UNDO})
    world = play(text, z=ok({"id": 1}), a=silent())
    world.pass_time(10)
    late(world, world.held[0], ok({"id": 7, "more": 2})(world.held[0]))
    assert outputs(world) == {"id": 1, "More": 2}


@pytest.mark.parametrize("job", ["step-1-retry-1", "step-1-retry-01", "init-1", "step-9"])
def test_a_guessed_job_id_gives_nothing(job: str) -> None:
    world = over()
    world.round([ev.ResultArrived(1, job, result_json='{"id":666}', digest="x")])
    assert outputs(world) == {}


def test_the_success_of_the_attempt_before_is_known_when_its_retry_fails_for_good() -> None:
    again = {"max_retries": 1, "interval": "1s"}
    first = step("a", on_failure="undo", output_params=ID, timeout="20s", retry=again)
    world = play(book(phase("prepare", first, offset="T-1h"), rollbacks={"undo": UNDO}), a=silent())
    world.pass_time(21)
    late(world, world.held[0], ok({"id": 7})(world.held[0]))
    world.pass_time(25)
    assert world.value("SELECT params_json FROM executions WHERE step_name = 'undo'") == '{"id":7}'


def test_a_step_that_succeeded_meanwhile_keeps_its_own_outputs() -> None:
    again = {"max_retries": 1, "interval": "1s"}
    first = step("a", output_params=ID, timeout="20s", retry=again)
    world = play(book(phase("prepare", first, offset="T-1h")), a=silent())
    world.pass_time(21)
    late(world, world.held[1], ok({})(world.held[1]))
    late(world, world.held[0], ok({"id": 7})(world.held[0]))
    assert outputs(world) == {}
