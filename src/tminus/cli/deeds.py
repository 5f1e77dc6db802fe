"""What the keys of the live screen do beyond moving: tell why, ask for a reason, retry, pause, resume.

Each deed goes the same road as the command of its name. Whom it is about is fixed when the question is asked, so that a
list that moves while somebody types a reason changes nobody's fate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tminus.cli import doing, signs, whys
from tminus.cli.board import Prompt, Sheet
from tminus.cli.clocks import distance, wall
from tminus.domain.instant import Instant
from tminus.progression import events as ev
from tminus.store.insights import batches, holds, members, selection, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.cli.board import Board, Deed, Wish
    from tminus.store.insights.grid import Page
    from tminus.store.insights.records import Record
    from tminus.store.store import Store


@dataclass(slots=True)
class Deeds:
    """Grants the wishes of one board."""

    store: Store
    board: Board
    actor: str
    width: int
    plain: bool

    def grant(self, wish: Wish, page: Page | None, draw: Callable[[], None]) -> None:
        """Do what a key asks for; `draw` shows how far a long deed has come."""
        if wish.wanted == "do":
            self._do(wish.reason, draw)
        elif wish.wanted == "pause":
            self._ask_pause(page)
        elif wish.wanted == "retry all":
            self._ask_retry_all()
        else:
            self._about_one(wish, page)

    def _about_one(self, wish: Wish, page: Page | None) -> None:
        row = self.board.under_cursor(page)
        sheet = self.board.sheet
        subject = sheet.member if sheet is not None else None if row is None else (row.member_id, row.key)
        if self.board.batch_id is None or (subject is None and wish.wanted != "why"):
            self.board.say("there is no member under the cursor")
            return
        with self.store.snapshot() as (tx, context):
            if subject is None:
                found = waiting.batch(tx, context, self.board.batch_id)
            else:
                found = waiting.member(tx, context, subject[0])
            steps = batches.steps_of(tx, subject[0]) if subject is not None and wish.wanted == "member" else []
        if wish.wanted == "retry one" and subject is not None:
            self._ask_retry_one(found, subject)
            return
        lines = whys.lines(found, width=self.width, plain=self.plain)
        title = lines[0]
        lines = [*lines[1:], *self._steps(steps, found)]
        self.board.show(Sheet(title, lines, subject))

    def _steps(self, steps: list[Record], found: Record) -> list[str]:
        """Lay out all steps of a member, in the order of its lanes."""
        lines: list[str] = [""] if steps else []
        zone, at = str(found["zone"]), Instant(str(found["now"]))
        for one in steps:
            sign = signs.of_step(str(one["status"]), plain=self.plain)
            place = f"{one['phase_name'] or one['kind']}/{one['step_name']}"
            ended = one["completed_at"] or one["dispatched_at"]
            when = "" if ended is None else wall(Instant(str(ended)), zone, at)
            tries = f" after {one['retry_count']} retries" if one["retry_count"] else ""
            waits = one["status"] == "pending" and one["retry_after"] is not None
            again = f", next {distance(Instant(str(one['retry_after'])), at)}" if waits else ""
            said = f": {one['error_message']}" if one["error_message"] else ""
            lines.append(f"  {sign} {place:<30} {one['status']:<12}{when}{tries}{again}{said}")
        return lines

    def _ask_retry_one(self, found: Record, subject: tuple[int, str]) -> None:
        action = next(one for one in cast("list[Record]", found["actions"]) if one["name"] == "retry")
        if not action["enabled"]:
            self.board.say(f"{subject[1]}: {action['reason']}")
            return
        start = f" from {found['retry_from']}" if found["retry_from"] else ""
        self.board.ask(Prompt(f"retry {subject[1]}{start} - reason: ", "retry", [subject]))

    def _ask_retry_all(self) -> None:
        terms = tuple(term for term in self.board.selected() if term.field != "status")
        wanted = (*terms, *selection.parse("status=failed"))
        found = members.selected(self.store.database, wanted, self.board.batch_id)
        if not found:
            self.board.say("no failed member is among those shown")
            return
        noun = "1 member" if len(found) == 1 else f"{len(found):,} members"
        self.board.ask(Prompt(f"retry {noun} from the failed step - reason: ", "retry", found))

    def _ask_pause(self, page: Page | None) -> None:
        if page is None:
            return
        head = page.head
        label: Deed = "resume" if head.is_paused else "pause"
        effect = "" if head.is_paused else ": nothing new is sent"
        self.board.ask(Prompt(f"{label} batch {head.batch_id}{effect} - reason: ", label))

    def _do(self, reason: str, draw: Callable[[], None]) -> None:
        """Do the deed of the prompt, in portions, and say what came of it."""
        prompt = self.board.prompt
        if prompt is None or prompt.deed is None or self.board.batch_id is None:
            return
        self.board.prompt = None
        if prompt.deed == "retry":
            self._retry(prompt, reason, draw)
            return
        events: list[ev.Event] = []
        if prompt.deed == "pause":
            events.append(ev.OpenHold(scope="batch", batch_id=self.board.batch_id, actor=self.actor, reason=reason))
        else:
            with self.store.database.read() as tx:
                pauses = holds.pauses(tx, "batch", batch_id=self.board.batch_id)
            events += [
                ev.AnswerHold(hold_id=i, batch_id=b, answer="lift", actor=self.actor, reason=reason) for i, b in pauses
            ]
        results = doing.perform(self.store, events, ["batch"] * len(events), dry_run=False)
        refused = next((str(one["message"]) for one in results if not one["ok"]), None)
        did = "paused" if prompt.deed == "pause" else "resumed"
        self.board.say(refused or f"batch {self.board.batch_id} {did}")

    def _retry(self, prompt: Prompt, reason: str, draw: Callable[[], None]) -> None:
        good, refused, total = 0, "", len(prompt.targets)
        for at in range(0, total, doing.PORTION):
            part = prompt.targets[at : at + doing.PORTION]
            events = [ev.Retry(member_id=i, actor=self.actor, reason=reason) for i, _ in part]
            results = doing.perform(self.store, events, [key for _, key in part], dry_run=False)
            good += sum(bool(one["ok"]) for one in results)
            refused = refused or next((f"{one['subject']}: {one['message']}" for one in results if not one["ok"]), "")
            if total > doing.PORTION:
                self.board.say(f"{at + len(part):,} of {total:,}")
                draw()
        left = total - good
        self.board.sheet = None
        self.board.say(f"{good:,} tried again" + (f", {left:,} refused ({refused})" if left else ""))
