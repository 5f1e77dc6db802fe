"""Every file of the CSV corpus has the outcome that the manifest states, and within a second."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.unit.sources.corpus import FOLDER, Case, Expect, cases, entries
from tminus.domain.codes.source import CSV_CODES
from tminus.ports.source import Answer, RowProblem, SourceError, SourceRow, Unchanged
from tminus.sources.csv import CsvSource
from tminus.sources.manual import MemberFile, read_member_bytes
from tminus.sources.still import Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = cases()
CPU_S_MAX = 1.0
RSS_MB_MAX = 256

# What no content of a file can bring about: other tests see to these.
NOT_OF_CONTENT = {"E301", "E302", "E303", "E305", "E341", "E350"}


def by_source(case: Case, path: Path) -> Answer | SourceError:
    path.write_bytes(case.content())
    source = CsvSource({"MEMBERS": str(path)}.get, patience=Patience(clock=lambda: time.time() + 60))
    start = time.process_time()
    try:
        reply: Answer | Unchanged | SourceError = source.ask(case.question())
    except SourceError as error:
        reply = error
    assert time.process_time() - start < CPU_S_MAX
    assert isinstance(reply, (Answer, SourceError))
    return reply


def by_hand(case: Case) -> MemberFile:
    content = case.content()
    start = time.process_time()
    verdict = read_member_bytes(content, case.data_source(), name="members.csv", timezone=case.ask.get("zone", "UTC"))
    assert time.process_time() - start < CPU_S_MAX
    return verdict


def at(line: int | None) -> str:
    return "members.csv" if line is None else f"members.csv:{line}"


def assert_refused(expect: Expect, problems: Sequence[RowProblem]) -> None:
    codes = [problem.code for problem in problems]
    assert codes == expect.get("all_codes", [expect.get("error")])
    assert problems[0].place == at(expect.get("line"))
    assert problems[0].message


def assert_rows(expect: Expect, rows: Sequence[SourceRow]) -> None:
    keys = [row.key for row in rows]
    assert len(keys) == expect.get("keys_count", len(keys))
    assert keys == expect.get("keys", keys)
    data = {row.key: cast("dict[str, object]", json.loads(row.data)) for row in rows}
    for key, cells in expect.get("data", {}).items():
        assert {name: data[key][name] for name in cells} == cells
    for key, instant in expect.get("times", {}).items():
        assert [row.batch_time for row in rows if row.key == key] == [instant]


def assert_answered(expect: Expect, answer: Answer) -> None:
    listed = expect.get("problems", [])
    if "problem_count" not in expect:
        assert [(problem.code, problem.place) for problem in answer.problems] == [
            (code, at(line)) for code, line in listed
        ]
    assert answer.problem_count == expect.get("problem_count", len(listed))
    assert answer.complete is expect.get("complete", True)
    assert len(answer.notes) == expect.get("notes", 0)
    if "failed" in expect:
        assert answer.failed_keys == set(expect["failed"])
    assert_rows(expect, list(answer.rows))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.handed_in])
def test_a_watched_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    reply = by_source(case, tmp_path / "members.csv")
    if isinstance(reply, SourceError):
        assert_refused(case.expect, reply.problems)
        return
    with reply:
        assert "error" not in case.expect
        assert_answered(case.expect, reply)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.handed_in])
def test_a_file_handed_in(name: str) -> None:
    case = CASES[name]
    verdict = by_hand(case)
    if "error" in case.expect:
        assert not verdict.rows
        assert_refused(case.expect, verdict.problems)
    else:
        assert verdict.ok
        assert_rows(case.expect, verdict.rows)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.handed_in and case.parts is None])
def test_a_watched_file_is_no_worse_when_handed_in(name: str) -> None:
    case = CASES[name]
    verdict = by_hand(case)
    assert verdict.ok == bool(verdict.rows)
    assert verdict.problem_count >= len(verdict.problems)


def test_the_corpus_is_whole() -> None:
    names = [entry["name"] for entry in entries()]
    stored = {path.stem for path in (FOLDER / "files").iterdir()}
    assert len(names) == len(set(names))
    assert len(names) >= 120
    assert stored == {entry["name"] for entry in entries() if "parts" not in entry}


def test_every_code_is_met() -> None:
    met: set[str] = set()
    for case in CASES.values():
        met.update(case.expect.get("all_codes", []), {case.expect.get("error", "")})
        met.update(code for code, _ in case.expect.get("problems", []))
    assert {code.code for code in CSV_CODES} - met == NOT_OF_CONTENT


HUNGRY = ("commas-8-mib", "quote-never-closed-long", "cell-1-mib-and-1", "every-row-wrong", "cp1252-late")

MEASURE = """
import sys
from pathlib import Path
from tests.unit.sources.corpus import cases
from tminus.sources.manual import read_member_bytes
case = cases()[sys.argv[1]]
assert not read_member_bytes(case.content(), case.data_source(), name="x").ok
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the platform does not tell the peak of a process")
@pytest.mark.parametrize("name", HUNGRY)
def test_a_bad_file_costs_little_memory(name: str, request: pytest.FixtureRequest) -> None:
    root = request.config.rootpath
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, name],
        cwd=root,
        env={"PYTHONPATH": f"{root}:{root / 'src'}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert int(done.stdout) <= RSS_MB_MAX
