"""What a person sees who starts a worker on files that cannot be loaded."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.workers.driving import HEAD, call, pool_of, value
from tminus.domain.errors import TminusError
from tminus.testing.runner_suite import gathered
from tminus.workers.codes import CODES
from tminus.workers.pool import PoolSettings, PythonPool

if TYPE_CHECKING:
    from pathlib import Path


def refused(*files: Path, settings: PoolSettings | None = None) -> TminusError:
    """Start a pool that must not start, and return what it says."""
    pool = PythonPool(settings or PoolSettings(children=2))
    with pytest.raises(TminusError) as caught:
        pool.start([str(file) for file in files])
    assert pool.close(0) == []
    assert "Traceback" not in str(caught.value)
    assert caught.value.code in {code.code for code in CODES}
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "code", "words"),
    [
        ("import no_such_package\n", 1, "E601", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("x = 1\ndef broken(:\n", 2, "E601", "SyntaxError: invalid syntax"),
        ("x = 1\n\nx.y\n", 3, "E601", "AttributeError: 'int' object has no attribute 'y'"),
        ("import json\n\njson.loads('{')\n", 3, "E601", "JSONDecodeError"),
        ("raise SystemExit(3)\n", 1, "E601", "SystemExit: 3"),
        ("\x00", 0, "E601", "null bytes"),
        ("def f(): pass\n", 0, "E602", "no function is offered"),
        ("", 0, "E602", "no function is offered"),
        ("from tminus import function\n@function\ndef f(): yield 1\n", 2, "E601", "a generator cannot be offered"),
        (
            "from tminus import function\n@function\nasync def f(): yield 1\n",
            2,
            "E601",
            "a generator cannot be offered",
        ),
        ("from tminus import function\n@function\nclass F: pass\n", 2, "E601", "marks functions only"),
        ("from tminus import function\n@function('')\ndef f(): pass\n", 2, "E601", "a function's name"),
        ("from tminus import function\n@function(' f')\ndef f(): pass\n", 2, "E601", "a function's name"),
        ("from tminus import function\n@function('__f')\ndef f(): pass\n", 2, "E601", "two underscores"),
        (
            "from tminus import function\n@function('a')\ndef f(): pass\n@function('a')\ndef g(): pass\n",
            4,
            "E603",
            '"a"',
        ),
        ("import os\nos._exit(3)\n", 0, "E605", "exited with code 3"),
        ("import os\nos.abort()\n", 0, "E605", "SIGABRT"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, line: int, code: str, words: str) -> None:
    file = tmp_path / "functions.py"
    file.write_text(text, encoding="utf-8")
    error = refused(file)
    assert error.code == code
    assert words in error.message
    if code != "E605":
        assert error.place == (f"{file}:{line}" if line else str(file))


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_bytes(b"x = '\xff\xfe'\n")
    error = refused(file)
    assert error.code == "E601"
    assert str(file) in error.place


@pytest.mark.parametrize("what", ["nothing", "a folder"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, what: str) -> None:
    file = tmp_path / "functions.py"
    if what == "a folder":
        file.mkdir()
    error = refused(file)
    assert (error.code, error.place) == ("E604", str(file))


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text(HEAD, encoding="utf-8")
    file.chmod(0)
    assert refused(file).code == "E604"


def test_no_file_is_an_error() -> None:
    assert refused().code == "E602"


def test_a_file_that_never_finishes_loading_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    begun_s = time.monotonic()
    error = refused(file, settings=PoolSettings(children=2, start_timeout_s=0.5))
    assert time.monotonic() - begun_s < 5
    assert error.code == "E605"
    assert "not loaded in time" in error.message


def test_the_second_of_two_files_with_one_name_is_named(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text(HEAD + "@function\ndef same(): return 1\n", encoding="utf-8")
    two.write_text(HEAD + "\n@function\ndef same(): return 2\n", encoding="utf-8")
    error = refused(one, two)
    assert error.code == "E603"
    assert error.place == f"{two}:6"
    assert f"{one}:5" in error.message
    assert "another name" in error.hint


def test_several_files_offer_together_and_import_their_neighbours(tmp_path: Path) -> None:
    shared = tmp_path / "shared.py"
    shared.write_text(HEAD + "@function\ndef common(): return 'shared'\n", encoding="utf-8")
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text(HEAD + "import shared\n@function\ndef first(): return shared.common()\n", encoding="utf-8")
    two.write_text(HEAD + "import shared\n@function('Second')\ndef other(): return __name__\n", encoding="utf-8")
    pool = PythonPool(PoolSettings(children=1))
    pool.start([str(one), str(two), str(one), str(shared)])
    assert pool.functions() == {"common", "first", "Second"}
    assert value(pool, "first") == "shared"
    assert value(pool, "Second") == "tminus_functions_1_two"
    pool.close(0)


def test_a_folder_change_after_the_start_does_not_hurt_replacements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions.py").write_text(
        HEAD + "@function\ndef leave(): os._exit(1)\n@function\ndef on(): return 1\n"
    )
    pool = PythonPool(PoolSettings(children=1))
    pool.start(["functions.py"])
    monkeypatch.chdir("/")
    pool.submit([call("leave")])
    gathered(pool, 1)
    assert value(pool, "on") == 1
    pool.close(0)


def test_a_file_broken_meanwhile_shows_and_heals(tmp_path: Path) -> None:
    functions = "@function\ndef leave(): os._exit(1)\n@function\ndef on(): return 1\n"
    with pool_of(tmp_path, functions) as pool:
        file = tmp_path / "functions.py"
        good = file.read_text(encoding="utf-8")
        file.write_text("import no_such_package\n", encoding="utf-8")
        pool.submit([call("leave")])
        gathered(pool, 1)
        while pool.health().deaths < 2:
            pool.poll(0.1)
        last = pool.health().last_death
        assert last is not None
        assert f"{file}:1: E601" in last
        file.write_text(good + "# mended", encoding="utf-8")
        assert value(pool, "on") == 1


def test_the_environment_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPH_SECRET_NAME", "kept")
    functions = """
@function
def look():
    return [os.environ.get("GRAPH_SECRET_NAME"), os.environ.get("PYTHONPATH"), sys.argv[1:], os.getcwd(), __file__]

@function
def ask(): return input()
"""
    with pool_of(tmp_path, functions) as pool:
        seen = value(pool, "look")
        python_path = os.environ.get("PYTHONPATH")
        assert seen == ["kept", python_path, [], os.getcwd(), str(tmp_path / "functions.py")]  # noqa: PTH109 - as there.
        pool.submit([call("ask")])
        assert "EOFError" in str(gathered(pool, 1)["ask"])


def test_what_functions_registered_for_the_exit_runs_when_idle(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    functions = f"""
import atexit
atexit.register(lambda: open({str(mark)!r}, "w").close())

@function
def on(): return 1
"""
    with pool_of(tmp_path, functions) as pool:
        assert value(pool, "on") == 1
    assert mark.exists()
