"""What people's files import, as it behaves outside of a worker: in their own tests and editors."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

import tminus
from tminus import Fatal, Pending, Throttled, function
from tminus.functions import OFFERED, job


def test_a_marked_function_stays_itself() -> None:
    def new_user(name: str) -> dict[str, str]:
        return {"id": name}

    async def later() -> None: ...

    before = len(OFFERED.entries)
    assert function(new_user) is new_user
    assert function("New-EntraUser")(new_user) is new_user
    assert function()(later) is later
    names = [name for name, _ in OFFERED.entries[before:]]
    assert names == ["new_user", "New-EntraUser", "later"]
    assert new_user("x") == {"id": "x"}


@pytest.mark.parametrize("name", ["", " x", "x ", "__x", "a\nb", "a\x00", "x" * 201])
def test_a_name_that_nobody_could_write_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        function(name)(print)


def test_outside_of_a_job_there_is_none() -> None:
    with pytest.raises(LookupError, match="no job is being run here"):
        job()


@pytest.mark.parametrize(
    ("after", "expected"),
    [(None, None), (30, 30.0), (1.5, 1.5), ("7", 7.0), (timedelta(minutes=2), 120.0), (-1, 0.0), ("x", None)],
)
def test_throttled_reads_when_to_come_back(after: float | str | timedelta | None, expected: float | None) -> None:
    assert Throttled(retry_after=after).retry_after_s == expected


def test_the_answers_are_exceptions_with_words() -> None:
    assert str(Throttled("429")) == "429"
    assert str(Fatal("no such tenant")) == "no such tenant"
    assert Pending({"percent": 40}).data == {"percent": 40}


def test_the_root_hands_out_four_names_and_no_more() -> None:
    assert tminus.function is function
    with pytest.raises(AttributeError, match="no attribute 'job'"):
        _ = getattr(tminus, "job")  # noqa: B009 - a name that the checker knows to be absent.


def test_importing_the_root_loads_nothing_else() -> None:
    script = "import sys, tminus; print(*sorted(name for name in sys.modules if name.startswith(('tminus', 'orjson'))))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["tminus"]
