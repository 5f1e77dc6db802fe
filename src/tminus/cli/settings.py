"""Every setting: its variable of the environment, its name in `tminus.toml`, and the option that comes before both.

Where a value stands in several places, the command line wins, then the environment, then the `tminus.toml` of the
folder in which the command runs, then the user's own file. A test greps the source for `TMINUS_` and for the two words
about colour, and holds this table to what it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it does, what counts without it, and where else it may stand."""

    name: str
    meaning: str
    default: str
    option: str = ""
    key: str = ""
    """The name in `tminus.toml`; empty for what is of one run alone."""
    kind: Literal["text", "number", "whole number", "list"] = "text"


SETTINGS: Final = (
    Setting(
        "TMINUS_DB",
        "The database that commands work with: `sqlite:///PATH`, or a path.",
        "`sqlite:///./tminus.db`",
        "--db",
        "db",
    ),
    Setting("TMINUS_ACTOR", "Who acts; it is written into the history and the audit.", "the login", "--as", "actor"),
    Setting(
        "TMINUS_FUNCTIONS",
        "The files of functions that `up` serves; in the variable with `:` between them.",
        "`functions.py` where it is there",
        "--functions",
        "functions",
        "list",
    ),
    Setting(
        "TMINUS_WORKER_ID",
        "The worker ids that `up` serves; in the variable with blanks between them.",
        "all that runbooks name",
        "--worker-id",
        "worker_id",
        "list",
    ),
    Setting("TMINUS_TICK", "Seconds between looks for due work, at most.", "1", "--tick", "tick", "number"),
    Setting(
        "TMINUS_CHILDREN",
        "Processes that run functions.",
        "one less than processors, but two",
        "--children",
        "children",
        "whole number",
    ),
    Setting(
        "TMINUS_ISOLATION",
        "`thread`: many calls in each process. `process`: one at a time, killed at once when its time is over.",
        "`thread`",
        "--isolation",
        "isolation",
    ),
    Setting("TMINUS_DRAIN", "Seconds that jobs in hand may finish at the end.", "10", "--drain", "drain", "number"),
    Setting("TMINUS_TRACEBACK", "With any value a defect (E590) shows where it happened, to be reported.", "one line"),
    Setting(
        "TMINUS_FAULTPOINT",
        "For tests: `NAME:N` ends the process without a word when it passes that point for the Nth time.",
        "no point",
    ),
    Setting("NO_COLOR", "With any value nothing is coloured.", "colour on a terminal"),
    Setting("FORCE_COLOR", "With any value a pipe gets colours too; `NO_COLOR` comes before it.", "none in a pipe"),
)
