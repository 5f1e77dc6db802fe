"""`tminus runbook test`: the cases beside runbooks, each rehearsed, each held against what it expects.

One case that cannot be run is told like one that came out otherwise, and the others go on: a pipeline learns everything
in one go. What a case means is what `rehearse --expect` makes of it.
"""

import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, cast

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.cli.playing import Wanted, stage
from tminus.cli.progress import Progress
from tminus.cli.rehearsed import Rehearsed, finish
from tminus.cli.rehearsing import Gate, read_case
from tminus.domain.errors import TminusError
from tminus.runbook.case import Case
from tminus.store.insights.records import Record

FOLDER: Final = "tests"
ENDINGS: Final = (".case.yaml", ".case.yml", ".test.yaml", ".test.yml")
_YAML: Final = (".yaml", ".yml")
_CAUSES: Final = 3
_COLOURS: Final = {"ok": "32", "FAIL": "31", "ERROR": "31"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one case: the rehearsal, or the error that kept it from being one."""

    file: Path
    seconds: float
    runbook: Path | None = None
    done: Rehearsed | None = None
    error: TminusError | None = None

    @property
    def word(self) -> str:
        """Return `ok`, `FAIL` or `ERROR`."""
        if self.done is None:
            return "ERROR"
        return "FAIL" if self.done.differences else "ok"


def run_cases(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER...", help="Cases, or folders of them; this folder and its tests without."),
    ] = None,
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Rehearse cases and hold them against what they expect: *.case.yaml, *.test.yaml, and all in a folder tests."""
    del db
    files = list(dict.fromkeys(file for place in places or [Path()] for file in _cases(place)))
    if not files:
        looked = ", ".join(str(place) for place in places or [Path()])
        hint = "write tests/NAME.yaml with members, at, and expect: {members: {failed: 0}}"
        raise TminusError("E404", "there is no case", place=looked, hint=hint)
    tried: list[Tried] = []
    with Progress("rehearsing") as progress:
        for number, file in enumerate(files):
            progress.at(number, len(files), "cases")
            tried.append(_try(file))
    bad = sum(one.word != "ok" for one in tried)
    if shape not in {"table", "wide"}:
        output.rows([[_record(one) for one in tried]], shape, columns=("file",), name="file")
    else:
        for one in tried:
            _tell(one)
        telling.write(f"{len(tried) - bad} of {len(tried)} cases came out as expected")
        otherwise = next((one for one in tried if one.word == "FAIL"), None)
        if otherwise is not None:
            telling.suggest(shlex.join(["tminus", "rehearse", str(otherwise.runbook), "--expect", str(otherwise.file)]))
    return Exit.FAILED if bad else Exit.DONE


def _cases(place: Path) -> Iterator[Path]:
    """Yield a file as it is named; of a folder its cases, and all that is in its folder `tests`."""
    if not place.is_dir():
        yield place
        return
    is_tests = place.resolve().name == FOLDER
    found = sorted(one for one in place.iterdir() if one.is_file())
    yield from (one for one in found if one.name.endswith(_YAML if is_tests else ENDINGS))
    if (place / FOLDER).is_dir():
        yield from _cases(place / FOLDER)


def _try(file: Path) -> Tried:
    began = time.perf_counter()
    try:
        runbook, done = _rehearse(file)
    except TminusError as error:
        return Tried(file=file, seconds=time.perf_counter() - began, error=error)
    return Tried(file=file, seconds=time.perf_counter() - began, runbook=runbook, done=done)


def _rehearse(file: Path) -> tuple[Path, Rehearsed]:
    case = read_case(file)
    wanted = Wanted(
        file=_runbook(case, file),
        members=None if case.members is None else file.parent / case.members,
        at=case.at,
        data=case.data,
        seed=case.seed or 0,
        faults=case.faults,
        gates=cast("Gate", case.gates or "approve"),
        until=case.until,
    )
    staged = stage(wanted)
    try:
        staged.rehearsal.run(staged.until)
        return wanted.file, finish(staged, wanted, case.expect)
    finally:
        staged.store.database.close()


def _runbook(case: Case, file: Path) -> Path:
    """Return the runbook that a case names; without a name, the one beside it or in the folder above."""
    if case.runbook is not None:
        return file.parent / case.runbook
    beside = file.parent / "runbook.yaml"
    above = file.resolve().parent.parent / "runbook.yaml"
    if beside.exists() or not above.exists():
        return beside
    return file.parent.parent / "runbook.yaml" if len(file.parts) > 1 else above


def _record(one: Tried) -> Record:
    found: Record = {} if one.done is None else one.done.record
    unmet = [] if one.done is None else one.done.differences or []
    error = None
    if one.error is not None:
        error = {"code": one.error.code, "place": one.error.place, "message": one.error.message, "hint": one.error.hint}
    return {
        "file": str(one.file),
        "ok": one.word == "ok",
        "runbook_name": found.get("runbook_name"),
        "exit_code": found.get("exit_code"),
        "verdict": found.get("verdict"),
        "differences": [{"what": it.what, "expected": it.expected, "found": it.found} for it in unmet],
        "error": error,
        "virtual_hours": found.get("virtual_hours"),
        "seconds": round(one.seconds, 3),
    }


def _tell(one: Tried) -> None:
    """Write a line for the case, and under it both sides of what came out otherwise."""
    colour = _COLOURS[one.word] if output.colour_wanted(sys.stdout) else None
    word = f"{one.word:<6}"
    word = f"\x1b[{colour}m{word}\x1b[0m" if colour else word
    hours = "" if one.done is None else f"  {one.done.record['virtual_hours']} h in {one.seconds:.1f} s"
    telling.write(f"{word}{telling.visible(str(one.file))}{hours}")
    if one.error is not None:
        telling.write(telling.visible(f"      {one.error}"))
    if one.done is None or not one.done.differences:
        return
    lines = [("", "expected", "found"), *((it.what, it.expected, it.found) for it in one.done.differences)]
    widths = [max(len(line[column]) for line in lines) for column in range(2)]
    for what, expected, found in lines:
        telling.write(telling.visible(f"      {what:<{widths[0]}}  {expected:<{widths[1]}}  {found}".rstrip()))
    for failure in cast("list[Record]", one.done.record["failures"])[:_CAUSES]:
        step = f"{failure['sequence']}/{failure['step_name']}".strip("/")
        telling.write(telling.visible(f"      {failure['count']} x {step}: {failure['error_message']}"))
    telling.write(telling.visible(f"      {one.done.record['verdict']}"))
