"""`tminus completion`: the script of a shell, to be sourced."""

from importlib import resources
from typing import Annotated, Final, Literal

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format

Shell = Literal["bash", "zsh", "fish", "powershell"]
_FILES: Final[dict[Shell, str]] = {
    "bash": "bash.sh", "zsh": "zsh.sh", "fish": "fish.fish", "powershell": "powershell.ps1",
}  # fmt: skip


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Print the completion of a shell; its first line says where it goes."""
    del db
    script = resources.files("tminus.cli.completion").joinpath(_FILES[shell]).read_text("utf-8")
    if shape in {"table", "wide"}:
        telling.write(script)
    else:
        output.one({"shell": shell, "script": script}, shape, name="shell")
    return Exit.DONE
