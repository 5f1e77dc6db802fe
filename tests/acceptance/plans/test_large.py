"""Fifty thousand members: the screen stays one screen, every call is a row, and it takes seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.acceptance.plans.desk import AT, TICKET, put, rows

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Terminal

MANY = 50_000
# It takes about two seconds on a machine of its own.
LONGEST_S = 60


def test_fifty_thousand_members_are_one_screen(terminal: Terminal) -> None:
    lines = "".join(
        f"user-{number:05}@contoso.com,{'Guest' if number % 2 else 'User'},Sales,p\n" for number in range(MANY)
    )
    put(terminal, "members.csv", f"upn,type,dept,Password\n{lines}")
    began = time.monotonic()
    ran = terminal.well("plan", "--members", "members.csv", *TICKET, *AT, "--save", "big")
    assert time.monotonic() - began < LONGEST_S
    assert len(ran.out.splitlines()) < 40
    assert "25,000 of 50,000 members" in ran.out
    assert "25,000 members  {{TargetId}} in params.id has no value" in ran.out
    assert "and 24,997 more" in " ".join(ran.out.split())
    found = terminal.well("plan", "show", "big", "-o", "json").fields()
    assert len(rows(found, "would_not_run")) == MANY // 2
    calls = terminal.well("plan", "show", "big", "-o", "csv").out
    assert calls.count("\n") == 1 + 2 + 4 * MANY
