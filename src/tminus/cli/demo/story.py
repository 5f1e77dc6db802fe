"""The story of the demo: thirteen people, and what happens to each.

Twelve are there from the beginning. One is throttled, one leaves before the cut-over and is cleaned up after, one joins
late and catches up, one fails at the cut-over and is rolled back. The story only says what the workers answer and how
the source changes; everything that follows is the engine's own doing. It ends about now, so that the database it leaves
behind can be worked with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from tminus.domain.instant import Instant, from_datetime, plus, to_datetime
from tminus.engine.rehearse.crew import Says
from tminus.ports.source import SourceRow
from tminus.progression import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.engine.rehearse.driver import Rehearsal
    from tminus.engine.rehearse.listed import ListedSource
    from tminus.ports.rehearsal import Part
    from tminus.ports.rounds import Claimed

COLUMNS: Final = ("UserPrincipalName", "DisplayName", "TargetUPN", "Department", "MigrationDate")
_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jil", "Kai", "Lea", "Mia")
_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0
# From T-0 to the end: care begins at T+2d10h and takes a few minutes.
_AFTER_S: Final = 2 * _DAY_S + 11 * _HOUR_S

THROTTLED: Final = "user-0102@contoso.example"
FAILS: Final = "user-0104@contoso.example"
LEAVES: Final = "user-0107@contoso.example"
JOINS: Final = "user-0113@contoso.example"
EVERYBODY: Final = tuple(f"user-01{number:02}@contoso.example" for number in range(1, 14))


def t0_before(now: Instant) -> Instant:
    """Return the full hour at which the cut-over was, for a story that ends about now."""
    moment = to_datetime(plus(now, -_AFTER_S))
    return from_datetime(moment.replace(minute=0, second=0, microsecond=0))


def rows(keys: Iterable[str], t0: Instant) -> list[SourceRow]:
    """Return what the source says about these people."""
    return [_row(EVERYBODY.index(key), key, t0) for key in keys]


def _row(at: int, key: str, t0: Instant) -> SourceRow:
    target = key.replace("contoso", "fabrikam")
    department = ("Sales", "Research", "Support")[at % 3]
    values = (key, f"{_NAMES[at]} Example", target, department, t0)
    data = orjson.dumps(dict(zip(COLUMNS, values, strict=True))).decode()
    return SourceRow(key=key, batch_time=t0, data=data, place=f"members.csv:{at + 2}")


def lines(keys: Iterable[str], t0: Instant) -> str:
    """Write the same as a CSV file."""
    told = [",".join(map(str, orjson.loads(row.data).values())) for row in rows(keys, t0)]
    return "\n".join([",".join(COLUMNS), *told, ""])


def plan_changes(rehearsal: Rehearsal, source: ListedSource, t0: Instant) -> None:
    """Have one leave at T-3d and one join at T-2d."""
    staying = [key for key in EVERYBODY if key not in {LEAVES, JOINS}]
    rehearsal.plan(plus(t0, -3 * _DAY_S), _change(source, staying, t0))
    rehearsal.plan(plus(t0, -2 * _DAY_S), _change(source, [*staying, JOINS], t0))


def _change(source: ListedSource, keys: list[str], t0: Instant) -> Callable[[], None]:
    return lambda: source.change(rows(keys, t0))


def script(part: Part, claim: Claimed) -> Says:
    """Say what a worker answers. Four at a time take equally long, so that the picture moves."""
    key, step = part.member_key or "", part.step.name
    at = EVERYBODY.index(key) if key in EVERYBODY else 0
    if key == THROTTLED and step == "proxies" and claim.attempt == 0:
        wait_s = 50 * 60.0
        error = ev.WorkError("too many requests", "Throttled", is_throttled=True, retry_after_s=wait_s)
        return Says(error=error, takes_s=5.0)
    if key == FAILS and step == "primary":
        return Says(error=ev.WorkError("address already in use", "Conflict"), takes_s=120.0, log="HTTP 409\n")
    return Says(takes_s=60.0 + 240.0 * (at % 4), polls=1 + at % 3)
