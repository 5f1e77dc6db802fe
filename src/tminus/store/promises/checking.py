"""check: all promises that rows (and logs, where there are any) can show, over the whole database.

Each check is a function over one slice. A small database is one slice per batch, read in a handful of statements, so
that a simulator can afford it after every event; a large one is walked page by page. Nothing is written, ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.store.promises import slices
from tminus.store.promises.attempts import check_attempts
from tminus.store.promises.counts import Tally, check_brake, check_counts
from tminus.store.promises.definitions import Definitions
from tminus.store.promises.findings import Findings, Logs, Violation
from tminus.store.promises.membership import (
    check_definitions,
    check_identities,
    check_members,
    check_phases,
    check_rollbacks,
)
from tminus.store.promises.passage import Passage
from tminus.store.promises.replay import compare, named
from tminus.store.promises.rest import check_rest
from tminus.store.promises.standing import check_standing
from tminus.store.promises.templates import check_templates
from tminus.store.promises.wide import check_wide
from tminus.store.promises.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tminus.db.connection import Tx
    from tminus.runbook.model import Runbook
    from tminus.store.promises.slices import Slice

_ACTS: Final = "SELECT DISTINCT at, actor FROM audit WHERE outcome = 'done'"


class _Checking:
    """One run over a database."""

    __slots__ = ("_acts", "_at_rest", "_definitions", "_findings", "_tx", "_witness")

    def __init__(
        self,
        tx: Tx,
        findings: Findings,
        definitions: Definitions,
        witness: Witness | None,
        *,
        at_rest: bool,
    ) -> None:
        self._tx, self._findings, self._definitions, self._witness = tx, findings, definitions, witness
        self._at_rest = at_rest
        self._acts = frozenset((str(at), str(actor)) for at, actor in tx.all(_ACTS))

    def batch(self, pages: Iterable[Slice]) -> None:
        """Check one batch, page by page."""
        tally = Tally()
        page = None
        for page in pages:
            self._page(page, tally)
        if page is not None:
            check_counts(self._findings, page.batch, page.phases.values(), tally)
            brakes = check_phases(self._findings, page, self._definitions)
            check_brake(self._findings, page.batch, brakes, tally)

    def _page(self, page: Slice, tally: Tally) -> None:
        findings, definitions = self._findings, self._definitions
        passage = Passage(page, definitions, findings)
        passage.walk()
        compare(findings, page, passage.timeline, passage.first)
        named(findings, page.events, self._acts)
        check_standing(findings, page)
        check_attempts(findings, page, passage)
        check_members(findings, page, definitions)
        check_definitions(findings, page, definitions)
        check_rollbacks(findings, page, definitions, passage)
        check_templates(findings, self._tx, page, definitions)
        tally.add(page, passage)
        if self._at_rest:
            check_rest(findings, page)
        if self._witness is not None:
            self._witness.check_page(findings, page, passage)

    def wide(self, tables: slices.Tables) -> None:
        """Check what belongs to no batch."""
        for stray in tables.strays:
            self._findings.add("P24", stray)
        check_wide(self._findings, tables.wide, tables.holds, self._acts)


def check(
    tx: Tx,
    *,
    at_rest: bool = False,
    logs: Logs | None = None,
    book: Callable[[str, int], Runbook] | None = None,
    small_events: int = slices.SMALL_EVENTS,
) -> list[Violation]:
    """Return every broken promise that the rows show.

    `at_rest` says that nothing is due any more and no job is out: then nothing may be left open without a reason.
    `logs` are a test's own records; `book` spares the parsing of definitions that the caller has at hand. A database
    with more than `small_events` moves is read in pages.
    """
    findings = Findings()
    witness = None if logs is None else Witness(logs)
    checking = _Checking(tx, findings, Definitions(tx, findings, book), witness, at_rest=at_rest)
    jobs = slices.out(tx)
    if slices.is_small(tx, small_events):
        tables = slices.read_small(tx, jobs)
        for found in tables.slices.values():
            checking.batch((found,))
    else:
        tables = slices.read_wide(tx)
        for batch_id in slices.batch_ids(tx):
            checking.batch(slices.read_paged(tx, batch_id, jobs))
    checking.wide(tables)
    check_identities(findings, tx)
    if witness is not None:
        witness.check_results(findings, tx)
    return findings.all()
