"""What `tminus init` writes runs as it is, says what it is, and never takes the place of anything."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

from tests.unit.runbook.samples import valid_files
from tminus import bootstrap
from tminus.runbook import load, parse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

BATCH = """\
EmailAddress,TargetDatabase,BadItemLimit,MailboxType,Cost Center
user-0101@contoso.example,DB01,10,PrimaryOnly,42
user-0102@contoso.example,DB02,Unlimited,PrimaryAndArchive,
"""


def days_ago(days: int) -> str:
    """Return a T-0 at which all phases of a sample are due, and none is so old that a human is asked."""
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


def offered(file: Path) -> set[str]:
    """Return what a worker finds in a file of functions."""
    runner = bootstrap.start_runner([str(file)], children=1)
    try:
        return set(runner.functions())
    finally:
        runner.close(0.0)


def test_the_sample_runs_from_its_first_phase_to_its_last(author: Terminal) -> None:
    author.well("init")
    assert author.well("validate", "--strict").out == "runbook.yaml: valid, 4 phases, 6 steps, 1 rollback.\n"
    author.well("runbook", "publish")
    author.well("batch", "create", "wave", "members.csv", "--at", days_ago(4))
    ran = author.run("up", "--functions", "functions.py", "--until-idle", "--children", "1")
    assert (ran.code, "6 functions" in ran.err) == (0, True)
    rows = author.well("batch", "steps", "1", "-o", "json").rows()
    assert [row["status"] for row in rows] == ["succeeded"] * 18
    assert {row["phase_name"] for row in rows} == {"prepare", "verify", "cutover", "care"}


def test_the_first_line_names_a_schema_that_is_there(author: Terminal) -> None:
    author.well("init")
    first = (author.folder / "runbook.yaml").read_text(encoding="utf-8").splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=./")
    written = json.loads((author.folder / name).read_text(encoding="utf-8"))
    assert written == json.loads(author.well("runbook", "schema").out)
    (author.folder / name).write_text('{"title": "tminus runbook"}', encoding="utf-8")
    author.well("runbook", "schema", name)
    assert json.loads((author.folder / name).read_text(encoding="utf-8")) == written
    ran = author.run("runbook", "schema", "runbook.yaml")
    assert (ran.code, "E411" in ran.err) == (6, True)
    assert parse((author.folder / "runbook.yaml").read_bytes()).ok


def test_the_smallest_runbook_is_valid(author: Terminal) -> None:
    author.well("init", "small", "--from", "blank")
    assert author.well("validate", "small/runbook.yaml", "--strict").out.endswith("valid, 1 phase, 1 step.\n")


@pytest.mark.parametrize("kind", ["sample", "blank", "exchange-csv", "origin-yaml"])
def test_nothing_that_is_there_is_replaced(author: Terminal, kind: str) -> None:
    (author.folder / "batch.csv").write_text(BATCH, encoding="utf-8")
    author.well("init", "other", "--from", "blank")
    file = {"exchange-csv": ["batch.csv"], "origin-yaml": ["other/runbook.yaml"]}.get(kind, [])
    (author.folder / "here").mkdir()
    (author.folder / "here" / "runbook.yaml").write_text("mine", encoding="utf-8")
    ran = author.run("init", "here", "--from", kind, *file)
    assert (ran.code, "E411" in ran.err) == (6, True)
    assert [path.name for path in (author.folder / "here").iterdir()] == ["runbook.yaml"]
    assert (author.folder / "here" / "runbook.yaml").read_text(encoding="utf-8") == "mine"
    dry = author.well("init", "new", "--from", kind, *file, "--dry-run")
    assert "would create" in dry.out
    assert not (author.folder / "new").exists()
    author.well("init", "new", "--from", kind, *file)
    assert (author.folder / "new" / "runbook.yaml").exists()


def test_an_exchange_batch_becomes_a_wave_that_runs(author: Terminal) -> None:
    (author.folder / "Batch 7.csv").write_text(BATCH, encoding="utf-8")
    author.well("init", "--from", "exchange-csv", "Batch 7.csv")
    assert (author.folder / "members.csv").read_text(encoding="utf-8") == BATCH
    assert author.well("validate", "--strict").code == 0
    text = (author.folder / "runbook.yaml").read_text(encoding="utf-8")
    assert "{{Cost Center}}" in text
    author.well("runbook", "publish")
    author.well("batch", "create", "Batch-7", "members.csv", "--at", days_ago(4))
    assert author.run("up", "--until-idle", "--children", "1").code == 0
    rows = author.well("batch", "steps", "1", "-o", "json").rows()
    assert [row["status"] for row in rows] == ["succeeded"] * 8
    data = author.well("member", "get", "user-0102@contoso.example", "-o", "json").fields()
    assert cast("dict[str, str]", data["data"])["BadItemLimit"] == "Unlimited"
    assert cast("dict[str, str]", data["data"])["Cost Center"] == ""


@pytest.mark.parametrize("name", ["emailaddress", "EMAILADDRESS"])
def test_a_column_of_exchange_is_known_in_any_letter_case(author: Terminal, name: str) -> None:
    (author.folder / "b.csv").write_text(f"{name},targetDATABASE\na@contoso.example,DB01\n", encoding="utf-8")
    author.well("init", "--from", "exchange-csv", "b.csv")
    book = load((author.folder / "runbook.yaml").read_bytes())
    assert book.data_source.primary_key == name
    assert book.phases[0].steps[1].params.source["target_database"] == "{{targetDATABASE}}"


def test_a_password_is_named_and_never_handed_on(author: Terminal) -> None:
    lines = 'EmailAddress,UserName,Password,"odd ""name"" \\"\na@contoso.example,a,s3cret,x\n'
    (author.folder / "imap.csv").write_text(lines, encoding="utf-8")
    ran = author.well("init", "--from", "exchange-csv", "imap.csv")
    assert "Password would stand in the database" in ran.err
    text = (author.folder / "runbook.yaml").read_text(encoding="utf-8")
    assert ("Password" in text, "user_name" in text, 'odd "name"' in text) == (False, True, True)
    assert parse(text).ok


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"Mail,TargetDatabase\na@contoso.example,DB01\n", "E318"),
        (b"EmailAddress\n", "E351"),
        (b"EmailAddress\na@contoso.example\nA@contoso.example\n", "E3"),
        ("EmailAddress\na@contoso.example\n".encode("utf-16"), "E3"),
    ],
)
def test_a_file_that_no_batch_would_take_is_refused_as_it_would_be(author: Terminal, content: bytes, code: str) -> None:
    (author.folder / "b.csv").write_bytes(content)
    ran = author.run("init", "wave", "--from", "exchange-csv", "b.csv")
    assert (ran.code, code in ran.err) == (2, True), ran.err
    assert not (author.folder / "wave").exists()


@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.stem)
def test_a_runbook_of_the_toolkit_stays_itself(author: Terminal, path: Path) -> None:
    author.well("init", "--from", "origin-yaml", str(path))
    text = (author.folder / "runbook.yaml").read_text(encoding="utf-8")
    assert load(text) == load(path.read_bytes())
    kept = [line for line in path.read_text(encoding="utf-8").splitlines() if line not in text.splitlines()]
    assert kept == []
    assert "# A runbook of the M&A Toolkit" in text
    named = {function.value for function in ast.walk(ast.parse((author.folder / "functions.py").read_text("utf-8")))
             if isinstance(function, ast.Constant)}  # fmt: skip
    steps = [step for phase in load(text).phases for step in phase.steps if step.function.constant]
    assert {step.function.source for step in steps} <= named


def test_stubs_are_offered_and_fail_at_once(author: Terminal) -> None:
    source = next(path for path in valid_files() if path.stem == "toolkit-scheduled")
    author.well("init", "--from", "origin-yaml", str(source))
    assert offered(author.folder / "functions.py") >= {"Send-MigrationNotice", "Undo-MailboxMove", "Send-AdminAlert"}
    text = (author.folder / "runbook.yaml").read_text(encoding="utf-8")
    assert "Start-{{MoveKind}}Move" in (author.folder / "functions.py").read_text(encoding="utf-8")
    header = (author.folder / "members.csv").read_text(encoding="utf-8").strip()
    assert header == "UserPrincipalName,MigrationDate,FirstName,LastName,MoveKind,EmailAliases"
    manual = text[: text.index("data_source:")] + "data_source: {type: manual, primary_key: UserPrincipalName}\n"
    manual += text[text.index("retry:") :]
    (author.folder / "runbook.yaml").write_text(manual, encoding="utf-8")
    (author.folder / "members.csv").write_text(f"{header}\na@x.example,,A,B,User,\n", encoding="utf-8")
    author.well("runbook", "publish")
    author.well("batch", "create", "contoso-mailbox-migration", "members.csv", "--at", days_ago(4))
    assert author.run("up", "--until-idle", "--children", "1").code == 3
    steps = author.well("batch", "steps", "1", "-o", "json").rows()
    assert [row["error_message"] for row in steps if row["status"] == "failed"] == [
        "New-MigrationBatchGroup is not written yet"
    ]


def test_words_that_no_comment_can_stand_before_go_to_the_top(author: Terminal) -> None:
    source = (
        "name: w\ndata_source: {type: manual, primary_key: E,\n  multi_valued_columns: [{name: Tags}]}\n"
        'phases: [{name: p, offset: T-0, steps: [{name: s, worker_id: w, function: f, params: {Note: "two\n'
        '  lines", Tags: "{{Tags}}"}, poll: {interval: 1m, timeout: 1h}}]}]\n'
    )
    (author.folder / "t.yaml").write_text(source, encoding="utf-8")
    author.well("init", "--from", "origin-yaml", "t.yaml")
    text = (author.folder / "runbook.yaml").read_text(encoding="utf-8")
    assert load(text) == load(source)
    assert text.index("arrives as a list") < text.index("name: w")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("init", "a", "b"), 2, "E401"),
        (("init", "--from", "exchange-csv"), 2, "E401"),
        (("init", "--from", "origin-yaml", "none.yaml"), 7, "E121"),
        (("init", "--from", "exchange-csv", "none.csv"), 1, "E412"),
        (("init", "--from", "excel", "none.csv"), 2, "E401"),
    ],
)
def test_wrong_words_are_refused(author: Terminal, words: tuple[str, ...], code: int, said: str) -> None:
    ran = author.run(*words)
    assert (ran.code, said in ran.err, ran.out) == (code, True, "")
    assert list(author.folder.iterdir()) == []


def test_a_runbook_with_errors_begins_nothing(author: Terminal) -> None:
    (author.folder / "t.yaml").write_text("name: w\nphases: []\n", encoding="utf-8")
    ran = author.run("init", "--from", "origin-yaml", "t.yaml")
    assert (ran.code, "and 1 more" in ran.err) == (2, True)
    assert not (author.folder / "runbook.yaml").exists()
