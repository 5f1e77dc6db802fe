"""Waves to look at: a world whose members stand where a screen has something to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tminus.progression.events import WorkError
from tminus.testing.world import DAY, Says, World, ok

if TYPE_CHECKING:
    from tminus.testing.world import Behaviour, Call

BOOK = """\
name: wave-1
timezone: Europe/Berlin
data_source: {type: manual, primary_key: upn}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: w, function: F-create, params: {upn: "{{upn}}"}}
      - name: proxies
        worker_id: w
        function: F-proxies
        params: {upn: "{{upn}}"}
        retry: {max_retries: 3, interval: 5m}
  - name: cutover
    offset: T-0
    steps:
      - name: primary
        worker_id: w
        function: F-primary
        params: {upn: "{{upn}}"}
        on_failure: undo
        retry: {max_retries: 1, interval: 1m, unless: [Conflict]}
on_member_removed:
  - {name: clean, worker_id: w, function: F-clean}
rollbacks:
  undo:
    - {name: clear, worker_id: w, function: F-clear}
    - {name: notify, worker_id: w, function: F-notify}
"""


def upn(number: int) -> str:
    """Return the key of a member."""
    return f"user-{number:04}@contoso.example"


def for_some(keys: set[str], error: WorkError) -> Behaviour:
    """Fail for these members, and do the work of the others."""
    return lambda call: Says(error=error) if _key(call) in keys else ok()(call)


def _key(call: Call) -> str:
    return str(call.params.get("upn"))


def throttled() -> WorkError:
    """Say that the service wants a pause of 25 s."""
    return WorkError("429 too many requests", "Throttled", is_throttled=True, retry_after_s=25.0)


def busy() -> WorkError:
    """Say that it may be tried again."""
    return WorkError("the mailbox is busy", "Busy")


def taken() -> WorkError:
    """Say that it is of no use to try again."""
    return WorkError("409 address already in use", "Conflict")


def wave(members: int = 12, *, behaviours: dict[str, Behaviour] | None = None, book: str = BOOK) -> World:
    """Return a world with batch 1, five days before T-0, its first phase run."""
    world = World(behaviours=behaviours or {})
    world.publish(book)
    keys = {upn(number): {"upn": upn(number)} for number in range(101, 101 + members)}
    world.batch("wave-1", keys, t0_in_s=5 * DAY, created_by="anna")
    world.run()
    return world
