"""The codes of commands: why something that an operator asked for was not done.

This module holds words only; who answers with them is written in the progression room and in the command line.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side


def _code(code: str, title: str, cause: str, cure: str, example: str, ends: tuple[int, int] = (2, 400)) -> Code:
    """Make one entry; what an operator asked for is mended by asking for something else."""
    return Code(
        code=code,
        title=title,
        side=Side.OPERATOR,
        cause=cause,
        cure=cure,
        example=example,
        exit_code=ends[0],
        http_status=ends[1],
    )


CODES: Final[tuple[Code, ...]] = (
    _code(
        "E401",
        "The command line is not understood",
        "A command, an option or an argument that does not exist, or one that is missing or holds a wrong value.",
        "Ask the command itself: each one explains its options with --help.",
        'E401 tminus batch lst: there is no such command - did you mean "list"?',
    ),
    _code(
        "E402",
        "A reason is missing",
        "The audit keeps who changed what and why. An empty reason says nothing.",
        "Say in a few words why, with --reason.",
        'tminus pause --all --reason "the target tenant is down"',
    ),
    _code(
        "E403",
        "A selection is not understood",
        "A selection is terms such as status=failed, error~409 or dept!=Sales with blanks between them.",
        "Correct the term that the message names; text with blanks goes into double quotes.",
        'E403 "dept Sales" is not a selection - write dept=Sales',
    ),
    _code(
        "E404",
        "There is no such thing",
        "No batch, member, phase, gate or hold has this name or number, or the selection matches none.",
        "Look at what there is: `tminus batch list`, `tminus find KEY`, `tminus gate list`.",
        "batch 12: E404 there is no such batch",
        (7, 404),
    ),
    _code(
        "E405",
        "A key stands for several members",
        "The key lives in more than one open batch, so that the command could mean either.",
        "Name the batch with --batch.",
        "anna@contoso.com: E405 the key lives in batches 3 and 7 - name one with --batch",
        (2, 409),
    ),
    _code(
        "E406",
        "A value is not understood",
        "The text after an option is no number, time or name=value as the option wants it.",
        "Write it as the message says.",
        'E406 "TargetId" is not NAME=VALUE - write --output TargetId=42',
    ),
    _code(
        "E410",
        "The command was refused",
        "What it would change is not in a state in which that is possible; the message says which, and why.",
        "Look at what is possible now: `tminus why` lists it with its reasons.",
        "anna@contoso.com: E410 the member is done; only a failed or cancelled one can be tried again",
        (6, 409),
    ),
    _code(
        "E411",
        "A file is in the way",
        "`tminus init` writes new files and never replaces one.",
        "Name another folder, or move the file away.",
        "runbook.yaml: E411 there is a file already - name another folder",
        (6, 409),
    ),
    _code(
        "E412",
        "A file cannot be read or written",
        "The operating system refused: a wrong path, no permission, or no room.",
        "Look at the path and at the rights.",
        "wave: E412 Permission denied",
        (1, 500),
    ),
    _code(
        "E413",
        "The source cannot be asked from here",
        "The runbook's members come by hand, by request, or from a kind of source that this installation lacks.",
        "A manual runbook's members are in the CSV file that makes its batch.",
        "wave: E413 a manual runbook has no source to ask",
        (6, 409),
    ),
    _code(
        "E414",
        "A settings file cannot be read",
        "The `tminus.toml` of this folder, or the user's own, is no TOML, names no setting, or gives it a wrong value.",
        "Mend the line that is named; the page of settings lists every name.",
        'tminus.toml: E414 "childs" is no setting - did you mean "children"?',
    ),
    _code(
        "E430",
        "A fault of a rehearsal cannot be read",
        "A fault is TARGET:KIND@WHEN. The target is a function, a step, phase/step, a worker id or *.",
        "Write New-User:fail@3, cloud-worker:429@10%, move:slow@2h, '*:lost@1%' or move:fail=Conflict@key=MEMBER.",
        'tminus rehearse --fault "create-user:429@10%"',
    ),
    _code(
        "E431",
        "A case cannot be read",
        "A case is a small YAML file: how a runbook is rehearsed, and under `expect` what must come out.",
        "Mend the line that is named.",
        "expect: {members: {failed: 0}, holds: []}",
    ),
    _code(
        "E432",
        "Nobody would take part in the rehearsal",
        "The members come from a CSV file that is handed in, or from the runbook's own source.",
        "Hand them in with --members, and T-0 with --at.",
        'tminus rehearse runbook.yaml --members members.csv --at "2026-12-04 22:00"',
    ),
)
