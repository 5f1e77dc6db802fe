"""An Exchange migration batch, as its CSV file tells it: the file as it is, and a runbook that uses its columns.

The columns that Exchange knows become parameters of the move; every other column stays in the file, where any template
may name it. The file is checked as `tminus batch create` will check it, so that what is written here is also taken. The
functions only print: what they would call in Exchange stands beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tminus.cli.begin import draft
from tminus.cli.begin.draft import Beginning, Draft
from tminus.domain.errors import TminusError
from tminus.runbook.model import DataSource
from tminus.runbook.quoting import double_quoted, scalar
from tminus.sources.manual import read_member_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY: Final = "EmailAddress"

# What Exchange makes of these columns, and the name under which a function is given each.
KNOWN: Final = {
    "targetdatabase": "target_database",
    "targetarchivedatabase": "target_archive_database",
    "targetdeliverydomain": "target_delivery_domain",
    "mailboxtype": "mailbox_type",
    "baditemlimit": "bad_item_limit",
    "largeitemlimit": "large_item_limit",
    "username": "user_name",
    "userroot": "user_root",
    "forcechangepassword": "force_change_password",
}
SECRETS: Final = re.compile(r"pass(word|wd|phrase)?$|secret|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a file: the key, those that become parameters, and the rest."""

    key: str
    known: dict[str, str]
    rest: list[str]


def beginning(file: Path) -> Beginning:
    """Return what becomes of a CSV file of an Exchange migration batch."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TminusError("E412", error.strerror or str(error), place=str(file)) from error
    source = DataSource(type="manual", primary_key=KEY)
    found = read_member_bytes(content, source, name=str(file))
    if not found.ok:
        raise found.error()
    columns = _sorted_out(found.columns)
    secret = [name for name in found.columns if SECRETS.search(name)]
    notes = [*found.notes]
    if secret:
        notes.append(
            f"{draft.listed(secret)} would stand in the database for everybody who reads it: "
            "delete the column from members.csv, and let the function look it up"
        )
    people = draft.counted(len(found.rows), "mailbox").replace("mailboxs", "mailboxes")
    return Beginning(
        [
            Draft("runbook.yaml", _runbook(_name(file), columns).encode(), "3 phases, 4 steps, 1 rollback"),
            Draft("members.csv", content, f"{people}, the file as it was"),
            Draft("functions.py", _functions(columns).encode(), "5 Python functions that only print"),
            draft.schema(),
        ],
        notes=notes,
    )


def _name(file: Path) -> str:
    """Return a name for the runbook: that of the file, as far as it can be one."""
    return re.sub(r"[^\w.-]+", "-", file.stem).strip("-_.")[:100] or "exchange-wave"


def _sorted_out(names: Sequence[str]) -> _Columns:
    """Tell the columns that Exchange knows from the others; a secret is never handed on."""
    key = next(name for name in names if name.casefold() == KEY.casefold())
    known = {name: KNOWN[name.casefold()] for name in names if name.casefold() in KNOWN and _can_be_named(name)}
    rest = [name for name in names if name not in known and name != key and not SECRETS.search(name)]
    return _Columns(key, known, rest)


def _can_be_named(column: str) -> bool:
    return not set(column) & set("{}")


def _template(column: str) -> str:
    return double_quoted(f"{{{{{column}}}}}")


def _runbook(name: str, columns: _Columns) -> str:
    """Write the runbook: the copy long before T-0, the switch at T-0, a look after it."""
    email = f"email: {_template(columns.key)}"
    move = "".join(f"\n          {given}: {_template(column)}" for column, given in columns.known.items())
    rest = [f"#   {{{{{column}}}}}" for column in columns.rest if _can_be_named(column)]
    others = "\n".join(["# Your file has further columns; any template may name them:", *rest]) if rest else ""
    text = _RUNBOOK.replace("@NAME@", scalar(name)).replace("@KEY@", scalar(columns.key))
    text = text.replace("@EMAIL@", email).replace("@MOVE@", move)
    return draft.SCHEMA_LINE + text.replace("@OTHERS@\n", f"{others}\n" if others else "")


def _functions(columns: _Columns) -> str:
    """Write the functions; `start_move` takes every column that Exchange knows."""
    given = "".join(f', {name}: str = ""' for name in columns.known.values())
    cmdlet = "".join(f" -{_pascal(name)} {{{name}!r}}" for name in columns.known.values())
    return _FUNCTIONS.replace("@GIVEN@", given).replace("@CMDLET@", cmdlet)


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


_RUNBOOK: Final = """\
# Mailboxes of an Exchange migration batch: copied days before, switched over at T-0, looked at the day after.
# Check it with `tminus validate`, publish it with `tminus runbook publish`, then make the batch:
#   tminus batch create @NAME@ members.csv --at "2026-12-04 22:00 Europe/Berlin"
@OTHERS@
name: @NAME@
description: An Exchange migration batch.
timezone: Europe/Berlin # Of times without a zone; put yours here.

