"""What a code means: cause, cure, example."""

from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.catalogue import every_code
from tminus.cli.exits import Exit
from tminus.cli.options import Db, Format
from tminus.domain.errors import Code, TminusError
from tminus.runbook.wording import did_you_mean, quoted


def explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Such as E214; all of them without one.")] = None,
    *,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Say what a code means."""
    del db
    known = every_code()
    if code is None:
        listed = [_entry(known[one]) for one in sorted(known)]
        output.rows([listed], shape, columns=("code", "title"), name="code")
        return Exit.DONE
    entry = known.get(code.strip().upper())
    if entry is None:
        hint = did_you_mean(code.upper(), known, most=1_000) or "tminus explain lists them all"
        raise TminusError("E404", f"there is no code {quoted(code)}", hint=hint)
    if shape not in {"table", "wide"}:
        output.one(_entry(entry), shape, name="code")
        return Exit.DONE
    telling.write(f"{entry.code}  {entry.title}\n\ncause    {entry.cause}\ncure     {entry.cure}")
    if entry.example:
        telling.write(f"example  {entry.example}")
    telling.write(f"exit     {entry.exit_code}, HTTP {entry.http_status}; for the {entry.side}")
    return Exit.DONE


def _entry(code: Code) -> dict[str, object]:
    return {
        "code": code.code,
        "title": code.title,
        "cause": code.cause,
        "cure": code.cure,
        "example": code.example,
        "side": str(code.side),
        "exit_code": code.exit_code,
        "http_status": code.http_status,
    }
