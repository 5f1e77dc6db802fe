"""The presence of this process on the roster: it signs in, is seen now and then, and signs out."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tminus import __version__
from tminus.engine import identity
from tminus.engine.work import BEAT_S
from tminus.ports.roster import Process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.ports.roster import Roster
    from tminus.ports.runner import Runner


class Presence:
    """One process; without a roster nothing is written."""

    def __init__(self, roster: Roster | None, runner: Runner, name: str, worker_ids: Sequence[str]) -> None:
        """Know what there is to say."""
        self._roster = roster
        self._runner = runner
        self._name = name
        self._worker_ids = worker_ids
        self._offered: frozenset[str] | None = None
        self._seen_at = 0.0

    def sign_in(self) -> None:
        """Write off those of this host that died without a word, and sign in."""
        if self._roster is None:
            return
        for name in self._roster.listed():
            if name != self._name and identity.is_dead(name):
                self._roster.left(name)
        self._seen_at = 0.0
        self.be_seen()

    def be_seen(self) -> None:
        """Say now and then that this process is alive, and what it offers where that has changed."""
        if self._roster is None or time.monotonic() < self._seen_at:
            return
        offered = self._runner.functions()
        if offered == self._offered:
            self._roster.seen(self._name)
        else:
            self._roster.enlist(
                Process(
                    name=self._name,
                    host=identity.host_of(self._name),
                    pid=os.getpid(),
                    age_s=identity.own_age_s(),
                    worker_ids=self._worker_ids,
                    functions=offered,
                    version=__version__,
                )
            )
        self._offered = offered
        self._seen_at = time.monotonic() + BEAT_S

    def sign_out(self) -> None:
        """Say that this process ends."""
        if self._roster is not None:
            self._roster.left(self._name)
