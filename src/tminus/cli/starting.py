"""`tminus init`: three files that run, to be changed into one's own."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, DryRun, Format
from tminus.domain.errors import TminusError

FILES = {
    "runbook.yaml": "2 phases, a rollback, steps when somebody is removed",
    "members.csv": "3 sample people",
    "functions.py": "5 Python functions; replace their bodies",
}


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; made if it is not there.")] = Path(),
    *,
    dry_run: DryRun = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Write a runbook, members and functions to begin with; nothing is ever replaced."""
    del db
    for name in FILES:
        if (folder / name).exists():
            hint = "name another folder: tminus init DIR"
            raise TminusError("E411", "there is a file already", place=str(folder / name), hint=hint)
    if not dry_run:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_bytes(resources.files("tminus.cli.starter").joinpath(name).read_bytes())
    made = [{"file": str(folder / name), "holds": holds} for name, holds in FILES.items()]
    if shape in {"table", "wide"}:
        for one in made:
            telling.write(f"{'would create' if dry_run else 'created'}  {one['file']:<16} {one['holds']}")
        if folder != Path():
            telling.say(f"cd {folder}")
        telling.suggest("tminus validate")
    else:
        output.rows([made], shape, columns=("file",), name="file")
    return Exit.DONE
