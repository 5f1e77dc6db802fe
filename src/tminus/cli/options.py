"""Options that many commands share, so that each has one name, one meaning and one sentence everywhere.

Typer reads these types when a command is built: modules of commands therefore keep their annotations real, and do not
import `annotations` from the future.
"""

from typing import Annotated, Literal

import typer

# The second is the Toolkit's name for it.
DATABASE = ["TMINUS_DB", "Orchestrator__SqlConnectionString"]
Shape = Literal["table", "wide", "json", "jsonl", "yaml", "csv", "name"]

Db = Annotated[
    str | None,
    typer.Option("--db", envvar=DATABASE, metavar="URL", help="Database: sqlite:///PATH; ./tminus.db by default."),
]
Format = Annotated[
    Shape, typer.Option("-o", "--format", metavar="SHAPE", help="table, wide, json, jsonl, yaml, csv, name.")
]
Actor = Annotated[
    str | None, typer.Option("--as", envvar="TMINUS_ACTOR", metavar="NAME", help="Who does it; your login by default.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the audit.")]
Remark = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; may be left out here.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; nothing is kept.")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="EXPR", help='Selection, such as "status=failed error~409 dept=Sales".')
]
InBatch = Annotated[int | None, typer.Option("--batch", metavar="ID", help="The batch that is meant.")]
Keys = Annotated[list[str] | None, typer.Argument(metavar="KEY...", help="Member keys; - reads them from stdin.")]
BatchId = Annotated[int, typer.Argument(metavar="BATCH", help="Number of the batch.")]
RunbookName = Annotated[str, typer.Argument(metavar="RUNBOOK", help="Name of the runbook.")]
