"""`tminus report`: what a committee reads of a wave, in each form, to files that hold nothing else before."""

from __future__ import annotations

import csv
import io
import stat
from typing import TYPE_CHECKING, cast

import pytest

from tests.acceptance.screens.glass import Glass

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

ANNA, BEN = "anna@contoso.com", "ben@contoso.com"
WHY = ("--reason", "freed the address")


@pytest.fixture(name="failed")
def with_a_story(terminal: Terminal) -> Terminal:
    """Make a wave whose members failed once, was paused, lost one by hand, and of whom one was tried again."""
    terminal.wave(failing=["F-create"])
    terminal.well("pause", "--batch", "1", "--reason", "the target is down; password=hunter2", "--as", "cleo")
    terminal.well("resume", "--batch", "1", "--reason", "it is up", "--as", "dan")
    terminal.well("retry", ANNA, BEN, *WHY)
    terminal.well("member", "remove", "1", BEN, "--reason", "stays")
    terminal.work()
    return terminal


def test_without_a_form_it_is_markdown_on_stdout(failed: Terminal) -> None:
    ran = failed.well("report", "1")
    assert ran.out.startswith("# wave, batch 1\n")
    for text in ("**0 of 2 members are through", "1 left", "409 address already in use", "`prepare/create`",
                 "## Decisions", "pause", "lifted by dan", "it is up", "## What people did", "tried again",
                 "freed the address", "removed"):  # fmt: skip
        assert text in ran.out, text
    assert ran.err == ""
    assert failed.well("report", "1", "--md", "-").out == ran.out


def test_no_secret_is_in_any_form(failed: Terminal) -> None:
    failed.well("member", "data", ANNA, "--set", "pin=4711", *WHY)
    for words in (("--html", "-"), ("--csv", "-"), ("--md", "-"), ("-o", "json")):
        said = failed.well("report", "1", *words).out
        assert "hunter2" not in said, words
        assert "4711" not in said, words
        assert "Human Resources" not in said, words
    assert "password=***" in failed.well("report", "1", "--html", "-").out


def test_all_three_files_at_once(failed: Terminal) -> None:
    ran = failed.well("report", "1", "--html", "w.html", "--csv", "w.csv", "--md", "w.md")
    assert (ran.out, ran.err) == ("", "written w.html\nwritten w.csv\nwritten w.md\n")
    page = (failed.folder / "w.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert (failed.folder / "w.md").read_text("utf-8") == failed.well("report", "1").out
    table = (failed.folder / "w.csv").read_bytes()
    assert table.startswith(b"\xef\xbb\xbf")
    found = {row["member_key"]: row for row in csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""))}
    assert {key: row["status"] for key, row in found.items()} == {
        ANNA: "active", BEN: "removed", "cleo@contoso.com": "failed",
    }  # fmt: skip
    assert found["cleo@contoso.com"]["failed_step"] == "prepare/create"
    assert found["cleo@contoso.com"]["rollback"] == "clean"
    assert found[ANNA]["phase prepare"] == "succeeded"


def test_for_scripts_it_is_one_object_with_a_row_a_member(failed: Terminal) -> None:
    found = failed.well("report", "1", "-o", "json").fields()
    rows = cast("list[dict[str, object]]", found["rows"])
    assert [row["member_key"] for row in rows] == [ANNA, BEN, "cleo@contoso.com"]
    assert (found["members_total"], found["left"], found["zone"]) == (3, 1, "UTC")
    assert [one["words"] for one in cast("list[dict[str, object]]", found["acts"])] == [
        "made the batch", "paused", "lifted: pause", "tried again", "removed",
    ]  # fmt: skip
    assert len(failed.well("report", "1", "-o", "jsonl").out.splitlines()) == 3
    assert failed.well("report", "1", "-o", "csv").out == failed.well("report", "1", "--csv", "-").out
    assert failed.well("report", "1", "-o", "name").out == "1\n"


def test_a_batch_that_has_not_begun_has_a_report(terminal: Terminal) -> None:
    terminal.batch()
    assert "0 of 3 members are through; 3 are on their way" in terminal.well("report", "1").out
    assert "none: it is advanced by hand" in terminal.well("report", "1", "--html", "-").out


def test_no_cell_of_any_list_is_a_formula(terminal: Terminal) -> None:
    (terminal.folder / "members.csv").write_text("upn,dept\n=1+1,Sales\n", encoding="utf-8")
    terminal.batch()
    rows = list(csv.DictReader(io.StringIO(terminal.well("batch", "members", "1", "-o", "csv").out)))
    assert rows[0]["member_key"] == "'=1+1"
    assert terminal.well("batch", "members", "1", "-o", "json").rows()[0]["member_key"] == "=1+1"


def test_only_an_older_report_is_written_over(failed: Terminal) -> None:
    before = (failed.folder / "members.csv").read_bytes()
    ran = failed.run("report", "1", "--csv", "members.csv")
    assert (ran.code, "E411" in ran.err) == (6, True)
    assert (failed.folder / "members.csv").read_bytes() == before
    for option, name in (("--html", "w.html"), ("--csv", "w.csv"), ("--md", "w.md")):
        failed.well("report", "1", option, name)
        (failed.folder / name).chmod(0o600)
        failed.well("report", "1", option, name)
        assert stat.S_IMODE((failed.folder / name).stat().st_mode) == 0o600
    (failed.folder / "empty.html").touch()
    failed.well("report", "1", "--html", "empty.html")
    assert not list(failed.folder.glob(".*"))


def test_what_cannot_be_written_leaves_nothing_behind(failed: Terminal) -> None:
    assert failed.run("report", "1", "--html", "nowhere/w.html").code != 0
    assert failed.run("report", "1", "--html", "-", "--csv", "-").code == 2
    assert failed.run("report", "9", "--html", "w.html").code == 7
    assert not (failed.folder / "w.html").exists()


def test_on_a_terminal_only_the_note_is_left(failed: Terminal) -> None:
    with Glass(failed.folder, "report", "1", "--html", "w.html") as glass:
        assert glass.ends() == 0
        assert "written w.html" in glass.shown
