"""The codes of plans: why one cannot be made, kept, found or applied.

This module holds words only; who answers with them is written in the store and in the command line.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side


def _code(code: str, title: str, cause: str, cure: str, example: str, ends: tuple[int, int] = (2, 400)) -> Code:
    """Make one entry; all of them are an operator's to mend."""
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
        "E450",
        "The plan is stale",
        "Something has changed since it was made: a file, the published runbook, a member's home, or the time.",
        "Make the plan again, look at it again, and apply that one. Nothing was changed.",
        "plan-7f3a: E450 members.csv has changed since - plan again",
        (6, 409),
    ),
    _code(
        "E451",
        "There is no such plan",
        "No plan is kept under this name. One that expired without being applied is forgotten a month later.",
        "`tminus plan list` shows the plans that there are.",
        'plan-7f3b: E451 there is no such plan - did you mean "plan-7f3a"?',
        (7, 404),
    ),
    _code(
        "E452",
        "The name of the plan is taken",
        "A name stands for one content, so that what somebody has looked at is what is applied.",
        "Choose a new name with --save. A plan that was never applied gives its name free when it expires.",
        '--save: E452 there is a plan "wave-1" that holds something else - choose a new name',
        (6, 409),
    ),
    _code(
        "E453",
        "A question without a terminal",
        "The command asks before it acts, and there is nobody to answer: its input or output is a pipe.",
        "Look at the plan, and say --yes.",
        "plan-7f3a: E453 nobody can be asked here - say --yes",
    ),
    _code(
        "E454",
        "There is nobody to plan for",
        "A manual or event runbook has no source: its members come in a file. Or its source names nobody.",
        "Name the file with --members. `tminus template RUNBOOK` prints its header.",
        "wave: E454 a manual runbook has no source to ask - name the members: --members CSV",
    ),
    _code(
        "E455",
        "A name for a plan is not usable",
        "It is empty, too long, begins or ends with a blank, or holds a character that cannot be seen.",
        "Choose another name.",
        '--save: E455 " " is no name for a plan',
    ),
    _code(
        "E456",
        "The plan cannot be applied in this way",
        "Its members come from a source that makes its batches itself, or it has nothing to make.",
        "Do as the message says.",
        "plan-7f3a: E456 an immediate source makes its batches itself - tminus automation enable wave",
        (6, 409),
    ),
    _code(
        "E457",
        "A plan of another version of tminus",
        "It was written down in a form that this program does not read.",
        "Make the plan again.",
        "E457 the plan has form 2, this program reads 1 - plan again with this program",
        (6, 409),
    ),
    _code(
        "E458",
        "The plan was not applied",
        "The question was answered with no. Nothing was changed.",
        "Apply it when you are ready; it stays valid for seven days from its making.",
        "plan-7f3a: E458 it was not applied: the answer was no",
        (1, 409),
    ),
)
