"""Commands that change members: from a selection to events, and from replies to one result each and an exit code.

A large selection goes in portions, each one transaction, so that fifty thousand members never lock the database for
long; each member is done or refused by itself. A dry run goes the same way inside one place that is taken back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.session import keys_given, trying
from tminus.domain.errors import TminusError
from tminus.store.insights import members, selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tminus.cli.output import Shape
    from tminus.progression.events import Event
    from tminus.store.store import Store

PORTION: Final = 200
LISTED: Final = 20
Result = dict[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """A member that a command means; or a key that names none, and why."""

    key: str
    member_id: int = 0
    error: TminusError | None = None


def chosen(
    store: Store,
    keys: Iterable[str] | None,
    where: str | None,
    batch_id: int | None,
    *,
    only: str = "",
    whole: bool = False,
) -> list[Target]:
    """Return the members that a command means, each key with what it names.

    Keys and a selection exclude each other. `only` is the selection that counts where a selection says nothing about
    the status; with `whole` a batch alone means all of its members that fit it.
    """
    named = keys_given(keys)
    if named and where is not None:
        raise TminusError("E401", "KEY and --where exclude each other", hint="name members, or select them")
    if named:
        return _by_key(store, named, batch_id)
    if where is None and (batch_id is None or not whole):
        ways = "a KEY, --where or --batch" if whole else "a KEY or --where"
        raise TminusError("E401", "no member is named", hint=f"give {ways}")
    terms = selection.parse(where) if where is not None else ()
    if only and not selection.names(terms, "status"):
        terms = (*terms, *selection.parse(only))
    found = members.selected(store.database, terms, batch_id)
    if not found:
        asked = where if where is not None else only or "any"
        inside = "in the open batches" if batch_id is None else f"in batch {batch_id}"
        raise TminusError("E404", f"no member {inside} fits {asked}", hint="tminus batch members lists them")
    return [Target(key, member_id) for member_id, key in found]


def _by_key(store: Store, keys: Sequence[str], batch_id: int | None) -> list[Target]:
    """Look every key up; one that names nobody is its own failure, and stops the others only when it is alone."""
    found: list[Target] = []
    with store.database.read() as tx:
        for key in keys:
            try:
                found.append(Target(key, members.meant(tx, key, batch_id)))
            except TminusError as error:
                if len(keys) == 1:
                    raise
                found.append(Target(key, error=error))
    return found


def each(store: Store, targets: Sequence[Target], make: Callable[[int], Event], *, dry_run: bool) -> list[Result]:
    """Give one command for each member, and return one result for each target, in their order."""
    return asked(store, [(one.key, one.error or make(one.member_id)) for one in targets], dry_run=dry_run)


def asked(store: Store, wishes: Sequence[tuple[str, Event | TminusError]], *, dry_run: bool) -> list[Result]:
    """Give what can be given to the store; what cannot even be asked is a result as well, in its place."""
    there = [(label, wish) for label, wish in wishes if not isinstance(wish, TminusError)]
    done = iter(perform(store, [wish for _, wish in there], [label for label, _ in there], dry_run=dry_run))
    return [missed(label, wish) if isinstance(wish, TminusError) else next(done) for label, wish in wishes]


def missed(subject: str, error: TminusError) -> Result:
    """Make the result of something that could not even be asked."""
    message = f"{error.message} - {error.hint}" if error.hint else error.message
    return {"subject": subject, "ok": False, "code": error.code, "message": message}


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
            said = {"subject": label, "ok": reply.ok, "code": reply.code, "message": reply.message}
            results.append({**said, "note": reply.note, "held": reply.held})
        else:
            code = error.code if isinstance(error, TminusError) else "E590"
            results.append({"subject": label, "ok": False, "code": code, "message": str(error)})
    return results


def _tell(results: Sequence[Result], verb: str, *, dry_run: bool) -> None:
    """Tell what became of each who was refused, what stops the others, and in a dry run whom they are."""
    done = [one for one in results if one["ok"]]
    for one in results:
        if not one["ok"]:
            telling.say(f"{one['subject']}: {one['code']} {one['message']}")
    if len(results) == 1:
        note = f" {results[0]['note']}" if results[0].get("note") else ""
        telling.write(f"{results[0]['subject']}: {verb}{note}")
    else:
        for one in done[:LISTED] if dry_run else ():
            telling.write(f"  {one['subject']}  {one.get('note') or ''}".rstrip())
        if dry_run and len(done) > LISTED:
            telling.write(f"  and {len(done) - LISTED:,} more: -o json lists them all")
        refused = len(results) - len(done)
        telling.write(f"{len(done):,} {verb}" + (f", {refused:,} refused" if refused else ""))
    held = Counter(str(one["held"]) for one in done if one.get("held"))
    for sentence, count in held.items():
        telling.say(sentence if len(results) == 1 else f"{count:,} {sentence}")


def report(results: Sequence[Result], shape: Shape, *, did: str, dry_run: bool) -> int:
    """Write what became of each member and return the exit code: all done, some refused, all refused."""
    refused = [one for one in results if not one["ok"]]
    if len(results) == 1 and refused:
        only = results[0]
        raise TminusError(str(only["code"]), str(only["message"]), place=str(only["subject"]))
    good = len(results) - len(refused)
    if shape in {"table", "wide"}:
        _tell(results, f"would be {did}" if dry_run else did, dry_run=dry_run)
    elif shape in {"json", "yaml"}:
        whole = {"dry_run": dry_run, "done": good, "refused": len(refused), "results": list(results)}
        output.one(whole, shape, name="done")
    else:
        output.rows([results], shape, columns=("subject", "ok", "message"), name="subject")
    if not refused:
        return Exit.DONE
    if good:
        return Exit.SOME_FAILED
    return Exit.NOT_FOUND if all(one["code"] == "E404" for one in refused) else Exit.CONFLICT
