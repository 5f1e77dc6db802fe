"""What `up` tells while it runs, and what it says at its end: news in one plain line each, quiet otherwise.

A look is four short reads, at most twice a second and however much has happened; of a flood the first few are told and
the rest is counted. This module knows words only; what is news is decided by the insights.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from tminus.domain.instant import between_s
from tminus.runbook import load
from tminus.store.insights import news, runbooks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tminus.cli.voice import Voice
    from tminus.db.connection import Tx
    from tminus.ports.runner import Runner
    from tminus.runbook.model import Runbook, Step
    from tminus.store.insights.news import Passed
    from tminus.store.insights.records import Record
    from tminus.store.insights.sources import Untaken
    from tminus.store.store import Store

LOOK_S: Final = 0.5
NAMED: Final = 5
CLOCK_S: Final = 2.0
AGAIN_S: Final = 30.0
LONGEST: Final = 200
_ENDINGS: Final = {"completed": "has completed", "failed": "has failed", "cancelled": "is cancelled"}


class Reporter:
    """Looks at one store, and tells."""

    def __init__(self, store: Store, runner: Runner, voice: Voice, worker_ids: Sequence[str] = ()) -> None:
        """Begin with what happens from now on; `worker_ids` empty serves every one."""
        self._store = store
        self._runner = runner
        self._voice = voice
        self._worker_ids = worker_ids
        self._at = 0.0
        self._deaths = 0
        self._death: str = ""
        self._death_at = 0.0
        self._version = -1
        self._is_behind = False
        with store.database.read() as tx:
            self._marks = news.newest(tx)

    def look(self) -> None:
        """Tell what is new, when it is time to look."""
        now = time.monotonic()
        if now >= self._at:
            self._at = now + LOOK_S
            self.look_now()

    def look_now(self) -> None:
        """Tell what is new."""
        with self._store.database.read() as tx:
            found, self._marks = news.since(tx, self._marks)
            version = news.newest_version(tx)
        for one in found.made:
            self._made(one)
        for batch, count, few in found.failed:
            self._failed(batch, count, few)
        for passed in found.passed:
            self._passed(passed)
        for one in found.holds:
            self._held(one)
        for one in found.ended:
            self._ended(one)
        for name, said, again in found.source_errors:
            then = f"; asked again at {again}" if again else ""
            self._voice.say(f"runbook {name}: its source fails: {_short(said)}{then}", "source_failed", runbook=name)
        for name in found.source_mended:
            self._voice.say(f"runbook {name}: its source answers again", "source_mended", runbook=name)
        for left in found.untaken:
            self._untaken(left)
        if found.unread:
            self._voice.say(f"and {found.unread:,} more; tminus status shows them", "more")
        self._children()
        self._clock()
        if version != self._version:
            self._version = version
            self.check_offers()

    def _made(self, one: Record) -> None:
        t0 = f"T-0 {one['batch_start_time']}" if one["batch_start_time"] else "no T-0: it waits to be advanced"
        members = count_of(int(str(one["members"])), "member")
        message = f"batch {one['id']} of {one['runbook_name']} made: {members}, {t0}"
        self._voice.say(message, "batch_made", at=one["detected_at"], batch_id=one["id"])

    def _ended(self, one: Record) -> None:
        status = str(one["status"])
        word = _ENDINGS.get(status, "goes on again")
        message = f"batch {one['batch_id']} of {one['runbook_name']} {word}{_counted(one)}"
        self._voice.say(message, f"batch_{status}", at=one["at"], batch_id=one["batch_id"])

    def _failed(self, batch: int, count: int, few: Sequence[Record]) -> None:
        if count > len(few):
            first = few[0] if few else {}
            why = _short(first.get("error_message") or first.get("cause"))
            message = f"batch {batch}: {count:,} members failed, the first {first.get('member_key')}: {why}"
            self._voice.say(message, "members_failed", at=first.get("at"), batch_id=batch, count=count)
            return
        for one in few:
            why = _short(one["error_message"] or "")
            message = f"batch {batch}: {one['member_key']} failed, {one['cause']}{f': {why}' if why else ''}"
            self._voice.say(message, "member_failed", at=one["at"], batch_id=batch, member_key=one["member_key"])

    def _passed(self, one: Passed) -> None:
        whom = one.first if one.count == 1 else f"{one.count:,} members ({one.first} and others)"
        cause = one.cause if one.to is None else f"moved to batch {one.to}"
        cause = {"removed": f"{'was' if one.count == 1 else 'were'} removed"}.get(cause, cause)
        kind = "members_joined" if cause == "joined" else "members_left" if one.to is None else "members_moved"
        self._voice.say(f"batch {one.batch}: {whom} {cause}", kind, batch_id=one.batch, count=one.count, to=one.to)

    def _held(self, one: Record) -> None:
        place = f"batch {one['batch_id']}: " if one["batch_id"] else ""
        what = " ".join(str(part) for part in (one["phase_name"], one["member_key"]) if part)
        about = f" ({what})" if what else ""
        message = (
            f"{place}waits for a human, {one['kind']}{about}: {_short(one['reason'])} - tminus why hold {one['id']}"
        )
        self._voice.say(message, "hold_opened", at=one["opened_at"], hold_id=one["id"], batch_id=one["batch_id"])

    def _untaken(self, one: Untaken) -> None:
        """Tell of rows and keys that no batch follows: the others go on, so that nobody would look for them."""
        place = f"runbook {one.runbook}: "
        if not one.anything:
            self._voice.say(f"{place}every row of its source is followed again", "rows_followed", runbook=one.runbook)
            return
        parts = [f"{count_of(one.rows, 'row')} cannot be read"] if one.rows else []
        parts += [f"{count_of(one.keys, 'key')} left out"] if one.keys else []
        first = f", first {_short(one.first)}" if one.first else ""
        less = "" if one.complete else "; the answer is not complete, so that nobody can leave by it"
        message = f"{place}{', '.join(parts) or 'an answer'}{first}{less} - tminus automation status {one.runbook}"
        self._voice.say(
            message, "rows_left_out", runbook=one.runbook, rows=one.rows, keys=one.keys, complete=one.complete
        )

    def _children(self) -> None:
        health = self._runner.health()
        if health.deaths == self._deaths:
            return
        how, now = _short(health.last_death), time.monotonic()
        if how == self._death and now < self._death_at + AGAIN_S:
            return
        count = health.deaths - self._deaths
        again = f" ({count:,} times)" if count > 1 else ""
        self._deaths, self._death, self._death_at = health.deaths, how, now
        self._voice.say(f"a process that runs functions ended{again}: {how}", "child_ended", count=count)

    def _clock(self) -> None:
        """Say when the machine's clock was set back: what is due later waits for it."""
        behind_s = between_s(self._store.database.now(), self._store.now())
        if behind_s > CLOCK_S and not self._is_behind:
            message = f"the clock was set back by {behind_s:,.0f} s: what is due later waits until it has caught up"
            self._voice.say(message, "clock_set_back", seconds=behind_s)
        self._is_behind = behind_s > CLOCK_S

    def check_offers(self) -> None:
        """Warn of runbooks that name functions which nobody here offers, and of worker ids that are not served."""
        offered = self._runner.functions()
        with self._store.database.read() as tx:
            texts = [runbooks.one(tx, name) or {} for name in runbooks.active_names(tx)]
        books = [load(str(one["yaml_content"])) for one in texts if one]
        for book in books:
            missing = sorted({_call(step) for step in _steps(book) if self._serves(step)} - offered - {""})
            if missing:
                message = f"runbook {book.name}: nobody here offers {named(missing)}; its steps will fail"
                self._voice.say(message, "not_offered", runbook=book.name, functions=missing)
            others = sorted({step.worker_id for step in _steps(book) if not self._serves(step)})
            if others:
                message = f"runbook {book.name}: worker ids not served here: {named(others)}"
                self._voice.say(message, "not_served", runbook=book.name, worker_ids=others)

    def _serves(self, step: Step) -> bool:
        return not self._worker_ids or step.worker_id in self._worker_ids


