"""`tminus runbook diff`: two versions, two files, or a file against the version that is active, in words.

What is compared is named by a file, by `NAME@3`, by `NAME` for the active version, or by a number alone where the name
is clear. The impact on live batches is another command, `tminus runbook impact`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.offline import check
from tminus.cli.options import Db, Format
from tminus.cli.publishing import missing
from tminus.cli.session import opened
from tminus.db.connection import Tx
from tminus.domain.errors import TminusError
from tminus.runbook import load
from tminus.runbook.difference import differences
from tminus.runbook.model import Runbook
from tminus.runbook.wording import quoted
from tminus.store.insights import runbooks

OWN_FILE = "runbook.yaml"


@dataclass(frozen=True, slots=True)
class Named:
    """A runbook with what it is called here; `version` is None for a file."""

    label: str
    book: Runbook
    text: str
    version: int | None = None
    active: bool = False


def diff(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OLD] [NEW]", help="FILE, NAME@VERSION, NAME, or a number; runbook.yaml by default."),
    ] = None,
    *,
    runbook: Annotated[str | None, typer.Option("--runbook", metavar="NAME", help="Whose versions are meant.")] = None,
    detailed: Annotated[
        bool, typer.Option("--detailed-exitcode", help="End with 10 when there are differences.")
    ] = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Say in words what differs between two runbooks."""
    old, new = _pair(list(what or ()), runbook, db)
    changes = differences(old.book, new.book)
    if shape in {"json", "yaml"}:
        rows = [
            {"place": one.place.removesuffix(":"), "key": one.key, "kind": one.kind, "before": one.before or None,
             "after": one.after or None, "text": one.words}
            for one in changes
        ]  # fmt: skip
        ends = {side: {"name": one.book.name, "version": one.version, "label": one.label}
                for side, one in (("old", old), ("new", new))}  # fmt: skip
        output.one({**ends, "changes": rows}, shape, name="changes")
    elif shape in {"table", "wide"}:
        _tell(old, new, [one.words for one in changes], db)
    else:
        listed = [{"place": one.place.removesuffix(":"), "key": one.key, "kind": one.kind, "text": one.words}
                  for one in changes]  # fmt: skip
        output.rows([listed], shape, columns=("text",), name="text")
    return Exit.CHANGES if changes and detailed else Exit.DONE


def _tell(old: Named, new: Named, lines: list[str], db: str | None) -> None:
    telling.write(f"{old.label} -> {new.label}")
    for line in lines:
        telling.write(f"  {line}")
    if not lines:
        same = old.text == new.text
        telling.write(f"  {'nothing differs' if same else 'the same runbook; only layout or comments differ'}")
    elif new.version is None:
        telling.suggest(f"tminus runbook impact {new.label}", db=db)


def _pair(words: list[str], runbook: str | None, db: str | None) -> tuple[Named, Named]:
    """Return what is compared: old and new."""
    if len(words) == 3 and not _is_file(words[0]):  # noqa: PLR2004 - NAME OLD NEW.
        runbook, words = runbook or words[0], words[1:]
    if len(words) > 2:  # noqa: PLR2004 - two are compared.
        raise TminusError("E401", "more than two to compare", place="tminus runbook diff", hint="name old and new")
    if len(words) == 2 and all(_is_file(word) for word in words):  # noqa: PLR2004 - two are compared.
        return of_file(words[0]), of_file(words[1])
    with opened(db) as store, store.database.read() as tx:
        if len(words) == 2:  # noqa: PLR2004 - two are compared.
            named = runbook or next((_name_in(word) for word in words if _name_in(word)), None)
            return find(tx, words[0], named), find(tx, words[1], named)
        new = find(tx, words[0] if words else OWN_FILE, runbook)
        if new.active:
            if new.version == 1:
                raise TminusError("E404", "version 1 is the first; there is none to compare it with", place=new.label)
            # A name alone: what did its newest version change?
            return find(tx, str((new.version or 1) - 1), new.book.name), new
        return find(tx, runbook or new.book.name, None), new


def _is_file(word: str) -> bool:
    return word.endswith((".yaml", ".yml")) or "/" in word


def _name_in(word: str) -> str | None:
    """Return the name of a runbook that a word gives away."""
    if _is_file(word):
        return of_file(word).book.name
    return None if word.isdecimal() else word.rpartition("@")[0] or word


def find(tx: Tx, word: str, runbook: str | None) -> Named:
    """Return what a word names: a file, `NAME@3`, a number, or the active version of a name."""
    if _is_file(word):
        return of_file(word)
    name, version = word, None
    before, at, after = word.rpartition("@")
    if at and before and after.removeprefix("v").isdecimal():
        name, version = before, int(after.removeprefix("v"))
    elif word.removeprefix("v").isdecimal() and (runbook is not None or runbooks.one(tx, word) is None):
        name, version = runbook or _only(tx), int(word.removeprefix("v"))
    found = runbooks.one(tx, name, version if version is None or version < 1 << 63 else 0)
    if found is None:
        raise missing(tx, name, version)
    text, number = str(found["yaml_content"]), int(str(found["version"]))
    return Named(f"{name}@{number}", load(text), text, number, active=bool(found["is_active"]))


def of_file(name: str) -> Named:
    """Return the runbook of a file."""
    verdict, content = check(Path(name))
    text = content.decode("utf-8-sig", "replace")
    return Named(name, verdict.runbook or load(content), text)


def _only(tx: Tx) -> str:
    """Return the one runbook that is published, where a number alone is given."""
    names = runbooks.active_names(tx)
    if len(names) == 1:
        return names[0]
    message = "a number alone does not say which runbook" if names else "no runbook is published"
    listed = ", ".join(quoted(name) for name in names[:5])
    hint = f"--runbook NAME: {listed}" if names else "tminus runbook publish"
    raise TminusError("E401", message, place="tminus runbook", hint=hint)
