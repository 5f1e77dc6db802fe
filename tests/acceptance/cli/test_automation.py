"""Following a source from the command line: what is asked, what it said, and what of that no batch takes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, cast

from tminus.bootstrap import Asking, open_store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.acceptance.cli.terminal import Terminal

SOURCE = "data_source: {type: csv, connection: MEMBERS, primary_key: upn, batch_time_column: at, interval: 1s}"
TEXT = """\
upn,dept,at
anna@contoso.com,Sales,2031-01-01
Anna@Contoso.com,Sales,2031-01-01
ben@contoso.com,Sales,soon
cleo@contoso.com,Sales,2031-01-01
"""


def followed(terminal: Terminal, text: str) -> Terminal:
    """Publish the wave over a file of members."""
    path = terminal.folder / "runbook.yaml"
    path.write_text(path.read_text().replace("data_source: {type: manual, primary_key: upn}", SOURCE))
    terminal.well("runbook", "publish", "--enable")
    write(terminal, text)
    return terminal


def write(terminal: Terminal, text: str) -> None:
    """Write the file of members as one that has stood still."""
    path = terminal.folder / "source.csv"
    path.write_text(text, encoding="utf-8")
    os.utime(path, (time.time() - 60, time.time() - 60))


def ask(terminal: Terminal, patch: pytest.MonkeyPatch) -> None:
    """Let the source be asked once, and its answer be taken."""
    patch.setenv("MEMBERS", str(terminal.folder / "source.csv"))
    store = open_store(str(terminal.path))
    with store.database.write() as tx:
        tx.run("UPDATE runbooks SET source_next_at = NULL")
    asking = Asking(store)
    asking.ask()
    for _ in range(2_000):
        asking.ask()
        if asking.is_idle:
            break
        time.sleep(0.002)
    asking.leave()
    store.database.close()


def problems(terminal: Terminal) -> list[tuple[object, object, object]]:
    found = terminal.well("automation", "status", "wave", "-o", "json").fields()["problems"]
    return [(one["kind"], one["code"], one["member_key"]) for one in cast("list[dict[str, object]]", found)]


def test_rows_that_cannot_be_read_are_shown_where_one_looks(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed(terminal, TEXT)
    ask(terminal, monkeypatch)
    found = terminal.well("automation", "status", "wave", "-o", "json").fields()
    names = ("source_row_count", "source_problem_count", "left_out_count", "is_complete")
    assert [found[name] for name in names] == [2, 2, 0, True]
    assert problems(terminal) == [("row", "E337", "Anna@Contoso.com"), ("row", "E339", "ben@contoso.com")]
    assert "source.csv:4: E339 " in terminal.well("automation", "status", "wave").out
    assert "wave: 2 rows cannot be read\n      tminus automation status wave\n" in terminal.well("status").out


def test_keys_that_are_left_out_are_shown_as_well(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    followed(terminal, "upn,dept,at\ncleo@contoso.com,Sales,2031-01-01\n")
    (terminal.folder / "one.csv").write_text("upn,dept\ncleo@contoso.com,Sales\n")
    terminal.well("batch", "create", "wave", "one.csv")
    ask(terminal, monkeypatch)
    assert problems(terminal) == [("left_out", "E362", "cleo@contoso.com")]
    assert "cleo@contoso.com: E362 it lives in the manual batch 1" in terminal.well("automation", "status", "wave").out
    assert "wave: 1 key left out" in terminal.well("status").out


def test_an_answer_that_is_not_complete_is_said_to_be(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    followed(terminal, "upn,dept,at\nanna@contoso.com,Sales,2031-01-01\nben@contoso.com,Sales,2031-01-01,x\n")
    ask(terminal, monkeypatch)
    assert terminal.well("automation", "status", "wave", "-o", "json").fields()["is_complete"] is False
    assert "wave: 1 row cannot be read, the answer is not complete" in terminal.well("status").out


def test_of_many_problems_a_table_shows_the_first(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    followed(terminal, "upn,dept,at\n" + "".join(f"m{n}@contoso.com,Sales,soon\n" for n in range(30)))
    ask(terminal, monkeypatch)
    short = terminal.well("automation", "status", "wave").out
    assert (short.count("E339"), short.splitlines()[-1]) == (20, "and 10 more: -o wide shows them")
    assert terminal.well("automation", "status", "wave", "-o", "wide").out.count("E339") == 30


def test_publishing_names_what_brings_members(terminal: Terminal) -> None:
    assert "tminus batch create wave members.csv" in terminal.well("runbook", "publish").err
    path = terminal.folder / "runbook.yaml"
    path.write_text(path.read_text().replace("data_source: {type: manual, primary_key: upn}", SOURCE))
    assert "tminus automation enable wave" in terminal.well("runbook", "publish").err
    ran = terminal.well("runbook", "publish", "--enable")
    assert (ran.out, "tminus up" in ran.err) == ("wave v3 published, its source is asked\n", True)


def test_a_version_that_is_published_says_whether_its_source_is_asked(terminal: Terminal) -> None:
    followed(terminal, TEXT)
    made = terminal.well("runbook", "publish", "-o", "json").fields()
    assert (made["version"], made["automation_enabled"]) == (2, True)


def acts(path: Path) -> list[tuple[str, ...]]:
    store = open_store(str(path))
    with store.database.read() as tx:
        sql = "SELECT actor, action, scope, subject, reason FROM audit ORDER BY id"
        found = [tuple(str(cell) for cell in row) for row in tx.all(sql)]
    store.database.close()
    return found


def test_who_published_made_a_batch_and_added_members_is_kept(terminal: Terminal) -> None:
    terminal.batch()
    (terminal.folder / "more.csv").write_text("upn,dept\ndan@contoso.com,Sales\n", encoding="utf-8")
    terminal.well("member", "add", "1", "more.csv", "--reason", "came late")
    assert acts(terminal.path) == [
        ("anna", "Publish", "runbook", "wave", "v1"),
        ("anna", "CreateBatch", "batch 1", "3 members of wave", ""),
        ("anna", "AddMembers", "batch 1", "1 members", "came late"),
    ]


def test_members_join_a_live_batch_also_when_its_runbook_is_inactive(terminal: Terminal) -> None:
    terminal.batch()
    terminal.well("runbook", "deactivate", "wave")
    (terminal.folder / "more.csv").write_text("upn,dept\ndan@contoso.com,Sales\n", encoding="utf-8")
    assert "1 member joined batch 1" in terminal.well("member", "add", "1", "more.csv").out
