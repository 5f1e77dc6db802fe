"""The codes of a runbook: E101 to E121 its file, E201 and up its content, W101 and up what is probably not meant.

This module holds words only; who raises them is written in the runbook room.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.codes import runbook_file
from tminus.domain.errors import Code, Side


def _error(code: str, title: str, cause: str, cure: str, example: str = "") -> Code:
    """Make one entry for an error; what is wrong in a runbook is mended by its author."""
    return Code(code=code, title=title, side=Side.AUTHOR, cause=cause, cure=cure, example=example)


def _warning(code: str, title: str, cause: str, cure: str, example: str = "") -> Code:
    """Make one entry for a warning; it stops nothing."""
    return Code(
        code=code, title=title, side=Side.AUTHOR, cause=cause, cure=cure, example=example, exit_code=0, http_status=200
    )


_ERRORS: Final = (
    _error(
        "E201",
        "A key is missing",
        "A part of the runbook, or a type of source, needs this key.",
        "Add it; the message names what needs it.",
        "offset: T-5d",
    ),
    _error(
        "E202",
        "Another kind of value is expected",
        "A list stands where a map belongs, text where a number belongs, or the like.",
        "Write the kind that the message names.",
        "steps: [{name: a, worker_id: w, function: F}]",
    ),
    _error(
        "E203",
        "A value is empty",
        "The key is there with nothing behind it.",
        "Give it a value.",
        "name: prepare",
    ),
    _error(
        "E204",
        "A word that is not one of the choices",
        "The key takes one of a few words.",
        "Take one of those that the message lists.",
        "type: csv",
    ),
    _error(
        "E205",
        "A number out of bounds",
        "Too small, too large, or a fraction where a whole number belongs.",
        "Take one within the bounds of the message.",
        "max_retries: 3",
    ),
    _error(
        "E206",
        "Not a duration",
        "A duration is numbers with the units d, h, m, s, ms, from large to small.",
        "Write it so.",
        "interval: 1h30m",
    ),
    _error(
        "E207",
        "A duration out of bounds",
        "Zero where that makes no sense, too short, or more than ten years.",
        "Take one within the bounds of the message.",
        "timeout: 30m",
    ),
    _error(
        "E208",
        "Not an offset",
        "An offset is T, a sign, and d, h, m, s from large to small; T-0 is the moment itself.",
        "Write it so.",
        "offset: T-1d12h",
    ),
    _error(
        "E209",
        "An offset too far from T-0",
        "More than ten years.",
        "Bring it nearer.",
        "offset: T-30d",
    ),
    _error(
        "E210",
        "A name stands twice",
        "Phases, and steps within one list, are found by their names.",
        "Rename one.",
    ),
    _error(
        "E211",
        "Two names look alike",
        "They differ in letter case or Unicode forms only; people and some databases cannot tell them apart.",
        "Rename one.",
    ),
    _error(
        "E212",
        "An unusable name",
        "It holds invisible characters, blanks at an end, or too many characters.",
        "Write it anew with visible characters.",
        "name: prepare",
    ),
    _error(
        "E213",
        "A list without entries",
        "There must be at least one phase, one step in each phase, one ring, one step in a rollback.",
        "Add one, or delete the key.",
    ),
    _error(
        "E214",
        "An unknown key",
        "No part of a runbook has a key of this name here, so nobody would ever look at it.",
        "Take the name that the message suggests, or delete the line.",
        "on_failure: undo-user",
    ),
    _error(
        "E215",
        "An unknown rollback",
        "`on_failure` names a rollback that does not stand under `rollbacks`.",
        "Correct the name, or add the rollback.",
        "rollbacks: {undo-user: [{name: a, worker_id: w, function: F}]}",
    ),
    _error(
        "E216",
        "A rollback inside a rollback",
        "A step of a rollback has `on_failure`. A rollback goes on with its next step and starts no other.",
        "Delete it.",
    ),
    _error(
        "E217",
        "Not the name of a variable",
        "The value looks like an address or a password. A runbook is read by many, stored and logged.",
        "Write the NAME of an environment variable or secret that holds it.",
        "connection: DATAVERSE_CONNECTION_STRING",
    ),
    _error(
        "E218",
        "A poll that never asks",
        "Its timeout is shorter than its interval.",
        "Make the timeout at least as long as the interval.",
        "poll: {interval: 5m, timeout: 8h}",
    ),
    _error(
        "E219",
        "Not exactly one rule for T-0",
        "A source that is asked needs one of `batch_time_column` and `batch_time: immediate`.",
        "Keep one.",
        "batch_time_column: MigrationDate",
    ),
    _error(
        "E220",
        "A template where nobody fills it in",
        "Templates are resolved in params, function and when, nowhere else.",
        "Write the text itself.",
        "worker_id: cloud-worker",
    ),
    _error(
        "E221",
        "Not a time",
        "Times are ISO 8601.",
        "Write a date, a date with a time, or one with an offset.",
        "2026-12-04T22:00:00+01:00",
    ),
    _error(
        "E222",
        "An unknown time zone",
        "Zones have IANA names; abbreviations and Windows names mean different things in different places.",
        "Take the name of a city in the zone.",
        "timezone: Europe/Berlin",
    ),
    _error(
        "E223",
        "Braces without a partner",
        "`{{` opens a template and `}}` closes it.",
        'Add the missing pair; in JSON text write "} }".',
        'DisplayName: "{{ DisplayName }}"',
    ),
    _error(
        "E224",
        "A template without a usable name",
        "Between the braces stands nothing, too much, or something invisible.",
        "Write the name of a column or output.",
        '"{{ DisplayName }}"',
    ),
    _error(
        "E225",
        "An unknown name with an underscore",
        "Names with a leading underscore are tminus's own, and this is none of them.",
        "Take the name that the message suggests.",
        '"{{ _batch_id }}"',
    ),
    _error(
        "E226",
        "A name that has no value here",
        "Init and finish steps see no member and no phase; the counts of a batch exist when it is finished.",
        "Use it where it has a value.",
    ),
    _error(
        "E227",
        "Not a condition",
        "Templates, quoted text, numbers, true, false and [lists]; ==, !=, in, empty, and, or, not; no more.",
        "Write it so.",
        "when: \"{{Department}} == 'Sales'\"",
    ),
    _error(
        "E228",
        "A name that belongs to tminus",
        "Outputs and inputs may not begin with an underscore.",
        "Leave the underscore away.",
        "output_params: {TargetId: id}",
    ),
    _error(
        "E229",
        "Two outputs differ in letter case only",
        "Templates find names in any letter case.",
        "Keep one.",
    ),
    _error(
        "E230",
        "Not a path into a result",
        "The right side of an output is a field, or fields joined by dots.",
        "Write it so.",
        "output_params: {Address: mailbox.address}",
    ),
    _error(
        "E231",
        "A ring that leaves nobody for the next",
        "A ring of 100% stands before the last one.",
        "Let only the last ring take the rest.",
        'rings: [1, "10%", "100%"]',
    ),
    _error(
        "E232",
        "Not a number of members",
        'A count is a whole number, a percentage stands in quotes; at most "100%".',
        "Write it so.",
        'brake: "10%"',
    ),
    _error(
        "E233",
        "A limit that limits nothing",
        "Neither `in_flight` nor `per_minute` is there.",
        "Add one.",
        "limits: {cloud-worker: {in_flight: 50}}",
    ),
    _error(
        "E234",
        "A retry whose bounds leave no room",
        "The longest wait, or the time over all tries, is shorter than the first wait.",
        "Make it longer, or the interval shorter.",
        "retry: {max_retries: 3, interval: 30s, total: 1h}",
    ),
    _error(
        "E235",
        "The primary key is multi-valued",
        "A member is identified by one text, not by a list.",
        "Take the column out of multi_valued_columns.",
    ),
    _error(
        "E236",
        "An entry stands twice",
        "A list of names holds one of them twice.",
        "Keep one.",
    ),
    _error(
        "E237",
        "A template has no value",
        "The name is no column, output or batch data of this member. Nothing unresolved is ever sent.",
        "Correct the name, or add the column to the query; then retry the member.",
    ),
)

_WARNINGS: Final = (
    _warning(
        "W101",
        "A byte order mark",
        "The file begins with an invisible mark that some editors write. It is skipped.",
        "Save as UTF-8 without a mark.",
    ),
    _warning(
        "W102",
        "A rollback that nothing starts",
        "No `on_failure` names it.",
        "Name it in a step, or delete it.",
    ),
    _warning(
        "W103",
        "A name that may have no value there",
        "Init and finish steps, and their rollbacks, see no member: only batch data and outputs of init.",
        "Declare it under `inputs`, or take it from an output of init.",
        "inputs: [prId]",
    ),
    _warning(
        "W104",
        "A key with nothing behind it",
        "It counts as absent.",
        "Give it a value, or delete the line.",
    ),
    _warning(
        "W105",
        "A word that YAML 1.1 took for true or false",
        "`yes`, `no`, `on` and `off` are texts. Functions receive them as texts.",
        "Write true or false, or put the word in quotes.",
        "Enabled: true",
    ),
    _warning(
        "W106",
        "A template that looks like an expression",
        "Templates look up names and compute nothing.",
        "Let the query or the function compute it.",
    ),
    _warning(
        "W107",
        "Elapsed time that crosses a day",
        "Hours and minutes are elapsed time: across a clock change they end at another hour than days do.",
        "Write days if the hour of the day matters.",
        "offset: T-1d12h",
    ),
    _warning(
        "W108",
        "A query that will answer differently later",
        "It filters on a state or on the present time. Members that drop out of it leave their batch.",
        "Filter on what does not change during a wave, or let leavers be proposed.",
        "leavers: {policy: propose}",
    ),
    _warning(
        "W109",
        "A limit that no step uses",
        "No step has this worker id or function.",
        "Correct the name.",
    ),
    _warning(
        "W110",
        "A key without meaning here",
        "Nothing looks at it: the source's type has no use for it, or a key beside it is missing.",
        "Delete it, or add the other.",
    ),
)

CODES: Final = (*runbook_file.CODES, *_ERRORS, *_WARNINGS)
