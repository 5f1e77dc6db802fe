"""The codes of discovery: sources that fail without a word of ours, rows that no batch takes, members handed in."""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side

CODES: Final[tuple[Code, ...]] = (
    Code(
        code="E360",
        title="The source failed",
        side=Side.INFRASTRUCTURE,
        cause="Reading the source ended with an error that has no code of ours; the message names its kind.",
        cure="Try the source's query by hand. It is asked again, each time after a longer pause.",
        exit_code=1,
        http_status=502,
    ),
    Code(
        code="E361",
        title="An answer could not be written",
        side=Side.INFRASTRUCTURE,
        cause="What the answer asked for did not fit the rows any more, or a row broke a rule. The step was undone.",
        cure="Nothing: the next answer goes on where this one stopped. Report it when it comes back.",
        exit_code=1,
        http_status=500,
    ),
    Code(
        code="E362",
        title="A key lives in another batch",
        side=Side.OPERATOR,
        cause="The member is in another open batch of the same runbook, and a key is in one at a time.",
        cure="Nothing: it is taken when that batch has ended. To have it earlier, take it out of that batch.",
        http_status=409,
    ),
    Code(
        code="E363",
        title="A key has been through",
        side=Side.OPERATOR,
        cause="The source gives a new time to a member that has ended done in an earlier batch.",
        cure="To run it again, make a manual batch of it; else correct the time in the source.",
        http_status=409,
    ),
    Code(
        code="E364",
        title="Batch data are missing",
        side=Side.OPERATOR,
        cause="The runbook's inputs name data that the batch does not bring.",
        cure="Give each of them with --data NAME=VALUE.",
        http_status=422,
    ),
    Code(
        code="E365",
        title="The batch takes no members",
        side=Side.OPERATOR,
        cause="There is no such batch, it is closing or has ended, or it is being cancelled.",
        cure="Choose an open batch, or make a new one.",
        exit_code=7,
        http_status=409,
    ),
    Code(
        code="E366",
        title="The source does not answer",
        side=Side.INFRASTRUCTURE,
        cause="A question has been out for two minutes or longer. Other runbooks are asked meanwhile.",
        cure="Try the source by hand: a share that is gone, or a query that waits, looks so. A late answer counts.",
        exit_code=1,
        http_status=504,
    ),
)
