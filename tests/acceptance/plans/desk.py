"""What tests of plans share: a runbook with everything that a plan can show, and files that stand still."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tests.acceptance.cli.terminal import Ran, Terminal

BOOK = """\
name: wave
timezone: Europe/Berlin
inputs: [ticket]
data_source: {type: manual, primary_key: upn}
limits: {graph: {in_flight: 2, per_minute: 6}}
init:
  - {name: group, worker_id: graph, function: New-Group, params: {t: "{{ticket}}"}, output_params: {GroupId: id}}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - name: create
        worker_id: graph
        function: "New-{{type}}"
        when: "{{type}} != 'Guest'"
        params: {upn: "{{UPN}}", group: "{{GroupId}}", dept: "{{dept}}", first: "pw {{Password}}", secret: abc}
        output_params: {TargetId: id}
      - {name: mail, worker_id: mail, function: Send, params: {to: "{{upn}}"}}
  - name: cutover
    offset: T-0
    gate: {expires: 12h}
    rings: [1, "100%"]
    brake: "25%"
    steps:
      - name: license
        worker_id: graph
        function: Set-License
        when: "{{TargetId}} != ''"
        params: {batch: "{{_batch_id}}", key: "{{_member_key}}", on: "{{_phase}}"}
      - {name: move, worker_id: graph, function: Move, params: {id: "{{TargetId}}"}, one_way: true,
         poll: {interval: 5m, timeout: 8h}}
on_batch_finished:
  - {name: tell, worker_id: mail, function: Tell, params: {outcome: "{{_outcome}}"}}
"""
MEMBERS = """\
upn,type,dept,Password,Departmnt
anna@contoso.com,User,Sales,pw-anna,x
ben@contoso.com,User,,pw-ben,x
cleo@contoso.com,Guest,Sales,pw-cleo,x
dan@contoso.com,User,Sales,pw-dan,x
"""
FUNCTIONS = """\
from tminus import function as offered
import tminus

open("touched", "w").close()


@offered("New-Group")
def group(t): ...


@tminus.function
def Send(to): ...


@offered()
def Tell(outcome): ...


@offered("Set-License")
def license(**rest): ...


@offered("Mov")
def move(id): ...
"""
AT = ("--at", "2031-12-04 22:00")
TICKET = ("--data", "ticket=CHG-1")
WANTED = ("--members", "members.csv", *TICKET)

Rows = list[dict[str, object]]


def put(terminal: Terminal, name: str, text: str) -> None:
    """Write a file that has stood still for a while."""
    path = terminal.folder / name
    path.write_text(text, encoding="utf-8")
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))


def planned(terminal: Terminal, *words: str, code: int = 0) -> dict[str, object]:
    """Plan, and return what was planned."""
    ran = terminal.run("plan", *WANTED, *words, "-o", "json")
    assert ran.code == code, ran.err
    return ran.fields()


def rows(found: dict[str, object], *way: str | int) -> Rows:
    """Follow keys and places to a list of objects."""
    value: Any = found
    for one in way:
        value = value[one]
    return cast("Rows", value)


def stages(found: dict[str, object], batch: int = 0) -> dict[str, dict[str, object]]:
    return {str(one["name"]): one for one in rows(found, "batches", batch, "stages")}


def waits(stage: dict[str, object]) -> list[str]:
    return [str(one["words"]) for one in rows(stage, "waits")]


def elsewhere(terminal: Terminal) -> list[str]:
    """Return everything that is in the database but for plans."""
    return [line for line in terminal.dump() if "plans" not in line]


def refused(ran: Ran, exit_code: int, code: str) -> None:
    """Make sure that a command said one line with this code, and nothing else."""
    assert ran.code == exit_code, (ran.out, ran.err)
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1, ran.err
    assert f" {code} " in f" {ran.err}", ran.err
