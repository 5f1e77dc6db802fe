"""Every variable of the environment that tminus reads, for the page of settings and for whoever looks for one.

A test greps the source for `TMINUS_` and for the two words about colour, and holds this table to what it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: what it does, what counts without it, and the option that comes before it."""

    name: str
    meaning: str
    default: str
    option: str = ""


SETTINGS: Final = (
    Setting(
        "TMINUS_DB",
        "The database that commands work with: `sqlite:///PATH`, or a path.",
        "`sqlite:///./tminus.db`",
        "--db",
    ),
    Setting("TMINUS_ACTOR", "Who acts; it is written into the history and the audit.", "the login", "--as"),
    Setting("TMINUS_TRACEBACK", "With any value a defect (E590) shows where it happened, to be reported.", "one line"),
    Setting(
        "TMINUS_FAULTPOINT",
        "For tests: `NAME:N` ends the process without a word when it passes that point for the Nth time.",
        "no point",
    ),
    Setting("NO_COLOR", "With any value nothing is coloured.", "colour on a terminal"),
    Setting("FORCE_COLOR", "With any value a pipe gets colours too; `NO_COLOR` comes before it.", "none in a pipe"),
)
