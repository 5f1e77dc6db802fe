"""`tminus init`: files that run, to be changed into one's own; nothing that is there already is ever replaced."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tminus.cli import output, telling
from tminus.cli.begin import draft, exchange, toolkit
from tminus.cli.begin.draft import Beginning
from tminus.cli.exits import Exit
from tminus.cli.options import Db, DryRun, Format
from tminus.domain.errors import TminusError

Kind = Literal["sample", "blank", "exchange-csv", "origin-yaml"]

_FROM_FILE = {"exchange-csv": exchange.beginning, "origin-yaml": toolkit.beginning}


def init(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR] [FILE]", help="Where to, made if it is not there; what --from reads."),
    ] = None,
    *,
    kind: Annotated[
        Kind, typer.Option("--from", help="What to begin with: a sample, nothing, or a file of yours.")
    ] = "sample",
    dry_run: DryRun = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Write a runbook, members and functions to begin with; nothing is ever replaced."""
    del db
    folder, file = _places(list(places or ()), kind)
    beginning = _beginning(kind, file)
    for one in beginning.drafts:
        if (folder / one.name).exists() and not one.generated:
            hint = "name another folder: tminus init DIR"
            raise TminusError("E411", "there is a file already", place=str(folder / one.name), hint=hint)
    made: list[dict[str, object]] = [
        {"file": str(folder / one.name), "holds": one.holds, "new": not (folder / one.name).exists()}
        for one in beginning.drafts
    ]
    if not dry_run:
        _write(folder, beginning)
    for note in beginning.notes:
        telling.say(f"note: {note}")
    if shape in {"table", "wide"}:
        _show(made, dry_run=dry_run)
        if folder != Path():
            telling.say(f"cd {folder}")
        telling.suggest(beginning.suggestion)
    else:
        output.rows([made], shape, columns=("file",), name="file")
    return Exit.DONE


def _places(places: list[Path], kind: Kind) -> tuple[Path, Path | None]:
    """Tell the folder from the file: what --from reads comes last."""
    wanted = 2 if kind in _FROM_FILE else 1
    if len(places) > wanted:
        raise TminusError("E401", f"one place too many: {places[wanted]}", place="tminus init", hint="see --help")
    if kind not in _FROM_FILE:
        return (places[0] if places else Path()), None
    if not places:
        hint = f"tminus init DIR --from {kind} FILE"
        raise TminusError("E401", "the file to begin with is missing", place="tminus init", hint=hint)
    return (places[0] if len(places) == wanted else Path()), places[-1]


def _beginning(kind: Kind, file: Path | None) -> Beginning:
    if file is not None:
        return _FROM_FILE[kind](file)
    return draft.blank() if kind == "blank" else draft.sample()


def _write(folder: Path, beginning: Beginning) -> None:
    """Write the files; one that came into the way meanwhile stops it, and is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in beginning.drafts:
        try:
            with (folder / one.name).open("xb") as file:
                file.write(one.content)
        except FileExistsError:
            if not one.generated:
                raise


def _show(made: list[dict[str, object]], *, dry_run: bool) -> None:
    widest = max(len(str(one["file"])) for one in made)
    for one in made:
        word = ("would create" if dry_run else "created") if one["new"] else "kept"
        telling.write(f"{word:<{12 if dry_run else 7}}  {one['file']!s:<{widest}}  {one['holds']}")
