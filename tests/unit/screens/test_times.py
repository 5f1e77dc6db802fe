"""Times in sentences: UTC as the core writes it becomes what a clock on the wall shows."""

from __future__ import annotations

import pytest

from tminus.cli.clocks import localized
from tminus.domain.instant import Instant

NOW = Instant("2026-11-19T21:00:00.000Z")


@pytest.mark.parametrize(
    ("sentence", "lived"),
    [
        ("due at 22:00:00Z; a gate", "due at 23:00 Europe/Berlin; a gate"),
        ("due at 22:00:30Z", "due at 23:00:30 Europe/Berlin"),
        ("due at 2026-11-20 22:00:00Z", "due at Fri 20 Nov 23:00 Europe/Berlin"),
        ("due at 23:30:00Z", "due at Fri 20 Nov 00:30 Europe/Berlin"),
        ("due at 2027-03-28 01:00:00Z", "due at Sun 28 Mar 2027 03:00 Europe/Berlin"),
        ("next at 21:30:00Z, times out at 22:30:00Z", "next at 22:30, times out at 23:30 Europe/Berlin"),
        ("not 2026-13-45 22:00:00Z", "not 2026-13-45 22:00:00Z"),
        ("not 9922:00:00Z nor 25:00:00Z", "not 9922:00:00Z nor 25:00:00Z"),
        ("waits for a worker", "waits for a worker"),
    ],
)
def test_a_sentence_tells_the_time_of_its_place(sentence: str, lived: str) -> None:
    assert localized(sentence, "Europe/Berlin", NOW) == lived


def test_in_utc_it_stays_as_it_is() -> None:
    assert localized("due at 22:00:00Z", "UTC", NOW) == "due at 22:00:00Z"
