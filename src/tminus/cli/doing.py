"""Commands that change members: from a selection to events, and from replies to one result each and an exit code.

A large selection goes in portions, each one transaction, so that fifty thousand members never lock the database for
long; each member is done or refused by itself. A dry run goes the same way inside one place that is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.session import keys_given, trying
from tminus.domain.errors import TminusError
from tminus.store.insights import members, selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tminus.cli.output import Shape
    from tminus.progression.events import Event
    from tminus.store.store import Store

PORTION: Final = 200
Result = dict[str, object]
Chosen = list[tuple[int, str]]


def chosen(
    store: Store,
    keys: Iterable[str] | None,
    where: str | None,
    batch_id: int | None,
    *,
    only: str = "",
) -> Chosen:
    """Return id and key of the members that a command means.

    Keys and a selection exclude each other. `only` is the selection that counts where a selection says nothing about
    the status; a batch alone means all of its members that fit it.
    """
    named = keys_given(keys)
    if named and where is not None:
        raise TminusError("E401", "KEY and --where exclude each other", hint="name members, or select them")
    if named:
        with store.database.read() as tx:
            return [(members.meant(tx, key, batch_id), key) for key in named]
    if where is None and batch_id is None:
        raise TminusError("E401", "no member is named", hint="give a KEY, --where or --batch")
    terms = selection.parse(where) if where is not None else ()
    if only and not selection.names(terms, "status"):
        terms = (*terms, *selection.parse(only))
    found = members.selected(store.database, terms, batch_id)
    if not found:
        asked = where if where is not None else only or "any"
        inside = "in the open batches" if batch_id is None else f"in batch {batch_id}"
        raise TminusError("E404", f"no member {inside} fits {asked}", hint="tminus batch members lists them")
    return found


def perform(store: Store, events: Sequence[Event], labels: Sequence[str], *, dry_run: bool) -> list[Result]:
    """Give commands to the store, and return one result for each, in their order."""
    results: list[Result] = []
    with trying(store, dry_run=dry_run):
        for at in range(0, len(events), PORTION):
            results += _portion(store, events[at : at + PORTION], labels[at : at + PORTION])
    return results


def _portion(store: Store, events: Sequence[Event], labels: Sequence[str]) -> list[Result]:
    done = store.round(events, turn=False)
    failed = {id(event): error for event, error in done.refused}
    replies = iter(done.replies)
    results: list[Result] = []
    for event, label in zip(events, labels, strict=True):
        error = failed.get(id(event))
        if error is None:
            reply = next(replies)
            results.append({"subject": label, "ok": reply.ok, "code": reply.code, "message": reply.message})
        else:
            code = error.code if isinstance(error, TminusError) else "E590"
            results.append({"subject": label, "ok": False, "code": code, "message": str(error)})
    return results


def report(results: Sequence[Result], shape: Shape, *, did: str, dry_run: bool) -> int:
    """Write what became of each member and return the exit code: all done, some refused, all refused."""
    refused = [one for one in results if not one["ok"]]
    if len(results) == 1 and refused:
        only = results[0]
        raise TminusError(str(only["code"]), str(only["message"]), place=str(only["subject"]))
    good = len(results) - len(refused)
    if shape in {"table", "wide"}:
        verb = f"would be {did}" if dry_run else did
        for one in refused:
            telling.say(f"{one['subject']}: {one['code']} {one['message']}")
        if len(results) == 1:
            telling.write(f"{results[0]['subject']}: {verb}")
        else:
            telling.write(f"{good:,} {verb}" + (f", {len(refused):,} refused" if refused else ""))
    elif shape in {"json", "yaml"}:
        whole = {"dry_run": dry_run, "done": good, "refused": len(refused), "results": list(results)}
        output.one(whole, shape, name="done")
    else:
        output.rows([results], shape, columns=("subject", "ok", "message"), name="subject")
    if not refused:
        return Exit.DONE
    return Exit.SOME_FAILED if good else Exit.CONFLICT
