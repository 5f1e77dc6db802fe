"""Settings: the command line before the environment, that before the folder's file, that before the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.cli.terminal import Terminal

FILES = ("user.db", "project.db", "environment.db", "option.db")


def made(terminal: Terminal) -> set[str]:
    """Say which database was made, and take it away."""
    found = {path.name for path in terminal.folder.glob("*.db")}
    for name in found:
        (terminal.folder / name).unlink()
    return found


def user_file(terminal: Terminal, text: str) -> dict[str, str]:
    folder = terminal.folder / "config" / "tminus"
    folder.mkdir(parents=True)
    (folder / "tminus.toml").write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder.parent)}


def test_the_nearest_one_wins(terminal: Terminal) -> None:
    publish = ("runbook", "publish", "runbook.yaml")
    env = user_file(terminal, 'db = "user.db"\n')
    assert terminal.run(*publish, env=env).code == 0
    assert made(terminal) == {"user.db"}
    (terminal.folder / "tminus.toml").write_text('db = "sqlite:///./project.db"\n', encoding="utf-8")
    assert terminal.run(*publish, env=env).code == 0
    assert made(terminal) == {"project.db"}
    env["TMINUS_DB"] = "environment.db"
    assert terminal.run(*publish, env=env).code == 0
    assert made(terminal) == {"environment.db"}
    assert terminal.run(*publish, "--db", "option.db", env=env).code == 0
    assert made(terminal) == {"option.db"}


def test_files_add_up(terminal: Terminal) -> None:
    env = user_file(terminal, 'actor = "otto"\ndb = "user.db"\n') | {"TMINUS_ACTOR": ""}
    (terminal.folder / "tminus.toml").write_text('db = "project.db"\n', encoding="utf-8")
    assert terminal.run("runbook", "publish", "runbook.yaml", env=env).code == 0
    listed = terminal.run("runbook", "list", "-o", "json", env=env).rows()
    assert [row["created_by"] for row in listed] == ["otto"]
    assert made(terminal) == {"project.db"}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("childs = 1\n", "tminus.toml", '"childs" is no setting - did you mean "children"?'),
        ("quite_another = 1\n", "tminus.toml", "there are db, actor, "),
        ("db = 7\n", "tminus.toml", '"db" takes a text'),
        ('db = ""\n', "tminus.toml", '"db" takes a text'),
        ('tick = "1"\n', "tminus.toml", '"tick" takes a number'),
        ("tick = true\n", "tminus.toml", '"tick" takes a number'),
        ("children = 1.5\n", "tminus.toml", '"children" takes a whole number'),
        ("functions = [1]\n", "tminus.toml", '"functions" takes a list of texts'),
        ("functions = {a = 1}\n", "tminus.toml", '"functions" takes a list of texts'),
        ("[up]\ntick = 1\n", "tminus.toml", '"up" is no setting'),
        ('db = "a\n', "tminus.toml:1:8", "Illegal character"),
        ("= =\n", "tminus.toml:1:1", "Invalid statement"),
        ("tick = 1\ntick = 2\n", "tminus.toml:2:9", "Cannot overwrite a value"),
        ("tick = 0\n", "tminus.toml", "greater than or equal to 0.05"),
        ("tick = nan\n", "tminus.toml", "Invalid value for '--tick'"),
        ("children = -1\n", "tminus.toml", "greater than or equal to 1"),
        ('isolation = "proces"\n', "tminus.toml", "'proces' is not one of 'thread', 'process'"),
    ],
)
def test_a_wrong_file_is_one_line(terminal: Terminal, text: str, place: str, words: str) -> None:
    (terminal.folder / "tminus.toml").write_text(text, encoding="utf-8")
    ran = terminal.run("up", "--until-idle")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1), ran.err
    assert ran.err.startswith(f"{place}: E414 ")
    assert words in ran.err
    assert made(terminal) == set()
    assert terminal.run("explain", "E414").code == 0, "what explains the error must not fail by it"
    assert terminal.run("up", "--help").code == 0


def test_a_file_that_is_no_text_is_one_line(terminal: Terminal) -> None:
    (terminal.folder / "tminus.toml").write_bytes(b'db = "\xff"')
    ran = terminal.run("status", "-o", "json")
    assert (ran.code, '"code": "E414"' in ran.err) == (2, True)


def test_a_wrong_option_is_not_blamed_on_the_file(terminal: Terminal) -> None:
    (terminal.folder / "tminus.toml").write_text("tick = 2\n", encoding="utf-8")
    assert terminal.run("up", "--tick", "0").err.startswith("tminus up: E401 ")


def test_a_connection_string_of_sql_server_is_refused_without_being_repeated(terminal: Terminal) -> None:
    name = "Orchestrator__SqlConnectionString"
    for text in ("Server=tcp:db.example,1433;Password=S3CR3T", "Initial Catalog=x;data source=db.example;pwd=S3CR3T"):
        ran = terminal.run("status", env={name: text})
        assert (ran.code, "SQL Server" in ran.err, "S3CR3T" in ran.err) == (7, True, False)
    assert terminal.run("runbook", "publish", "runbook.yaml", env={name: "sqlite:///./other.db"}).code == 0
    assert made(terminal) == {"other.db"}


def test_what_a_file_says_reaches_the_workers(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from tminus import function\n@function\ndef one(): ...\n", encoding="utf-8")
    text = 'functions = "mine.py"\nworker_id = ["w", "x"]\nchildren = 1\nisolation = "process"\n'
    (terminal.folder / "tminus.toml").write_text(text, encoding="utf-8")
    ran = terminal.run("up", "--until-idle")
    assert ran.code == 0, ran.err
    assert "1 function from mine.py - worker ids: w, x" in ran.err
