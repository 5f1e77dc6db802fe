"""Wrong inputs: each gives one line with a code and an exit code, and changes nothing at all.

"Nothing" is the dump of the database, text for text; a command that was refused is in the audit, and nowhere else.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tminus.cli.catalogue import every_code

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

ANNA = "anna@contoso.com"
WHY = ("--reason", "because")
HUGE = "9" * 30

# What is typed after `tminus`, the exit code, the code of the error.
WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("staus",), 2, "E401"),
    (("batch", "lst"), 2, "E401"),
    (("--db", "x.db", "status"), 2, "E401"),
    (("status", "--no-such-option"), 2, "E401"),
    (("status", "-o", "xml"), 2, "E401"),
    (("batch", "get"), 2, "E401"),
    (("batch", "get", "one"), 2, "E401"),
    (("batch", "get", "1", "2"), 2, "E401"),
    (("batch", "list", "--status", "broken"), 2, "E401"),
    (("batch", "get", "99"), 7, "E404"),
    (("batch", "get", HUGE), 7, "E404"),
    (("batch", "get", "0"), 7, "E404"),
    (("batch", "members", "99"), 7, "E404"),
    (("batch", "phases", "99"), 7, "E404"),
    (("batch", "steps", "99"), 7, "E404"),
    (("batch", "events", "99"), 7, "E404"),
    (("batch", "advance", "99"), 7, "E404"),
    (("batch", "advance", "1"), 6, "E410"),
    (("batch", "cancel", "1"), 2, "E401"),
    (("batch", "cancel", "99", *WHY), 7, "E404"),
    (("batch", "cancel", "1", "--reason", "  "), 2, "E402"),
    (("batch", "reschedule", "1", *WHY), 2, "E401"),
    (("batch", "reschedule", "1", "--at", "tomorrow", *WHY), 2, "E221"),
    (("batch", "reschedule", "1", "--at", "2030-01-01 10:00 Mars/Base", *WHY), 2, "E222"),
    (("batch", "create", "wav", "members.csv"), 7, "E521"),
    (("batch", "create", "wave", "gone.csv"), 7, "E302"),
    (("batch", "create", "wave", "double.csv"), 2, "E336"),
    (("batch", "create", "wave", "keyless.csv"), 2, "E318"),
    (("batch", "create", "wave", "other.csv", "--at", "22:00"), 2, "E221"),
    (("batch", "create", "wave", "other.csv", "--data", "novalue"), 2, "E406"),
    (("batch", "create", "wave", "other.csv", "--data", "a=1", "--data", "a=2"), 2, "E406"),
    (("member", "add", "99", "other.csv"), 7, "E404"),
    (("member", "get", "nobody"), 7, "E404"),
    (("member", "get", HUGE), 7, "E404"),
    (("member", "remove", "1", "nobody", *WHY), 7, "E404"),
    (("member", "remove", "1", ANNA), 2, "E401"),
    (("member", "data", ANNA, *WHY), 2, "E401"),
    (("member", "data", ANNA, "--set", "x", *WHY), 2, "E406"),
    (("member", "data", ANNA, "--set", "x=1", "--release", "x", *WHY), 2, "E406"),
    (("member", "move", ANNA, "--to", "1", *WHY), 6, "E410"),
    (("member", "move", ANNA, "--to", "99", *WHY), 7, "E404"),
    (("member", "move", "nobody", "--to", "1", *WHY), 7, "E404"),
    (("member", "move", ANNA, *WHY), 2, "E401"),
    (("member", "history", "nobody"), 7, "E404"),
    (("member", "history", ANNA, "--batch", "99"), 7, "E404"),
    (("member", "accept-leavers", "1", *WHY), 6, "E410"),
    (("member", "refuse-leavers", "99", *WHY), 7, "E404"),
    (("batch", "events", "99", "-f"), 7, "E404"),
    (("retry", ANNA), 2, "E401"),
    (("retry", ANNA, "--reason", ""), 2, "E402"),
    (("retry", ANNA, *WHY), 6, "E410"),
    (("retry", *WHY), 2, "E401"),
    (("retry", "nobody", *WHY), 7, "E404"),
    (("retry", ANNA, "--batch", "99", *WHY), 7, "E404"),
    (("retry", "--batch", "1", *WHY), 7, "E404"),
    (("retry", ANNA, "--where", "status=failed", *WHY), 2, "E401"),
    (("retry", "--where", "status failed", *WHY), 2, "E403"),
    (("retry", "--where", "", *WHY), 2, "E403"),
    (("retry", "--where", 'dept="Sales', *WHY), 2, "E403"),
    (("retry", "--where", "x=" + "y" * 3000, *WHY), 2, "E403"),
    (("retry", "--where", "dept=Nowhere", *WHY), 7, "E404"),
    (("retry", "--lane", "99", *WHY), 6, "E410"),
    (("retry", ANNA, "--reason", "x" * 3000), 2, "E406"),
    (("skip", ANNA, *WHY), 2, "E401"),
    (("skip", ANNA, "--step", "nothing", *WHY), 6, "E410"),
    (("mark-done", ANNA, "--step", "create", "--output", "x", *WHY), 2, "E406"),
    (("mark-done", ANNA, "--step", "create", "--output", "x=[1", *WHY), 2, "E406"),
    (("rollback", ANNA, *WHY), 6, "E410"),
    (("pause", *WHY), 2, "E401"),
    (("pause", "--all", "--batch", "1", *WHY), 2, "E401"),
    (("pause", "--all"), 2, "E401"),
    (("pause", "--runbook", "wav", *WHY), 7, "E521"),
    (("pause", "--batch", "99", *WHY), 7, "E404"),
    (("pause", "--all", *WHY, "--as", "  "), 2, "E406"),
    (("resume", "--all", *WHY), 6, "E410"),
    (("approve", "99", *WHY), 7, "E404"),
    (("approve", "1/nowhere", *WHY), 7, "E404"),
    (("approve", "1/prepare", *WHY, "--as", "ben"), 6, "E410"),
    (("approve", "1/cutover", *WHY), 6, "E410"),
    (("reject", "1/cutover", *WHY), 6, "E410"),
    (("approve", "cutover", *WHY), 2, "E406"),
    (("hold", "lift", "99", *WHY), 7, "E404"),
    (("hold", "list", "--kind", "wish"), 2, "E401"),
    (("gate", "get", "99"), 7, "E404"),
    (("why", "nobody"), 7, "E404"),
    (("why", "99"), 7, "E404"),
    (("why", "step", "99"), 7, "E404"),
    (("why", "gate", "x"), 2, "E406"),
    (("why", "a", "b", "c"), 2, "E401"),
    (("find", "nobody"), 7, "E404"),
    (("watch", "99"), 7, "E404"),
    (("watch", "--timeout", "soon"), 2, "E406"),
    (("runbook", "publish", "broken.yaml"), 2, "E214"),
    (("runbook", "publish", "gone.yaml"), 7, "E121"),
    (("runbook", "publish", "runbook.yaml", "--overdue", "maybe"), 2, "E401"),
    (("runbook", "get", "wav"), 7, "E521"),
    (("runbook", "get", "wave", "--version", "9"), 7, "E404"),
    (("runbook", "versions", "wav"), 7, "E521"),
    (("runbook", "activate", "wave"), 6, "E410"),
    (("runbook", "activate", "wav"), 7, "E521"),
    (("runbook", "deactivate", "wav"), 7, "E521"),
    (("up", "--functions", "gone.py"), 7, "E604"),
    (("up", "--tick", "0"), 2, "E401"),
    (("up", "--tick", "nan"), 2, "E401"),
    (("up", "--isolation", "none"), 2, "E401"),
    (("up", "--worker-id", ""), 2, "E406"),
    (("automation", "enable", "wav"), 7, "E521"),
    (("automation", "status", "wav"), 7, "E521"),
    (("template", "wav"), 7, "E521"),
    (("query", "preview", "wave"), 6, "E413"),
    (("validate", "gone.yaml"), 7, "E121"),
    (("explain", "E999"), 7, "E404"),
    (("init",), 6, "E411"),
    (("status", "--db", "gone/tminus.db"), 7, "E509"),
    (("status", "--db", "members.csv"), 1, "E506"),
    (("batch", "list", "--db", "mysql://host/base"), 7, "E509"),
]


@pytest.fixture(name="settled", scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    from tests.acceptance.cli.terminal import BOOK, Terminal  # noqa: PLC0415 - a fixture of the whole module.

    terminal = Terminal(tmp_path_factory.mktemp("settled"))
    files = {
        "double.csv": f"upn,dept\n{ANNA},Sales\n{ANNA},Sales\n",
        "keyless.csv": "name,dept\nanna,Sales\n",
        "other.csv": "upn,dept\ndan@contoso.com,Sales\n",
        "broken.yaml": BOOK.replace("on_failure: undo", "on_failur: undo"),
    }
    for name, text in files.items():
        (terminal.folder / name).write_text(text, encoding="utf-8")
    return terminal.batch("--at", "2030-01-01")


def unaudited(dump: list[str], code: str) -> list[str]:
    """Leave out what was refused: it is audited, and that is all."""
    return [
        line for line in dump if code != "E410" or not (line.startswith('INSERT INTO "audit"') and "'refused'" in line)
    ]


def named(words: tuple[str, ...]) -> str:
    return " ".join(words)[:50]


@pytest.mark.parametrize(("words", "exit_code", "code"), WRONG, ids=[named(words) for words, _, _ in WRONG])
def test_one_line_the_right_exit_code_and_nothing_changed(
    settled: Terminal, words: tuple[str, ...], exit_code: int, code: str
) -> None:
    before = settled.dump()
    ran = settled.run(*words)
    assert ran.code == exit_code, ran.err
    assert len(ran.err.splitlines()) == 1, ran.err
    assert re.search(rf"(^|: ){code} \S", ran.err)
    assert every_code()[code].exit_code == exit_code
    assert unaudited(settled.dump(), code) == unaudited(before, code)


@pytest.mark.parametrize(("words", "exit_code", "code"), WRONG, ids=[named(words) for words, _, _ in WRONG])
def test_as_json_an_error_is_an_object(settled: Terminal, words: tuple[str, ...], exit_code: int, code: str) -> None:
    if "-o" in words or words[0].startswith("-"):
        pytest.skip("this one is about the option itself")
    ran = settled.run(*words, "-o", "json")
    assert ran.code == exit_code
    assert ran.out == ""
    found = json.loads(ran.err.splitlines()[-1])
    assert list(found) == ["code", "place", "message", "hint"]
    assert found["code"] == code


def test_every_problem_of_a_file_of_members_is_told_and_nothing_is_made(settled: Terminal) -> None:
    text = "upn,dept\na@x,Sales\n,Sales\na@x,Sales\nb@x\n"
    (settled.folder / "bad.csv").write_text(text, encoding="utf-8")
    before = settled.dump()
    ran = settled.run("batch", "create", "wave", "bad.csv")
    assert ran.code == 2
    assert [line.split(":")[1] for line in ran.err.splitlines()[:-1]] == ["3", "4", "5"]
    assert "E350" in ran.err.splitlines()[-1]
    assert settled.dump() == before


def test_a_key_in_two_open_batches_must_be_told_apart(terminal: Terminal) -> None:
    terminal.batch()
    second = (terminal.folder / "runbook.yaml").read_text(encoding="utf-8").replace("name: wave", "name: other", 1)
    (terminal.folder / "second.yaml").write_text(second, encoding="utf-8")
    terminal.well("runbook", "publish", "second.yaml")
    terminal.well("batch", "create", "other", "members.csv")
    ran = terminal.run("member", "get", ANNA)
    assert (ran.code, "E405 the key lives in batches 1 and 2" in ran.err) == (2, True)
    assert terminal.well("member", "get", ANNA, "--batch", "2", "-o", "json").fields()["batch_id"] == 2


def test_a_name_that_is_nearly_right_is_offered(settled: Terminal) -> None:
    assert 'did you mean "status"?' in settled.run("staus").err
    assert 'did you mean "list"?' in settled.run("batch", "lst").err
    assert 'did you mean "wave"?' in settled.run("runbook", "get", "wav").err


def test_what_cannot_be_seen_reaches_no_terminal(settled: Terminal) -> None:
    ran = settled.run("find", "x\x1b[31m\n\u202eevil")
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


def test_an_unwritable_folder_is_an_error_in_one_line(settled: Terminal, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    ran = settled.run("init", str(tmp_path / "file" / "deeper"))
    assert (ran.code, "E412" in ran.err, len(ran.err.splitlines())) == (1, True, 1)