def _steps(book: Runbook) -> Iterator[Step]:
    yield from (*book.init, *book.on_member_removed, *book.on_member_failed, *book.on_batch_finished)
    for steps in (*(phase.steps for phase in book.phases), *book.rollbacks.values()):
        yield from steps


def _call(step: Step) -> str:
    """Return the function that a step names; empty where a template does."""
    return step.function.source if step.function.constant else ""


def count_of(count: int, noun: str) -> str:
    """Write how many of a thing there are."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def named(names: Collection[str]) -> str:
    """Name the first few of many names."""
    shown = ", ".join(list(names)[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"


def _counted(one: Record) -> str:
    counts = cast("dict[str, int]", one["counts"])
    words = [f"{count:,} {status}" for status, count in counts.items() if count]
    return f": {', '.join(words)}" if words else ""


def _short(text: object) -> str:
    """Return the first line of a text, and no more of it than a line holds."""
    lines = str(text or "").strip().splitlines()
    first = lines[0] if lines else ""
    return first if len(first) <= LONGEST else f"{first[: LONGEST - 1]}…"


def ending(tx: Tx) -> tuple[Record, str]:
    """Return how everything stands, with a sentence about it, and the command that is probably wanted next."""
    found = news.totals(tx)
    by_status = cast("dict[str, int]", found["batches"])
    failed, held = int(str(found["members_failed"])), int(str(found["holds"]))
    parts = [f"{count:,} {status}" for status, count in by_status.items()]
    words = f"batches: {', '.join(parts)}" if parts else "no batch yet"
    words += f" - members failed: {failed:,}" if failed else ""
    words += f" - waiting for a human: {held:,}" if held else ""
    if found["failed_batch"] is not None:
        command = f"tminus batch steps {found['failed_batch']} --failed"
    elif found["hold"] is not None:
        command = f"tminus why hold {found['hold']}"
    else:
        command = "tminus status" if parts else "tminus batch create RUNBOOK members.csv"
    return {"message": words, **found}, command
