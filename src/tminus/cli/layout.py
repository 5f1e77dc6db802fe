"""`tminus runbook fmt`: runbooks in their one layout, in place, or only a word on which are not; `-` is a filter."""

import sys
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from tminus.cli import output, telling
from tminus.cli.exits import Exit
from tminus.cli.files import replacing
from tminus.cli.offline import check
from tminus.cli.options import Db, DryRun, Format
from tminus.domain.errors import TminusError
from tminus.runbook import Verdict, parse
from tminus.runbook.intake import LARGEST_BYTES
from tminus.runbook.layout import Unsafe, laid_out

_STDIN = Path("-")


def fmt(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Runbooks; runbook.yaml alone. - is a filter.")
    ] = None,
    *,
    only_check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when a file is laid out otherwise.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
    dry_run: DryRun = False,
    shape: Format = "table",
    db: Db = None,
) -> int:
    """Lay runbooks out: keys in their order, two blanks a level, comments kept, the meaning unchanged."""
    del db
    if files == [_STDIN]:
        return _filter()
    # Every file is looked at before the first is written: an error in one leaves all as they are.
    found = [(path, *_laid_out(path)) for path in files or [Path("runbook.yaml")]]
    writes = not (only_check or diff or dry_run)
    for path, before, after in found:
        if writes and before != after:
            with replacing(path) as file:
                file.write(after)
    changed = [path for path, before, after in found if before != after]
    if shape not in {"table", "wide"}:
        rows: list[dict[str, object]] = [
            {"file": str(path), "changed": before != after, "written": writes and before != after}
            for path, before, after in found
        ]
        output.rows([rows], shape, columns=("file",), name="file")
    elif diff:
        for path, before, after in found:
            if before != after:
                telling.write(_difference(path, before, after))
    else:
        for path, before, after in found:
            word = "laid out already" if before == after else "laid out" if writes else "would be laid out"
            telling.write(f"{path}: {word}")
    return Exit.FAILED if changed and only_check else Exit.DONE


def _laid_out(path: Path) -> tuple[bytes, bytes]:
    """Return a file as it is and as it should be."""
    verdict, content = check(path)
    return content, _lay(verdict, content, str(path))


def _lay(verdict: Verdict, content: bytes, place: str) -> bytes:
    if verdict.runbook is None:
        first, count = verdict.errors[0], len(verdict.errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        where = f"{place}:{first.line}:{first.column}"
        raise TminusError(first.code, f"{first.message}{more}", place=where, hint="nothing was written")
    try:
        return laid_out(content.decode("utf-8-sig")).encode()
    except Unsafe as error:
        where = f"{place}:{error.line}:{error.column}"
        raise TminusError("E470", error.why, place=where, hint="nothing was written") from error


def _filter() -> int:
    """Read a runbook from stdin and write it to stdout, for editors."""
    content = sys.stdin.buffer.read(LARGEST_BYTES + 1)
    sys.stdout.write(_lay(parse(content, place="-"), content, "-").decode())
    return Exit.DONE


def _difference(path: Path, before: bytes, after: bytes) -> str:
    old, new = before.decode("utf-8-sig").splitlines(), after.decode().splitlines()
    lines = list(unified_diff(old, new, f"{path}", f"{path} laid out", lineterm=""))
    return "\n".join(telling.visible(line) for line in lines or [f"{path}: line breaks or a byte order mark"])
