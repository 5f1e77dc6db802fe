"""Whose lease may be ended: a process of this host that has certainly ended, and never one that lives."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tminus.engine import identity

if TYPE_CHECKING:
    from collections.abc import Generator

HOST = socket.gethostname()


@pytest.fixture(name="other")
def sleeping() -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def name_of(pid: int) -> str:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return f"{HOST}:{pid}:{fields[19]}"


def test_this_process_lives() -> None:
    assert identity.own_name() == name_of(os.getpid())
    assert not identity.is_dead(identity.own_name())
    assert 0 < identity.own_age_s() < 86_400


def test_a_neighbour_lives_until_it_ends(other: subprocess.Popen[str]) -> None:
    name = name_of(other.pid)
    assert not identity.is_dead(name)
    other.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert identity.is_dead(name), "nobody has taken note of its end yet"
    other.wait()
    assert identity.is_dead(name)


def test_another_process_under_the_same_number_is_not_the_one_that_held_the_lease(other: subprocess.Popen[str]) -> None:
    assert identity.is_dead(f"{HOST}:{other.pid}:17")


@pytest.mark.parametrize("name", ["elsewhere:1:17", "worker-1", f"{HOST}:x:17", f"{HOST}:0:17", ""])
def test_who_cannot_be_judged_is_left_alone(name: str) -> None:
    assert not identity.is_dead(name)


def test_one_that_the_kernel_hides_is_left_alone(
    other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where /proc shows only one's own processes, another account's looks as if it were gone."""
    name = name_of(other.pid)

    def elsewhere(place: str) -> Path:
        return tmp_path / place.lstrip("/")

    monkeypatch.setattr(identity, "Path", elsewhere)
    assert not identity.is_dead(name)
    other.kill()
    other.wait()
    assert identity.is_dead(name)
