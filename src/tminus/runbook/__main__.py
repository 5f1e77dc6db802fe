"""`python -m tminus.runbook FILE` says what is wrong with a runbook: exit 0 valid, 2 invalid, 7 not found.

The smallest face of this room, for editors and pipelines that have no project around them; the command line proper says
more. It reads one file and prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tminus.domain.codes import CATALOGUE
from tminus.runbook.intake import LARGEST_BYTES
from tminus.runbook.parsing import parse
from tminus.runbook.rendering import render

USAGE = "usage: python -m tminus.runbook FILE"


def main(arguments: list[str]) -> int:
    """Check one file and return the exit code."""
    if len(arguments) != 1:
        print(USAGE, file=sys.stderr)
        return 2
    name = arguments[0]
    try:
        with Path(name).open("rb") as file:
            # One byte more than a runbook may have is enough to refuse it, however large the file is.
            source = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        missing = CATALOGUE["E121"]
        print(f"{name}: E121 {missing.title}: {error.strerror}", file=sys.stderr)
        return missing.exit_code
    verdict = parse(source, place=name)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # A terminal of another encoding shows an escape rather than a traceback.
        reconfigure(errors="backslashreplace")
    print(render(verdict, source))
    return 0 if verdict.ok else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
