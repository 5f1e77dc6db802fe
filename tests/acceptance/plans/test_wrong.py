"""Wrong inputs around plans: one line with a code, an exit code, and nothing is changed or made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.plans.desk import AT, BOOK, MEMBERS, TICKET, WANTED, put, refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

SOURCE = "{type: manual, primary_key: upn}"

PLANS: list[tuple[tuple[str, ...], int, str]] = [
    (("plan", "gone.yaml", *WANTED), 7, "E121"),
    (("plan", "broken.yaml", *WANTED), 2, "E214"),
    (("plan", "nobody", *WANTED), 7, "E521"),
    (("plan", *TICKET), 2, "E454"),
    (("plan", "--query", *TICKET), 2, "E454"),
    (("plan", *WANTED, "--query"), 2, "E401"),
    (("plan", "--members", "members.csv"), 2, "E364"),
    (("plan", *WANTED, "--data", "ticket"), 2, "E406"),
    (("plan", *WANTED, "--data", "ticket=2"), 2, "E406"),
    (("plan", "--members", "gone.csv", *TICKET), 7, "E302"),
    (("plan", "--members", ".", *TICKET), 2, "E305"),
    (("plan", "--members", "keyless.csv", *TICKET), 2, "E318"),
    (("plan", "--members", "twice.csv", *TICKET), 2, "E336"),
    (("plan", "--members", "empty.csv", *TICKET), 2, "E351"),
    (("plan", *WANTED, "--at", "tomorrow"), 2, "E221"),
    (("plan", *WANTED, "--at", "2031-12-04 22:00 Mars/Base"), 2, "E222"),
    (("plan", *WANTED, "--save", " "), 2, "E455"),
    (("plan", *WANTED, "--save", "a\x1b[2J"), 2, "E455"),
    (("plan", *WANTED, "--save", "x", "--no-save"), 2, "E401"),
    (("plan", *WANTED, "--functions", "gone.py"), 7, "E604"),
    (("plan", *WANTED, "--functions", "broken.yaml"), 2, "E601"),
    (("plan", *WANTED, "-o", "xml"), 2, "E401"),
    (("plan", *WANTED, "--as", " "), 2, "E406"),
    (("plan", "runbook.yaml", "members.csv"), 2, "E401"),
    (("plan", "source.yaml"), 2, "E301"),
    (("plan", "source.yaml", "--at", "2031-01-01"), 2, "E401"),
    (("plan", "far.yaml", *TICKET), 2, "E320"),
]
KEPT: list[tuple[tuple[str, ...], int, str]] = [
    (("plan", "show"), 2, "E401"),
    (("plan", "show", "on"), 7, "E451"),
    (("plan", "show", "one", "--member", "ann@contoso.com"), 7, "E404"),
    (("plan", "show", "one", "--member", ""), 7, "E404"),
    (("plan", "diff", "one"), 2, "E401"),
    (("plan", "diff", "one", "99"), 7, "E404"),
    (("plan", "diff", "one", "9" * 30), 7, "E404"),
    (("plan", "diff", "one", "other"), 7, "E451"),
    (("plan", "diff", "other", "one"), 7, "E451"),
    (("apply", "on", "--yes"), 7, "E451"),
    (("apply",), 2, "E401"),
    (("apply", "one", "--yes", "--as", " "), 2, "E406"),
    (("apply", "one", "--yes", "--reason", "x" * 3000), 2, "E406"),
    (("plan", *WANTED, "--save", "one"), 6, "E452"),
    (("rehearse", "one", "--at", "2031-01-01"), 2, "E401"),
]


def named(words: tuple[str, ...]) -> str:
    return ascii(" ".join(words)[:60])


@pytest.fixture(name="desk")
def with_files(terminal: Terminal) -> Terminal:
    put(terminal, "broken.yaml", f"{BOOK}bogus: 1\n")
    put(terminal, "keyless.csv", "mail,type\nanna,User\n")
    put(terminal, "twice.csv", "upn,type\nanna,User\nanna,User\n")
    put(terminal, "empty.csv", "upn,type\n")
    put(
        terminal,
        "source.yaml",
        BOOK.replace(SOURCE, "{type: csv, connection: NOT_SET, primary_key: upn, batch_time_column: When}").replace(
            "inputs: [ticket]\n", ""
        ),
    )
    far = "{type: sql, connection: NOT_SET, query: SELECT 1, primary_key: upn, batch_time_column: When}"
    put(terminal, "far.yaml", BOOK.replace(SOURCE, far))
    return terminal


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("words", "exit_code", "code"), PLANS, ids=[named(words) for words, _, _ in PLANS])
def test_what_cannot_be_planned_is_said_and_makes_no_database(
    desk: Terminal, words: tuple[str, ...], exit_code: int, code: str
) -> None:
    before = files(desk.folder)
    refused(desk.run(*words), exit_code, code)
    assert files(desk.folder) == before


@pytest.mark.parametrize(("words", "exit_code", "code"), KEPT, ids=[named(words) for words, _, _ in KEPT])
def test_what_cannot_be_shown_or_applied_changes_nothing(
    desk: Terminal, words: tuple[str, ...], exit_code: int, code: str
) -> None:
    desk.well("plan", *WANTED, *AT, "--save", "one")
    before = desk.dump()
    refused(desk.run(*words), exit_code, code)
    assert desk.dump() == before


def test_every_problem_of_a_file_of_members_is_told(desk: Terminal) -> None:
    put(desk, "bad.csv", "upn,type\nanna,User\nanna,User\n,User\n")
    ran = desk.run("plan", "--members", "bad.csv", *TICKET)
    assert (ran.code, ran.out) == (2, "")
    assert [line.split(":", 2)[1] for line in ran.err.splitlines()] == ["3", "4", "3"]
    assert not desk.path.exists()


def test_an_error_is_an_object_for_scripts(desk: Terminal) -> None:
    ran = desk.run("apply", "gone", "--yes", "--db", "other.db", "-o", "json")
    assert (ran.code, ran.out) == (7, "") or ran.err.startswith('{"code"')
    assert '"code"' in ran.err
    assert not (desk.folder / "other.db").exists()


def test_names_in_others_data_do_not_command_the_terminal(desk: Terminal) -> None:
    put(desk, "members.csv", MEMBERS.replace("Departmnt", "\u202eevil").replace("User,Sales", "User,\x1b[2J"))
    ran = desk.run("plan", *WANTED, *AT, "--save", "one")
    shown = ran.out + ran.err + desk.run("plan", "show", "one", "--member", "anna@contoso.com").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