data_source:
  type: manual # The members are in members.csv, which is the file of the migration batch as it was.
  primary_key: @KEY@

retry: {max_retries: 3, interval: 1m, backoff: 2, max_interval: 15m}

limits:
  exchange: {in_flight: 20} # Exchange moves only so many mailboxes at once; the others wait, and say so.

phases:
  - name: copy
    offset: T-5d
    steps:
      - name: check-mailbox
        worker_id: exchange
        function: check_mailbox
        params: {@EMAIL@}
      - name: start-move
        worker_id: exchange
        function: start_move # Copies, and suspends before the switch.
        params:
          @EMAIL@@MOVE@
        output_params: {MoveId: move_id}
        on_failure: undo-move
        poll: {interval: 15m, timeout: 5d} # Asked again until the copy is complete.

  - name: cutover
    offset: T-0
    # gate: {expires: 12h} # A human's go/no-go: `tminus approve`.
    # rings: [1, "10%", "100%"] # One mailbox first, then a tenth, then the rest.
    brake: "10%" # When more than a tenth fail, those that have not begun wait for a human.
    steps:
      - name: complete-move
        worker_id: exchange
        function: complete_move
        params: {move_id: "{{MoveId}}"}
        one_way: true # After the switch nobody is moved back, or taken out, without a human's word.
        poll: {interval: 5m, timeout: 8h}

  - name: care
    offset: T+1d
    steps:
      - name: look-again
        worker_id: exchange
        function: check_mailbox
        params: {@EMAIL@}

on_member_removed:
  - name: undo-move
    worker_id: exchange
    function: undo_move
    params: {@EMAIL@}

rollbacks:
  undo-move:
    - name: undo-move
      worker_id: exchange
      function: undo_move
      params: {@EMAIL@}
    - name: tell-owner
      worker_id: exchange
      function: tell_owner
      params: {@EMAIL@}
"""

_FUNCTIONS: Final = '''\
"""The functions of the runbook. They only print what they would call; nothing is moved until you replace the bodies.

Raise an error to let a step fail. `from tminus import Pending, Throttled`: `raise Pending()` says that the move still
runs, so that the step asks again as its `poll` says; `raise Throttled(retry_after=30)` waits without spending a retry.
"""

from tminus import function


@function
def check_mailbox(email: str) -> dict[str, str]:
    """Look whether the mailbox is there and can be moved: Get-Mailbox."""
    print(f"would call Get-Mailbox -Identity {email!r}")
    return {"found": email}


@function
def start_move(email: str@GIVEN@) -> dict[str, str]:
    """Copy the mailbox, but do not switch it over yet.

    The first call begins the move. Later calls ask Get-MoveRequestStatistics: `raise Pending()` until AutoSuspended.
    """
    print(f"would call New-MoveRequest -SuspendWhenReadyToComplete -Identity {email!r}@CMDLET@")
    return {"move_id": email}


@function
def complete_move(move_id: str) -> dict[str, str]:
    """Switch the mailbox over with Resume-MoveRequest: `raise Pending()` until its status is Completed."""
    print(f"would call Resume-MoveRequest -Identity {move_id!r}")
    return {"moved": move_id}


@function
def undo_move(email: str) -> None:
    """Take the move back: Remove-MoveRequest."""
    print(f"would call Remove-MoveRequest -Identity {email!r}")


@function
def tell_owner(email: str) -> None:
    """Tell whoever looks after this mailbox that its move was taken back."""
    print(f"would tell somebody about {email!r}")
'''
