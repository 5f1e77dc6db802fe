"""Options that say how functions are run, apart from the command because each of them is a sentence of its own."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Isolation = Literal["thread", "process"]

Functions = Annotated[
    list[Path] | None,
    typer.Option(
        "--functions", envvar="TMINUS_FUNCTIONS", metavar="FILE", help="Python file with functions; may be repeated."
    ),
]
WorkerIds = Annotated[
    list[str] | None,
    typer.Option(
        "--worker-id",
        envvar="TMINUS_WORKER_ID",
        metavar="ID",
        help="Worker id to serve; may be repeated; all of them without it.",
    ),
]
Tick = Annotated[
    float,
    typer.Option(
        "--tick",
        envvar="TMINUS_TICK",
        metavar="SECONDS",
        help="Longest time between looks for due work.",
        min=0.05,
        max=3600,
    ),
]
Children = Annotated[
    int | None,
    typer.Option(
        "--children", envvar="TMINUS_CHILDREN", metavar="N", help="Processes that run functions.", min=1, max=256
    ),
]
Isolated = Annotated[
    Isolation,
    typer.Option(
        "--isolation",
        envvar="TMINUS_ISOLATION",
        help="thread: many calls in each process; process: one, killed at once when its time is over.",
    ),
]
Drain = Annotated[
    float,
    typer.Option(
        "--drain",
        envvar="TMINUS_DRAIN",
        metavar="SECONDS",
        help="How long jobs in hand may finish at the end.",
        min=0,
    ),
]
